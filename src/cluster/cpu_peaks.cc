#include "cluster/cpu_peaks.h"

namespace placewright {

DeviceKind MakeCpuKind(std::string name, std::string architecture, const CpuCores& cores,
                       BytesPerSecond memory_bandwidth, std::string source) {
  // Products of integers below 2^53: exact.
  const auto per_second = [](int64_t count, int64_t mhz, int64_t flops) {
    return static_cast<double>(count) * static_cast<double>(mhz) * static_cast<double>(flops) * 1e6;
  };
  const double f32 = per_second(cores.cores, cores.mhz, cores.flops_per_cycle) +
                     per_second(cores.more_cores, cores.more_mhz, cores.more_flops_per_cycle);
  const PeakRates peak{f32 / 2, f32, f32, f32, f32};
  return DeviceKind{
      std::move(name), DeviceClass::kCpu, std::move(architecture), peak, memory_bandwidth, Bytes(0),
      Nanos(1'000),    Bytes(0),          std::move(source)};
}

}  // namespace placewright
