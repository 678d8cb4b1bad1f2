// Which colocation groups play the same part in a graph that repeats itself: the product with the
// recurrent weight in every time step, the accumulation behind it, the gates.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_PATTERNS_H_
#define PLACEWRIGHT_SEARCH_LOCAL_PATTERNS_H_

#include <cstdint>
#include <vector>

#include "search/problem/op_graph.h"
#include "search/problem/problem.h"

namespace placewright {

// A label per group: colour refinement (Weisfeiler and Leman 1968) of two rounds over the tensors
// between groups, producers and consumers distinguished, from the types, phases and minimum times
// of a group's ops. Equal labels: the same surroundings up to two tensors away, but for collisions
// of 64 bits. Labels are the same on every machine. O(edges).
IdVector<ColocationGroupId, uint64_t> PatternLabels(const Problem& problem, const OpGraph& graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_PATTERNS_H_
