// Split: a part of one axis of a tensor. Equal to the original since it is the definition of a part.
#include <utility>

#include "compile/rewrites/rewrites.h"

namespace placewright {

std::vector<Value> PartArguments(const AxisPart& part) {
  std::vector<Value> args = References(1);
  for (const int64_t number : NumbersOf(part)) args.push_back(Value(number));
  return args;
}

TensorId EmitSplit(Emitter& emitter, TensorId tensor, const TensorBox& box, DeviceId device) {
  static constexpr const char* kType = "placewright.split.default";
  for (const AxisPart& part : InCuttingOrder(box)) {
    std::vector<int64_t> shape = ShapeOf(emitter.shape(tensor), {part});
    const TensorId again = emitter.AddLikeAgain(kType, tensor, shape, device);
    tensor = again.valid() ? again
                           : emitter.AddLike(kType, {tensor}, PartArguments(part), std::move(shape),
                                             tensor, device);
  }
  return tensor;
}

}  // namespace placewright
