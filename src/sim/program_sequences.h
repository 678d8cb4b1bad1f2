// The order of the program (simulator rule 17) as sequences, for what runs or writes them.
#ifndef PLACEWRIGHT_SIM_PROGRAM_SEQUENCES_H_
#define PLACEWRIGHT_SIM_PROGRAM_SEQUENCES_H_

#include "base/result.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/sequence.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

// kGraphOrder, if the graph lists an op before something that it waits for: then its order cannot be run.
// Wherever ops lie. `sim_graph` is of the graph.
Status CheckProgramOrder(const SimGraph& sim_graph, const Graph& graph);

// What each device runs, of a step that CheckProgramOrder accepts. Of collectives it says nothing.
Sequences ProgramSequences(const SimGraph& sim_graph, const Placement& placement);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_PROGRAM_SEQUENCES_H_
