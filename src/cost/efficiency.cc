#include "cost/efficiency.h"

#include <algorithm>
#include <array>

namespace placewright {
namespace {

// Shares of the peak by convolution algorithm, fitted on the P100 (docs/costs.md, "Fitted").
constexpr double kDenseConvolution = 0.35;
constexpr double kWinogradConvolution = 1.70;
constexpr double kPointwiseConvolution = 0.62;
constexpr double kDepthwiseConvolution = 0.08;

// What varies with the architecture. Sources by column: docs/costs.md, "Efficiencies".
struct ArchitectureRow {
  std::string_view name;
  DeviceClass device_class;
  double bandwidth;  // of streaming kernels
  double clock;      // GHz: one lane's steps through a sum
  double gemm;       // large f32 products
  double direct;     // GPUs: convolutions without a fast algorithm, relative to the P100;
                     // CPUs: all convolutions
  double winograd;   // GPUs: Winograd's, relative to the P100
  double tf32;       // products in TF32 by tensor cores
  double narrow;     // 16- and 8-bit products; kByBalance: as kTensorShares says
  double scalar;     // everything else that computes
};

constexpr double kByBalance = 0;

// What tensor cores reach of their 16-bit rate, by how many times the rate of float32 it is: the more
// they outrun everything else on the device, the more they wait for it. Between the points linear.
struct TensorShare {
  double ratio, product, convolution;
};
constexpr std::array kTensorShares = {TensorShare{2, 0.90, 0.87}, TensorShare{4, 0.80, 0.70},
                                      TensorShare{8, 0.72, 0.57}, TensorShare{16, 0.65, 0.43}};

constexpr std::array kArchitectures = {
    ArchitectureRow{"kepler", DeviceClass::kGpu, 0.80, 0.82, 0.50, 0.49, 0.49, 0.50, 0.50, 0.5},
    ArchitectureRow{"maxwell", DeviceClass::kGpu, 0.80, 1.10, 0.80, 1.00, 1.00, 0.50, 0.50, 0.5},
    ArchitectureRow{"pascal", DeviceClass::kGpu, 0.70, 1.48, 0.80, 1.00, 1.00, 0.50, 0.50, 0.5},
    ArchitectureRow{"volta", DeviceClass::kGpu, 0.83, 1.53, 0.80, 1.45, 1.00, 0.50, kByBalance,
                    0.5},
    ArchitectureRow{"turing", DeviceClass::kGpu, 0.75, 1.70, 0.80, 1.42, 1.00, 0.50, kByBalance,
                    0.5},
    ArchitectureRow{"turing-70w", DeviceClass::kGpu, 0.69, 1.20, 0.60, 1.06, 0.75, 0.40, 0.45, 0.4},
    ArchitectureRow{"ampere", DeviceClass::kGpu, 0.88, 1.41, 0.80, 1.45, 1.00, 0.50, kByBalance,
                    0.5},
    ArchitectureRow{"ada", DeviceClass::kGpu, 0.88, 2.50, 0.60, 1.20, 0.80, 0.40, kByBalance, 0.5},
    ArchitectureRow{"hopper", DeviceClass::kGpu, 0.88, 1.70, 0.60, 1.20, 0.80, 0.40, kByBalance,
                    0.5},
    ArchitectureRow{"ada-72w", DeviceClass::kGpu, 0.88, 1.50, 0.45, 0.90, 0.60, 0.30, 0.45, 0.4},
    ArchitectureRow{"blackwell", DeviceClass::kGpu, 0.88, 1.90, 0.60, 1.20, 0.80, 0.40, kByBalance,
                    0.5},
    ArchitectureRow{"ada-laptop", DeviceClass::kGpu, 0.88, 1.90, 0.45, 0.90, 0.60, 0.30, 0.60, 0.4},
    ArchitectureRow{"blackwell-laptop", DeviceClass::kGpu, 0.88, 1.90, 0.45, 0.90, 0.60, 0.30, 0.60,
                    0.4},
    ArchitectureRow{"other-gpu", DeviceClass::kGpu, 0.83, 1.53, 0.80, 1.45, 1.00, 0.50, kByBalance,
                    0.5},
    ArchitectureRow{"cdna", DeviceClass::kGpu, 0.75, 1.50, 0.60, 1.00, 0.80, 0.40, 0.40, 0.5},
    ArchitectureRow{"cdna2", DeviceClass::kGpu, 0.75, 1.70, 0.60, 1.00, 0.80, 0.40, 0.40, 0.5},
    ArchitectureRow{"cdna3", DeviceClass::kGpu, 0.75, 2.10, 0.60, 1.00, 0.80, 0.40, 0.40, 0.5},
    ArchitectureRow{"cdna4", DeviceClass::kGpu, 0.75, 2.10, 0.60, 1.00, 0.80, 0.40, 0.40, 0.5},
    ArchitectureRow{"rdna3", DeviceClass::kGpu, 0.75, 2.50, 0.30, 0.50, 0.40, 0.40, 0.40, 0.5},
    ArchitectureRow{"rdna4", DeviceClass::kGpu, 0.75, 2.97, 0.30, 0.50, 0.40, 0.40, 0.40, 0.5},
    ArchitectureRow{"xe-hpg", DeviceClass::kGpu, 0.75, 2.40, 0.60, 1.00, 0.80, 0.40, 0.40, 0.5},
    ArchitectureRow{"xe2", DeviceClass::kGpu, 0.75, 2.67, 0.60, 1.00, 0.80, 0.40, 0.40, 0.5},
    ArchitectureRow{"tpu", DeviceClass::kOther, 0.75, 0.94, 0.60, 1.00, 0.80, 0.50, 0.50, 0.25},
    ArchitectureRow{"broadwell", DeviceClass::kCpu, 0.75, 0, 0.75, 0.60, 0, 0.75, 0.75, 0.25},
    ArchitectureRow{"skylake", DeviceClass::kCpu, 0.75, 0, 0.60, 0.48, 0, 0.60, 0.60, 0.20},
    ArchitectureRow{"icelake", DeviceClass::kCpu, 0.75, 0, 0.60, 0.48, 0, 0.60, 0.60, 0.20},
    ArchitectureRow{"sapphirerapids", DeviceClass::kCpu, 0.75, 0, 0.60, 0.48, 0, 0.60, 0.60, 0.20},
    ArchitectureRow{"zen2", DeviceClass::kCpu, 0.75, 0, 0.75, 0.60, 0, 0.75, 0.75, 0.25},
    ArchitectureRow{"zen3", DeviceClass::kCpu, 0.75, 0, 0.75, 0.60, 0, 0.75, 0.75, 0.25},
    ArchitectureRow{"zen4", DeviceClass::kCpu, 0.75, 0, 0.75, 0.60, 0, 0.75, 0.75, 0.25},
    ArchitectureRow{"zen5", DeviceClass::kCpu, 0.75, 0, 0.60, 0.48, 0, 0.60, 0.60, 0.20},
    ArchitectureRow{"alderlake", DeviceClass::kCpu, 0.75, 0, 0.75, 0.60, 0, 0.75, 0.75, 0.25},
    ArchitectureRow{"raptorlake", DeviceClass::kCpu, 0.75, 0, 0.75, 0.60, 0, 0.75, 0.75, 0.25},
    ArchitectureRow{"arrowlake", DeviceClass::kCpu, 0.75, 0, 0.75, 0.60, 0, 0.75, 0.75, 0.25},
    ArchitectureRow{"other-cpu", DeviceClass::kCpu, 0.75, 0, 0.75, 0.60, 0, 0.75, 0.75, 0.25},
};

const ArchitectureRow& RowOf(DeviceClass device_class, std::string_view architecture) {
  for (const ArchitectureRow& row : kArchitectures) {
    if (row.name == architecture) return row;
  }
  const std::string_view fallback = device_class == DeviceClass::kCpu ? "other-cpu" : "other-gpu";
  return *std::find_if(kArchitectures.begin(), kArchitectures.end(),
                       [&](const ArchitectureRow& row) { return row.name == fallback; });
}

double CpuConvolutionShare(const ArchitectureRow& row, OpClass op_class) {
  return op_class == OpClass::kConvDepthwise ? row.direct / 3 : row.direct;
}

bool IsConvolution(OpClass op_class) {
  return op_class == OpClass::kConvDense || op_class == OpClass::kConvWinograd ||
         op_class == OpClass::kConvPointwise || op_class == OpClass::kConvDepthwise;
}

double SinglePrecisionShare(const ArchitectureRow& row, OpClass op_class) {
  if (row.device_class == DeviceClass::kCpu && IsConvolution(op_class)) {
    return CpuConvolutionShare(row, op_class);
  }
  switch (op_class) {
    case OpClass::kGemm:
    case OpClass::kGemv: return row.gemm;
    case OpClass::kConvDense: return kDenseConvolution * row.direct;
    case OpClass::kConvWinograd: return kWinogradConvolution * row.winograd;
    case OpClass::kConvPointwise: return kPointwiseConvolution * row.direct;
    case OpClass::kConvDepthwise: return kDepthwiseConvolution * row.direct;
    case OpClass::kRecurrent: return row.gemm * 0.6;
    default: return row.scalar;
  }
}

TensorShare SharesAt(double ratio) {
  const TensorShare* below = &kTensorShares.front();
  for (const TensorShare& above : kTensorShares) {
    if (ratio <= above.ratio) {
      if (above.ratio == below->ratio) return above;
      const double part = (ratio - below->ratio) / (above.ratio - below->ratio);
      return {ratio, below->product + part * (above.product - below->product),
              below->convolution + part * (above.convolution - below->convolution)};
    }
    below = &above;
  }
  return kTensorShares.back();
}

// Tensor cores multiply directly: no Winograd.
double NarrowShare(const ArchitectureRow& row, OpClass op_class, double ratio) {
  TensorShare shares{0, row.narrow, row.narrow * 2 / 3};
  if (row.narrow == kByBalance) shares = SharesAt(ratio);
  const bool product = op_class == OpClass::kGemm || op_class == OpClass::kGemv;
  if (product) return shares.product;
  const double limit = IsConvolution(op_class) ? shares.convolution : shares.product;
  return std::min(SinglePrecisionShare(row, op_class), limit);
}

bool IsNarrow(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kI8 ||
         dtype == DType::kU8;
}

// What FlashAttention-2 reaches of an H100's tensor cores (Shah et al. 2024, arXiv:2407.08608, abstract).
constexpr double kFlashAttention2 = 0.35;

// Not those that compute the scores as a matrix, nor cuDNN's.
bool IsFlashAttention(std::string_view type) {
  constexpr std::array<std::string_view, 5> kPrefixes = {
      "aten._flash_attention_", "aten._efficient_attention_",
      "aten._scaled_dot_product_flash_attention", "aten._scaled_dot_product_efficient_attention",
      "placewright.causal_attention_"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return type.starts_with(prefix); });
}

}  // namespace

