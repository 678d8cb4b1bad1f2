// A CPU socket as a device kind: what its cores can compute at most.
#ifndef PLACEWRIGHT_CLUSTER_CPU_PEAKS_H_
#define PLACEWRIGHT_CLUSTER_CPU_PEAKS_H_

#include <string>

#include "cluster/cluster.h"

namespace placewright {

struct CpuCores {
  int64_t cores = 0;
  int64_t mhz = 0;              // base clock
  int64_t flops_per_cycle = 0;  // of a core in float, a fused multiply-add counting two
  // The same of a second sort of cores in one processor.
  int64_t more_cores = 0, more_mhz = 0, more_flops_per_cycle = 0;
};

// f32 = cores * clock * flops_per_cycle, summed over both sorts, f64 half of it. Half precision is
// stored in 2 bytes and computed in float (F16C); 8-bit products without VNNI gain nothing over
// float once widened: all at the float rate. Memory 0: the host says how much a socket has. An op
// is a function call behind the framework's dispatcher: 1 us of launch overhead.
DeviceKind MakeCpuKind(std::string name, std::string architecture, const CpuCores& cores,
                       BytesPerSecond memory_bandwidth, std::string source);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_CPU_PEAKS_H_
