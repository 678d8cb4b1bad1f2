// `inspect --axes`: the named axes of a step, what a split of the batch makes of every op, and what it leaves
// whole.
#ifndef PLACEWRIGHT_CLI_COMMANDS_INSPECT_AXES_H_
#define PLACEWRIGHT_CLI_COMMANDS_INSPECT_AXES_H_

#include "base/result.h"
#include "cli/terminal/console.h"
#include "cluster/cluster.h"
#include "graph/graph.h"

namespace placewright {

// `kind`: as FindWholeOnBatch takes it. Errors: those of ModelCosts.
Status PrintAxes(const Graph& graph, const DeviceKind* kind, Console& console);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_COMMANDS_INSPECT_AXES_H_
