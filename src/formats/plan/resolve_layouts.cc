#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "formats/plan/alike_specs.h"
#include "formats/plan/layout_words.h"
#include "formats/plan/mesh.h"
#include "graph/module_globs.h"
#include "plan/distributed_step.h"
#include "plan/sharing_out.h"
#include "sharding/layout_check.h"

namespace placewright {
namespace {

class Resolver {
 public:
  Resolver(const Graph& graph, const NamedAxes& axes, const Cluster& cluster, LayoutSpecs specs)
      : graph_(graph),
        axes_(axes),
        cluster_(cluster),
        specs_(std::move(specs)),
        members_(graph.GroupMembers()) {}

  Result<ResolvedLayouts> Resolve() {
    for (size_t i = 0; i < specs_.size(); ++i) {
      PW_ASSIGN(specs_[i], WithoutMesh(axes_, cluster_, std::move(specs_[i]), Place(i)));
    }
    IdVector<GroupId, int64_t> spec_of(graph_.group_count(), -1);
    for (size_t i = 0; i < specs_.size(); ++i) {
      PW_RETURN_IF_ERROR(Claim(i, spec_of));
    }
    ClaimCounter(spec_of);
    PW_RETURN_IF_ERROR(CheckAllClaimed(spec_of));
    made_.layouts.of_group = IdVector<GroupId, LayoutId>(graph_.group_count());
    std::vector<std::vector<GroupId>> groups_of(specs_.size());
    for (const GroupId group : IdRange<GroupId>(graph_.group_count())) {
      if (spec_of[group] >= 0) groups_of[static_cast<size_t>(spec_of[group])].push_back(group);
    }
    for (size_t i = 0; i < specs_.size(); ++i) PW_RETURN_IF_ERROR(Lay(i, groups_of[i]));
    return std::move(made_);
  }

 private:
  static std::string Place(size_t spec, std::string_view behind = "") {
    return fmt::format("layouts[{}]{}", spec, behind);
  }

  // The groups that the spec names.
  Status Claim(size_t index, IdVector<GroupId, int64_t>& spec_of) const {
    const LayoutSpec& spec = specs_[index];
    const auto number = static_cast<int64_t>(index);
    if (spec.group.valid()) {
      if (spec.group.index() >= graph_.group_count()) {
        return MakeError(ErrorCode::kField,
                         fmt::format("there is no colocation group {}: the graph has {}",
                                     spec.group.value(), graph_.group_count()),
                         Place(index, ".groups"));
      }
      spec_of[spec.group] = number;
      return Ok();
    }
    const std::vector<GroupId> named = named_.By(spec.groups);
    for (const GroupId group : named) spec_of[group] = number;
    if (!named.empty()) return Ok();
    return MakeError(ErrorCode::kField,
                     fmt::format("\"{}\" matches no module{}", Printable(spec.groups, 80),
                                 DidYouMean(spec.groups, ModulePaths(graph_))),
                     Place(index, ".groups"), "`placewright inspect --modules` lists them.");
  }

  // The number of the step (counter_draws.h) is no op of the model's: where nothing names it, it follows the
  // last entry.
  void ClaimCounter(IdVector<GroupId, int64_t>& spec_of) const {
    const TensorId counter = graph_.FindTensor(kStepCounter);
    if (!counter.valid() || specs_.empty()) return;
    const OpId home = graph_.home_op(graph_.tensor(counter).storage);
    if (!home.valid()) return;
    int64_t& spec = spec_of[graph_.group(home)];
    if (spec < 0) spec = static_cast<int64_t>(specs_.size()) - 1;
  }

  Status CheckAllClaimed(const IdVector<GroupId, int64_t>& spec_of) const {
    for (const OpId op : graph_.ops()) {
      if (spec_of[graph_.group(op)] >= 0) continue;
      const std::string& module = graph_.module_path(graph_.op(op).module);
      return MakeError(
          ErrorCode::kField,
          fmt::format("no layout is given for the op \"{}\"{}", Printable(graph_.op(op).name, 80),
                      module.empty() ? "" : " of the module " + Printable(module, 80)),
          "layouts",
          R"(Let the first entry name all groups ("groups": "*"); later ones win over it.)");
    }
    return Ok();
  }

