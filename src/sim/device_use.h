// What each device does in a simulated step, as plans say it.
#ifndef PLACEWRIGHT_SIM_DEVICE_USE_H_
#define PLACEWRIGHT_SIM_DEVICE_USE_H_

#include <vector>

#include "cluster/cluster.h"
#include "plan/plan.h"
#include "sim/simulator.h"

namespace placewright {

std::vector<DeviceUse> UseOfDevices(const SimResult& result, const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_DEVICE_USE_H_
