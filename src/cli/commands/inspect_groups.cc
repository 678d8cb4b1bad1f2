#include "cli/commands/inspect_groups.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/terminal/options.h"
#include "graph/partition/tag_groups.h"
#include "report/grouping_report.h"
#include "sim/one_device.h"

namespace placewright {
namespace {

Json ToJson(const Graph& graph, const OpGrouping& grouping, const OpTimes& times,
            GroupingMethod method) {
  Json object;
  object["schema"] = "placewright.groups/1";
  object["name"] = graph.name();
  object["method"] = ToString(method);
  object["times_of"] = times.source;
  object["cut_bytes"] = grouping.cut.count;
  object["acyclic"] = grouping.acyclic;
  object["groups"] = Json::array();
  for (const OpGrouping::Part& part : grouping.parts) {
    object["groups"].push_back({{"ops", part.ops}, {"time_ns", part.time.count}});
  }
  object["ops"] = Json::array();
  for (OpId op : graph.ops()) {
    object["ops"].push_back({{"name", graph.op(op).name}, {"group", grouping.part_of[op]}});
  }
  return object;
}

}  // namespace

void AddGroupsOptions(CommandLine app, GroupsRequest* request) {
  app.AddOption(
         "--groups", request->method,
         "Cut the ops into groups instead: acyclic, metis, scotch, tag (colocation groups whole)")
      .TypeName("METHOD")
      .Group("Output");
  app.AddOption("--parts", request->parts, "How many groups (default 2; tag: at most 60)")
      .TypeName("N")
      .Check(IntegerWithin(1, 1024))
      .Group("Output");
}

Result<std::optional<GroupingMethod>> ParseGroups(const GroupsRequest& request) {
  if (!request.method && request.parts) {
    return MakeError(ErrorCode::kUsage, "--parts says how many groups, but none are asked for", "",
                     "Give --groups acyclic, metis, scotch or tag with it.");
  }
  if (!request.method) return std::optional<GroupingMethod>();
  std::vector<std::string> names;
  for (GroupingMethod method : kGroupingMethods) {
    if (*request.method == ToString(method)) return std::optional(method);
    names.emplace_back(ToString(method));
  }
  return MakeError(ErrorCode::kUsage,
                   fmt::format("--groups \"{}\" is unknown{}", Printable(*request.method),
                               DidYouMean(*request.method, names)),
                   "", fmt::format("The methods are {}.", fmt::join(names, ", ")));
}

Status PrintGroups(const Graph& graph, const CostTable* costs, GroupingMethod method,
                   std::optional<int> parts, Console& console) {
  const int default_parts = method == GroupingMethod::kTag ? kTagParts : 2;
  const OpTimes times = TimesOnOneDevice(graph, costs);
  PW_ASSIGN(const OpGrouping grouping,
            GroupOps(graph, times.time, method, parts.value_or(default_parts)));
  if (console.json) {
    console.PrintJson(ToJson(graph, grouping, times, method));
  } else {
    console.Print(RenderGrouping(grouping, times, console.style()));
  }
  return Ok();
}

}  // namespace placewright
