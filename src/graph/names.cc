#include "graph/graph.h"

namespace placewright {

std::string_view ToString(Phase phase) {
  switch (phase) {
    case Phase::kForward: return "forward";
    case Phase::kBackward: return "backward";
    case Phase::kOptimizer: return "optimizer";
  }
  return "?";
}

std::string_view ToString(TensorKind kind) {
  switch (kind) {
    case TensorKind::kParameter: return "parameter";
    case TensorKind::kGradient: return "gradient";
    case TensorKind::kOptimizerState: return "optimizer_state";
    case TensorKind::kBuffer: return "buffer";
    case TensorKind::kInput: return "input";
    case TensorKind::kActivation: return "activation";
    case TensorKind::kConstant: return "constant";
  }
  return "?";
}

std::string_view ToString(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "f32";
    case DType::kF64: return "f64";
    case DType::kF16: return "f16";
    case DType::kBF16: return "bf16";
    case DType::kI64: return "i64";
    case DType::kI32: return "i32";
    case DType::kI16: return "i16";
    case DType::kI8: return "i8";
    case DType::kU8: return "u8";
    case DType::kU16: return "u16";
    case DType::kU32: return "u32";
    case DType::kU64: return "u64";
    case DType::kBool: return "bool";
    case DType::kC64: return "c64";
    case DType::kC128: return "c128";
    case DType::kString: return "string";
    case DType::kOpaque: return "opaque";
  }
  return "?";
}

int64_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kI32:
    case DType::kU32: return 4;
    case DType::kF64:
    case DType::kI64:
    case DType::kU64:
    case DType::kC64: return 8;
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16:
    case DType::kU16: return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool: return 1;
    case DType::kC128: return 16;
    case DType::kString:
    case DType::kOpaque: return 0;
  }
  return 0;
}

bool IsPersistent(TensorKind kind) {
  return kind == TensorKind::kParameter || kind == TensorKind::kOptimizerState ||
         kind == TensorKind::kBuffer || kind == TensorKind::kConstant;
}

}  // namespace placewright
