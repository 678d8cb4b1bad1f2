// What the commands say of how a graph scales with its batch.
#ifndef PLACEWRIGHT_CLI_REQUEST_BATCH_PROOF_H_
#define PLACEWRIGHT_CLI_REQUEST_BATCH_PROOF_H_

#include <string>

#include "formats/text/json.h"
#include "graph/graph.h"

namespace placewright {

// "scales with the batch, as recordings at 24, 25 and 51 prove", "valid for batch 24 only: ..."
std::string DescribeBatchProof(const Graph& graph);

// {"sizes": [24, 25, 51], "smaller": 12, "obstacle": null}; null without a proof.
Json BatchProofJson(const Graph& graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_BATCH_PROOF_H_
