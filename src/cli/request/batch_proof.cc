#include "cli/request/batch_proof.h"

#include <fmt/format.h>

#include "base/text.h"

namespace placewright {

std::string DescribeBatchProof(const Graph& graph) {
  const BatchScaling* laws = graph.batch_scaling();
  if (laws == nullptr && graph.batch() == 0) {
    return "valid for the recorded sizes only, since no batch size is stated";
  }
  if (laws == nullptr) {
    return fmt::format("valid for batch {} only: it was not recorded at other sizes",
                       graph.batch());
  }
  if (!laws->reason.empty()) {
    return fmt::format("valid for batch {} only: {}", graph.batch(), Printable(laws->reason, 1000));
  }
  return fmt::format("scales with the batch, as recordings at {}, {} and {} prove{}",
                     laws->sizes[0], laws->sizes[1], laws->sizes[2],
                     laws->smaller > 0 ? fmt::format("; at {}, too", laws->smaller) : "");
}

Json BatchProofJson(const Graph& graph) {
  const BatchScaling* laws = graph.batch_scaling();
  if (laws == nullptr) return nullptr;
  Json proof = {{"sizes", laws->sizes}, {"smaller", nullptr}, {"obstacle", nullptr}};
  if (laws->smaller > 0) proof["smaller"] = laws->smaller;
  if (!laws->reason.empty()) proof["obstacle"] = laws->reason;
  return proof;
}

}  // namespace placewright
