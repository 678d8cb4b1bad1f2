// Where tests execute: simulated devices, and random placements over them.
#ifndef PLACEWRIGHT_TESTS_RUNTIME_SIMULATED_DEVICES_H_
#define PLACEWRIGHT_TESTS_RUNTIME_SIMULATED_DEVICES_H_

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "runtime/device/device.h"

namespace placewright {

inline Placement RandomPlacement(const Graph& graph, size_t devices, Random& random) {
  IdVector<GroupId, DeviceId> of_group;
  for (size_t group = 0; group < graph.group_count(); ++group) {
    of_group.push_back(DeviceId(random.Below(devices)));
  }
  Placement placement;
  for (const OpId op : graph.ops()) placement.push_back(of_group[graph.group(op)]);
  return placement;
}

inline std::vector<std::unique_ptr<RuntimeDevice>> SimulatedDevices(size_t count) {
  std::vector<std::unique_ptr<RuntimeDevice>> devices;
  for (size_t i = 0; i < count; ++i) {
    devices.push_back(MakeSimulatedDevice({"sim:" + std::to_string(i), 1, 0}));
  }
  return devices;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_TESTS_RUNTIME_SIMULATED_DEVICES_H_
