// What a step takes of its devices, for people (sim/memory/device_memory.h).
#ifndef PLACEWRIGHT_REPORT_MEMORY_REPORT_H_
#define PLACEWRIGHT_REPORT_MEMORY_REPORT_H_

#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "report/table.h"
#include "sim/memory/device_memory.h"

namespace placewright {

// Devices of one kind whose three peaks are within a hundredth of its fullest one's, and all of which fit or not.
struct AlikeMemory {
  DeviceId fullest;
  std::vector<DeviceId> devices;  // ascending
};
// In the order of their first devices; those that hold nothing are left out.
std::vector<AlikeMemory> FoldMemory(const IdVector<DeviceId, DevicePeaks>& memories,
                                    const Cluster& cluster);

// "gpu0 has 23.5 GiB, and tensors take 22.1 GiB, the allocator 1.2 GiB between them, NCCL 0.6 GiB and the runtime 0.5 GiB":
// of a device that only tensors fit.
std::string DescribeCrowding(const std::string& device, const DevicePeaks& memory);

// For each of these groups the three peaks of its fullest device and what fills them, with bars over what it offers.
std::string RenderMemory(const IdVector<DeviceId, DevicePeaks>& memories, const Cluster& cluster,
                         const Style& style);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_MEMORY_REPORT_H_
