// When transient storages are alive if the whole graph runs on one device in topological order: the
// static memory estimate of constructive planners, and where to look for unavoidable memory.
#ifndef PLACEWRIGHT_SEARCH_PROBLEM_LIFETIMES_H_
#define PLACEWRIGHT_SEARCH_PROBLEM_LIFETIMES_H_

#include <cstdint>
#include <vector>

#include "search/problem/group_id.h"
#include "search/problem/op_graph.h"
#include "search/problem/problem.h"

namespace placewright {

struct Lifetimes {
  // Indices into OpGraph::order; -1: not transient, or no op makes it.
  IdVector<StorageId, int32_t> first, last;
  IdVector<StorageId, ColocationGroupId> group;  // of its first writer
  int32_t peak_step = 0;                         // the first step with the most bytes alive
  bool AliveAtPeak(StorageId storage) const {
    return first[storage] >= 0 && first[storage] <= peak_step && last[storage] >= peak_step;
  }
};

// O(ops + edges).
Lifetimes FindLifetimes(const Problem& problem, const OpGraph& graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROBLEM_LIFETIMES_H_
