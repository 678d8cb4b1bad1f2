#include <metis.h>
#include <signal.h>

#include <algorithm>
#include <numeric>

#include "graph/partition/library_graph.h"

namespace placewright {
namespace {

// METIS takes SIGTERM and SIGABRT for itself while it runs and gives them back by signal(), without
// the flags of the program's own handlers. Here they are kept as they were, and SIGTERM waits in
// this thread (partition.h).
class KeepSignals {
 public:
  KeepSignals() {
    sigset_t waiting;
    sigemptyset(&waiting);
    sigaddset(&waiting, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &waiting, &mask_);
    sigaction(SIGTERM, nullptr, &terminate_);
    sigaction(SIGABRT, nullptr, &abort_);
  }
  ~KeepSignals() {
    sigaction(SIGTERM, &terminate_, nullptr);
    sigaction(SIGABRT, &abort_, nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  KeepSignals(const KeepSignals&) = delete;
  KeepSignals& operator=(const KeepSignals&) = delete;

 private:
  sigset_t mask_;
  struct sigaction terminate_, abort_;
};

// Recursive bisection, driven from here: METIS's own recursion writes to standard output when a
// part of it runs out of nodes, as happens where a few nodes hold most of the weight.
class Bisection {
 public:
  Bisection(const WeightedGraph& graph, const PartitionOptions& options)
      : graph_(graph), options_(options), part_of_(graph.nodes(), 0), local_(graph.nodes(), -1) {}

  Result<std::vector<int32_t>> Run() {
    std::vector<int32_t> all(graph_.nodes());
    std::iota(all.begin(), all.end(), 0);
    PW_RETURN_IF_ERROR(Split(std::move(all), 0, options_.parts));
    return std::move(part_of_);
  }

 private:
  // Deals `nodes` to the parts first .. last - 1.
  Status Split(std::vector<int32_t> nodes, int first, int last) {
    if (last - first == 1 || nodes.size() <= 1) {
      for (int32_t node : nodes) part_of_[node] = first;
      return Ok();
    }
    const int middle = first + (last - first) / 2;
    PW_ASSIGN(const std::vector<idx_t> side, Bisect(nodes, first, middle, last));
    std::vector<int32_t> halves[2];
    for (size_t i = 0; i < nodes.size(); ++i) halves[side[i]].push_back(nodes[i]);
    nodes = {};
    PW_RETURN_IF_ERROR(Split(std::move(halves[0]), first, middle));
    return Split(std::move(halves[1]), middle, last);
  }

  double Share(int first, int last, size_t constraint) const {
    if (options_.shares.empty()) return last - first;
    double sum = 0;
    for (int p = first; p < last; ++p) sum += options_.shares[p][constraint];
    return sum;
  }

  WeightedGraph Part(const std::vector<int32_t>& nodes) {
    for (size_t i = 0; i < nodes.size(); ++i) local_[nodes[i]] = static_cast<int32_t>(i);
    WeightedGraph part;
    part.weights.resize(graph_.weights.size());
    for (int32_t node : nodes) {
      for (size_t c = 0; c < graph_.weights.size(); ++c) {
        part.weights[c].push_back(graph_.weights[c][node]);
      }
      for (int32_t k = graph_.offsets[node]; k < graph_.offsets[node + 1]; ++k) {
        const int32_t to = local_[graph_.edges[k].to];
        if (to >= 0) part.edges.push_back({to, graph_.edges[k].weight});
      }
      part.offsets.push_back(static_cast<int32_t>(part.edges.size()));
    }
    for (int32_t node : nodes) local_[node] = -1;
    return part;
  }

  Result<std::vector<idx_t>> Bisect(const std::vector<int32_t>& nodes, int first, int middle,
                                    int last) {
    LibraryGraph<idx_t> arrays(Part(nodes));
    idx_t node_count = static_cast<idx_t>(nodes.size()), parts = 2, cut = 0;
    idx_t constraints = static_cast<idx_t>(graph_.weights.size());
    std::vector<real_t> shares(2 * graph_.weights.size());  // [side * constraints + constraint]
    for (size_t c = 0; c < graph_.weights.size(); ++c) {
      const double all = Share(first, last, c);
      // METIS divides by a side's share: none is exactly 0.
      const double left = all > 0 ? Share(first, middle, c) / all : 0.5;
      shares[c] = static_cast<real_t>(std::clamp(left, 1e-6, 1 - 1e-6));
      shares[graph_.weights.size() + c] = 1 - shares[c];
    }
    std::vector<real_t> imbalance(graph_.weights.size(),
                                  static_cast<real_t>(1 + options_.imbalance));
    idx_t settings[METIS_NOPTIONS];
    METIS_SetDefaultOptions(settings);
    settings[METIS_OPTION_SEED] = static_cast<idx_t>(options_.seed % 0x7fffffff);
    settings[METIS_OPTION_NUMBERING] = 0;
    std::vector<idx_t> side(nodes.size(), 0);
    const int status = METIS_PartGraphRecursive(
        &node_count, &constraints, arrays.offsets.data(), arrays.neighbours.data(),
        arrays.node_weights.data(), nullptr, arrays.edge_weights.data(), &parts, shares.data(),
        imbalance.data(), settings, &cut, side.data());
    if (status == METIS_OK) return side;
    return MakeError(ErrorCode::kInternal, "METIS ended with status " + std::to_string(status) +
                                               " on a graph of " + std::to_string(nodes.size()) +
                                               " nodes");
  }

  const WeightedGraph& graph_;
  const PartitionOptions& options_;
  std::vector<int32_t> part_of_, local_;
};

}  // namespace

Result<std::vector<int32_t>> PartitionMetis(const WeightedGraph& graph,
                                            const PartitionOptions& options) {
  if (options.parts <= 1) return std::vector<int32_t>(graph.nodes(), 0);
  const std::lock_guard lock(PartitionLibraryMutex());
  const KeepSignals signals;
  return Bisection(graph, options).Run();
}

}  // namespace placewright
