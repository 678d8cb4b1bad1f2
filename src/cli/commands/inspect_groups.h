// `inspect --groups METHOD [--parts N]`: the ops of a graph in groups.
#ifndef PLACEWRIGHT_CLI_COMMANDS_INSPECT_GROUPS_H_
#define PLACEWRIGHT_CLI_COMMANDS_INSPECT_GROUPS_H_

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/console.h"
#include "cost/cost_table.h"
#include "graph/graph.h"
#include "graph/partition/op_grouping.h"

namespace placewright {

struct GroupsRequest {
  std::optional<std::string> method;
  std::optional<int> parts;  // default: 2, for TAG's 60
};
void AddGroupsOptions(CommandLine app, GroupsRequest* request);

// None where --groups is not given. Errors: kUsage (a method that there is not, with near names;
// --parts alone).
Result<std::optional<GroupingMethod>> ParseGroups(const GroupsRequest& request);

// Errors: those of GroupOps.
Status PrintGroups(const Graph& graph, const CostTable* costs, GroupingMethod method,
                   std::optional<int> parts, Console& console);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_COMMANDS_INSPECT_GROUPS_H_
