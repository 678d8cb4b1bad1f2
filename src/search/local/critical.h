// Why a step takes as long as it does: the chain of ops and transfers, back from the last
// completion, of which each started the moment the one before it ended.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_CRITICAL_H_
#define PLACEWRIGHT_SEARCH_LOCAL_CRITICAL_H_

#include <cstdint>
#include <vector>

#include "plan/schedule.h"
#include "search/problem/op_graph.h"
#include "search/problem/problem.h"

namespace placewright {

struct CriticalLink {
  ExecOpId op;                   // or the reader that a transfer serves
  ExecOpId producer;             // transfers: made what crosses; none: it is from before the step
  ColocationGroupId home_group;  // transfers of such content
  bool transfer = false;
  bool waits_in_queue = false;  // it was ready earlier: the link before it only held the device or
                                // the wire
  int64_t duration = 0;
};

struct CriticalView {
  static constexpr size_t kBlockersPerOp = 64;

  std::vector<CriticalLink> chain;  // latest first
  // Exec ops that ran on a device while an op of the chain, ready already, waited for it,
  // once for each that waited; of these the first kBlockersPerOp * (exec ops), latest waits first.
  std::vector<ExecOpId> blockers;
};

// O(ops + transfers) after sorting.
CriticalView CriticalChain(const Problem& problem, const OpGraph& graph,
                           const GroupPlacement& device_of, const Schedule& schedule);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_CRITICAL_H_
