// What groups on several devices read of groups on one.
//
// A tensor that is joined of many parts, as the states of all time steps before an output layer is split by its words,
// crosses to all devices of that layer when the last part is there. If all of them join the parts, each of these
// crosses when it is made, beside what still is to be computed.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_FEEDERS_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_FEEDERS_H_

#include <vector>

#include "base/ids.h"
#include "search/layouts/layout_state.h"
#include "search/problem/layout_problem.h"

namespace placewright {

// A group on one device, and the layout of one that reads what it makes.
struct Feeder {
  GroupId group;
  LayoutId read_by;
};

// Those of which the largest tensors are read first, `max_feeders` at most; none of which only small ones are.
std::vector<Feeder> FeedersOf(const LayoutProblem& problem, const LayoutBook& book,
                              const LayoutState& state, size_t max_feeders);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_FEEDERS_H_
