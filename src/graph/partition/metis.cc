#include <metis.h>

#include <algorithm>

#include "graph/partition/library_graph.h"

namespace placewright {
namespace {

std::vector<real_t> TargetShares(const PartitionOptions& options, size_t constraints) {
  std::vector<real_t> shares;
  for (size_t c = 0; c < constraints; ++c) {
    double total = 0;
    for (const auto& part : options.shares) total += part[c];
    for (int p = 0; p < options.parts; ++p) {
      const bool given = !options.shares.empty() && total > 0;
      // METIS divides by a part's share: none is exactly 0.
      shares.push_back(static_cast<real_t>(given ? std::max(options.shares[p][c] / total, 1e-6)
                                                 : 1.0 / options.parts));
    }
  }
  std::vector<real_t> by_part(shares.size());
  for (size_t c = 0; c < constraints; ++c) {
    for (int p = 0; p < options.parts; ++p) {
      by_part[p * constraints + c] = shares[c * options.parts + p];
    }
  }
  return by_part;
}

}  // namespace

Result<std::vector<int32_t>> PartitionMetis(const WeightedGraph& graph,
                                            const PartitionOptions& options) {
  const int32_t nodes = graph.nodes();
  std::vector<int32_t> part_of(nodes, 0);
  if (options.parts <= 1 || nodes == 0) return part_of;
  if (nodes <= options.parts) {  // METIS wants more nodes than parts
    for (int32_t i = 0; i < nodes; ++i) part_of[i] = i;
    return part_of;
  }
  LibraryGraph<idx_t> arrays(graph);
  idx_t node_count = nodes, parts = options.parts, cut = 0;
  idx_t constraints = static_cast<idx_t>(graph.weights.size());
  std::vector<real_t> shares = TargetShares(options, graph.weights.size());
  std::vector<real_t> imbalance(graph.weights.size(), static_cast<real_t>(1 + options.imbalance));
  std::vector<idx_t> result(nodes, 0);
  idx_t settings[METIS_NOPTIONS];
  METIS_SetDefaultOptions(settings);
  settings[METIS_OPTION_SEED] = static_cast<idx_t>(options.seed % 0x7fffffff);
  settings[METIS_OPTION_NUMBERING] = 0;
  const auto partition = parts <= 8 ? &METIS_PartGraphRecursive : &METIS_PartGraphKway;
  const std::lock_guard lock(PartitionLibraryMutex());
  const int status =
      partition(&node_count, &constraints, arrays.offsets.data(), arrays.neighbours.data(),
                arrays.node_weights.data(), nullptr, arrays.edge_weights.data(), &parts,
                shares.data(), imbalance.data(), settings, &cut, result.data());
  if (status != METIS_OK) {
    return MakeError(ErrorCode::kInternal, "METIS ended with status " + std::to_string(status) +
                                               " on a graph of " + std::to_string(nodes) +
                                               " nodes");
  }
  std::copy(result.begin(), result.end(), part_of.begin());
  return part_of;
}

}  // namespace placewright
