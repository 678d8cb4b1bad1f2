#include "search/layouts/wanted_layouts.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "compile/layout_specs.h"
#include "graph/module_globs.h"

namespace placewright {
namespace {

// Modules that hold ops of groups that want more than the base, with those around them; the outermost first.
std::vector<std::string> ModulesInQuestion(const Graph& graph, const WantedLayouts& wanted) {
  std::set<std::string> paths;
  for (const OpId op : graph.ops()) {
    if (wanted.of_group[graph.group(op)] < 0) continue;
    paths.insert(graph.module_path(graph.op(op).module));
  }
  std::vector<std::string> modules;
  for (std::string& module : ModulePaths(graph)) {
    const bool is_glob = module.find_first_of("*?[\\") != std::string::npos;
    const bool holds = std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
      return OutermostMatch(module, path).has_value();
    });
    if (!is_glob && holds) modules.push_back(std::move(module));
  }
  return modules;
}

}  // namespace

WantedLayouts::WantedLayouts(const Graph& graph, LayoutSpec base_spec)
    : base(std::move(base_spec)),
      of_group(graph.group_count(), -1),
      alike(graph.group_count(), false) {}

LayoutSpecs SpecsOf(const Graph& graph, const WantedLayouts& wanted) {
  LayoutSpecs specs = {wanted.base};
  specs.front().groups = "*";
  IdVector<GroupId, bool> open(graph.group_count(), false);
  for (const GroupId group : IdRange<GroupId>(graph.group_count())) {
    open[group] = wanted.of_group[group] >= 0;
  }
  for (const std::string& module : ModulesInQuestion(graph, wanted)) {
    const std::vector<GroupId> named = GroupsNamed(graph, module);
    int32_t layout = -1;
    for (const GroupId group : named) {
      if (open[group]) layout = wanted.of_group[group];
    }
    if (layout < 0) continue;
    const auto index = static_cast<size_t>(layout);
    const bool samples = index < wanted.split_samples.size() && wanted.split_samples[index];
    const bool all = std::all_of(named.begin(), named.end(), [&](GroupId group) {
      return wanted.of_group[group] == layout || (wanted.alike[group] && !samples);
    });
    if (!all) continue;
    specs.push_back(wanted.others[index]);
    specs.back().groups = module;
    for (const GroupId group : named) open[group] = false;
  }
  for (const GroupId group : IdRange<GroupId>(graph.group_count())) {
    if (!open[group]) continue;
    specs.push_back(wanted.others[static_cast<size_t>(wanted.of_group[group])]);
    specs.back().groups.clear();
    specs.back().group = group;
  }
  return specs;
}

std::vector<std::string> ModulesNamed(const Graph& graph, const LayoutSpecs& specs) {
  std::vector<std::pair<OpId, std::string>> modules;
  for (const LayoutSpec& spec : specs) {
    if (spec.group.valid() || spec.groups == "*") continue;
    const std::vector<OpId> ops = OpsMatching(graph, spec.groups);
    if (!ops.empty()) modules.emplace_back(ops.front(), spec.groups);
  }
  std::sort(modules.begin(), modules.end());
  std::vector<std::string> names;
  for (auto& [first, name] : modules) names.push_back(std::move(name));
  return names;
}

}  // namespace placewright
