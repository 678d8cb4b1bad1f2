// What the chains of local search know about a problem; built once, read-only while they run.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_CONTEXT_H_
#define PLACEWRIGHT_SEARCH_LOCAL_CONTEXT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "search/local/clusters.h"
#include "search/problem/candidate_devices.h"
#include "search/problem/group_info.h"
#include "search/problem/op_graph.h"
#include "search/problem/problem.h"

namespace placewright {

struct LocalContext {
  const Problem& problem;
  const OpGraph& graph;
  const CandidateDevices& candidates;
  const Clusters& clusters;
  std::vector<int32_t> neighbour_offset, neighbours;  // group -> groups it exchanges data with
  std::vector<int32_t> by_position, position;         // groups in the step's order, and back
  std::vector<int64_t> time_before;  // [group]: least time of the groups up to it, ascending by id
  std::vector<int32_t> largest;  // clusters by the least time of their groups, the longest first

  std::span<const int32_t> Neighbours(int32_t group) const {
    return {neighbours.data() + neighbour_offset[group],
            static_cast<size_t>(neighbour_offset[group + 1] - neighbour_offset[group])};
  }
};

// The four references must outlive the result. O(edges log edges + members of clusters).
LocalContext MakeLocalContext(const Problem& problem, const OpGraph& graph,
                              const CandidateDevices& candidates, const Clusters& clusters,
                              const std::vector<GroupInfo>& groups);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_CONTEXT_H_
