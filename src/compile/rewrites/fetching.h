// What switches ask for of collectives by unit, of when parameters are fetched and of copies between these: the last passes
// over a step, in their order.
#ifndef PLACEWRIGHT_COMPILE_REWRITES_FETCHING_H_
#define PLACEWRIGHT_COMPILE_REWRITES_FETCHING_H_

#include "compile/array_changes.h"
#include "compile/part_prices.h"
#include "graph/graph.h"
#include "plan/step_switches.h"

namespace placewright {

void PassOverFetching(const StepSwitches& switches, const Graph& original, const PartPrices& prices,
                      ArrayWriter& writer, ArrayChanges& changes);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_REWRITES_FETCHING_H_
