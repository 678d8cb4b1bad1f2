// Which devices of a simulated step do the same, so that one of them can be shown for all.
#ifndef PLACEWRIGHT_REPORT_PAGE_ALIKE_DEVICES_H_
#define PLACEWRIGHT_REPORT_PAGE_ALIKE_DEVICES_H_

#include <span>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "sim/simulator.h"

namespace placewright {

// By how much devices may differ and still be shown as one.
inline constexpr double kAlike = 0.02;

// Classes of devices, by their first, which each is compared with; every device is in one. Alike are devices of one
// kind and capacity that run the same ops of the original (names without the device, "mm@host0/gpu0") but for kAlike
// of them and of their time, with peaks that differ by no more than kAlike of the capacity. When they run them makes
// no difference, nor which parameters they update: parameter servers share these out. Complexity: O(ops * classes).
std::vector<std::vector<DeviceId>> FindAlikeDevices(const Graph& step, const Cluster& cluster,
                                                    const Placement& placement,
                                                    const Schedule& schedule,
                                                    std::span<const DeviceResult> results);

// An op's name without the device that it is an instance on.
std::string NameWithoutDevice(const Op& op, const Device& device);

// "host0/gpu0-7".
std::string NamesOfDevices(std::span<const DeviceId> devices, const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_PAGE_ALIKE_DEVICES_H_
