// How an ONNX model follows its batch, proven by reading it at further sizes, as steps are recorded at
// several (graph/batch/proof.h).
#ifndef PLACEWRIGHT_FORMATS_ONNX_BATCH_PROOF_H_
#define PLACEWRIGHT_FORMATS_ONNX_BATCH_PROOF_H_

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "graph/graph.h"
#include "graph/graph_builder.h"

namespace placewright::onnx_import {

// The model at that batch.
using ReadAtBatch = std::function<Result<GraphBuilder>(int64_t batch)>;

// `graph` with its batch scaling. The two further sizes are primes that sizes of models are no multiples of:
// a constant that fixes the batch contradicts them, where a multiple of the batch may pass. A model that
// cannot be read at both, of which a size follows no law of the batch, or no input follows it, has a reason
// instead. A graph without a batch comes back as it is. Errors: those of WithBatchScaling.
// Complexity: two to four readings.
Result<Graph> WithBatchProof(Graph graph, const ReadAtBatch& read);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_BATCH_PROOF_H_
