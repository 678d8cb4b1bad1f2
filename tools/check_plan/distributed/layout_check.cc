#include "check_plan/distributed/layout_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "check_plan/distributed/instance_check.h"
#include "check_plan/distributed/units.h"
#include "graph/module_globs.h"
#include "sharding/op_rule.h"

namespace placewright::check {
namespace {

class LayoutCheck {
 public:
  LayoutCheck(const Graph& original, const DistributedStep& step, const Cluster& cluster,
              const LayoutSpecs& specs)
      : original_(original),
        step_(step),
        cluster_(cluster),
        specs_(specs),
        spec_of_(original.group_count(), -1),
        one_device_(original.group_count(), false),
        home_(original.group_count()),
        units_(original, step),
        instances_(units_.size()) {}

  MaybeViolation Run() {
    for (size_t i = 0; i < specs_.size(); ++i) {
      Claim(i);
      devices_.push_back(DevicesOf(specs_[i]));
    }
    FindGroupsOnOneDevice();
    for (const OpId op : step_.graph.ops()) {
      if (units_.of(op).valid()) instances_[units_.of(op)].push_back(op);
    }
    for (const UnitId unit : units_.all()) CHECK_PLAN_RETURN_IF_VIOLATED(CheckUnit(unit));
    return std::nullopt;
  }

 private:
  // A group without ops of its own follows what is stated for its views.
  void Claim(size_t index) {
    const LayoutSpec& spec = specs_[index];
    const auto number = static_cast<int64_t>(index);
    if (spec.group.valid()) {
      if (spec.group.index() < spec_of_.size()) spec_of_[spec.group] = number;
      return;
    }
    const IdVector<OpId, bool> matches = MatchingOps(original_, spec.groups);
    IdVector<GroupId, bool> own(original_.group_count(), false), named = own, seen = own;
    for (const OpId op : original_.ops()) {
      const GroupId group = original_.group(op);
      const bool view = HoldsNothing(original_, op);
      if (!view) own[group] = true;
      if (matches[op]) (view ? seen : named)[group] = true;
    }
    for (const GroupId group : IdRange<GroupId>(original_.group_count())) {
      if (named[group] || (seen[group] && !own[group])) spec_of_[group] = number;
    }
  }

  void FindGroupsOnOneDevice() {
    for (const GroupId group : IdRange<GroupId>(original_.group_count())) {
      if (spec_of_[group] < 0) continue;
      const LayoutOption option = specs_[static_cast<size_t>(spec_of_[group])].option;
      one_device_[group] = option == LayoutOption::kPlace || option == LayoutOption::kModelParallel;
    }
    for (const StorageId id : original_.storages()) {
      const Tensor& first = original_.tensor(original_.storage(id).first);
      const OpId home = original_.home_op(id);
      if (first.kind != TensorKind::kParameter || first.producer.valid() || !home.valid()) continue;
      const GroupId group = original_.group(home);
      const bool served =
          spec_of_[group] >= 0 &&
          specs_[static_cast<size_t>(spec_of_[group])].option == LayoutOption::kParameterServer;
      one_device_[group] = one_device_[group] || served;
    }
  }

  std::set<DeviceId> DevicesOf(const LayoutSpec& spec) const {
    std::set<DeviceId> devices;
    for (const LayoutSpec::Device& named : spec.devices) {
      for (const DeviceId device : cluster_.devices()) {
        if (GlobMatch(named.name, cluster_.device(device).name)) devices.insert(device);
      }
    }
    return devices;
  }

  Violation Wrong(OpId instance, const std::string& message) const {
    return {ViolationKind::kWrongDevice,
            fmt::format("{} {}", NameOf(original_, step_, instance), message),
            PlaceOf(step_, instance)};
  }

  // A view of a broadcast's copy is beside it, whatever the layout of what was copied. None: it is no such
  // view.
  DeviceId BroughtTo(OpId instance) const {
    const Op& op = step_.graph.op(instance);
    if (!op.is_view || op.outputs.empty()) return DeviceId();
    const StorageId storage = step_.graph.tensor(op.outputs.front()).storage;
    const OpId maker = step_.graph.storage(storage).versions.front().writer;
    const bool copy =
        maker.valid() && step_.graph.op(maker).type == "placewright.broadcast.default";
    return copy ? step_.placement[maker] : DeviceId();
  }

  MaybeViolation CheckUnit(UnitId unit) {
    const GroupId group = original_.group(units_.origin(unit));
    if (spec_of_[group] < 0 || instances_[unit].empty()) return std::nullopt;
    const std::set<DeviceId>& devices = devices_[static_cast<size_t>(spec_of_[group])];
    std::set<DeviceId> used, beside;
    for (const OpId instance : instances_[unit]) {
      const DeviceId device = step_.placement[instance];
      const DeviceId brought = BroughtTo(instance);
      if (brought.valid() && brought != device) {
        return Wrong(instance, "is not where what it views has been brought to");
      }
      (brought.valid() ? beside : used).insert(device);
      if (devices.contains(device) || brought.valid()) continue;
      return Wrong(instance,
                   fmt::format("is on {}, which is no device of layouts[{}]",
                               Printable(cluster_.device(device).name, 80), spec_of_[group]));
    }
    // Views of copies are instances where their layout has some, and further ones elsewhere.
    if (used.empty() || !one_device_[group]) {
      std::set_intersection(beside.begin(), beside.end(), devices.begin(), devices.end(),
                            std::inserter(used, used.end()));
    }
    const OpId last = instances_[unit].back();
    if (used.empty()) return Wrong(last, "and the others are on no device of their layout");
    const bool one_draws = used.size() == 1 && DrawsRandom(group);
    if (one_device_[group] || one_draws) {
      if (!home_[group].valid()) home_[group] = *used.begin();
      if (used == std::set<DeviceId>{home_[group]}) return std::nullopt;
      return Wrong(last, fmt::format("is not on {} with the rest of its colocation group",
                                     Printable(cluster_.device(home_[group]).name, 80)));
    }
    if (used == devices) return std::nullopt;
    return Wrong(last, fmt::format("and the other instances are on {} of the {} devices of "
                                   "layouts[{}]",
                                   used.size(), devices.size(), spec_of_[group]));
  }

  // One device of the group may draw for all.
  bool DrawsRandom(GroupId group) {
    if (!draws_) {
      draws_ = IdVector<GroupId, bool>(original_.group_count(), false);
      for (const OpId op : original_.ops()) {
        const std::optional<OpRule> rule = RuleOf(original_, op);
        if (rule && rule->draws_random) (*draws_)[original_.group(op)] = true;
      }
    }
    return (*draws_)[group];
  }

  const Graph& original_;
  const DistributedStep& step_;
  const Cluster& cluster_;
  const LayoutSpecs& specs_;
  std::vector<std::set<DeviceId>> devices_;  // of each spec
  IdVector<GroupId, int64_t> spec_of_;       // -1: none
  IdVector<GroupId, bool> one_device_;
  IdVector<GroupId, DeviceId> home_;  // of those, and where one device draws for all
  const Units units_;
  IdVector<UnitId, std::vector<OpId>> instances_;
  std::optional<IdVector<GroupId, bool>> draws_;
};

}  // namespace

MaybeViolation CheckLayouts(const Graph& original, const DistributedStep& step,
                            const Cluster& cluster, const LayoutSpecs& specs) {
  return LayoutCheck(original, step, cluster, specs).Run();
}

}  // namespace placewright::check
