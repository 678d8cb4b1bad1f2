#include "search/layouts/layout_state.h"

#include <algorithm>

#include "base/random.h"

namespace placewright {

uint64_t HashOf(const LayoutState& state) {
  uint64_t hash = 0;
  const auto mix = [&](uint64_t number) { hash = Random(hash ^ number).Next(); };
  mix(static_cast<uint64_t>(state.switches.fusion.count));
  mix(state.switches.broadcasts ? 1 : 0);
  if (state.switches.prefetch) mix(static_cast<uint64_t>(*state.switches.prefetch));
  if (state.switches.unit_collectives) mix(1);
  for (const LayoutId id : state.of_group) mix(id.index());
  return hash;
}

bool IsPlaced(const LayoutState& state, const LayoutBook& book) {
  return std::all_of(state.of_group.begin(), state.of_group.end(),
                     [&](LayoutId id) { return book[id].shares.size() == 1; });
}

LayoutState StateOf(const LayoutProblem& problem, const StepPlan& plan, LayoutBook& book) {
  return {book.Add(plan.layouts, problem.graph.group_count()), AsStart(problem, plan.switches)};
}

StepPlan PlanOf(const LayoutBook& book, const LayoutState& state) {
  return {book.Of(state.of_group), state.switches};
}

}  // namespace placewright