std::vector<std::string> EfficiencyArchitectures(DeviceClass device_class) {
  std::vector<std::string> names;
  for (const ArchitectureRow& row : kArchitectures) {
    if (row.device_class == device_class) names.emplace_back(row.name);
  }
  return names;
}

Efficiency EfficiencyOf(OpClass op_class, DType dtype, const DeviceKind& kind) {
  const ArchitectureRow& row = RowOf(kind.device_class, kind.architecture);
  // Winograd's method is for f32 alone.
  const bool direct = dtype == DType::kF64 && op_class == OpClass::kConvWinograd;
  const bool tensor = IsNarrow(dtype) && row.device_class != DeviceClass::kCpu;
  const double rate = std::max(kind.peak.f16, kind.peak.bf16);
  const double ratio = kind.peak.f32 > 0 ? rate / kind.peak.f32 : 0;
  const double compute =
      tensor ? NarrowShare(row, op_class, ratio)
             : SinglePrecisionShare(row, direct ? OpClass::kConvPointwise : op_class);
  return {compute, row.bandwidth, row.clock};
}

double TimesOfProducts(std::string_view op_type, DType dtype, const DeviceKind& kind) {
  const bool asynchronous = kind.architecture == "hopper" || kind.architecture == "blackwell";
  if (!asynchronous || !IsNarrow(dtype) || !IsFlashAttention(op_type)) return 1;
  return EfficiencyOf(OpClass::kGemm, dtype, kind).compute / kFlashAttention2;
}

double Tf32Rate(OpClass op_class, const DeviceKind& kind) {
  const ArchitectureRow& row = RowOf(kind.device_class, kind.architecture);
  const double limit = IsConvolution(op_class) ? row.tf32 * 2 / 3 : row.tf32;
  const bool product = op_class == OpClass::kGemm || op_class == OpClass::kGemv;
  const double share = product ? limit : std::min(SinglePrecisionShare(row, op_class), limit);
  return std::max(0.0, kind.peak.bf16) / 2 * share;
}

}  // namespace placewright
