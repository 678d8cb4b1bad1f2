// Element by element.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/result_type.h>

#include "capture/meta/shape_functions.h"

namespace placewright {
namespace {

std::vector<c10::IValue> LikeFirst(const TorchCall& call) {
  return {EmptyLike(TensorArgument(call, 0))};
}
// The gradient of f(self) is laid out as TensorIterator lays out two operands of one size: as the
// first one that tells.
std::vector<c10::IValue> First(const TorchCall& call) { return {call.argument(0)}; }

// where(condition, self, other). addcmul has a meta kernel and orders the strides of three
// broadcast operands alike.
std::vector<c10::IValue> Where(const TorchCall& call) {
  const at::Tensor self = TensorArgument(call, 1), other = TensorArgument(call, 2);
  const auto as_float = [](const at::Tensor& tensor) {
    return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().dtype(at::kFloat));
  };
  const at::Tensor laid_out =
      at::addcmul(as_float(TensorArgument(call, 0)), as_float(self), as_float(other));
  return {EmptyLike(laid_out, at::result_type(self, other))};
}

// native_dropout(input, p, train) -> (output, mask)
std::vector<c10::IValue> NativeDropout(const TorchCall& call) {
  const at::Tensor input = TensorArgument(call, 0);
  return {EmptyLike(input), EmptyLike(input, at::kBool)};
}

}  // namespace

void AddElementwiseShapes(ShapeTable& table) {
  for (const char* name : {"aten::relu", "aten::hardswish", "aten::hardtanh"}) {
    table[name] = LikeFirst;
  }
  for (const char* name : {"aten::relu_", "aten::hardswish_", "aten::hardtanh_"}) {
    table[name] = First;
  }
  table["aten::where.self"] = Where;
  table["aten::native_dropout"] = NativeDropout;
}

}  // namespace placewright
