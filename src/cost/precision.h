// In which precision a framework multiplies float32 on GPUs that have a shorter one for it.
#ifndef PLACEWRIGHT_COST_PRECISION_H_
#define PLACEWRIGHT_COST_PRECISION_H_

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "cluster/cluster.h"
#include "cost/work.h"

namespace placewright {

enum class FloatPrecision : uint8_t {
  kPyTorch,  // "pytorch": as PyTorch does by default: convolutions and recurrent
             // layers in TF32, matrix products in FP32 (torch.backends.cudnn.allow_tf32 is true,
             // torch.backends.cuda.matmul.allow_tf32 false)
  kFp32,     // "fp32": nothing in TF32
  kTf32      // "tf32": products, too (torch.set_float32_matmul_precision("high"))
};

std::string_view ToString(FloatPrecision precision);
// Errors: kUsage with near names.
Result<FloatPrecision> ParseFloatPrecision(std::string_view text);

// Whether kinds of that architecture multiply in TF32: NVIDIA's from Ampere on (Ampere Tuning Guide).
bool HasTf32(const DeviceKind& kind);
// Whether an op of that class is computed in TF32 where the kind has it and the op's dtype is f32.
bool UsesTf32(FloatPrecision precision, OpClass op_class);
// Whether it is then costed in TF32: where FP32 is at least as fast on the kind, it is not.
bool IsFasterInTf32(OpClass op_class, const DeviceKind& kind);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_PRECISION_H_
