#include "cluster/memory_reserve.h"

#include "cluster/cluster.h"

namespace placewright {

Bytes ReserveOf(const MemoryReserve& reserve, Bytes memory) {
  const auto share = static_cast<__int128>(memory.count) * reserve.millionths / 1'000'000;
  return Bytes(SaturatingAdd(reserve.bytes.count, static_cast<int64_t>(share)));
}

Status ApplyMemoryReserve(const std::optional<MemoryReserve>& of_each_gpu, Cluster* cluster) {
  bool any = false;
  for (const DeviceId id : cluster->devices()) {
    if (cluster->kind(id).device_class != DeviceClass::kGpu) continue;
    any = true;
    const Device& device = cluster->device(id);
    if (!of_each_gpu && device.reserve_stated) continue;
    const Bytes reserve =
        ReserveOf(of_each_gpu.value_or(kDefaultMemoryReserve), device.capacity + device.reserve);
    PW_RETURN_IF_ERROR(cluster->SetReserve(id, reserve));
  }
  if (any || !of_each_gpu) return Ok();
  return MakeError(ErrorCode::kUsage, "the memory reserve is kept on GPUs, and there is none", "",
                   "Leave --memory-reserve out.");
}

}  // namespace placewright
