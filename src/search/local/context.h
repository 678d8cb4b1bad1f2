// What the chains of local search know about a problem; built once, read-only while they run.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_CONTEXT_H_
#define PLACEWRIGHT_SEARCH_LOCAL_CONTEXT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "graph/csr.h"
#include "search/local/move_sets.h"
#include "search/problem/candidate_devices.h"
#include "search/problem/group_info.h"
#include "search/problem/op_graph.h"
#include "search/problem/problem.h"

namespace placewright {

struct LocalContext {
  const Problem& problem;
  const OpGraph& graph;
  const CandidateDevices& candidates;
  const MoveSets& move_sets;
  Csr<ColocationGroupId, ColocationGroupId> neighbours;  // groups it exchanges data with
  std::vector<ColocationGroupId> by_position;            // in the step's order
  IdVector<ColocationGroupId, int32_t> position;         // in `by_position`
  // Minimum time of the groups up to it, ascending by id.
  IdVector<ColocationGroupId, int64_t> time_before;
  std::vector<MoveSetId> largest;  // by the minimum time of their groups, the longest first
};

// The four references must outlive the result. O(edges log edges + members of move sets).
LocalContext MakeLocalContext(const Problem& problem, const OpGraph& graph,
                              const CandidateDevices& candidates, const MoveSets& move_sets,
                              const GroupInfos& groups);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_CONTEXT_H_
