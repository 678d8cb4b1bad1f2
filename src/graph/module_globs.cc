#include "graph/module_globs.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace placewright {
namespace {

// The path and its enclosing modules, the outermost first, without the root.
std::vector<std::string_view> WithEnclosing(std::string_view path) {
  std::vector<std::string_view> paths;
  for (size_t end = 1; end <= path.size(); ++end) {
    if (end == path.size() || path[end] == '.' || path[end] == '/') {
      paths.push_back(path.substr(0, end));
    }
  }
  return paths;
}

// True if the glob matches the path, which may be the root's, or one of its enclosing modules.
bool MatchesModule(std::string_view glob, std::string_view path) {
  if (glob.find_first_of("*?[\\") == std::string_view::npos && !glob.empty()) {
    return path.starts_with(glob) &&
           (path.size() == glob.size() || path[glob.size()] == '.' || path[glob.size()] == '/');
  }
  return path.empty() ? GlobMatch(glob, path) : OutermostMatch(glob, path).has_value();
}

}  // namespace

std::optional<std::string_view> OutermostMatch(std::string_view glob, std::string_view path) {
  for (std::string_view module : WithEnclosing(path)) {
    if (GlobMatch(glob, module)) return module;
  }
  return std::nullopt;
}

std::vector<std::string> ModulePaths(const Graph& graph) {
  std::set<std::string> paths;
  for (ModuleId module : IdRange<ModuleId>(graph.module_count())) {
    for (std::string_view path : WithEnclosing(graph.module_path(module))) paths.emplace(path);
  }
  return {paths.begin(), paths.end()};
}

bool HoldsNothing(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  if (!op.is_view || op.outputs.empty()) return false;
  const Storage& storage = graph.storage(graph.tensor(op.outputs.front()).storage);
  const OpId maker = storage.versions.front().writer;
  return storage.kind == TensorKind::kInput || (maker.valid() && maker != id);
}

IdVector<OpId, bool> MatchingOps(const Graph& graph, std::string_view glob) {
  std::vector<char> module_matches(graph.module_count());
  for (ModuleId module : IdRange<ModuleId>(graph.module_count())) {
    module_matches[module.index()] = MatchesModule(glob, graph.module_path(module));
  }
  IdVector<OpId, bool> matches;
  for (OpId op : graph.ops()) {
    const ModuleId module = graph.op(op).module;
    const bool root = graph.module_path(module).empty();
    matches.push_back(module_matches[module.index()] ||
                      (root && GlobMatch(glob, graph.op(op).name)));
  }
  return matches;
}

std::vector<OpId> OpsMatching(const Graph& graph, std::string_view glob) {
  const IdVector<OpId, bool> matches = MatchingOps(graph, glob);
  std::vector<OpId> ops, views;
  for (OpId op : graph.ops()) {
    if (matches[op]) (HoldsNothing(graph, op) ? views : ops).push_back(op);
  }
  return ops.empty() ? views : ops;
}

NamedGroups::NamedGroups(const Graph& graph)
    : graph_(graph), modules_(graph.module_count()), has_op_(graph.group_count(), false) {
  for (const OpId op : graph.ops()) {
    const ModuleId module = graph.op(op).module;
    const GroupId group = graph.group(op);
    const bool view = HoldsNothing(graph, op);
    GroupsOfModule& of = modules_[module];
    (view ? of.of_views : of.of_ops).push_back(group);
    if (!view) has_op_[group] = true;
    if (graph.module_path(module).empty()) at_root_.push_back(op);
  }
  for (GroupsOfModule& of : modules_) {
    for (std::vector<GroupId>* const groups : {&of.of_ops, &of.of_views}) {
      std::sort(groups->begin(), groups->end());
      groups->erase(std::unique(groups->begin(), groups->end()), groups->end());
    }
  }
}

// By their own names.
NamedGroups::GroupsOfModule NamedGroups::OfRoot(std::string_view glob) const {
  GroupsOfModule of;
  for (const OpId op : at_root_) {
    if (!GlobMatch(glob, graph_.op(op).name)) continue;
    (HoldsNothing(graph_, op) ? of.of_views : of.of_ops).push_back(graph_.group(op));
  }
  return of;
}

std::vector<GroupId> NamedGroups::By(std::string_view glob) const {
  IdVector<GroupId, bool> named(graph_.group_count(), false);
  const auto add = [&](const GroupsOfModule& of) {
    for (const GroupId group : of.of_ops) named[group] = true;
    for (const GroupId group : of.of_views) {
      if (!has_op_[group]) named[group] = true;
    }
  };
  for (const ModuleId module : IdRange<ModuleId>(graph_.module_count())) {
    if (MatchesModule(glob, graph_.module_path(module))) add(modules_[module]);
  }
  add(OfRoot(glob));
  std::vector<GroupId> groups;
  for (const GroupId group : IdRange<GroupId>(graph_.group_count())) {
    if (named[group]) groups.push_back(group);
  }
  return groups;
}

}  // namespace placewright
