// `inspect --axes`: the named axes of a step, and what a split of the batch makes of every op.
#ifndef PLACEWRIGHT_CLI_COMMANDS_INSPECT_AXES_H_
#define PLACEWRIGHT_CLI_COMMANDS_INSPECT_AXES_H_

#include "cli/terminal/console.h"
#include "graph/graph.h"

namespace placewright {

void PrintAxes(const Graph& graph, Console& console);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_COMMANDS_INSPECT_AXES_H_
