// What the chains of local search know about a problem; built once, read-only while they run.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_CONTEXT_H_
#define PLACEWRIGHT_SEARCH_LOCAL_CONTEXT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "search/local/clusters.h"
#include "search/problem/domain.h"
#include "search/problem/op_graph.h"
#include "search/problem/problem.h"
#include "search/problem/unit_info.h"

namespace placewright {

struct LocalContext {
  const Problem& problem;
  const OpGraph& graph;
  const Domain& domain;
  const Clusters& clusters;
  std::vector<int32_t> neighbour_offset, neighbours;  // unit -> units it exchanges data with
  std::vector<int32_t> by_position, position;         // units in the step's order, and back
  std::vector<int64_t> time_before;  // [unit]: least time of the units up to it, ascending by id
  std::vector<int32_t> largest;      // clusters by the least time of their units, the longest first

  std::span<const int32_t> Neighbours(int32_t unit) const {
    return {neighbours.data() + neighbour_offset[unit],
            static_cast<size_t>(neighbour_offset[unit + 1] - neighbour_offset[unit])};
  }
};

// The four references must outlive the result. O(edges log edges + members of clusters).
LocalContext MakeLocalContext(const Problem& problem, const OpGraph& graph, const Domain& domain,
                              const Clusters& clusters, const std::vector<UnitInfo>& units);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_CONTEXT_H_
