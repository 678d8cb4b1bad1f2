#include "check_plan/distributed/group_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "check_plan/distributed/counted_draws.h"
#include "check_plan/distributed/cover.h"
#include "check_plan/distributed/part.h"
#include "formats/plan/mesh.h"
#include "graph/module_globs.h"

namespace placewright::check {
namespace {

bool Splits(const LayoutSpec& spec) {
  return spec.option == LayoutOption::kAllReduce || spec.option == LayoutOption::kParameterServer;
}

}  // namespace

GroupLayouts::GroupLayouts(const Graph& original, const NamedAxes& axes, const Cluster& cluster,
                           const LayoutSpecs& specs, bool gathers_anew)
    : original_(original),
      axes_(axes),
      cluster_(cluster),
      spec_of_(original.group_count(), -1),
      one_device_(original.group_count(), false),
      gathers_anew_(gathers_anew) {
  for (size_t i = 0; i < specs.size(); ++i) {
    const Result<LayoutSpec> boxes =
        WithoutMesh(axes, cluster, specs[i], fmt::format("layouts[{}]", i));
    stated_.push_back(boxes.ok() ? boxes.value() : specs[i]);
    no_mesh_.push_back(boxes.ok() ? "" : boxes.error().message);
    Claim(i);
    specs_.push_back(Resolve(stated_[i]));
  }
  FindGroupsOnOneDevice();
}

void GroupLayouts::Claim(size_t index) {
  const LayoutSpec& spec = stated_[index];
  const auto number = static_cast<int64_t>(index);
  if (spec.group.valid()) {
    const bool is_there = spec.group.index() < spec_of_.size();
    if (is_there) spec_of_[spec.group] = number;
    names_groups_.push_back(is_there);
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
  bool any = false;
  for (const GroupId group : IdRange<GroupId>(original_.group_count())) {
    if (!named[group] && (!seen[group] || own[group])) continue;
    spec_of_[group] = number;
    any = true;
  }
  names_groups_.push_back(any);
}

void GroupLayouts::FindGroupsOnOneDevice() {
  for (const GroupId group : IdRange<GroupId>(original_.group_count())) {
    if (spec_of_[group] < 0) continue;
    const LayoutOption option = stated_[static_cast<size_t>(spec_of_[group])].option;
    one_device_[group] = option == LayoutOption::kPlace || option == LayoutOption::kModelParallel;
  }
  for (const StorageId id : original_.storages()) {
    const Tensor& first = original_.tensor(original_.storage(id).first);
    const OpId home = original_.home_op(id);
    if (first.kind != TensorKind::kParameter || first.producer.valid() || !home.valid()) continue;
    const GroupId group = original_.group(home);
    const bool served =
        spec_of_[group] >= 0 &&
        stated_[static_cast<size_t>(spec_of_[group])].option == LayoutOption::kParameterServer;
    one_device_[group] = one_device_[group] || served;
  }
}

// Without shares they are equal, in the order of the devices.
GroupLayouts::Spec GroupLayouts::Resolve(const LayoutSpec& stated) const {
  Spec spec;
  std::vector<std::pair<DeviceId, const LayoutSpec::Device*>> devices;
  for (const LayoutSpec::Device& named : stated.devices) {
    for (const DeviceId device : DevicesCalled(cluster_, named.name)) {
      spec.devices.insert(device);
      if (!spec.first.valid()) spec.first = device;
      devices.emplace_back(device, &named);
    }
  }
  if (!Splits(stated)) return spec;
  std::vector<AxisId> axes;
  const auto parts = static_cast<int64_t>(devices.size());
  for (int64_t i = 0; i < parts; ++i) {
    const auto& [device, named] = devices[static_cast<size_t>(i)];
    std::vector<AxisInterval> box;
    for (const auto& [name, from, to] : named->box) {
      const AxisId axis = AxisOf(stated, name);
      if (axis.valid()) box.push_back({axis, {from, to}});
    }
    const AxisId own = AxisOf(stated, "");
    if (named->box.empty() && own.valid()) {
      const int64_t size = axes_.axis(own).size;
      box = {{own, {i * size / parts, (i + 1) * size / parts}}};
    }
    for (const AxisInterval& one : box) {
      if (std::find(axes.begin(), axes.end(), one.axis) == axes.end()) axes.push_back(one.axis);
    }
    spec.shares[device] = {box.begin(), box.end()};
  }
  spec.axes = {axes.begin(), axes.end()};
  return spec;
}

// "": that of the entry.
AxisId GroupLayouts::AxisOf(const LayoutSpec& stated, const std::string& name) const {
  return axes_.Find(!name.empty() ? name : !stated.axis.empty() ? stated.axis : "batch");
}

MaybeViolation GroupLayouts::Check() const {
  for (size_t i = 0; i < stated_.size(); ++i) {
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckNames(i));
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckSpec(i));
  }
  for (const OpId op : original_.ops()) {
    // The counter of random draws is no op of the plan's graph (counted_draws.h).
    const bool counter = original_.op(op).name == kCounterIncrement;
    if (counter || spec_of_[original_.group(op)] >= 0) continue;
    return Violation{
        ViolationKind::kWrongDevice,
        fmt::format("no layout is given for the op \"{}\"", Printable(original_.op(op).name, 80)),
        "layouts"};
  }
  return std::nullopt;
}

