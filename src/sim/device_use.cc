#include "sim/device_use.h"

namespace placewright {

std::vector<DeviceUse> UseOfDevices(const SimResult& result, const Cluster& cluster) {
  std::vector<DeviceUse> uses;
  for (DeviceId id : cluster.devices()) {
    const DeviceResult& device = result.devices[id.index()];
    DeviceUse use;
    use.name = cluster.device(id).name;
    use.kind = cluster.kind(id).name;
    use.device_class = cluster.kind(id).device_class;
    use.busy = ShareOf(device.busy.count, result.step_time.count);
    use.peak_memory = device.peak;
    use.tensor_peak = device.tensor_peak;
    use.workspace = device.workspace;
    use.runtime_context = device.runtime_context;
    use.capacity = cluster.device(id).capacity;
    use.reserve = cluster.device(id).reserve;
    use.ops = device.ops;
    uses.push_back(std::move(use));
  }
  return uses;
}

}  // namespace placewright
