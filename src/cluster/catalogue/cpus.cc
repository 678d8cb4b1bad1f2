#include <array>

#include "cluster/catalogue/rows.h"
#include "cluster/cpu_peaks.h"

namespace placewright {
namespace {

struct CpuRow {
  std::string_view name, architecture;
  int32_t cores, base_mhz;
  int32_t flops_per_cycle;  // of a core in float: 2 a fused multiply-add
  int64_t mb_per_second;    // of all memory channels
  std::string_view source;
};

// AVX2 with two FMA units: 2 units x 8 floats x 2 = 32. AVX-512 with two: 64; at full width these
// hold a lower clock than their base clock, which the peak does not show. Zen 4 splits each 512-bit
// operation in two: 32.
constexpr std::array kRows = {
    CpuRow{"Xeon-E5-2650v4", "broadwell", 12, 2200, 32, 76'800,
           "Intel ARK, Xeon E5-2650 v4: 12 cores, 2.2 GHz, AVX2 with FMA, 76.8 GB/s"},
    CpuRow{"Xeon-E5-2698v4", "broadwell", 20, 2200, 32, 76'800,
           "Intel ARK, Xeon E5-2698 v4: 20 cores, 2.2 GHz, AVX2 with FMA, 76.8 GB/s"},
    CpuRow{"Xeon-Gold-6148", "skylake", 20, 2400, 64, 128'000,
           "Intel ARK, Xeon Gold 6148: 20 cores, 2.4 GHz, two AVX-512 units, 6 x DDR4-2666"},
    CpuRow{"Xeon-Platinum-8280", "skylake", 28, 2700, 64, 140'800,
           "Intel ARK, Xeon Platinum 8280: 28 cores, 2.7 GHz, two AVX-512 units, 6 x DDR4-2933"},
    CpuRow{"Xeon-Platinum-8380", "icelake", 40, 2300, 64, 204'800,
           "Intel ARK, Xeon Platinum 8380: 40 cores, 2.3 GHz, two AVX-512 units, 8 x DDR4-3200"},
    CpuRow{"Xeon-Platinum-8480+", "sapphirerapids", 56, 2000, 64, 307'200,
           "Intel ARK, Xeon Platinum 8480+: 56 cores, 2.0 GHz, two AVX-512 units, 8 x DDR5-4800"},
    CpuRow{"EPYC-7742", "zen2", 64, 2250, 32, 204'800,
           "AMD EPYC 7742 data sheet: 64 cores, 2.25 GHz, AVX2 with FMA, 204.8 GB/s"},
    CpuRow{"EPYC-7763", "zen3", 64, 2450, 32, 204'800,
           "AMD EPYC 7763 data sheet: 64 cores, 2.45 GHz, AVX2 with FMA, 204.8 GB/s"},
    CpuRow{"EPYC-9654", "zen4", 96, 2400, 32, 460'800,
           "AMD EPYC 9654 data sheet: 96 cores, 2.4 GHz, 12 x DDR5-4800"},
};

}  // namespace

std::vector<DeviceKind> CpuKinds() {
  std::vector<DeviceKind> kinds;
  for (const CpuRow& row : kRows) {
    kinds.push_back(MakeCpuKind(std::string(row.name), std::string(row.architecture),
                                {row.cores, row.base_mhz, row.flops_per_cycle},
                                BytesPerSecond(row.mb_per_second * 1'000'000),
                                std::string(row.source)));
  }
  return kinds;
}

}  // namespace placewright
