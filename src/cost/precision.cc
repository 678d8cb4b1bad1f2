#include "cost/precision.h"

#include <array>
#include <string>
#include <utility>

#include "base/text.h"
#include "cost/efficiency.h"

namespace placewright {
namespace {

constexpr std::array<std::pair<std::string_view, FloatPrecision>, 3> kNames = {
    {{"pytorch", FloatPrecision::kPyTorch},
     {"fp32", FloatPrecision::kFp32},
     {"tf32", FloatPrecision::kTf32}}};

}  // namespace

std::string_view ToString(FloatPrecision precision) {
  for (const auto& [name, value] : kNames) {
    if (value == precision) return name;
  }
  return "";
}

Result<FloatPrecision> ParseFloatPrecision(std::string_view text) {
  std::vector<std::string> names;
  for (const auto& [name, value] : kNames) {
    if (name == text) return value;
    names.emplace_back(name);
  }
  return MakeError(ErrorCode::kUsage,
                   "--precision \"" + Printable(text) + "\" is unknown" + DidYouMean(text, names),
                   "", "Give pytorch (its defaults), fp32 or tf32.");
}

bool HasTf32(const DeviceKind& kind) {
  const std::string_view name = kind.architecture;
  return kind.device_class == DeviceClass::kGpu &&
         (name == "ampere" || name.starts_with("ada") || name == "hopper" ||
          name.starts_with("blackwell"));
}

bool UsesTf32(FloatPrecision precision, OpClass op_class) {
  switch (op_class) {
    case OpClass::kConvDense:
    case OpClass::kConvWinograd:
    case OpClass::kConvPointwise:
    case OpClass::kRecurrent: return precision != FloatPrecision::kFp32;
    case OpClass::kGemm:
    case OpClass::kGemv: return precision == FloatPrecision::kTf32;
    default: return false;
  }
}

bool IsFasterInTf32(OpClass op_class, const DeviceKind& kind) {
  if (!HasTf32(kind)) return false;
  const double fp32 = kind.peak.f32 * EfficiencyOf(op_class, DType::kF32, kind).compute;
  return Tf32Rate(op_class, kind) > fp32;
}

}  // namespace placewright
