// What a run of the engine reports afterwards (internal to the module): the result and, of a
// recorded run, the schedule and the shares of devices and links.
#ifndef PLACEWRIGHT_SIM_TIMELINE_H_
#define PLACEWRIGHT_SIM_TIMELINE_H_

#include "sim/engine/engine.h"
#include "sim/simulator.h"

namespace placewright {

// Everything but schedule and feedback, which are emptied.
void FillResult(const SimGraph& sim_graph, const Engine& engine, EngineOutcome outcome,
                SimResult* result);

// Precondition of the others: the engine's last run was recorded and not abandoned.
Schedule MakeSchedule(const SimGraph& sim_graph, const Engine& engine);

// Fills `links`.
void AddLinkUse(const SimGraph& sim_graph, const Engine& engine, SimResult* result);

// Fills `idle_before_transfers`. Not of steps that are packed apart.
//
// An op waits only for transfers from the time at which everything else it needs is there (inputs
// made beside it, the producers of inputs that have to cross, explicit edges, local readers of what
// it overwrites) until it is ready. A device is idle before transfers while it runs nothing and
// some op of its own waits only for transfers. Complexity: O((ops + transfers) log ops).
void AddIdleTimes(const SimGraph& sim_graph, const Engine& engine, SimResult* result);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_TIMELINE_H_
