#include "cli/request/strategy.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "formats/plan/layout_words.h"
#include "graph/module_globs.h"
#include "sharding/named_axes.h"

namespace placewright {
namespace {

// Devices by a glob, whose shares are not said one by one.
bool SaysSeveral(const LayoutSpec& spec) {
  return std::any_of(spec.devices.begin(), spec.devices.end(),
                     [](const auto& device) { return device.name.find('*') != std::string::npos; });
}

// What the layouts say of devices, for each group that they name: once for all that say the same.
class SpecsOfGroups {
 public:
  SpecsOfGroups(const Graph& graph, const Cluster& cluster, const LayoutSpecs& stated) {
    const bool is_short = std::any_of(stated.begin(), stated.end(), SaysSeveral);
    std::optional<NamedAxes> axes;
    if (is_short) axes.emplace(graph);
    of_group.assign(graph.group_count(), nullptr);
    const NamedGroups named(graph);
    for (const LayoutSpec& spec : stated) {
      const LayoutSpec* const words = WordsOf(spec, axes, cluster);
      // Of several that name a group, the last one holds.
      if (!spec.group.valid()) {
        for (const GroupId group : named.By(spec.groups)) of_group[group.index()] = words;
      } else if (spec.group.index() < of_group.size()) {
        of_group[spec.group.index()] = words;
      }
    }
  }

  std::vector<const LayoutSpec*> of_group;

 private:
  const LayoutSpec* WordsOf(const LayoutSpec& spec, const std::optional<NamedAxes>& axes,
                            const Cluster& cluster) {
    const auto alike = [&](const auto& row) {
      const LayoutSpec& other = *row.first;
      return other.axis == spec.axis && other.option == spec.option && other.mesh == spec.mesh &&
             other.devices == spec.devices;
    };
    const auto known = std::find_if(words_.begin(), words_.end(), alike);
    if (known != words_.end()) return known->second.get();
    LayoutSpec words = axes ? ExpandSpecs(*axes, cluster, {spec}).front() : spec;
    words_.emplace_back(&spec, std::make_unique<LayoutSpec>(std::move(words)));
    return words_.back().second.get();
  }

  std::vector<std::pair<const LayoutSpec*, std::unique_ptr<LayoutSpec>>> words_;
};

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
  const SpecsOfGroups specs(original, cluster, of.step.distribution.layouts);
  const StrategyInputs step{original, *of.step.graph, of.step.origin, of.step.placement,
                            schedule, cluster,        specs.of_group, of.step.lanes()};
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
