#include <array>

#include "cluster/catalogue/rows.h"

namespace placewright {
namespace {

// Runtime context. Driver, CUDA modules and the handles of cuBLAS and cuDNN, before the first
// tensor: 100-500 MB by practitioners' reports, up to 723 MiB with all of PyTorch's kernels loaded
// (discuss.pytorch.org/t/73021); it grows with the number of multiprocessors. An estimate.
constexpr int64_t kOld = 300;    // Kepler, Pascal
constexpr int64_t kVolta = 400;  // Volta, Turing
constexpr int64_t kNew = 500;    // Ampere and later

// Rates in the order f64, f32, f16, bf16, i8.
constexpr std::array kRows = {
    // A K80 board carries two GK210 dies, and frameworks see each as one GPU: figures of one die,
    // half of the board's 8.74 (float, boost 875 MHz), 2.91 (double) and 480 GB/s, 24 GB.
    AcceleratorRow{"K80",
                   "kepler",
                   {1.455, 4.37, 4.37, 0, 4.37},
                   240,
                   12,
                   kOld,
                   "NVIDIA Tesla K80 board specification BD-07317-001; one GK210 die of two"},
    AcceleratorRow{"P100-12GB",
                   "pascal",
                   {4.7, 9.3, 18.7, 0, 9.3},
                   549,
                   12,
                   kOld,
                   "NVIDIA Tesla P100 PCIe data sheet (12 GB)"},
    AcceleratorRow{"P100-16GB",
                   "pascal",
                   {4.7, 9.3, 18.7, 0, 9.3},
                   732,
                   16,
                   kOld,
                   "NVIDIA Tesla P100 PCIe data sheet (16 GB)"},
    AcceleratorRow{"P100-SXM2-16GB",
                   "pascal",
                   {5.3, 10.6, 21.2, 0, 10.6},
                   732,
                   16,
                   kOld,
                   "NVIDIA Tesla P100 data sheet (NVLink module of the DGX-1)"},
    // 2 x 3584 cores x 1.582 GHz = 11.3; double 1/32, half 1/64, 8-bit dot products x4.
    AcceleratorRow{"GTX-1080Ti",
                   "pascal",
                   {0.354, 11.3, 0.177, 0, 45.4},
                   484,
                   11,
                   kOld,
                   "NVIDIA GeForce GTX 1080 Ti specification (GP102, reference clocks)"},
    // The SXM2 module: 80 SMs at 1.53 GHz. 8-bit: DP4A at four times float.
    AcceleratorRow{"V100-16GB",
                   "volta",
                   {7.8, 15.7, 125, 0, 62.8},
                   900,
                   16,
                   kVolta,
                   "NVIDIA Tesla V100 data sheet, SXM2 (16 GB)"},
    AcceleratorRow{"V100-32GB",
                   "volta",
                   {7.8, 15.7, 125, 0, 62.8},
                   900,
                   32,
                   kVolta,
                   "NVIDIA V100 data sheet, SXM2 (32 GB)"},
    AcceleratorRow{"V100-PCIe-16GB",
                   "volta",
                   {7, 14, 112, 0, 56},
                   900,
                   16,
                   kVolta,
                   "NVIDIA V100 data sheet, PCIe (16 GB)"},
    AcceleratorRow{"V100-PCIe-32GB",
                   "volta",
                   {7, 14, 112, 0, 56},
                   900,
                   32,
                   kVolta,
                   "NVIDIA V100 data sheet, PCIe (32 GB)"},
    // Reference clocks (1.71 GHz); half on tensor cores with float accumulation.
    AcceleratorRow{"RTX-2080",
                   "turing",
                   {0.315, 10.1, 40.3, 0, 161},
                   448,
                   8,
                   kVolta,
                   "NVIDIA Turing GPU architecture white paper WP-09183-001, appendix B"},
    // 4352 cores at 1.545 GHz (reference).
    AcceleratorRow{"RTX-2080Ti",
                   "turing",
                   {0.42, 13.4, 53.8, 0, 215.2},
                   616,
                   11,
                   kVolta,
                   "NVIDIA Turing GPU architecture white paper WP-09183-001, table 2"},
    // 70 W: under load it does not hold its boost clock, so its architecture has a row of its own.
    AcceleratorRow{
        "T4", "turing-70w", {0.254, 8.1, 65, 0, 130}, 320, 16, kVolta, "NVIDIA T4 data sheet"},
    AcceleratorRow{"A100-40GB",
                   "ampere",
                   {9.7, 19.5, 312, 312, 624},
                   1555,
                   40,
                   kNew,
                   "NVIDIA A100 data sheet, SXM4 (40 GB)"},
    AcceleratorRow{"A100-80GB",
                   "ampere",
                   {9.7, 19.5, 312, 312, 624},
                   2039,
                   80,
                   kNew,
                   "NVIDIA A100 data sheet, SXM4 (80 GB)"},
    AcceleratorRow{"A100-PCIe-40GB",
                   "ampere",
                   {9.7, 19.5, 312, 312, 624},
                   1555,
                   40,
                   kNew,
                   "NVIDIA A100 data sheet, PCIe (40 GB)"},
    AcceleratorRow{"A100-PCIe-80GB",
                   "ampere",
                   {9.7, 19.5, 312, 312, 624},
                   1935,
                   80,
                   kNew,
                   "NVIDIA A100 data sheet, PCIe (80 GB)"},
    AcceleratorRow{
        "A30", "ampere", {5.2, 10.3, 165, 165, 330}, 933, 24, kNew, "NVIDIA A30 data sheet"},
    // GA102: double is 1/64 of float.
    AcceleratorRow{
        "A10", "ampere", {0.488, 31.2, 125, 125, 250}, 600, 24, kNew, "NVIDIA A10 data sheet"},
    AcceleratorRow{"A40",
                   "ampere",
                   {0.584, 37.4, 149.7, 149.7, 299.3},
                   696,
                   48,
                   kNew,
                   "NVIDIA A40 data sheet"},
    AcceleratorRow{"RTX-A6000",
                   "ampere",
                   {0.605, 38.7, 154.8, 154.8, 309.7},
                   768,
                   48,
                   kNew,
                   "NVIDIA Ampere GA102 GPU architecture white paper V2.0, appendix C"},
    // GeForce: tensor cores with float accumulation run at half of their rate with half's.
    AcceleratorRow{"RTX-3090",
                   "ampere",
                   {0.556, 35.6, 71, 71, 284},
                   936,
                   24,
                   kNew,
                   "NVIDIA Ampere GA102 GPU architecture white paper V2.0, appendix A"},
    // 72 W, as the T4. The data sheet states 242 and 485 with sparsity.
    AcceleratorRow{"L4",
                   "ada-72w",
                   {0.49, 30.3, 121, 121, 242.5},
                   300,
                   24,
                   kNew,
                   "NVIDIA L4 data sheet (its figures with sparsity halved)"},
    AcceleratorRow{
        "L40S", "ada", {1.43, 91.6, 362, 362, 733}, 864, 48, kNew, "NVIDIA L40S data sheet"},
    AcceleratorRow{"RTX-4090",
                   "ada",
                   {1.29, 82.6, 165.2, 165.2, 660.6},
                   1008,
                   24,
                   kNew,
                   "NVIDIA Ada GPU architecture white paper, appendix A"},
    AcceleratorRow{"H100",
                   "hopper",
                   {34, 67, 989, 989, 1979},
                   3350,
                   80,
                   kNew,
                   "NVIDIA H100 data sheet, SXM5 (80 GB)"},
    // The data sheet states 1513 and 3026 with sparsity.
    AcceleratorRow{"H100-PCIe",
                   "hopper",
                   {26, 51, 756, 756, 1513},
                   2000,
                   80,
                   kNew,
                   "NVIDIA H100 data sheet, PCIe (80 GB; its figures with sparsity halved)"},
    // The data sheet's 141 GB are 140 GiB: the driver reports 143,771 MiB.
    AcceleratorRow{"H200",
                   "hopper",
                   {34, 67, 989, 989, 1979},
                   4800,
                   140,
                   kNew,
                   "NVIDIA H200 data sheet, SXM (141 GB; its figures with sparsity halved)"},
    // The data sheet's 180 GB of the HGX board are 179 GiB usable.
    AcceleratorRow{"B200",
                   "blackwell",
                   {37, 75, 2250, 2250, 4500},
                   7700,
                   179,
                   kNew,
                   "NVIDIA Blackwell data sheet, HGX B200 (180 GB; figures with sparsity halved)"},
};

}  // namespace

std::vector<DeviceKind> NvidiaKinds() {
  std::vector<DeviceKind> kinds;
  for (const AcceleratorRow& row : kRows) kinds.push_back(AcceleratorKind(row, DeviceClass::kGpu));
  return kinds;
}

}  // namespace placewright
