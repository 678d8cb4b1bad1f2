#include "graph/module_globs.h"

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

std::vector<GroupId> GroupsNamed(const Graph& graph, std::string_view glob) {
  const IdVector<OpId, bool> matches = MatchingOps(graph, glob);
  IdVector<GroupId, bool> by_op(graph.group_count(), false), has_op = by_op, by_view = by_op;
  for (const OpId op : graph.ops()) {
    const bool view = HoldsNothing(graph, op);
    if (!view) has_op[graph.group(op)] = true;
    if (matches[op]) (view ? by_view : by_op)[graph.group(op)] = true;
  }
  std::vector<GroupId> named;
  for (const GroupId group : IdRange<GroupId>(graph.group_count())) {
    if (by_op[group] || (!has_op[group] && by_view[group])) named.push_back(group);
  }
  return named;
}

}  // namespace placewright
