// Layouts as people, files and planners state them: which modules or groups, by which axis, on which
// devices. formats/plan/layout_words.h makes layouts of them.
#ifndef PLACEWRIGHT_PLAN_LAYOUT_SPEC_H_
#define PLACEWRIGHT_PLAN_LAYOUT_SPEC_H_

#include <placewright/base/ids.h>
#include <placewright/graph/transform.h>
#include <placewright/plan/step_switches.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

// TAG's four options (sec. 4.1.1) and the plain placement.
enum class LayoutOption : uint8_t {
  kPlace,      // one device, everything
  kAllReduce,  // split by the axis; what does not have it is on every device, sums are completed there
  kParameterServer,  // split by the axis; each parameter, its state and update on one of the devices, in turn
  kDuplicate,  // everything on every device
  kModelParallel  // whole ops, cut into as many parts as there are devices, by the planner of that name
};
inline constexpr std::array<LayoutOption, 5> kLayoutOptions = {
    LayoutOption::kPlace, LayoutOption::kAllReduce, LayoutOption::kParameterServer,
    LayoutOption::kDuplicate, LayoutOption::kModelParallel};
std::string_view ToString(LayoutOption option);  // "place", "all-reduce", "parameter-server", ...

// What an axis of a mesh goes over.
enum class MeshOver : uint8_t {
  kParts,      // a number of devices that follow one another, or of groups of those
  kHosts,      // the hosts of the devices
  kGpusOfHost  // the devices that each host has among them
};
std::string_view ToString(MeshOver over);  // "parts", "hosts", "gpus of a host"

struct LayoutSpec {
  std::string groups;  // a glob over module paths (docs/constraints.md): their colocation groups
  GroupId group;       // valid: this group alone, whatever `groups`
  std::string axis;    // a named axis; "": none, or "batch" where the option needs one
  struct Interval {
    std::string axis;  // "": the one above
    int64_t from = 0, to = 0;
    friend bool operator==(const Interval&, const Interval&) = default;
  };
  struct Device {
    std::string name;           // or a glob, for several
    std::vector<Interval> box;  // of different axes; empty on all: equal shares of the one above
    friend bool operator==(const Device&, const Device&) = default;
  };
  std::vector<Device> devices;
  LayoutOption option = LayoutOption::kPlace;
  // Their boxes as a mesh, the outermost first; none: as the devices say.
  struct MeshAxis {
    std::string axis;  // into as many equal parts as there are; "": replicas
    MeshOver over = MeshOver::kParts;
    int64_t parts = 0;  // of kParts
    friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
  };
  std::vector<MeshAxis> mesh = {};
  friend bool operator==(const LayoutSpec&, const LayoutSpec&) = default;
};

// Of several that name a group, the last one holds.
using LayoutSpecs = std::vector<LayoutSpec>;

// How a whole step is distributed.
struct DistributionSpec {
  LayoutSpecs layouts;
  StepSwitches switches;
  std::optional<Transforms> transforms = {};  // as of StepPlan
  friend bool operator==(const DistributionSpec&, const DistributionSpec&) = default;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_LAYOUT_SPEC_H_