// Every entry names groups and devices that there are, no device twice, and a place one.
MaybeViolation GroupLayouts::CheckNames(size_t index) const {
  const LayoutSpec& stated = stated_[index];
  const auto wrong = [&](std::string_view place, std::string message) {
    return Violation{ViolationKind::kWrongDevice, std::move(message),
                     fmt::format("layouts[{}]{}", index, place)};
  };
  if (!names_groups_[index]) {
    return wrong(".groups",
                 fmt::format("there is no group {}", stated.group.valid()
                                                         ? fmt::format("{}", stated.group.value())
                                                         : Printable(stated.groups, 80)));
  }
  size_t named = 0;
  for (const LayoutSpec::Device& device : stated.devices) {
    const size_t called = DevicesCalled(cluster_, device.name).size();
    named += called;
    if (called > 0) continue;
    return wrong(".devices", fmt::format("there is no device {}", Printable(device.name, 80)));
  }
  if (named == 0) return wrong(".devices", "it has no devices");
  if (named > specs_[index].devices.size()) return wrong(".devices", "a device stands there twice");
  if (stated.option != LayoutOption::kPlace || named == 1) return std::nullopt;
  return wrong(".devices", fmt::format("{} devices for one place", named));
}

MaybeViolation GroupLayouts::CheckSpec(size_t index) const {
  const LayoutSpec& stated = stated_[index];
  const auto wrong = [&](std::string_view place, std::string message) {
    return Violation{ViolationKind::kWrongPart, std::move(message),
                     fmt::format("layouts[{}]{}", index, place)};
  };
  if (!no_mesh_[index].empty()) return wrong(".mesh", no_mesh_[index]);
  if (!Splits(stated)) {
    if (!stated.axis.empty()) {
      return wrong(".axis", fmt::format("the option {} splits no axis", ToString(stated.option)));
    }
    for (const LayoutSpec::Device& device : stated.devices) {
      if (device.box.empty()) continue;
      return wrong(".devices", fmt::format("the option {} has no shares", ToString(stated.option)));
    }
    return std::nullopt;
  }
  size_t boxes = 0;
  for (const LayoutSpec::Device& device : stated.devices) {
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckBox(index, device));
    boxes += device.box.empty() ? 0 : 1;
  }
  if (boxes == stated.devices.size()) return CheckBoxes(index);
  if (boxes > 0) return wrong(".devices", "some devices have no share, where others have one");
  return std::nullopt;
}

// Its axes are those of the step, each once.
MaybeViolation GroupLayouts::CheckBox(size_t index, const LayoutSpec::Device& device) const {
  const LayoutSpec& stated = stated_[index];
  std::set<AxisId> axes;
  std::vector<LayoutSpec::Interval> box = device.box;
  if (box.empty()) box.push_back({"", 0, 1});
  for (const auto& [name, from, to] : box) {
    const auto wrong = [&](std::string_view place, std::string message) {
      return Violation{ViolationKind::kWrongPart, std::move(message),
                       fmt::format("layouts[{}]{}", index, place)};
    };
    const std::string& due = name.empty() ? stated.axis : name;
    const AxisId axis = AxisOf(stated, name);
    if (!axis.valid()) {
      return wrong(
          name.empty() ? ".axis" : ".devices",
          fmt::format("the step has no axis \"{}\"", Printable(due.empty() ? "batch" : due, 80)));
    }
    const int64_t size = axes_.axis(axis).size;
    if (axes.insert(axis).second && from >= 0 && from < to && to <= size) continue;
    return wrong(".devices", fmt::format("[{}, {}) is no share of the {} of \"{}\"", from, to, size,
                                         Printable(axes_.axis(axis).name, 80)));
  }
  return std::nullopt;
}

// Of one axis they follow one another, unless there are replicas; else they cover the product.
MaybeViolation GroupLayouts::CheckBoxes(size_t index) const {
  const auto wrong = [&](std::string message) {
    return Violation{ViolationKind::kWrongPart, std::move(message),
                     fmt::format("layouts[{}].devices", index)};
  };
  const Spec& spec = specs_[index];
  std::vector<Part> boxes;  // an axis is a dimension
  bool follow = spec.axes.size() == 1, replicas = false;
  int64_t next = 0;
  for (const LayoutSpec::Device& device : stated_[index].devices) {
    // Of an axis that its box does not name a device has all.
    std::map<AxisId, std::pair<int64_t, int64_t>> named;
    for (const auto& [name, from, to] : device.box) {
      named[AxisOf(stated_[index], name)] = {from, to};
    }
    std::vector<PartAlong> along;
    for (const AxisId axis : spec.axes) {
      const int64_t size = axes_.axis(axis).size;
      const auto [from, to] = named.try_emplace(axis, 0, size).first->second;
      along.push_back({static_cast<int32_t>(axis.index()), 1, size, from, to, false});
      if (spec.axes.size() > 1) continue;
      follow = follow && from == next;
      next = to;
    }
    Part box = Merged(std::move(along));
    replicas = replicas || std::find(boxes.begin(), boxes.end(), box) != boxes.end();
    boxes.push_back(std::move(box));
  }
  if (spec.axes.size() == 1 && !follow && !replicas) {
    return wrong("the shares do not follow one another from 0");
  }
  const Coverage::Kind kind = CoverageOf(boxes).kind;
  if (kind == Coverage::kOnce) return std::nullopt;
  return wrong(kind == Coverage::kNotAll ? "the shares do not cover their axes"
                                         : "two shares have something in common, but not all");
}

SmallVector<AxisId> GroupLayouts::axes(GroupId group) const {
  if (spec_of_[group] < 0 || one_device_[group]) return {};
  const Spec& spec = specs_[static_cast<size_t>(spec_of_[group])];
  if (spec.devices.size() < 2) return {};
  return spec.axes;
}

Box GroupLayouts::ShareOn(GroupId group, DeviceId device) const {
  if (axes(group).empty()) return {};
  const std::map<DeviceId, Box>& shares = specs_[static_cast<size_t>(spec_of_[group])].shares;
  const auto found = shares.find(device);
  return found == shares.end() ? Box() : found->second;
}

}  // namespace placewright::check
