// The layouts that a plan states, as the original's groups have them (internal to the checker).
#ifndef CHECK_PLAN_DISTRIBUTED_GROUP_LAYOUTS_H_
#define CHECK_PLAN_DISTRIBUTED_GROUP_LAYOUTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "check_plan/violation.h"
#include "cluster/cluster.h"
#include "graph/graph.h"
#include "plan/box.h"
#include "plan/layout_spec.h"
#include "sharding/named_axes.h"

namespace placewright::check {

// The last spec that names a colocation group holds; a group without ops of its own follows what is stated for its
// views.
class GroupLayouts {
 public:
  // All but `specs` must outlive it; `axes` are the original's. `gathers_anew`: the plan states `regather` or `prefetch`.
  GroupLayouts(const Graph& original, const NamedAxes& axes, const Cluster& cluster,
               const LayoutSpecs& specs, bool gathers_anew = false);

  // Groups and devices that there are not, a device twice, several for one place, an op without a layout:
  // kWrongDevice. Axes that there are not, shares of one axis that do not follow one another from 0 to its size, boxes
  // that have something in common without being equal, or do not cover the product of their axes, or are of other axes
  // than those of other devices, meshes that are none of the devices, shares without an axis: kWrongPart.
  MaybeViolation Check() const;

  // Its number in the plan; -1: no spec names it.
  int64_t spec_of(GroupId group) const { return spec_of_[group]; }
  const std::set<DeviceId>& devices(int64_t spec) const {
    return specs_[static_cast<size_t>(spec)].devices;
  }
  DeviceId first_device(int64_t spec) const { return specs_[static_cast<size_t>(spec)].first; }
  bool gathers_anew() const { return gathers_anew_; }
  // All of it is on one of the devices: of place, model-parallel, and of parameters under parameter-server.
  bool IsOnOneDevice(GroupId group) const { return one_device_[group]; }

  // The axes that the group's ops are split by, where their rules have them; none: each does everything.
  SmallVector<AxisId> axes(GroupId group) const;
  // Of these axes; empty on a device that the layout does not name.
  Box ShareOn(GroupId group, DeviceId device) const;

 private:
  struct Spec {
    std::set<DeviceId> devices;
    DeviceId first;  // as the plan names them
    SmallVector<AxisId> axes;
    std::map<DeviceId, Box> shares;
  };

  void Claim(size_t index);
  void FindGroupsOnOneDevice();
  Spec Resolve(const LayoutSpec& stated) const;
  AxisId AxisOf(const LayoutSpec& stated, const std::string& name) const;
  MaybeViolation CheckNames(size_t index) const;
  MaybeViolation CheckSpec(size_t index) const;
  MaybeViolation CheckBoxes(size_t index) const;
  MaybeViolation CheckBox(size_t index, const LayoutSpec::Device& device) const;

  const Graph& original_;
  const NamedAxes& axes_;
  const Cluster& cluster_;
  LayoutSpecs stated_;                // boxes in the place of meshes
  std::vector<std::string> no_mesh_;  // by spec: why its mesh is none
  std::vector<Spec> specs_;
  std::vector<bool> names_groups_;  // by spec: any
  IdVector<GroupId, int64_t> spec_of_;
  IdVector<GroupId, bool> one_device_;
  const bool gathers_anew_;
};

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_GROUP_LAYOUTS_H_
