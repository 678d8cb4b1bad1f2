#include <algorithm>
#include <tuple>

#include "base/units.h"
#include "graph/partition/library_graph.h"

namespace placewright {

WeightedGraph MakeUndirected(const WeightedGraph& directed) {
  struct Pair {
    int32_t a, b;
    int64_t weight;
  };
  std::vector<Pair> pairs;
  pairs.reserve(2 * directed.edges.size());
  for (int32_t i = 0; i < directed.nodes(); ++i) {
    for (int32_t k = directed.offsets[i]; k < directed.offsets[i + 1]; ++k) {
      const WeightedEdge& edge = directed.edges[k];
      if (edge.to == i) continue;
      pairs.push_back({i, edge.to, edge.weight});
      pairs.push_back({edge.to, i, edge.weight});
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const Pair& x, const Pair& y) {
    return std::tie(x.a, x.b, x.weight) < std::tie(y.a, y.b, y.weight);
  });
  WeightedGraph result;
  result.weights = directed.weights;
  size_t next = 0;
  for (int32_t i = 0; i < directed.nodes(); ++i) {
    for (; next < pairs.size() && pairs[next].a == i; ++next) {
      const bool repeats = result.edges.size() > static_cast<size_t>(result.offsets.back()) &&
                           result.edges.back().to == pairs[next].b;
      if (repeats) {
        result.edges.back().weight = SaturatingAdd(result.edges.back().weight, pairs[next].weight);
      } else {
        result.edges.push_back({pairs[next].b, pairs[next].weight});
      }
    }
    result.offsets.push_back(static_cast<int32_t>(result.edges.size()));
  }
  return result;
}

int64_t CutWeight(const WeightedGraph& graph, const std::vector<int32_t>& part_of) {
  int64_t cut = 0;
  for (int32_t i = 0; i < graph.nodes(); ++i) {
    for (int32_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
      const WeightedEdge& edge = graph.edges[k];
      if (part_of[i] != part_of[edge.to]) cut = SaturatingAdd(cut, edge.weight);
    }
  }
  return cut;
}

std::vector<int64_t> ScaleWeights(const std::vector<int64_t>& weights, int64_t min) {
  constexpr int64_t kLimit = int64_t{1} << 30;
  unsigned __int128 sum = 0;
  for (int64_t weight : weights) sum += static_cast<unsigned __int128>(std::max(weight, min));
  const auto divisor =
      static_cast<int64_t>(sum / static_cast<unsigned __int128>(std::max<int64_t>(
                                     1, kLimit - static_cast<int64_t>(weights.size()))) +
                           1);
  std::vector<int64_t> scaled;
  scaled.reserve(weights.size());
  for (int64_t weight : weights) scaled.push_back(std::max(weight / divisor, min));
  return scaled;
}

std::mutex& PartitionLibraryMutex() {
  static std::mutex mutex;  // the libraries' generators are global, so their guard must be
  return mutex;
}

}  // namespace placewright
