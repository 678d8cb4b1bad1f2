// Gradients that are sums of what several ops make, at different times of a step: of a weight that is read twice, as
// by an embedding and the scores behind the last layer.
//
// Where the samples are split such a sum is completed once, when its last summand is there, at the end of the step.
// If all devices compute the summand that comes last, from what it is made of, the others are completed beside what
// still is to be computed: more is sent, and the step may be shorter.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_GRADIENT_SUMS_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_GRADIENT_SUMS_H_

#include <vector>

#include "base/ids.h"
#include "search/problem/layout_problem.h"

namespace placewright {

// The groups of the ops that make the summands, of the largest gradients first, `max_groups` at most; of what is added
// one after the other, of the last. None without a batch.
std::vector<GroupId> GroupsOfSummands(const LayoutProblem& problem, size_t max_groups);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_GRADIENT_SUMS_H_
