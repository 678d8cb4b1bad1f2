// Memory that no placement can avoid at one instant of the step.
//
// When op o starts, everything made by an ancestor of o and read by o or a descendant of o is
// alive: at home or as a copy, on at least one device (its last such reader has not ended). So are
// the outputs of o and everything persistent. The sum over all devices is therefore at least
// `total`, whatever the placement and the order.
#ifndef PLACEWRIGHT_SEARCH_PROOF_MEMORY_CUT_H_
#define PLACEWRIGHT_SEARCH_PROOF_MEMORY_CUT_H_

#include <cstdint>
#include <vector>

#include "search/problem/op_graph.h"
#include "search/problem/problem.h"

namespace placewright {

// A storage alive at the cut: if one of `reader_groups` lies where `group` lies, so do the bytes.
struct LiveStorage {
  ColocationGroupId group;  // that makes it
  std::vector<ColocationGroupId> reader_groups;
  int64_t bytes = 0;
};

struct MemoryCut {
  ExecOpId op;  // whose start it is
  std::vector<LiveStorage> live;
  int64_t live_bytes = 0;  // sum over `live`
};

// O(ops + edges).
MemoryCut CutAt(const Problem& problem, const OpGraph& graph, ExecOpId op);

// The cuts with the most live bytes among the step where a one-device run peaks and `samples`
// others spread over the topological order; the largest first, at most `keep`.
std::vector<MemoryCut> LargestCuts(const Problem& problem, const OpGraph& graph, int samples,
                                   size_t keep);

// Persistent bytes of all storages that have a home.
int64_t TotalPersistent(const Problem& problem);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROOF_MEMORY_CUT_H_
