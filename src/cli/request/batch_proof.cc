#include "cli/request/batch_proof.h"

#include <fmt/format.h>

#include "base/text.h"

namespace placewright {

std::string DescribeBatchProof(const Graph& graph) {
  const BatchLaws* laws = graph.batch_laws();
  if (laws == nullptr && graph.batch() == 0) {
    return "valid for the recorded sizes only, since no batch size is stated";
  }
  if (laws == nullptr) {
    return fmt::format("valid for batch {} only: it was not recorded at other sizes",
                       graph.batch());
  }
  if (!laws->obstacle.empty()) {
    return fmt::format("valid for batch {} only: {}", graph.batch(),
                       Printable(laws->obstacle, 1000));
  }
  return fmt::format("scales with the batch, as recordings at {}, {} and {} prove", laws->sizes[0],
                     laws->sizes[1], laws->sizes[2]);
}

Json BatchProofJson(const Graph& graph) {
  const BatchLaws* laws = graph.batch_laws();
  if (laws == nullptr) return nullptr;
  Json proof = {{"sizes", laws->sizes}, {"obstacle", nullptr}};
  if (!laws->obstacle.empty()) proof["obstacle"] = laws->obstacle;
  return proof;
}

}  // namespace placewright
