#include "compile/host_memory.h"

#include <fmt/format.h>

#include <tuple>

#include "base/text.h"

namespace placewright {
namespace {

bool IsCpuDevice(const Cluster& cluster, DeviceId device) {
  return cluster.device(device).kind >= 0 && cluster.kind(device).device_class == DeviceClass::kCpu;
}

}  // namespace

Result<DeviceId> HostMemoryOf(const Cluster& cluster, DeviceId device) {
  if (IsCpuDevice(cluster, device)) return device;
  DeviceId best;
  const auto way = [&](DeviceId cpu) {
    const Route& route = cluster.route(device, cpu);
    return std::tuple(-route.bandwidth.count, route.latency.count, cpu);
  };
  for (const DeviceId cpu : cluster.devices()) {
    const bool same = cluster.device(cpu).host == cluster.device(device).host;
    if (!same || !IsCpuDevice(cluster, cpu)) continue;
    if (!cluster.Connected(device, cpu) || !cluster.Connected(cpu, device)) continue;
    if (!best.valid() || way(cpu) < way(best)) best = cpu;
  }
  if (best.valid()) return best;
  return MakeError(ErrorCode::kUsage,
                   fmt::format("activations of {} have no host memory to go to: no CPU of its host "
                               "is a device that it reaches",
                               Printable(cluster.device(device).name, 80)),
                   "offload",
                   "State `cpus` and `memory` of the host in the cluster file "
                   "(docs/formats/cluster.md), or leave --offload out.");
}

}  // namespace placewright
