#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/plan/alike_specs.h"
#include "formats/plan/layout_words.h"
#include "formats/plan/mesh.h"

namespace placewright {
namespace {

// Beyond, a list of devices is nothing that people read, and one of boxes of several axes is long for few.
constexpr size_t kMostNamed = 8, kMostBoxes = 2;

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

// Globs of the numbers from `from` to `to`, in their order: 8 to 31 are "[8-9]", "[1-2]?" and "3[0-1]".
std::vector<std::string> GlobsOfNumbers(int64_t from, int64_t to) {
  std::vector<std::string> globs;
  while (from <= to) {
    // Tens, hundreds..., as long as they are whole and have as many digits.
    size_t any = 0;
    int64_t block = 1;
    while (any + 1 < fmt::to_string(from).size() && from % (block * 10) == 0 &&
           from + block * 10 - 1 <= to) {
      block *= 10;
      ++any;
    }
    const int64_t digit = from / block % 10;
    const int64_t blocks = std::min(10 - digit, (to - from + 1) / block);
    std::string glob = from / block >= 10 ? fmt::to_string(from / block / 10) : "";
    glob += blocks == 1 ? fmt::to_string(digit) : fmt::format("[{}-{}]", digit, digit + blocks - 1);
    globs.push_back(glob + std::string(any, '?'));
    from += blocks * block;
  }
  return globs;
}

struct DeviceName {
  std::string before;  // the first number: "host"
  int64_t number = 0;
  std::string behind;  // "/gpu7"
};

std::optional<DeviceName> PartsOf(const std::string& name) {
  constexpr const char* kDigits = "0123456789";
  const size_t from = name.find_first_of(kDigits);
  if (from == std::string::npos) return std::nullopt;
  const size_t to = std::min(name.find_first_not_of(kDigits, from), name.size());
  DeviceName parts{name.substr(0, from), 0, name.substr(to)};
  const auto read = std::from_chars(name.data() + from, name.data() + to, parts.number);
  if (read.ec != std::errc()) return std::nullopt;
  return parts;
}

// Of hosts that follow one another with all of their devices of a kind.
std::vector<std::string> GlobsOfHosts(const Devices& devices) {
  const std::optional<DeviceName> first = PartsOf(devices.front().name);
  const std::optional<DeviceName> last = PartsOf(devices.back().name);
  if (!first || !last || first->before != last->before || last->number < first->number) return {};
  std::vector<std::string> globs;
  for (const std::string& numbers : GlobsOfNumbers(first->number, last->number)) {
    globs.push_back(first->before + numbers + WithoutNumbers(first->behind));
  }
  return globs;
}

// Globs that name these devices in their order, and no others; none where there are no such.
std::vector<std::string> GlobsOf(const Devices& devices, const Cluster& cluster) {
  for (const std::vector<std::string>& globs :
       {std::vector<std::string>{WithoutNumbers(devices.front().name)}, GlobsOfHosts(devices)}) {
    std::vector<DeviceId> called;
    for (const std::string& glob : globs) {
      const std::vector<DeviceId> more = DevicesCalled(cluster, glob);
      called.insert(called.end(), more.begin(), more.end());
    }
    const bool same = std::equal(called.begin(), called.end(), devices.begin(), devices.end(),
                                 [&](DeviceId id, const LayoutSpec::Device& device) {
                                   return cluster.device(id).name == device.name;
                                 });
    if (same) return globs;
  }
  return {};
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
  const bool boxes =
      spec.axis.empty() && !spec.devices.empty() && !spec.devices.front().box.empty();
  if (spec.devices.size() <= (boxes ? kMostBoxes : kMostNamed) || !spec.mesh.empty()) {
    return std::nullopt;
  }
  const std::vector<std::string> globs = GlobsOf(spec.devices, cluster);
  if (globs.empty()) return std::nullopt;
  LayoutSpec made{spec.groups, spec.group, spec.axis, {}, spec.option};
  for (const std::string& glob : globs) made.devices.push_back({glob, {}});
  if (!spec.axis.empty() || spec.devices.front().box.empty()) {
    const bool same = ExpandSpecs(axes, cluster, {made}).front() == spec;
    return same ? std::optional(made) : std::nullopt;
  }
  const std::optional<MeshAxes> mesh = MeshOf(spec.devices);
  if (!mesh) return std::nullopt;
  made.mesh = *mesh;
  const Result<LayoutSpec> expanded = WithoutMesh(axes, cluster, made, "");
  const bool same = expanded.ok() && AreAlike(expanded.value().devices, spec.devices);
  return same ? std::optional(made) : std::nullopt;
}

}  // namespace

LayoutSpecs ShortenSpecs(const NamedAxes& axes, const Cluster& cluster, LayoutSpecs specs) {
  ChangeSpecs(specs, [&](LayoutSpec& spec) {
    if (std::optional<LayoutSpec> made = Shortened(axes, cluster, spec)) spec = *std::move(made);
  });
  return specs;
}

}  // namespace placewright
