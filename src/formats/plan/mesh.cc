#include "formats/plan/mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"

namespace placewright {
namespace {

// Of several hosts with as many devices each: which host, and which of its devices.
struct Seat {
  int64_t host = 0, device = 0;
};

class Mesh {
 public:
  Mesh(const NamedAxes& axes, const Cluster& cluster, const LayoutSpec& spec, std::string place)
      : axes_(axes), cluster_(cluster), spec_(spec), place_(std::move(place)) {
    for (const LayoutSpec::Device& named : spec.devices) {
      const std::vector<DeviceId> called = DevicesCalled(cluster, named.name);
      devices_.insert(devices_.end(), called.begin(), called.end());
    }
  }

  Result<std::vector<LayoutSpec::Device>> Boxes() {
    PW_RETURN_IF_ERROR(TakeSeats());
    PW_RETURN_IF_ERROR(CheckDevices());
    for (const LayoutSpec::MeshAxis& of : spec_.mesh) {
      if (of.axis.empty()) continue;
      const std::string at = fmt::format("{}.mesh[{}].axis", place_, &of - spec_.mesh.data());
      PW_ASSIGN(const AxisId axis, AxisCalled(axes_, of.axis, at));
      sizes_[of.axis] = axes_.axis(axis).size;
      int64_t& parts = parts_.emplace(axis, 1).first->second;
      parts *= DegreeOf(of);
      const int64_t size = axes_.axis(axis).size;
      if (size % parts == 0) continue;
      return MakeError(ErrorCode::kField,
                       fmt::format("\"{}\" has {}, which {} parts do not divide",
                                   Printable(of.axis, 80), size, parts),
                       at, "Take parts that divide it, or state a box for each device.");
    }
    std::vector<LayoutSpec::Device> made;
    for (size_t i = 0; i < devices_.size(); ++i) {
      made.push_back({cluster_.device(devices_[i]).name, BoxOf(i)});
    }
    return made;
  }

 private:
  Status TakeSeats() {
    std::map<int32_t, int64_t> hosts, counts;
    for (const DeviceId id : devices_) {
      const int32_t host = cluster_.device(id).host;
      const int64_t number = hosts.emplace(host, static_cast<int64_t>(hosts.size())).first->second;
      seats_.push_back({number, counts[host]++});
    }
    hosts_ = static_cast<int64_t>(hosts.size());
    of_host_ = counts.empty() ? 0 : counts.begin()->second;
    over_hosts_ = std::any_of(spec_.mesh.begin(), spec_.mesh.end(),
                              [](const auto& of) { return of.over != MeshOver::kParts; });
    for (const auto& [host, count] : counts) {
      if (!over_hosts_ || count == of_host_) continue;
      return MakeError(ErrorCode::kField,
                       fmt::format("the mesh goes over hosts, of which one has {} of the devices "
                                   "and another {}",
                                   of_host_, count),
                       place_ + ".mesh", "State a box for each device.");
    }
    return Ok();
  }

  int64_t DegreeOf(const LayoutSpec::MeshAxis& of) const {
    if (of.over == MeshOver::kHosts) return hosts_;
    return of.over == MeshOver::kGpusOfHost ? of_host_ : of.parts;
  }

  static std::string CountOfDevices(int64_t count) {
    return fmt::format("{} device{}", count, count == 1 ? "" : "s");
  }

  // Beside hosts, parts are of the devices that a host has.
  Status CheckDevices() const {
    int64_t covered = 1;
    for (const LayoutSpec::MeshAxis& of : spec_.mesh) {
      if (covered <= kMaxQuantity / std::max<int64_t>(1, DegreeOf(of))) covered *= DegreeOf(of);
    }
    if (covered == static_cast<int64_t>(devices_.size())) return Ok();
    return MakeError(
        ErrorCode::kField,
        fmt::format("the mesh is of {}, and the layout of {}", CountOfDevices(covered),
                    CountOfDevices(std::ssize(devices_))),
        place_ + ".mesh",
        R"(Let its axes cover the devices; {"parts": 2} without an axis is for replicas.)");
  }

