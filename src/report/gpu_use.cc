#include "report/gpu_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "report/table.h"

namespace placewright {
namespace {

// The narrowest route of a ring over the devices; 0: some are not connected.
BytesPerSecond RingBandwidth(const std::vector<DeviceId>& devices, const Cluster& cluster) {
  BytesPerSecond min(kMaxQuantity);
  for (size_t i = 0; i < devices.size(); ++i) {
    const DeviceId next = devices[(i + 1) % devices.size()];
    if (!cluster.Connected(devices[i], next)) return BytesPerSecond(0);
    min = std::min(min, cluster.route(devices[i], next).bandwidth);
  }
  return min;
}

bool DataParallelismIsFaster(const SimResult& result, const Graph& graph, const Cluster& cluster,
                             std::vector<DeviceId> gpus) {
  Bytes trained, persistent;
  for (StorageId id : graph.storages()) {
    const Storage& storage = graph.storage(id);
    if (IsPersistent(storage.kind)) AddSaturating(persistent, storage.bytes);
    const bool written = storage.versions.size() > 1;  // an op of the update writes it
    if (written && storage.kind == TensorKind::kParameter) AddSaturating(trained, storage.bytes);
  }
  if (graph.batch() > 0 && graph.batch() < static_cast<int64_t>(gpus.size())) {
    gpus.resize(static_cast<size_t>(graph.batch()));
  }
  if (trained.count == 0 || gpus.size() < 2) return false;
  const BytesPerSecond bandwidth = RingBandwidth(gpus, cluster);
  if (bandwidth.count == 0) return false;
  const auto n = static_cast<double>(gpus.size());
  double computing = 0, tensors = 0;
  for (const DeviceResult& device : result.devices) {
    computing += static_cast<double>(device.busy.count);
    tensors += static_cast<double>(device.tensor_peak.count);
  }
  const auto held = static_cast<double>(persistent.count);
  const double needed =
      held + static_cast<double>(trained.count) + std::max(0.0, tensors - held) / n;
  for (DeviceId gpu : gpus) {
    if (needed > static_cast<double>(cluster.device(gpu).capacity.count)) return false;
  }
  const double exchange =
      2 * (n - 1) / n * static_cast<double>(TransferTime(trained, bandwidth).count);
  return computing / n + exchange <= static_cast<double>(result.step_time.count) / 2;
}

}  // namespace

std::optional<GpuUse> FindIdleGpus(const SimResult& result, const Graph& graph,
                                   const Cluster& cluster) {
  std::map<std::string, int64_t> busy_of_kind;
  GpuUse use;
  int64_t all_busy = 0;
  for (DeviceId id : cluster.devices()) {
    if (cluster.kind(id).device_class != DeviceClass::kGpu) continue;
    const DeviceResult& device = result.devices[id.index()];
    int64_t& busy = busy_of_kind[cluster.kind(id).name];
    busy = SaturatingAdd(busy, device.busy.count);
    all_busy = SaturatingAdd(all_busy, device.busy.count);
    ++use.gpus;
    use.idle += device.ops == 0 ? 1 : 0;
  }
  if (use.gpus < 2 || result.step_time.count <= 0) return std::nullopt;
  use.busy = static_cast<double>(all_busy) / static_cast<double>(use.gpus) /
             static_cast<double>(result.step_time.count);
  if (use.idle == 0 && use.busy >= 0.5) return std::nullopt;
  const std::string max =
      std::max_element(busy_of_kind.begin(), busy_of_kind.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      })->first;
  if (busy_of_kind.size() == 1) use.kind = max;
  std::vector<DeviceId> alike;
  for (DeviceId id : cluster.devices()) {
    if (cluster.kind(id).name == max) alike.push_back(id);
  }
  use.data_parallelism_probably_faster =
      DataParallelismIsFaster(result, graph, cluster, std::move(alike));
  return use;
}

std::string DescribeGpuUse(const GpuUse& use) {
  return fmt::format(
      "The {} {} compute {} of the step on the average{}. The bound does not cover data "
      "parallelism, replication or pipelining{}.",
      use.gpus, use.kind.empty() ? "GPUs" : use.kind, FormatShare(use.busy),
      use.idle > 0 ? fmt::format(", {} of them idle", use.idle) : "",
      use.data_parallelism_probably_faster ? "; data parallelism would probably be faster" : "");
}

}  // namespace placewright
