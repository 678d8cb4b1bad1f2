// A WeightedGraph in the arrays that METIS and Scotch read, with 32-bit weights, and the mutex
// under which both run.
#ifndef PLACEWRIGHT_GRAPH_PARTITION_LIBRARY_GRAPH_H_
#define PLACEWRIGHT_GRAPH_PARTITION_LIBRARY_GRAPH_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "graph/partition/partition.h"

namespace placewright {

// Each list scaled such that its sum stays below 2^30; zeros become `min`, as both libraries
// divide by totals and METIS drops edges of weight 0.
std::vector<int64_t> ScaleWeights(const std::vector<int64_t>& weights, int64_t min);

template <class Number>
struct LibraryGraph {
  std::vector<Number> offsets, neighbours, edge_weights;
  std::vector<Number> node_weights;  // [node * constraints + constraint]

  explicit LibraryGraph(const WeightedGraph& graph)
      : offsets(graph.offsets.begin(), graph.offsets.end()) {
    std::vector<int64_t> weights;
    for (const WeightedEdge& edge : graph.edges) {
      neighbours.push_back(static_cast<Number>(edge.to));
      weights.push_back(edge.weight);
    }
    for (int64_t weight : ScaleWeights(weights, 1)) {
      edge_weights.push_back(static_cast<Number>(weight));
    }
    const size_t constraints = graph.weights.size();
    node_weights.resize(constraints * static_cast<size_t>(graph.nodes()));
    for (size_t c = 0; c < constraints; ++c) {
      const std::vector<int64_t> scaled = ScaleWeights(graph.weights[c], 1);
      for (size_t i = 0; i < scaled.size(); ++i) {
        node_weights[i * constraints + c] = static_cast<Number>(scaled[i]);
      }
    }
  }
};

std::mutex& PartitionLibraryMutex();

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_PARTITION_LIBRARY_GRAPH_H_
