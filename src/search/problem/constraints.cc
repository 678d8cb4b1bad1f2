#include "search/problem/constraints.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "graph/module_globs.h"
#include "graph/ownership/union_find.h"

namespace placewright {
namespace {

Error NothingMatches(const Graph& graph, std::string_view option, const std::string& glob) {
  return MakeError(ErrorCode::kConstraint, std::string(option) + " " + Printable(glob) +
                                               " matches no module" +
                                               DidYouMean(glob, ModulePaths(graph)));
}

// A --pin or --forbid.
struct Rule {
  std::string_view option;
  const ConstraintSpec* spec;
};

std::string Text(const Rule& rule) {
  return std::string(rule.option) + " " + Printable(rule.spec->glob) + "=" +
         Printable(rule.spec->device);
}

// rules[last] leaves no device for the group of `op`: names the earlier rules that hold it, each
// with the op of the group that it matches.
Error Contradiction(const Graph& graph, const IdVector<OpId, ColocationGroupId>& group_of,
                    const std::vector<Rule>& rules, size_t last, OpId op) {
  constexpr size_t kMax = 3;
  std::string holds;
  size_t count = 0;
  for (size_t r = 0; r < last; ++r) {
    for (OpId other : OpsMatching(graph, rules[r].spec->glob)) {
      if (group_of[other] != group_of[op]) continue;
      if (++count > kMax) break;
      holds += (holds.empty() ? "" : ", ") + Text(rules[r]);
      holds += other == op ? "" : " (op " + Printable(graph.op(other).name) + ")";
      break;
    }
  }
  if (count > kMax) holds += " and " + std::to_string(count - kMax) + " more";
  return MakeError(ErrorCode::kConstraint,
                   Text(rules[last]) + " leaves no device for op " + Printable(graph.op(op).name) +
                       " and its colocation group, which is held already by " + holds);
}

}  // namespace

Result<std::vector<DeviceId>> DevicesMatching(const Cluster& cluster, std::string_view glob) {
  std::vector<DeviceId> devices;
  for (DeviceId device : cluster.devices()) {
    if (GlobMatch(glob, cluster.device(device).name)) devices.push_back(device);
  }
  if (devices.empty()) {
    return MakeError(ErrorCode::kConstraint, "the cluster " + Printable(cluster.name()) +
                                                 " has no device " + Printable(glob) +
                                                 DidYouMean(glob, cluster.DeviceNames()));
  }
  return devices;
}

std::vector<std::vector<OpId>> ModulesMatching(const Graph& graph, std::string_view glob) {
  struct Match {
    std::vector<OpId> ops, views;
  };
  std::vector<Match> matches;
  std::map<std::string_view, size_t> match_of;  // by path
  for (OpId op : graph.ops()) {
    const std::string& path = graph.module_path(graph.op(op).module);
    const std::optional<std::string_view> module = OutermostMatch(glob, path);
    if (!module) continue;
    const size_t index = match_of.emplace(*module, matches.size()).first->second;
    if (index == matches.size()) matches.emplace_back();
    (HoldsNothing(graph, op) ? matches[index].views : matches[index].ops).push_back(op);
  }
  std::vector<std::vector<OpId>> modules;
  for (Match& match : matches) {
    modules.push_back(std::move(match.ops.empty() ? match.views : match.ops));
  }
  return modules;
}

Result<IdVector<OpId, ColocationGroupId>> JoinGroups(const Graph& graph,
                                                     const Constraints& constraints) {
  UnionFind<GroupId> groups(graph.group_count());
  const auto join = [&](const std::vector<OpId>& ops) {
    for (OpId op : ops) groups.Join(graph.group(ops[0]), graph.group(op));
  };
  for (const std::string& glob : constraints.colocate) {
    const std::vector<OpId> ops = OpsMatching(graph, glob);
    if (ops.empty()) return NothingMatches(graph, "--colocate", glob);
    join(ops);
  }
  for (const std::string& glob : constraints.colocate_each) {
    const std::vector<std::vector<OpId>> modules = ModulesMatching(graph, glob);
    if (modules.empty()) return NothingMatches(graph, "--colocate-each", glob);
    for (const std::vector<OpId>& ops : modules) join(ops);
  }
  IdVector<OpId, ColocationGroupId> group_of(graph.op_count());
  IdVector<GroupId, ColocationGroupId> number_of(graph.group_count());
  int32_t count = 0;
  for (OpId op : graph.ops()) {
    ColocationGroupId& number = number_of[groups.Find(graph.group(op))];
    if (!number.valid()) number = ColocationGroupId(count++);
    group_of[op] = number;
  }
  return group_of;
}

Result<std::vector<char>> ConstrainedDevices(const Graph& graph, const Cluster& cluster,
                                             const Constraints& constraints,
                                             const IdVector<OpId, ColocationGroupId>& group_of,
                                             size_t groups) {
  std::vector<Rule> rules;
  for (const ConstraintSpec& pin : constraints.pins) rules.push_back({"--pin", &pin});
  for (const ConstraintSpec& forbid : constraints.forbids) rules.push_back({"--forbid", &forbid});
  const size_t devices = cluster.device_count();
  std::vector<char> allowed(groups * devices, 1);
  for (size_t r = 0; r < rules.size(); ++r) {
    const bool pin = rules[r].option == "--pin";
    const std::vector<OpId> ops = OpsMatching(graph, rules[r].spec->glob);
    Result<std::vector<DeviceId>> matching = DevicesMatching(cluster, rules[r].spec->device);
    if (ops.empty()) {
      Error error = NothingMatches(graph, rules[r].option, rules[r].spec->glob);
      if (!matching.ok()) error.message += ", and " + matching.error().message;
      return error;
    }
    PW_ASSIGN(const std::vector<DeviceId> named, std::move(matching));
    std::vector<char> keep(devices, pin ? 0 : 1);
    for (DeviceId device : named) keep[device.index()] = pin ? 1 : 0;
    if (std::none_of(keep.begin(), keep.end(), [](char kept) { return kept != 0; })) {
      return MakeError(ErrorCode::kConstraint,
                       Text(rules[r]) + " forbids every device of the cluster");
    }
    for (OpId op : ops) {
      char* row = &allowed[group_of[op].index() * devices];
      bool any = false;
      for (size_t d = 0; d < devices; ++d) any |= (row[d] = row[d] && keep[d]) != 0;
      if (!any) return Contradiction(graph, group_of, rules, r, op);
    }
  }
  return allowed;
}

}  // namespace placewright
