#include <array>

#include "cluster/catalogue/rows.h"

namespace placewright {
namespace {

// Rates in the order f64, f32 (both of the vector units), f16, bf16, i8 (of the matrix cores).
constexpr std::array kAmdRows = {
    AcceleratorRow{"MI100",
                   "cdna",
                   {11.5, 23.1, 184.6, 92.3, 184.6},
                   1228.8,
                   32,
                   "AMD Instinct MI100 data sheet"},
    AcceleratorRow{
        "MI210", "cdna2", {22.6, 22.6, 181, 181, 181}, 1638.4, 64, "AMD Instinct MI210 data sheet"},
    // An MI250X carries two dies, and programs see each as one GPU (OLCF, Frontier User Guide):
    // figures of one die, half of the module's 47.9 (vector), 383 and 3276.8 GB/s, 128 GB.
    AcceleratorRow{"MI250X",
                   "cdna2",
                   {23.95, 23.95, 191.5, 191.5, 191.5},
                   1638.4,
                   64,
                   "AMD Instinct MI250X data sheet; one graphics compute die of two"},
    AcceleratorRow{"MI300X",
                   "cdna3",
                   {81.7, 163.4, 1307.4, 1307.4, 2614.9},
                   5300,
                   192,
                   "AMD Instinct MI300X data sheet"},
    AcceleratorRow{"MI325X",
                   "cdna3",
                   {81.7, 163.4, 1307.4, 1307.4, 2614.9},
                   6000,
                   256,
                   "AMD Instinct MI325X data sheet"},
    AcceleratorRow{"MI350X",
                   "cdna4",
                   {72.1, 144.2, 2306.9, 2306.9, 4613.7},
                   8000,
                   288,
                   "AMD Instinct MI350X data sheet"},
    AcceleratorRow{"MI355X",
                   "cdna4",
                   {78.6, 157.3, 2516.6, 2516.6, 5033.2},
                   8000,
                   288,
                   "AMD Instinct MI355X data sheet"},
    // Radeon. Float by two instructions at once (VOPD); 16-bit products of RDNA 3 (WMMA) at twice
    // float, 8-bit the same; of RDNA 4 1,024 and 2,048 operations a cycle and compute unit. Double:
    // 1/32.
    AcceleratorRow{"RX-7900-XT",
                   "rdna3",
                   {1.61, 51.6, 103, 103, 103},
                   800,
                   20,
                   "AMD Radeon RX 7900 XT specification: 84 compute units at 2.4 GHz"},
    AcceleratorRow{"RX-7900-XTX",
                   "rdna3",
                   {1.92, 61.4, 122.8, 122.8, 122.8},
                   960,
                   24,
                   "AMD Radeon RX 7900 XTX specification: 96 compute units at 2.5 GHz"},
    AcceleratorRow{"PRO-W7900",
                   "rdna3",
                   {1.92, 61.3, 122.6, 122.6, 122.6},
                   864,
                   48,
                   "AMD Radeon PRO W7900 data sheet: 96 compute units at 2.495 GHz"},
    AcceleratorRow{"RX-9070",
                   "rdna4",
                   {1.13, 36.1, 144.5, 144.5, 289},
                   640,
                   16,
                   "AMD Radeon RX 9070 specification: 56 compute units at 2.52 GHz"},
    AcceleratorRow{"RX-9070-XT",
                   "rdna4",
                   {1.52, 48.7, 194.6, 194.6, 389.3},
                   640,
                   16,
                   "AMD Radeon RX 9070 XT specification: 64 compute units at 2.97 GHz"},
    AcceleratorRow{"AI-PRO-R9700",
                   "rdna4",
                   {1.49, 47.8, 191, 191, 383},
                   640,
                   32,
                   "AMD Radeon AI PRO R9700 data sheet: 64 compute units at 2.92 GHz"},
};

}  // namespace

std::vector<AcceleratorRow> AmdRows() { return {kAmdRows.begin(), kAmdRows.end()}; }

}  // namespace placewright
