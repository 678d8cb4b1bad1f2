#include "cluster/cpu_peaks.h"

namespace placewright {

DeviceKind MakeCpuKind(std::string name, std::string architecture, const CpuCores& cores,
                       BytesPerSecond memory_bandwidth, std::string source) {
  // Products of whole numbers below 2^53: exact.
  const double f32 = static_cast<double>(cores.cores) * static_cast<double>(cores.mhz) *
                     static_cast<double>(cores.flops_per_cycle) * 1e6;
  const PeakRates peak{f32 / 2, f32, f32, f32, f32};
  return DeviceKind{
      std::move(name), DeviceClass::kCpu, std::move(architecture), peak, memory_bandwidth, Bytes(0),
      Nanos(1'000),    Bytes(0),          std::move(source)};
}

}  // namespace placewright
