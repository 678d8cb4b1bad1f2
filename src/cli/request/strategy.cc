#include "cli/request/strategy.h"

#include <algorithm>
#include <utility>

#include "formats/plan/layout_words.h"
#include "graph/module_globs.h"
#include "sharding/named_axes.h"

namespace placewright {
namespace {

// Of several layouts that name a group, the last one holds.
std::vector<const LayoutSpec*> SpecsByGroup(const Graph& graph, const LayoutSpecs& specs) {
  std::vector<const LayoutSpec*> of_group(graph.group_count(), nullptr);
  const NamedGroups named(graph);
  for (const LayoutSpec& spec : specs) {
    if (spec.group.valid()) {
      if (spec.group.index() < of_group.size()) of_group[spec.group.index()] = &spec;
      continue;
    }
    for (const GroupId group : named.By(spec.groups)) of_group[group.index()] = &spec;
  }
  return of_group;
}

// Devices by a glob, whose shares are not said one by one.
bool SaysSeveral(const LayoutSpec& spec) {
  return std::any_of(spec.devices.begin(), spec.devices.end(),
                     [](const auto& device) { return device.name.find('*') != std::string::npos; });
}

Json ComputedToJson(const StrategyRow& row, const Cluster& cluster) {
  Json list = Json::array();
  for (const ComputePart& part : row.compute) {
    const ComputeStrategy& strategy = part.strategy;
    Json devices = Json::array();
    for (size_t i = 0; i < strategy.devices.size(); ++i) {
      const Json share = strategy.shares.empty() ? Json(nullptr) : Json(strategy.shares[i]);
      devices.push_back({{"name", cluster.device(strategy.devices[i]).name}, {"share", share}});
    }
    list.push_back({{"kind", ToString(strategy.kind)},
                    {"axis", strategy.axis},
                    {"devices", std::move(devices)},
                    {"time_ns", part.time.count}});
  }
  return list;
}

Json SynchronisedToJson(const StrategyRow& row, const Cluster& cluster) {
  Json list = Json::array();
  for (const SyncPart& part : row.sync) {
    Json devices = Json::array();
    for (const DeviceId device : part.devices) devices.push_back(cluster.device(device).name);
    list.push_back({{"kind", ToString(part.kind)},
                    {"in_buckets", part.in_buckets},
                    {"bytes", part.bytes.count},
                    {"devices", std::move(devices)}});
  }
  return list;
}

}  // namespace

StrategyReport StrategyOf(const StepInputs& of, const Schedule& schedule) {
  const Graph& original = *of.step.original;
  const Cluster& cluster = of.inputs->cluster.cluster;
  const LayoutSpecs& stated = of.step.distribution.layouts;
  const bool is_short = std::any_of(stated.begin(), stated.end(), SaysSeveral);
  const LayoutSpecs expanded =
      is_short ? ExpandSpecs(NamedAxes(original), cluster, stated) : LayoutSpecs();
  const StrategyInputs step{original,
                            *of.step.graph,
                            of.step.origin,
                            of.step.placement,
                            schedule,
                            cluster,
                            SpecsByGroup(original, is_short ? expanded : stated),
                            of.step.lanes()};
  const StepStrategy strategy = FindStrategy(step);
  return {TabulateStrategy(original, strategy), AverageStrategy(original, strategy, cluster),
          FindCopiedOps(step, strategy)};
}

void AddStrategy(const StrategyReport& report, const Cluster& cluster, Json* object) {
  Json list = Json::array();
  for (const StrategyRow& row : report.rows) {
    list.push_back({{"name", row.name},
                    {"modules", row.modules},
                    {"computed", ComputedToJson(row, cluster)},
                    {"synchronised", SynchronisedToJson(row, cluster)},
                    {"parameter_bytes", row.parameters.count},
                    {"time_ns", row.time.count},
                    {"time_share", row.time_share}});
  }
  (*object)["strategy"] = std::move(list);
  Json averages = {{"devices", Json::object()}, {"gradients", Json::object()}};
  for (const auto& [kind, count] : report.averages.devices) averages["devices"][kind] = count;
  for (const auto& [kind, share] : report.averages.gradients) {
    averages["gradients"][ToString(kind)] = share;
  }
  (*object)["strategy_averages"] = std::move(averages);
  (*object)["copied_ops"] = ToJson(report.copied, cluster);
}

}  // namespace placewright
