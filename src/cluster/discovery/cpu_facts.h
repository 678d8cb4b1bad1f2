// What a machine says about its CPUs, and the device kind that follows.
#ifndef PLACEWRIGHT_CLUSTER_DISCOVERY_CPU_FACTS_H_
#define PLACEWRIGHT_CLUSTER_DISCOVERY_CPU_FACTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"

namespace placewright {

// The first processor of a text like /proc/cpuinfo.
struct CpuFacts {
  std::string vendor;  // "GenuineIntel", "AuthenticAMD"; empty: another architecture
  std::string model;   // "Intel(R) Xeon(R) CPU E5-2650 v4 @ 2.20GHz"
  int64_t family = 0;
  int64_t mhz = 0;  // base clock by the model's name, else the current one; 0: unknown
  std::vector<std::string> flags;  // "avx2", "fma", ...; sorted
  bool Has(std::string_view flag) const;
};
// Never fails: what is not there stays empty.
CpuFacts ParseCpuInfo(std::string_view text);

struct CpuEstimate {
  DeviceKind kind;
  std::string note;           // how the figures came about; empty: the catalogue's
  std::string memory_source;  // of its memory bandwidth
};

// The catalogue's kind where the model is one of it and the socket shows its cores: f32 by cores *
// clock * width is at least three quarters of the catalogue's. Else an estimate and a note that
// says so. Operations per cycle and core in float: AVX-512 64 (two units; 32 on AMD before family
// 26), AVX2 with FMA 32, AVX 16, Arm's Advanced SIMD 16, SSE2 8, else 2. An unknown clock counts as
// 2 GHz, an unknown memory as four channels of DDR4-2400, 76.8 GB/s. cores >= 1. `part`: of a socket's
// cores; never the catalogue's then.
CpuEstimate EstimateCpu(const CpuFacts& facts, int64_t cores, bool part = false);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_DISCOVERY_CPU_FACTS_H_
