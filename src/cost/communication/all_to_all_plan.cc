#include "cost/communication/all_to_all_plan.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace placewright {
namespace {

constexpr double kGpuStart = 30'000, kGpuPeer = 1'000;  // ns
constexpr double kLostAcross = 0.44;

}  // namespace

AllToAllPlan::AllToAllPlan(const Cluster& cluster, std::span<const DeviceId> devices)
    : devices_(static_cast<double>(devices.size())) {
  std::set<int32_t> hosts;
  for (const DeviceId device : devices) hosts.insert(cluster.device(device).host);
  const double n = devices_, h = static_cast<double>(hosts.size());
  const double across = h > 1 ? (n - 1) / n / ((1 - 1 / h) * (1 - kLostAcross / h)) : 1;
  std::vector<RoundTransfer> transfers;
  for (const DeviceId from : devices) {
    for (const DeviceId to : devices) {
      if (from == to) continue;
      const bool inside = cluster.device(from).host == cluster.device(to).host;
      transfers.push_back({from, to, inside ? 1 : across});
    }
  }
  round_ = Round(cluster, transfers);
  links_ = round_.links();
  if (cluster.communicator().valid()) links_.push_back(cluster.communicator());
  const bool gpus = std::any_of(devices.begin(), devices.end(), [&](DeviceId device) {
    return cluster.kind(device).device_class == DeviceClass::kGpu;
  });
  if (gpus) start_ = kGpuStart + kGpuPeer * (n - 1);
}

double AllToAllPlan::NanosOf(double piece) const {
  return start_ + round_.NanosFor(std::ceil(piece / devices_));
}

}  // namespace placewright
