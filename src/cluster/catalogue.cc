#include "cluster/catalogue.h"

#include <array>
#include <vector>

#include "cluster/machine.h"

namespace placewright {
namespace {

constexpr double kTera = 1e12;
constexpr int64_t kGB = 1'000'000'000;
constexpr int64_t kGiB = int64_t{1} << 30;
constexpr int64_t kMiB = int64_t{1} << 20;

// Launch overhead. An empty kernel costs 3 us of driver time when launches are queued back to back
// (University of Virginia, "CUDA kernel overhead": at most 334,000 launches a second), and the
// dispatch of a framework comes on top: 5 us per op on every GPU. On a CPU an op is a function
// call behind the framework's dispatcher: 1 us.
constexpr Nanos kGpuLaunch(5'000);
constexpr Nanos kCpuLaunch(1'000);

// Runtime context. Driver, CUDA modules and the handles of cuBLAS and cuDNN, before the first
// tensor: 100-500 MB by practitioners' reports, up to 723 MiB with all of PyTorch's kernels loaded
// (discuss.pytorch.org/t/73021); it grows with the number of multiprocessors. An estimate.
constexpr Bytes kOldContext(300 * kMiB);    // Kepler, Pascal
constexpr Bytes kVoltaContext(400 * kMiB);  // Volta, Turing
constexpr Bytes kNewContext(500 * kMiB);    // Ampere, Hopper

DeviceKind Gpu(std::string name, std::string architecture, PeakRates tera, int64_t gb_per_second,
               int64_t gib, Bytes context, std::string source) {
  const PeakRates peak{tera.f64 * kTera, tera.f32 * kTera, tera.f16 * kTera, tera.bf16 * kTera,
                       tera.i8 * kTera};
  return DeviceKind{std::move(name),
                    DeviceClass::kGpu,
                    std::move(architecture),
                    peak,
                    BytesPerSecond(gb_per_second * kGB),
                    Bytes(gib * kGiB),
                    kGpuLaunch,
                    context,
                    std::move(source)};
}

// `memory` 0: the host says how much a socket has.
DeviceKind Cpu(std::string name, std::string architecture, double tera, int64_t mb_per_second,
               std::string source) {
  // Half precision is stored in 2 bytes and computed in float (F16C); 8-bit products without VNNI
  // gain nothing over float once they are widened.
  const PeakRates peak{tera / 2 * kTera, tera * kTera, tera * kTera, tera * kTera, tera * kTera};
  return DeviceKind{std::move(name),
                    DeviceClass::kCpu,
                    std::move(architecture),
                    peak,
                    BytesPerSecond(mb_per_second * 1'000'000),
                    Bytes(0),
                    kCpuLaunch,
                    Bytes(0),
                    std::move(source)};
}

// Rates in TFLOP/s in the order f64, f32, f16, bf16, i8: dense, at boost clock. Where a GPU has no
// half or 8-bit arithmetic of its own, frameworks compute in float: the float rate stands there.
std::vector<DeviceKind> MakeCatalogue() {
  std::vector<DeviceKind> kinds;
  // A K80 board carries two GK210 dies, and frameworks see each as one GPU: figures of one die,
  // half of the board's 8.74 (float, boost 875 MHz), 2.91 (double) and 480 GB/s, 24 GB.
  kinds.push_back(Gpu("K80", "kepler", {1.455, 4.37, 4.37, 0, 4.37}, 240, 12, kOldContext,
                      "NVIDIA Tesla K80 board specification BD-07317-001; one GK210 die of two"));
  kinds.push_back(Gpu("P100-12GB", "pascal", {4.7, 9.3, 18.7, 0, 9.3}, 549, 12, kOldContext,
                      "NVIDIA Tesla P100 PCIe data sheet (12 GB)"));
  kinds.push_back(Gpu("P100-16GB", "pascal", {4.7, 9.3, 18.7, 0, 9.3}, 732, 16, kOldContext,
                      "NVIDIA Tesla P100 PCIe data sheet (16 GB)"));
  kinds.push_back(Gpu("P100-SXM2-16GB", "pascal", {5.3, 10.6, 21.2, 0, 10.6}, 732, 16, kOldContext,
                      "NVIDIA Tesla P100 data sheet (NVLink module of the DGX-1)"));
  // 2 x 3584 cores x 1.582 GHz = 11.3; double 1/32, half 1/64, 8-bit dot products x4.
  kinds.push_back(Gpu("GTX-1080Ti", "pascal", {0.354, 11.3, 0.177, 0, 45.4}, 484, 11, kOldContext,
                      "NVIDIA GeForce GTX 1080 Ti specification (GP102, reference clocks)"));
  // The SXM2 module: 80 SMs at 1.53 GHz. 8-bit: DP4A at four times float.
  kinds.push_back(Gpu("V100-16GB", "volta", {7.8, 15.7, 125, 0, 62.8}, 900, 16, kVoltaContext,
                      "NVIDIA Tesla V100 data sheet, SXM2 (16 GB)"));
  kinds.push_back(Gpu("V100-32GB", "volta", {7.8, 15.7, 125, 0, 62.8}, 900, 32, kVoltaContext,
                      "NVIDIA V100 data sheet, SXM2 (32 GB)"));
  // Reference clocks (1.71 GHz); half on tensor cores with float accumulation.
  kinds.push_back(Gpu("RTX-2080", "turing", {0.315, 10.1, 40.3, 0, 161}, 448, 8, kVoltaContext,
                      "NVIDIA Turing GPU architecture white paper WP-09183-001, appendix B"));
  // 70 W: under load it does not hold its boost clock, so its architecture has a row of its own.
  kinds.push_back(Gpu("T4", "turing-70w", {0.254, 8.1, 65, 0, 130}, 320, 16, kVoltaContext,
                      "NVIDIA T4 data sheet"));
  kinds.push_back(Gpu("A100-40GB", "ampere", {9.7, 19.5, 312, 312, 624}, 1555, 40, kNewContext,
                      "NVIDIA A100 data sheet, SXM4 (40 GB)"));
  kinds.push_back(Gpu("A100-80GB", "ampere", {9.7, 19.5, 312, 312, 624}, 2039, 80, kNewContext,
                      "NVIDIA A100 data sheet, SXM4 (80 GB)"));
  kinds.push_back(Gpu("H100", "hopper", {34, 67, 989, 989, 1979}, 3350, 80, kNewContext,
                      "NVIDIA H100 data sheet, SXM5 (80 GB)"));
  // 12 cores x 2.2 GHz base clock x 2 FMA units x 8 floats x 2 = 844.8 GFLOP/s; 4 x DDR4-2400.
  kinds.push_back(Cpu("Xeon-E5-2650v4", "broadwell", 0.8448, 76'800,
                      "Intel ARK, Xeon E5-2650 v4: 12 cores, 2.2 GHz, AVX2 with FMA, 76.8 GB/s"));
  // 64 cores x 2.25 GHz x 2 FMA units x 8 floats x 2 = 4.608 TFLOP/s; 8 x DDR4-3200.
  kinds.push_back(Cpu("EPYC-7742", "zen2", 4.608, 204'800,
                      "AMD EPYC 7742 data sheet: 64 cores, 2.25 GHz, AVX2 with FMA, 204.8 GB/s"));
  return kinds;
}

// "V100 32", "v100-32gb" and "V100_32GB" are one name.
std::string Normalized(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == ' ') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (out.size() > 2 && out.ends_with("gb")) out.resize(out.size() - 2);
  return out;
}

}  // namespace

std::span<const DeviceKind> Catalogue() {
  static const std::vector<DeviceKind> kinds = MakeCatalogue();
  return kinds;
}

const DeviceKind* FindKind(std::string_view name) {
  const std::string wanted = Normalized(name);
  for (const DeviceKind& kind : Catalogue()) {
    if (Normalized(kind.name) == wanted) return &kind;
  }
  return nullptr;
}

}  // namespace placewright