  Result<std::vector<std::pair<DeviceId, size_t>>> DevicesOf(size_t index) const {
    std::vector<std::pair<DeviceId, size_t>> devices;  // with the entry that names each
    std::set<DeviceId> seen;
    const LayoutSpec& spec = specs_[index];
    for (size_t i = 0; i < spec.devices.size(); ++i) {
      const std::string& name = spec.devices[i].name;
      const std::string place = Place(index, fmt::format(".devices[{}]", i));
      const std::vector<DeviceId> named = DevicesCalled(cluster_, name);
      if (named.empty()) {
        return MakeError(
            ErrorCode::kUnknownName,
            fmt::format("the cluster {} has no device {}{}", Printable(cluster_.name()),
                        Printable(name, 80), DidYouMean(name, cluster_.DeviceNames())),
            place, "`placewright cluster show` lists the devices.");
      }
      if (named.size() > 1 && !spec.devices[i].box.empty()) {
        return MakeError(ErrorCode::kField, "a share of several devices has neither from nor to",
                         place, "Name one device, or leave both out.");
      }
      for (const DeviceId device : named) {
        if (!seen.insert(device).second) {
          return MakeError(
              ErrorCode::kField,
              fmt::format("{} stands there twice", Printable(cluster_.device(device).name, 80)),
              place, "Give every device one share.");
        }
        devices.emplace_back(device, i);
      }
    }
    if (devices.empty()) {
      return MakeError(ErrorCode::kField, "it has no devices", Place(index, ".devices"),
                       "Give it at least one.");
    }
    return devices;
  }

  // An axis that splits something of what the spec names.
  Result<AxisId> AxisOf(size_t index, const std::vector<GroupId>& groups, const std::string& name,
                        std::string_view behind) const {
    PW_ASSIGN(const AxisId axis, AxisCalled(axes_, name, Place(index, behind)));
    const bool splits = std::any_of(groups.begin(), groups.end(), [&](GroupId group) {
      const std::span<const OpId> ops = members_[group];
      return std::any_of(ops.begin(), ops.end(),
                         [&](OpId op) { return axes_.SplitBy(op, axis).valid(); });
    });
    if (splits || groups.empty()) return axis;
    return MakeError(ErrorCode::kField,
                     fmt::format("none of the ops that \"groups\" names can be split by \"{}\"",
                                 Printable(name, 80)),
                     Place(index, behind),
                     "`placewright inspect --axes --json` has what each op can be split by; "
                     "duplicate puts ops on several devices without a split.");
  }

  std::string EntryAxis(size_t index) const {
    return specs_[index].axis.empty() ? "batch" : specs_[index].axis;
  }
  std::string NameOf(size_t index, const LayoutSpec::Interval& one) const {
    return one.axis.empty() ? EntryAxis(index) : one.axis;
  }

  // Whether shares are of other axes than that of the entry, or some are replicas.
  bool HasBoxes(size_t index) const {
    const std::vector<LayoutSpec::Device>& devices = specs_[index].devices;
    for (size_t i = 0; i < devices.size(); ++i) {
      const std::vector<LayoutSpec::Interval>& box = devices[i].box;
      if (box.size() > 1) return true;
      if (box.empty()) continue;
      if (NameOf(index, box[0]) != EntryAxis(index)) return true;
      const auto same = [&](const LayoutSpec::Device& other) { return other.box == box; };
      if (std::count_if(devices.begin(), devices.end(), same) > 1) return true;
    }
    return false;
  }

  // Of an axis that a device does not name it has all.
  Result<Layout> BoxLayout(size_t index, const std::vector<GroupId>& groups) const {
    const LayoutSpec& spec = specs_[index];
    PW_ASSIGN(const auto devices, DevicesOf(index));
    std::map<AxisId, int64_t> sizes;
    for (size_t i = 0; i < spec.devices.size(); ++i) {
      for (const LayoutSpec::Interval& one : spec.devices[i].box) {
        const std::string at = fmt::format(".devices[{}].box", i);
        if (!spec.axis.empty() && NameOf(index, one) != spec.axis) {
          return MakeError(ErrorCode::kField, "a box of another axis than that of the entry",
                           Place(index, at), "Leave \"axis\" out: boxes name their axes.");
        }
        PW_ASSIGN(const AxisId axis, AxisOf(index, groups, NameOf(index, one), at));
        sizes[axis] = axes_.axis(axis).size;
      }
    }
    Layout layout;
    for (const auto& [device, entry] : devices) {
      std::vector<AxisInterval> box;
      for (const auto& [axis, size] : sizes) {
        Interval interval = {0, size};
        for (const LayoutSpec::Interval& one : spec.devices[entry].box) {
          if (axes_.Find(NameOf(index, one)) == axis) interval = {one.from, one.to};
        }
        box.push_back({axis, interval});
      }
      layout.shares.push_back({device, {box.begin(), box.end()}});
    }
    Status right = CheckLayout(layout, axes_, cluster_);
    if (right.ok()) return layout;
    right.error().place = Place(index, ".devices");
    return right.error();
  }

