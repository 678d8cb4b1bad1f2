#include <algorithm>
#include <array>

#include "base/check.h"
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
  // Cores of a second sort (Intel's efficient ones); 0: there are none.
  int32_t more_cores = 0, more_base_mhz = 0, more_flops_per_cycle = 0;
};

// AVX2 with two FMA units: 2 units x 8 floats x 2 = 32. AVX-512 with two: 64; at full width these
// hold a lower clock than their base clock, which the peak does not show. Zen 4 splits each 512-bit
// operation in two: 32; Zen 5 does not, except in laptops: 64 and 32. Intel's Core have AVX2 with
// two units in their performance cores (32); efficient ones have half of that in Gracemont (Alder
// and Raptor Lake: 16), the same in Skymont (Arrow Lake: 32).
constexpr std::array kCpuRows = {
    CpuRow{"Xeon-E5-2650v4", "broadwell", 12, 2200, 32, 76'800,
           "Intel ARK, Xeon E5-2650 v4: 12 cores, 2.2 GHz, AVX2 with FMA, 76.8 GB/s"},
    // Amazon's: not on Intel's pages; memory as of the others of its family.
    CpuRow{"Xeon-E5-2686v4", "broadwell", 18, 2300, 32, 76'800,
           "lscpu of EC2 p2 and p3 instances: 18 cores a socket, 2.3 GHz; 4 x DDR4-2400"},
    CpuRow{"Xeon-E5-2698v4", "broadwell", 20, 2200, 32, 76'800,
           "Intel ARK, Xeon E5-2698 v4: 20 cores, 2.2 GHz, AVX2 with FMA, 76.8 GB/s"},
    CpuRow{"Xeon-Gold-6148", "skylake", 20, 2400, 64, 128'000,
           "Intel ARK, Xeon Gold 6148: 20 cores, 2.4 GHz, two AVX-512 units, 6 x DDR4-2666"},
    // One AVX-512 unit.
    CpuRow{"Xeon-Gold-5118", "skylake", 12, 2300, 32, 115'200,
           "Intel ARK, Xeon Gold 5118: 12 cores, 2.3 GHz, one AVX-512 unit, 6 x DDR4-2400"},
    CpuRow{"Xeon-Platinum-8168", "skylake", 24, 2700, 64, 128'000,
           "Intel ARK, Xeon Platinum 8168: 24 cores, 2.7 GHz, two AVX-512 units, 6 x DDR4-2666"},
    CpuRow{"Xeon-Platinum-8280", "skylake", 28, 2700, 64, 140'800,
           "Intel ARK, Xeon Platinum 8280: 28 cores, 2.7 GHz, two AVX-512 units, 6 x DDR4-2933"},
    // Clouds' own, not on the makers' pages: cores and clocks by lscpu, memory as of their families.
    CpuRow{"Xeon-Platinum-8259CL", "skylake", 24, 2500, 64, 140'800,
           "lscpu of EC2 g4dn instances: 24 cores a socket, 2.5 GHz; 6 x DDR4-2933"},
    CpuRow{"Xeon-Platinum-8275CL", "skylake", 24, 3000, 64, 140'800,
           "lscpu of EC2 p4d instances: 24 cores a socket, 3.0 GHz; 6 x DDR4-2933"},
    CpuRow{"Xeon-Platinum-8273CL", "skylake", 28, 2200, 64, 140'800,
           "lscpu of Google's a2 and g2 machines: 2.2 GHz; 28 cores, 6 x DDR4-2933 assumed"},
    CpuRow{"Xeon-Platinum-8488C", "sapphirerapids", 48, 2400, 64, 307'200,
           "lscpu of EC2 p5en instances: 48 cores a socket, 2.4 GHz; 8 x DDR5-4800"},
    CpuRow{"Xeon-Platinum-8481C", "sapphirerapids", 56, 2000, 64, 307'200,
           "lscpu of Google's a3 machines: 2.0 GHz (shown as 2.7); 56 cores, 8 x DDR5-4800"},
    CpuRow{"Xeon-Platinum-8480C", "sapphirerapids", 56, 2000, 64, 307'200,
           "Azure ND H100 v5: Xeon 8480C; as the Xeon Platinum 8480+"},
    // Emerald Rapids: the same cores and socket as Sapphire Rapids.
    CpuRow{"Xeon-Platinum-8559C", "sapphirerapids", 48, 2400, 64, 358'400,
           "lscpu of EC2 p6-b200 instances: 48 cores a socket; 2.4 GHz, 8 x DDR5-5600 assumed"},
    CpuRow{"Xeon-Platinum-8570", "sapphirerapids", 56, 2100, 64, 358'400,
           "Intel ARK, Xeon Platinum 8570: 56 cores, 2.1 GHz, two AVX-512 units, 8 x DDR5-5600"},
    CpuRow{"EPYC-7R32", "zen2", 48, 2800, 32, 204'800,
           "lscpu of EC2 g5 instances: 48 cores a socket, 2.8 GHz; 8 x DDR4-3200"},
    CpuRow{"EPYC-7R13", "zen3", 48, 2650, 32, 204'800,
           "lscpu of EC2 p5, g6 and g6e instances: 48 cores a socket, 2.65 GHz; 8 x DDR4-3200"},
    CpuRow{"EPYC-7V12", "zen2", 48, 2450, 32, 204'800,
           "Azure ND A100 v4 and NCas T4 v3: EPYC 7V12, 2.45 GHz; 48 of 64 cores, 8 x DDR4-3200"},
    CpuRow{"EPYC-7V13", "zen3", 48, 2450, 32, 204'800,
           "Azure NC A100 v4: EPYC 7V13, 2.45 GHz; 48 of 64 cores, 8 x DDR4-3200"},
    CpuRow{"EPYC-9V84", "zen4", 80, 2400, 32, 460'800,
           "Azure NC H100 v5: EPYC 9V84 (Genoa); 80 cores, 2.4 GHz, 12 x DDR5-4800 assumed"},
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
    CpuRow{"EPYC-9755", "zen5", 128, 2700, 64, 576'000,
           "AMD EPYC 9755 data sheet: 128 cores, 2.7 GHz, 12 x DDR5-6000"},
    CpuRow{"Threadripper-7980X", "zen4", 64, 3200, 32, 166'400,
           "AMD Ryzen Threadripper 7980X specification: 64 cores, 3.2 GHz, 4 x DDR5-5200"},
    CpuRow{"Ryzen-5-5600X", "zen3", 6, 3700, 32, 51'200,
           "AMD Ryzen 5 5600X specification: 6 cores, 3.7 GHz, 2 x DDR4-3200"},
    CpuRow{"Ryzen-7-5700X", "zen3", 8, 3400, 32, 51'200,
           "AMD Ryzen 7 5700X specification: 8 cores, 3.4 GHz, 2 x DDR4-3200"},
    CpuRow{"Ryzen-7-5800X", "zen3", 8, 3800, 32, 51'200,
           "AMD Ryzen 7 5800X specification: 8 cores, 3.8 GHz, 2 x DDR4-3200"},
    CpuRow{"Ryzen-9-5900X", "zen3", 12, 3700, 32, 51'200,
           "AMD Ryzen 9 5900X specification: 12 cores, 3.7 GHz, 2 x DDR4-3200"},
    CpuRow{"Ryzen-9-5950X", "zen3", 16, 3400, 32, 51'200,
           "AMD Ryzen 9 5950X specification: 16 cores, 3.4 GHz, 2 x DDR4-3200"},
    CpuRow{"Ryzen-5-7600X", "zen4", 6, 4700, 32, 83'200,
           "AMD Ryzen 5 7600X specification: 6 cores, 4.7 GHz, 2 x DDR5-5200"},
    CpuRow{"Ryzen-7-7700X", "zen4", 8, 4500, 32, 83'200,
           "AMD Ryzen 7 7700X specification: 8 cores, 4.5 GHz, 2 x DDR5-5200"},
    CpuRow{"Ryzen-7-7800X3D", "zen4", 8, 4200, 32, 83'200,
           "AMD Ryzen 7 7800X3D specification: 8 cores, 4.2 GHz, 2 x DDR5-5200"},
    CpuRow{"Ryzen-9-7900X", "zen4", 12, 4700, 32, 83'200,
           "AMD Ryzen 9 7900X specification: 12 cores, 4.7 GHz, 2 x DDR5-5200"},
    CpuRow{"Ryzen-9-7950X", "zen4", 16, 4500, 32, 83'200,
           "AMD Ryzen 9 7950X specification: 16 cores, 4.5 GHz, 2 x DDR5-5200"},
    CpuRow{"Ryzen-5-9600X", "zen5", 6, 3900, 64, 89'600,
           "AMD Ryzen 5 9600X specification: 6 cores, 3.9 GHz, 2 x DDR5-5600"},
    CpuRow{"Ryzen-7-9700X", "zen5", 8, 3800, 64, 89'600,
           "AMD Ryzen 7 9700X specification: 8 cores, 3.8 GHz, 2 x DDR5-5600"},
    CpuRow{"Ryzen-7-9800X3D", "zen5", 8, 4700, 64, 89'600,
           "AMD Ryzen 7 9800X3D specification: 8 cores, 4.7 GHz, 2 x DDR5-5600"},
    CpuRow{"Ryzen-9-9900X", "zen5", 12, 4400, 64, 89'600,
           "AMD Ryzen 9 9900X specification: 12 cores, 4.4 GHz, 2 x DDR5-5600"},
    CpuRow{"Ryzen-9-9950X", "zen5", 16, 4300, 64, 89'600,
           "AMD Ryzen 9 9950X specification: 16 cores, 4.3 GHz, 2 x DDR5-5600"},
    CpuRow{"Ryzen-9-9950X3D", "zen5", 16, 4300, 64, 89'600,
           "AMD Ryzen 9 9950X3D specification: 16 cores, 4.3 GHz, 2 x DDR5-5600"},
    CpuRow{"Ryzen-7-7840HS", "zen4", 8, 3800, 32, 89'600,
           "AMD Ryzen 7 7840HS specification: 8 cores, 3.8 GHz, 2 x DDR5-5600"},
    CpuRow{"Ryzen-9-7945HX", "zen4", 16, 2500, 32, 83'200,
           "AMD Ryzen 9 7945HX specification: 16 cores, 2.5 GHz, 2 x DDR5-5200"},
    CpuRow{"Ryzen-AI-9-HX-370", "zen5", 12, 2000, 32, 120'000,
           "AMD Ryzen AI 9 HX 370 specification: 12 cores, 2.0 GHz, LPDDR5x-7500, 128 bits"},
    CpuRow{"Core-i5-12600K", "alderlake", 6, 3700, 32, 76'800,
           "Intel ARK, Core i5-12600K: 6 cores at 3.7 and 4 at 2.8 GHz, 2 x DDR5-4800", 4, 2800,
           16},
    CpuRow{"Core-i7-12700K", "alderlake", 8, 3600, 32, 76'800,
           "Intel ARK, Core i7-12700K: 8 cores at 3.6 and 4 at 2.7 GHz, 2 x DDR5-4800", 4, 2700,
           16},
    CpuRow{"Core-i9-12900K", "alderlake", 8, 3200, 32, 76'800,
           "Intel ARK, Core i9-12900K: 8 cores at 3.2 and 8 at 2.4 GHz, 2 x DDR5-4800", 8, 2400,
           16},
    CpuRow{"Core-i5-13600K", "raptorlake", 6, 3500, 32, 89'600,
           "Intel ARK, Core i5-13600K: 6 cores at 3.5 and 8 at 2.6 GHz, 2 x DDR5-5600", 8, 2600,
           16},
    CpuRow{"Core-i7-13700K", "raptorlake", 8, 3400, 32, 89'600,
           "Intel ARK, Core i7-13700K: 8 cores at 3.4 and 8 at 2.5 GHz, 2 x DDR5-5600", 8, 2500,
           16},
    CpuRow{"Core-i9-13900K", "raptorlake", 8, 3000, 32, 89'600,
           "Intel ARK, Core i9-13900K: 8 cores at 3.0 and 16 at 2.2 GHz, 2 x DDR5-5600", 16, 2200,
           16},
    CpuRow{"Core-i7-13700H", "raptorlake", 6, 2400, 32, 83'200,
           "Intel ARK, Core i7-13700H: 6 cores at 2.4 and 8 at 1.8 GHz, 2 x DDR5-5200", 8, 1800,
           16},
    CpuRow{"Core-i5-14600K", "raptorlake", 6, 3500, 32, 89'600,
           "Intel ARK, Core i5-14600K: 6 cores at 3.5 and 8 at 2.6 GHz, 2 x DDR5-5600", 8, 2600,
           16},
    CpuRow{"Core-i7-14700K", "raptorlake", 8, 3400, 32, 89'600,
           "Intel ARK, Core i7-14700K: 8 cores at 3.4 and 12 at 2.5 GHz, 2 x DDR5-5600", 12, 2500,
           16},
    CpuRow{"Core-i9-14900K", "raptorlake", 8, 3200, 32, 89'600,
           "Intel ARK, Core i9-14900K: 8 cores at 3.2 and 16 at 2.4 GHz, 2 x DDR5-5600", 16, 2400,
           16},
    CpuRow{"Core-i9-14900HX", "raptorlake", 8, 2200, 32, 89'600,
           "Intel ARK, Core i9-14900HX: 8 cores at 2.2 and 16 at 1.6 GHz, 2 x DDR5-5600", 16, 1600,
           16},
    CpuRow{"Core-Ultra-5-245K", "arrowlake", 6, 4200, 32, 102'400,
           "Intel ARK, Core Ultra 5 245K: 6 cores at 4.2 and 8 at 3.6 GHz, 2 x DDR5-6400", 8, 3600,
           32},
    CpuRow{"Core-Ultra-7-265K", "arrowlake", 8, 3900, 32, 102'400,
           "Intel ARK, Core Ultra 7 265K: 8 cores at 3.9 and 12 at 3.3 GHz, 2 x DDR5-6400", 12,
           3300, 32},
    CpuRow{"Core-Ultra-9-285K", "arrowlake", 8, 3700, 32, 102'400,
           "Intel ARK, Core Ultra 9 285K: 8 cores at 3.7 and 16 at 3.2 GHz, 2 x DDR5-6400", 16,
           3200, 32},
    CpuRow{"Core-Ultra-9-275HX", "arrowlake", 8, 2700, 32, 102'400,
           "Intel ARK, Core Ultra 9 275HX: 8 cores at 2.7 and 16 at 2.1 GHz, 2 x DDR5-6400", 16,
           2100, 32},
};

}  // namespace

std::vector<DeviceKind> CpuKinds() {
  std::vector<DeviceKind> kinds;
  for (const CpuRow& row : kCpuRows) {
    kinds.push_back(MakeCpuKind(std::string(row.name), std::string(row.architecture),
                                {row.cores, row.base_mhz, row.flops_per_cycle, row.more_cores,
                                 row.more_base_mhz, row.more_flops_per_cycle},
                                BytesPerSecond(row.mb_per_second * 1'000'000),
                                std::string(row.source)));
  }
  return kinds;
}

int32_t CoresOfCpu(std::string_view name) {
  const auto row = std::find_if(kCpuRows.begin(), kCpuRows.end(),
                                [&](const CpuRow& each) { return each.name == name; });
  PW_CHECK(row != kCpuRows.end());
  return row->cores;
}

}  // namespace placewright
