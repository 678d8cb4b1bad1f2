#include <array>

#include "cluster/catalogue/rows.h"

namespace placewright {
namespace {

constexpr int64_t kAmdContext = 500;  // MiB; an estimate after NVIDIA's recent GPUs

// Rates in the order f64, f32 (both of the vector units), f16, bf16, i8 (of the matrix cores).
constexpr std::array kAmdRows = {
    AcceleratorRow{"MI100",
                   "cdna",
                   {11.5, 23.1, 184.6, 92.3, 184.6},
                   1228.8,
                   32,
                   kAmdContext,
                   "AMD Instinct MI100 data sheet"},
    AcceleratorRow{"MI210",
                   "cdna2",
                   {22.6, 22.6, 181, 181, 181},
                   1638.4,
                   64,
                   kAmdContext,
                   "AMD Instinct MI210 data sheet"},
    // An MI250X carries two dies, and programs see each as one GPU (OLCF, Frontier User Guide):
    // figures of one die, half of the module's 47.9 (vector), 383 and 3276.8 GB/s, 128 GB.
    AcceleratorRow{"MI250X",
                   "cdna2",
                   {23.95, 23.95, 191.5, 191.5, 191.5},
                   1638.4,
                   64,
                   kAmdContext,
                   "AMD Instinct MI250X data sheet; one graphics compute die of two"},
    AcceleratorRow{"MI300X",
                   "cdna3",
                   {81.7, 163.4, 1307.4, 1307.4, 2614.9},
                   5300,
                   192,
                   kAmdContext,
                   "AMD Instinct MI300X data sheet"},
    AcceleratorRow{"MI325X",
                   "cdna3",
                   {81.7, 163.4, 1307.4, 1307.4, 2614.9},
                   6000,
                   256,
                   kAmdContext,
                   "AMD Instinct MI325X data sheet"},
};

}  // namespace

std::vector<DeviceKind> AmdKinds() {
  std::vector<DeviceKind> kinds;
  for (const AcceleratorRow& row : kAmdRows)
    kinds.push_back(AcceleratorKind(row, DeviceClass::kGpu));
  return kinds;
}

}  // namespace placewright