  Result<Layout> SplitLayout(size_t index, const std::vector<GroupId>& groups) const {
    if (HasBoxes(index)) return BoxLayout(index, groups);
    const LayoutSpec& spec = specs_[index];
    PW_ASSIGN(const auto devices, DevicesOf(index));
    PW_ASSIGN(const AxisId axis, AxisOf(index, groups, EntryAxis(index), ".axis"));
    const int64_t size = axes_.axis(axis).size;
    const auto parts = static_cast<int64_t>(devices.size());
    Layout layout;
    if (size < parts) {
      return MakeError(ErrorCode::kField,
                       fmt::format("\"{}\" has {} {} at most, fewer than the {} devices",
                                   Printable(axes_.axis(axis).name, 80), size,
                                   size == 1 ? "part" : "parts", parts),
                       Place(index, ".devices"), fmt::format("Name at most {} devices.", size));
    }
    const bool equal = spec.devices.front().box.empty();
    for (size_t i = 0; i < spec.devices.size(); ++i) {
      const std::vector<LayoutSpec::Interval>& box = spec.devices[i].box;
      if (box.empty() != equal) {
        return MakeError(ErrorCode::kField, "some devices have shares and others have none",
                         Place(index, ".devices"), "State all shares, or none for equal ones.");
      }
    }
    for (int64_t i = 0; i < parts; ++i) {
      const auto& [device, entry] = devices[static_cast<size_t>(i)];
      const std::vector<LayoutSpec::Interval>& box = spec.devices[entry].box;
      const Interval interval = equal ? Interval{i * size / parts, (i + 1) * size / parts}
                                      : Interval{box.front().from, box.front().to};
      layout.shares.push_back({device, {{axis, interval}}});
    }
    PW_RETURN_IF_ERROR(CheckShares(index, layout, size));
    return layout;
  }

  Status CheckShares(size_t index, const Layout& layout, int64_t size) const {
    int64_t next = 0;
    for (size_t i = 0; i < layout.shares.size(); ++i) {
      const auto& [from, to] = layout.shares[i].box.front().interval;
      if (from != next || to <= from) {
        return MakeError(
            ErrorCode::kField,
            fmt::format("[{}, {}) stands where a share from {} is due", from, to, next),
            Place(index, fmt::format(".devices[{}]", i)),
            "Give every device a share of at least 1, in ascending order.");
      }
      next = to;
    }
    if (next == size) return Ok();
    return MakeError(ErrorCode::kField,
                     fmt::format("the shares cover {} of the {} of \"{}\"", next, size,
                                 Printable(axes_.axis(layout.axis()).name, 80)),
                     Place(index, ".devices"), fmt::format("Let them add up to {}.", size));
  }

  // Of a layout without an axis: nothing may be shared out.
  Status CheckNoShares(size_t index) const {
    const LayoutSpec& spec = specs_[index];
    const bool shares = std::any_of(spec.devices.begin(), spec.devices.end(),
                                    [](const auto& device) { return !device.box.empty(); });
    if (spec.axis.empty() && !shares) return Ok();
    return MakeError(ErrorCode::kField,
                     fmt::format("the option {} splits no axis", ToString(spec.option)),
                     Place(index, spec.axis.empty() ? ".devices" : ".axis"),
                     "Leave axis and shares out, or take all-reduce.");
  }

  Status Lay(size_t index, const std::vector<GroupId>& groups) {
    switch (specs_[index].option) {
      case LayoutOption::kAllReduce:
      case LayoutOption::kParameterServer: {
        PW_ASSIGN(Layout layout, SplitLayout(index, groups));
        const std::vector<DeviceId> servers = placewright::DevicesOf(layout);
        Set(groups, Add(std::move(layout)));
        if (specs_[index].option == LayoutOption::kParameterServer) Serve(index, groups, servers);
        return Ok();
      }
      case LayoutOption::kPlace:
      case LayoutOption::kDuplicate: return LayWhole(index, groups);
      case LayoutOption::kModelParallel: return LeaveOpen(index, groups);
    }
    return Ok();
  }

