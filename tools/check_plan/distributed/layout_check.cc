#include "check_plan/distributed/layout_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "check_plan/distributed/facets.h"
#include "check_plan/distributed/instance_check.h"
#include "check_plan/distributed/share_check.h"
#include "sharding/op_rule.h"

namespace placewright::check {
namespace {

class LayoutCheck {
 public:
  LayoutCheck(const Graph& original, const DistributedStep& step, const Cluster& cluster,
              const GroupLayouts& layouts)
      : original_(original),
        step_(step),
        cluster_(cluster),
        layouts_(layouts),
        home_(original.group_count()),
        facets_(original, step),
        instances_(facets_.size()) {}

  MaybeViolation Run() {
    for (const OpId op : step_.graph.ops()) {
      if (facets_.of(op).valid()) instances_[facets_.of(op)].push_back(op);
    }
    for (const FacetId facet : facets_.all()) CHECK_PLAN_RETURN_IF_VIOLATED(CheckFacet(facet));
    return std::nullopt;
  }

 private:
  Violation Wrong(OpId instance, const std::string& message) const {
    return {ViolationKind::kWrongDevice,
            fmt::format("{} {}", NameOf(original_, step_, instance), message),
            PlaceOf(step_, instance)};
  }

  MaybeViolation CheckFacet(FacetId facet) {
    const GroupId group = original_.group(facets_.origin(facet));
    const int64_t spec = layouts_.spec_of(group);
    if (spec < 0 || instances_[facet].empty()) return std::nullopt;
    const std::set<DeviceId>& devices = layouts_.devices(spec);
    const bool on_one_device = layouts_.IsOnOneDevice(group);
    std::set<DeviceId> used, beside;
    for (const OpId instance : instances_[facet]) {
      const DeviceId device = step_.placement[instance];
      const DeviceId brought = BroughtTo(step_, instance, layouts_);
      if (brought.valid() && brought != device) {
        return Wrong(instance, "is not where what it views has been brought to");
      }
      (brought.valid() ? beside : used).insert(device);
      if (devices.contains(device) || brought.valid()) continue;
      return Wrong(instance, fmt::format("is on {}, which is no device of layouts[{}]",
                                         Printable(cluster_.device(device).name, 80), spec));
    }
    // Views of copies are instances where their layout has some, and further ones elsewhere.
    if (used.empty() || !on_one_device) {
      std::set_intersection(beside.begin(), beside.end(), devices.begin(), devices.end(),
                            std::inserter(used, used.end()));
    }
    const OpId last = instances_[facet].back();
    if (used.empty()) return Wrong(last, "and the others are on no device of their layout");
    const bool one_draws = used.size() == 1 && DrawsRandom(group);
    if (on_one_device || one_draws) {
      if (!home_[group].valid()) {
        home_[group] = on_one_device ? *used.begin() : layouts_.first_device(spec);
      }
      if (used == std::set<DeviceId>{home_[group]}) return std::nullopt;
      return Wrong(last, fmt::format("is not on {} with the rest of its colocation group",
                                     Printable(cluster_.device(home_[group]).name, 80)));
    }
    if (used == devices) return std::nullopt;
    return Wrong(last, fmt::format("and the other instances are on {} of the {} devices of "
                                   "layouts[{}]",
                                   used.size(), devices.size(), spec));
  }

  // The first device of the group may draw for all.
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
  const GroupLayouts& layouts_;
  IdVector<GroupId, DeviceId> home_;  // of those, and where one device draws for all
  const Facets facets_;
  IdVector<FacetId, std::vector<OpId>> instances_;
  std::optional<IdVector<GroupId, bool>> draws_;
};

}  // namespace

MaybeViolation CheckLayouts(const Graph& original, const DistributedStep& step,
                            const Cluster& cluster, const GroupLayouts& layouts) {
  return LayoutCheck(original, step, cluster, layouts).Run();
}

}  // namespace placewright::check
