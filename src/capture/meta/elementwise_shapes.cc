// Element by element.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/result_type.h>

#include "aten/torch_version.h"
#include "capture/meta/shape_functions.h"

namespace placewright {
namespace {

std::vector<c10::IValue> LikeFirst(const TorchCall& call) {
  return {EmptyLike(TensorArgument(call, 0))};
}
// The gradient of f(self) is laid out as TensorIterator lays out two operands of one size: as the
// first one that is decisive.
std::vector<c10::IValue> First(const TorchCall& call) { return {call.argument(0)}; }

// f(grad_output, self, ...): laid out as the product of both, which has a meta kernel.
std::vector<c10::IValue> LikeProduct(const TorchCall& call) {
  return {at::mul(TensorArgument(call, 0), TensorArgument(call, 1))};
}

// logical_and(self, other) and its kin
std::vector<c10::IValue> FlagsLikeProduct(const TorchCall& call) {
  const at::Tensor both = at::mul(TensorArgument(call, 0), TensorArgument(call, 1));
  return {EmptyLike(both, at::kBool)};
}

std::vector<c10::IValue> FlagsLikeFirst(const TorchCall& call) {
  return {EmptyLike(TensorArgument(call, 0), at::kBool)};
}

// prelu(self, weight), and its gradients for (grad_output, self, weight). LibTorch 2.x broadcasts
// the weight first, and sums its gradient itself.
std::vector<c10::IValue> Prelu(const TorchCall& call) {
  if (kMetaIsTreatedApart) return LikeProduct(call);
  return {EmptyContiguous(TensorArgument(call, 0))};
}
std::vector<c10::IValue> PreluBackward(const TorchCall& call) {
  const at::Tensor self = TensorArgument(call, 1), weight = TensorArgument(call, 2);
  if (kMetaIsTreatedApart) {
    const at::Tensor product = at::mul(self, weight);
    return {product, EmptyLike(product)};
  }
  return {EmptyContiguous(self), EmptyContiguous(weight)};
}

// log_sigmoid_forward(self) -> (output, buffer); log_sigmoid_backward(grad_output, self, buffer)
std::vector<c10::IValue> LogSigmoid(const TorchCall& call) {
  const at::Tensor self = TensorArgument(call, 0);
  return {EmptyContiguous(self), EmptyContiguous(self)};
}
std::vector<c10::IValue> LogSigmoidBackward(const TorchCall& call) {
  return {EmptyLike(TensorArgument(call, 0))};
}

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

// normal(mean, std, generator), of which one may be a number
std::vector<c10::IValue> Normal(const TorchCall& call) {
  if (!call.argument(0).isTensor()) return {EmptyContiguous(TensorArgument(call, 1))};
  const at::Tensor mean = TensorArgument(call, 0);
  if (!call.argument(1).isTensor()) return {EmptyContiguous(mean)};
  return {
      EmptyMeta(at::infer_size(mean.sizes(), TensorArgument(call, 1).sizes()), mean.scalar_type())};
}

// native_dropout(input, p, train) -> (output, mask)
std::vector<c10::IValue> NativeDropout(const TorchCall& call) {
  const at::Tensor input = TensorArgument(call, 0);
  return {EmptyLike(input), EmptyLike(input, at::kBool)};
}

}  // namespace

void AddElementwiseShapes(ShapeTable& table) {
  for (const char* name : {"aten::relu", "aten::hardswish", "aten::hardtanh", "aten::logit",
                           "aten::abs", "aten::nan_to_num"}) {
    table[name] = LikeFirst;
  }
  for (const char* name :
       {"aten::relu_", "aten::hardswish_", "aten::hardtanh_", "aten::logical_and_",
        "aten::logical_or_", "aten::logical_xor_", "aten::logical_not_"}) {
    table[name] = First;
  }
  table["aten::floor_divide"] = LikeProduct;
  table["aten::hardswish_backward"] = LikeProduct;
  table["aten::hardtanh_backward"] = LikeProduct;
  table["aten::isnan"] = FlagsLikeFirst;
  table["aten::logical_not"] = FlagsLikeFirst;
  for (const char* name : {"aten::logical_and", "aten::logical_or", "aten::logical_xor"}) {
    table[name] = FlagsLikeProduct;
  }
  table[kPrelu] = Prelu;
  table[kPreluBackward] = PreluBackward;
  table["aten::log_sigmoid_forward"] = LogSigmoid;
  table["aten::log_sigmoid_backward"] = LogSigmoidBackward;
  table["aten::where.self"] = Where;
  for (const char* name :
       {"aten::normal.float_Tensor", "aten::normal.Tensor_float", "aten::normal.Tensor_Tensor"}) {
    table[name] = Normal;
  }
  table["aten::native_dropout"] = NativeDropout;
  table["aten::native_dropout_backward"] = LikeProduct;
}

}  // namespace placewright
