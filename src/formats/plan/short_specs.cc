#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/plan/layout_words.h"
#include "formats/plan/mesh.h"

namespace placewright {
namespace {

constexpr size_t kMostNamed = 16;  // beyond, a list of devices is nothing that people read

using Devices = std::vector<LayoutSpec::Device>;
using MeshAxes = std::vector<LayoutSpec::MeshAxis>;

// "host0/gpu7": "host*/gpu*".
std::string WithoutNumbers(const std::string& name) {
  std::string glob;
  for (const char c : name) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit) glob.push_back(c);
    if (digit && (glob.empty() || glob.back() != '*')) glob.push_back('*');
  }
  return glob;
}

// One glob that names these devices in their order, and no others.
std::optional<std::string> GlobOf(const Devices& devices, const Cluster& cluster) {
  const std::string glob = WithoutNumbers(devices.front().name);
  const std::vector<DeviceId> called = DevicesCalled(cluster, glob);
  const bool same = std::equal(called.begin(), called.end(), devices.begin(), devices.end(),
                               [&](DeviceId id, const LayoutSpec::Device& device) {
                                 return cluster.device(id).name == device.name;
                               });
  return same ? std::optional(glob) : std::nullopt;
}

// Along which axis alone the second box lies behind the first; nothing where that is not so.
std::optional<std::string> AxisBetween(const Devices& devices, size_t first, size_t second) {
  const std::vector<LayoutSpec::Interval>& a = devices[first].box;
  const std::vector<LayoutSpec::Interval>& b = devices[second].box;
  std::optional<std::string> axis;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (axis || b[i].from != a[i].to) return std::nullopt;
    axis = a[i].axis;
  }
  return axis;
}

// The mesh that these boxes may be, the outermost axis first: from the innermost on, how many devices follow one another
// along one axis, or are replicas.
std::optional<MeshAxes> MeshOf(const Devices& devices) {
  MeshAxes mesh;
  for (size_t stride = 1; stride < devices.size();) {
    LayoutSpec::MeshAxis of;
    const bool replicas = devices[stride].box == devices[0].box;
    if (!replicas) {
      const std::optional<std::string> axis = AxisBetween(devices, 0, stride);
      if (!axis) return std::nullopt;
      of.axis = *axis;
    }
    size_t parts = 1;
    for (; parts * stride < devices.size(); ++parts) {
      const size_t last = (parts - 1) * stride, next = parts * stride;
      const bool goes_on = replicas ? devices[next].box == devices[0].box
                                    : AxisBetween(devices, last, next) == of.axis;
      if (!goes_on) break;
    }
    of.parts = static_cast<int64_t>(parts);
    mesh.push_back(std::move(of));
    stride *= parts;
  }
  std::reverse(mesh.begin(), mesh.end());
  // What nothing is split by is stated, too.
  for (const LayoutSpec::Interval& one : devices.front().box) {
    const bool known = std::any_of(mesh.begin(), mesh.end(), [&](const LayoutSpec::MeshAxis& of) {
      return of.axis == one.axis;
    });
    if (!known) mesh.push_back({one.axis, MeshOver::kParts, 1});
  }
  return mesh;
}

// Whether the devices have the same boxes; their axes may stand in another order.
bool AreAlike(const Devices& a, const Devices& b) {
  const auto alike = [](const LayoutSpec::Device& one, const LayoutSpec::Device& other) {
    return one.name == other.name &&
           std::is_permutation(one.box.begin(), one.box.end(), other.box.begin(), other.box.end());
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), alike);
}

// One of all of its devices in fewer words; nothing where there are none that say the same.
std::optional<LayoutSpec> Shortened(const NamedAxes& axes, const Cluster& cluster,
                                    const LayoutSpec& spec) {
  if (spec.devices.size() <= kMostNamed || !spec.mesh.empty()) return std::nullopt;
  const std::optional<std::string> glob = GlobOf(spec.devices, cluster);
  if (!glob) return std::nullopt;
  LayoutSpec made{spec.groups, spec.group, spec.axis, {{*glob, {}}}, spec.option};
  if (!spec.axis.empty() || spec.devices.front().box.empty()) {
    const bool same = ExpandSpecs(axes, cluster, {made}).front() == spec;
    return same ? std::optional(made) : std::nullopt;
  }
  const std::optional<MeshAxes> mesh = MeshOf(spec.devices);
  if (!mesh) return std::nullopt;
  made.mesh = *mesh;
  const Result<LayoutSpec> boxes = WithoutMesh(axes, cluster, made, "");
  const bool same = boxes.ok() && AreAlike(boxes.value().devices, spec.devices);
  return same ? std::optional(made) : std::nullopt;
}

}  // namespace

LayoutSpecs ShortenSpecs(const NamedAxes& axes, const Cluster& cluster, LayoutSpecs specs) {
  for (LayoutSpec& spec : specs) {
    if (std::optional<LayoutSpec> made = Shortened(axes, cluster, spec)) spec = std::move(*made);
  }
  return specs;
}

}  // namespace placewright
