// The memory of the host that a device computes on: where activations lie between the passes (transforms/offload.h).
#ifndef PLACEWRIGHT_COMPILE_HOST_MEMORY_H_
#define PLACEWRIGHT_COMPILE_HOST_MEMORY_H_

#include "base/result.h"
#include "cluster/cluster.h"

namespace placewright {

// The CPU of the device's host to which it has the best route, of equals the first; itself if it is one. Error: kUsage
// (no CPU of its host is a device that it reaches).
Result<DeviceId> HostMemoryOf(const Cluster& cluster, DeviceId device);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_HOST_MEMORY_H_
