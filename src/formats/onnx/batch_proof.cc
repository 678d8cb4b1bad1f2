#include "formats/onnx/batch_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/batch/at_batch.h"
#include "graph/batch/proof.h"

namespace placewright::onnx_import {
namespace {

// The first two that are not `batch`.
std::array<int64_t, 2> FurtherSizes(int64_t batch) {
  std::array<int64_t, 2> sizes = {101, 103};
  for (int64_t& size : sizes) size = size == batch ? 107 : size;
  return sizes;
}

bool AnInputFollows(const Graph& graph, const BatchScaling& laws) {
  for (const TensorId id : graph.tensors()) {
    if (graph.tensor(id).kind == TensorKind::kInput && !laws.dimensions[id].empty()) return true;
  }
  return false;
}

BatchScaling WithReason(BatchScaling laws, std::string reason) {
  return BatchScaling{laws.sizes, std::move(reason), {}, {}};
}

// The smallest of a few sizes below the proven ones that agrees, too; or 0.
int64_t ProveSmaller(const Graph& graph, const BatchScaling& laws, const GraphBuilder& second,
                     const ReadAtBatch& read) {
  for (const int64_t size : {int64_t{1}, std::max<int64_t>(2, graph.batch() / 2)}) {
    if (size >= laws.SmallestProven()) return 0;
    const Result<GraphBuilder> smaller = read(size);
    if (smaller.ok() && FollowsLaws(laws, graph, second, smaller.value())) return size;
  }
  return 0;
}

BatchScaling Prove(const Graph& graph, const ReadAtBatch& read) {
  BatchScaling laws;
  const std::array<int64_t, 2> sizes = FurtherSizes(graph.batch());
  laws.sizes = {graph.batch(), sizes[0], sizes[1]};
  std::vector<GraphBuilder> others;
  for (const int64_t size : sizes) {
    Result<GraphBuilder> other = read(size);
    if (!other.ok()) {
      return WithReason(laws, fmt::format("it cannot be read at batch {}: {}", size,
                                          Printable(other.error().message, 400)));
    }
    others.push_back(std::move(other).Take());
  }
  laws = DeriveBatchScaling(graph, others[0], others[1]);
  if (!laws.reason.empty()) return laws;
  if (!AnInputFollows(graph, laws)) return WithReason(laws, "no input follows the batch");
  laws.smaller = ProveSmaller(graph, laws, others[0], read);
  return laws;
}

}  // namespace

Result<Graph> WithBatchProof(Graph graph, const ReadAtBatch& read) {
  if (graph.batch() < 1) return graph;
  BatchScaling laws = Prove(graph, read);
  return WithBatchScaling(std::move(graph), std::move(laws));
}

}  // namespace placewright::onnx_import
