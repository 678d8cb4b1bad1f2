#include <algorithm>
#include <cmath>

#include "cost/cost_model.h"
#include "cost/efficiency.h"

namespace placewright {
namespace {

// A lane works on a tile of a few outputs at once (4 x 4 registers) and takes at most this many
// steps before the sum is split over further lanes.
constexpr double kTileOutputs = 16;
constexpr int64_t kUnsplitDepth = 512;

bool IsProduct(OpClass op_class) {
  switch (op_class) {
    case OpClass::kGemm:
    case OpClass::kGemv:
    case OpClass::kConvDense:
    case OpClass::kConvWinograd:
    case OpClass::kConvPointwise:
    case OpClass::kConvDepthwise:
    case OpClass::kRecurrent: return true;
    default: return false;
  }
}

// Only products run on tensor cores and dot-product units; other arithmetic on 16-bit or integer
// data runs at the rate of f32.
double PeakFor(const Work& work, DType dtype, const PeakRates& peak) {
  const bool product = IsProduct(work.op_class);
  switch (dtype) {
    case DType::kF64:
    case DType::kC128: return peak.f64;
    case DType::kF16: return product || peak.f16 <= 0 ? peak.f16 : std::min(peak.f16, peak.f32);
    case DType::kBF16: return product || peak.bf16 <= 0 ? peak.bf16 : std::min(peak.bf16, peak.f32);
    case DType::kI8:
    case DType::kU8: return product && peak.i8 > 0 ? peak.i8 : peak.f32;
    default: return peak.f32;
  }
}

double Total(Bytes a, Bytes b) {
  return static_cast<double>(a.count) + static_cast<double>(b.count);
}

}  // namespace

// Basic arithmetic alone (no libm, no contraction): the same doubles on every machine.
Nanos RooflineTime(const Work& work, DType dtype, const DeviceKind& kind,
                   FloatPrecision precision) {
  const double bytes = Total(work.bytes_read, work.bytes_written);
  if (work.flops <= 0 && bytes <= 0) return Nanos(0);
  const Efficiency share = EfficiencyOf(work.op_class, dtype, kind);
  double compute = 0, memory = 0;
  if (work.flops > 0) {
    const double peak = PeakFor(work, dtype, kind.peak);
    if (peak <= 0) return CostTable::kUnsupported;
    double rate = peak * share.compute;
    if (dtype == DType::kF32 && HasTf32(kind) && UsesTf32(precision, work.op_class)) {
      // By the units of 16-bit products, at half of their rate; the library takes what is faster.
      rate = std::max(rate, Tf32Rate(work.op_class, kind));
    }
    compute = work.flops / rate * 1e9;
    if (share.steps_per_ns > 0) {
      // A recurrent layer's steps wait for each other: their sums cannot be split.
      const bool split = work.op_class != OpClass::kRecurrent;
      const int64_t depth = split ? std::min(work.depth, kUnsplitDepth) : work.depth;
      const double steps = static_cast<double>(depth);
      compute += kTileOutputs * steps / share.steps_per_ns;
    }
  }
  if (bytes > 0 && kind.memory_bandwidth.count > 0) {
    memory = bytes / (static_cast<double>(kind.memory_bandwidth.count) * share.bandwidth) * 1e9;
  }
  const double busy = std::max(compute, memory);
  if (!(busy < static_cast<double>(kMaxQuantity))) return Nanos(kMaxQuantity);
  const Nanos rounded(static_cast<int64_t>(std::ceil(busy)));
  return Nanos(SaturatingAdd(rounded.count, kind.launch_overhead.count));
}

}  // namespace placewright
