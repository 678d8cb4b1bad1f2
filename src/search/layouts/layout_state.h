// How a whole step is distributed, in the form that a search changes.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_STATE_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_STATE_H_

#include <cstdint>

#include "base/ids.h"
#include "plan/layout_book.h"
#include "plan/step_plan.h"
#include "search/problem/layout_problem.h"

namespace placewright {

struct LayoutState {
  IdVector<GroupId, LayoutId> of_group;  // in a LayoutBook
  StepSwitches switches;
  friend bool operator==(const LayoutState&, const LayoutState&) = default;
};

// Of states whose layouts are of one book. Equal on every platform.
uint64_t HashOf(const LayoutState& state);

// Whether everything is on one device each.
bool IsPlaced(const LayoutState& state, const LayoutBook& book);

// Of a plan to start from (AsStart). Groups that it does not have lie as its first one.
LayoutState StateOf(const LayoutProblem& problem, const StepPlan& plan, LayoutBook& book);
StepPlan PlanOf(const LayoutBook& book, const LayoutState& state);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_STATE_H_