  // Of the device: where it is along each axis of the mesh.
  std::vector<int64_t> CoordinatesOf(size_t device) const {
    std::vector<int64_t> coordinates(spec_.mesh.size());
    int64_t rest = over_hosts_ ? seats_[device].device : static_cast<int64_t>(device);
    for (size_t i = spec_.mesh.size(); i-- > 0;) {
      const LayoutSpec::MeshAxis& of = spec_.mesh[i];
      if (of.over == MeshOver::kHosts) {
        coordinates[i] = seats_[device].host;
      } else {
        coordinates[i] = rest % DegreeOf(of);
        rest /= DegreeOf(of);
      }
    }
    return coordinates;
  }

  std::vector<LayoutSpec::Interval> BoxOf(size_t device) const {
    const std::vector<int64_t> coordinates = CoordinatesOf(device);
    std::vector<LayoutSpec::Interval> box;
    for (size_t i = 0; i < spec_.mesh.size(); ++i) {
      const LayoutSpec::MeshAxis& of = spec_.mesh[i];
      if (of.axis.empty()) continue;
      auto one = std::find_if(box.begin(), box.end(),
                              [&](const auto& other) { return other.axis == of.axis; });
      if (one == box.end()) {
        one = box.insert(box.end(), {of.axis, 0, sizes_.at(of.axis)});
      }
      const int64_t length = (one->to - one->from) / DegreeOf(of);
      one->from += coordinates[i] * length;
      one->to = one->from + length;
    }
    return box;
  }

  const NamedAxes& axes_;
  const Cluster& cluster_;
  const LayoutSpec& spec_;
  const std::string place_;
  std::vector<DeviceId> devices_;
  std::vector<Seat> seats_;  // by device
  int64_t hosts_ = 0, of_host_ = 0;
  bool over_hosts_ = false;
  std::map<AxisId, int64_t> parts_;       // so far
  std::map<std::string, int64_t> sizes_;  // of the axes of the mesh
};

}  // namespace

Result<AxisId> AxisCalled(const NamedAxes& axes, const std::string& name,
                          const std::string& place) {
  const AxisId axis = axes.Find(name);
  if (axis.valid()) return axis;
  if (name == "batch" && axes.samples() == 1) {
    return MakeError(ErrorCode::kField, "the batch is one sample, which cannot be split", place,
                     "Take a larger batch, or another option.");
  }
  if (name == "batch") {
    Error error = axes.WhyNoBatch();
    error.place = place;
    return error;
  }
  std::vector<std::string> names;
  for (const AxisId id : axes.axes()) names.push_back(axes.axis(id).name);
  return MakeError(
      ErrorCode::kField,
      fmt::format("no axis is called \"{}\"{}", Printable(name, 80), DidYouMean(name, names)),
      place, "`placewright inspect --axes` lists them.");
}

std::vector<DeviceId> DevicesCalled(const Cluster& cluster, std::string_view glob) {
  std::vector<DeviceId> called;
  if (glob.find_first_of("*?[") == std::string_view::npos) {
    const DeviceId device = cluster.FindDevice(glob);
    if (device.valid()) called.push_back(device);
    return called;
  }
  for (const DeviceId device : cluster.devices()) {
    if (GlobMatch(glob, cluster.device(device).name)) called.push_back(device);
  }
  return called;
}

Result<LayoutSpec> WithoutMesh(const NamedAxes& axes, const Cluster& cluster, LayoutSpec spec,
                               const std::string& place) {
  if (spec.mesh.empty()) return spec;
  const bool boxes = std::any_of(spec.devices.begin(), spec.devices.end(),
                                 [](const auto& device) { return !device.box.empty(); });
  if (!spec.axis.empty() || boxes) {
    return MakeError(ErrorCode::kField, "shares are stated beside a mesh", place + ".mesh",
                     "Leave axis, from, to and box out, or the mesh.");
  }
  PW_ASSIGN(spec.devices, Mesh(axes, cluster, spec, place).Boxes());
  spec.mesh.clear();
  return spec;
}

}  // namespace placewright