  Status LayWhole(size_t index, const std::vector<GroupId>& groups) {
    PW_RETURN_IF_ERROR(CheckNoShares(index));
    PW_ASSIGN(const auto devices, DevicesOf(index));
    if (specs_[index].option == LayoutOption::kPlace && devices.size() > 1) {
      return MakeError(ErrorCode::kField, fmt::format("{} devices for one place", devices.size()),
                       Place(index, ".devices"), "Name one device, or take another option.");
    }
    Layout layout;
    for (const auto& [device, entry] : devices) layout.shares.push_back({device, {}});
    Set(groups, Add(std::move(layout)));
    return Ok();
  }

  Status LeaveOpen(size_t index, const std::vector<GroupId>& groups) {
    PW_RETURN_IF_ERROR(CheckNoShares(index));
    PW_ASSIGN(const auto devices, DevicesOf(index));
    made_.open.push_back({groups, {}});
    for (const auto& [device, entry] : devices) made_.open.back().devices.push_back(device);
    return Ok();
  }

  // The groups that hold parameters, on the devices in turn, whichever of them later entries have: `groups` are left.
  void Serve(size_t index, const std::vector<GroupId>& groups,
             const std::vector<DeviceId>& servers) {
    std::vector<LayoutId> places;
    for (const DeviceId server : servers) places.push_back(Add(PlacedOn(server)));
    const LayoutSpec& spec = specs_[index];
    const std::vector<GroupId> named =
        spec.group.valid() ? std::vector{spec.group} : named_.By(spec.groups);
    size_t next = 0;
    for (const GroupId group : ParameterGroups(graph_)) {
      if (!std::binary_search(named.begin(), named.end(), group)) continue;
      const LayoutId place = places[next++ % places.size()];
      if (std::binary_search(groups.begin(), groups.end(), group)) {
        made_.layouts.of_group[group] = place;
      }
    }
  }

  LayoutId Add(Layout layout) {
    made_.layouts.layouts.push_back(std::move(layout));
    return LayoutId(made_.layouts.layouts.size() - 1);
  }
  void Set(const std::vector<GroupId>& groups, LayoutId id) {
    for (const GroupId group : groups) made_.layouts.of_group[group] = id;
  }

  const Graph& graph_;
  const NamedGroups named_{graph_};
  const NamedAxes& axes_;
  const Cluster& cluster_;
  LayoutSpecs specs_;  // without meshes once resolving has begun
  const Csr<GroupId, OpId> members_;
  ResolvedLayouts made_;
};

}  // namespace

namespace {

void ExpandSpec(const NamedAxes& axes, const Cluster& cluster, LayoutSpec& spec) {
  // One that cannot be is refused where it is resolved.
  const bool mesh = !spec.mesh.empty();
  Result<LayoutSpec> expanded = WithoutMesh(axes, cluster, spec, "");
  if (expanded.ok()) spec = expanded.Take();
  const bool splits =
      spec.option == LayoutOption::kAllReduce || spec.option == LayoutOption::kParameterServer;
  std::vector<LayoutSpec::Device> devices;
  for (const LayoutSpec::Device& named : spec.devices) {
    for (const DeviceId device : DevicesCalled(cluster, named.name)) {
      devices.push_back({cluster.device(device).name, named.box});
    }
  }
  const bool boxes =
      mesh || std::any_of(devices.begin(), devices.end(), [](const auto& device) {
        return device.box.size() > 1 || (!device.box.empty() && !device.box[0].axis.empty() &&
                                         device.box[0].axis != "batch");
      });
  spec.devices = std::move(devices);
  if (boxes && spec.axis.empty()) return;
  if (splits && spec.axis.empty()) spec.axis = "batch";
  const AxisId axis = axes.Find(spec.axis);
  const auto parts = static_cast<int64_t>(spec.devices.size());
  for (int64_t i = 0; splits && axis.valid() && i < parts; ++i) {
    LayoutSpec::Device& device = spec.devices[static_cast<size_t>(i)];
    if (device.box.size() == 1 && device.box[0].axis == spec.axis) device.box[0].axis.clear();
    if (!device.box.empty()) continue;
    const int64_t size = axes.axis(axis).size;
    device.box = {{"", i * size / parts, (i + 1) * size / parts}};
  }
}

}  // namespace

LayoutSpecs ExpandSpecs(const NamedAxes& axes, const Cluster& cluster, LayoutSpecs specs) {
  ChangeSpecs(specs, [&](LayoutSpec& spec) { ExpandSpec(axes, cluster, spec); });
  return specs;
}

Result<ResolvedLayouts> ResolveLayouts(const Graph& graph, const NamedAxes& axes,
                                       const Cluster& cluster, const LayoutSpecs& specs) {
  return Resolver(graph, axes, cluster, specs).Resolve();
}

}  // namespace placewright
