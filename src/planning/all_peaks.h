// Whether a plan whose tensors fit also fits with what the caching allocator and collectives take beside them
// (sim/memory/device_memory.h): the one verdict of `plan`, `simulate` and of trials.
#ifndef PLACEWRIGHT_PLANNING_ALL_PEAKS_H_
#define PLACEWRIGHT_PLANNING_ALL_PEAKS_H_

#include <string_view>

#include "base/result.h"
#include "search/planner.h"
#include "search/problem/problem.h"
#include "sim/memory/device_memory.h"

namespace placewright {

// A step that was simulated, with schedule and feedback: what it takes of every device. `recorded`: before it was
// rewritten. `algorithm`: that made it; DistributedDataParallel keeps its buckets between steps, whatever the plan's own
// step packs.
IdVector<DeviceId, DevicePeaks> PeaksOfReplay(const SimGraph& sim_graph, const Graph& graph,
                                              const Cluster& cluster, const Placement& placement,
                                              const StepLanes* lanes, const Graph& recorded,
                                              std::string_view algorithm, const SimResult& replay);

// What it takes of every device. `recorded`: the step before it was rewritten. `evaluator` is of the problem. About as
// long as to evaluate the plan. Errors: those of the compiler.
Result<IdVector<DeviceId, DevicePeaks>> PeaksOfPlan(const Problem& problem, Evaluator& evaluator,
                                                    const Graph& recorded,
                                                    const PlannerResult& plan);

// Errors: kNothingFound (where it does not fit), those of the compiler.
Status CheckAllPeaks(const Problem& problem, Evaluator& evaluator, const Graph& recorded,
                     const PlannerResult& plan);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_ALL_PEAKS_H_
