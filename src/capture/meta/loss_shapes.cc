// Losses and their gradients.
#include <ATen/core/Reduction.h>

#include "capture/meta/shape_functions.h"

namespace placewright {
namespace {

std::vector<c10::IValue> LikeSecond(const TorchCall& call) {
  return {EmptyLike(TensorArgument(call, 1))};
}

std::vector<c10::IValue> ContiguousLikeSecond(const TorchCall& call) {
  const at::Tensor second = TensorArgument(call, 1);
  return {EmptyMeta(second.sizes(), second.scalar_type())};
}

// A loss of one number an element, or one in all where argument `reduction` says so.
template <size_t reduction>
std::vector<c10::IValue> Loss(const TorchCall& call) {
  const at::Tensor self = TensorArgument(call, 0);
  if (call.argument(reduction).toInt() == at::Reduction::None) return {EmptyLike(self)};
  return {EmptyMeta({}, self.scalar_type())};
}

// nll_loss2d_forward(self, target, weight, reduction, ignore_index) -> (output, total_weight)
std::vector<c10::IValue> NllLoss2d(const TorchCall& call) {
  const at::Tensor self = TensorArgument(call, 0), target = TensorArgument(call, 1);
  const bool reduced = call.argument(3).toInt() != at::Reduction::None;
  return {EmptyMeta(reduced ? at::IntArrayRef() : target.sizes(), self.scalar_type()),
          EmptyMeta({}, self.scalar_type())};
}

}  // namespace

void AddLossShapes(ShapeTable& table) {
  table["aten::nll_loss2d_forward"] = NllLoss2d;
  table["aten::nll_loss2d_backward"] = LikeSecond;                // (grad_output, self, ...)
  table["aten::mse_loss_backward"] = ContiguousLikeSecond;        // (grad_output, self, ...)
  table["aten::smooth_l1_loss_backward"] = ContiguousLikeSecond;  // (grad_output, self, ...)
  table["aten::huber_loss_backward"] = ContiguousLikeSecond;      // (grad_output, self, ...)
  table["aten::huber_loss"] = Loss<2>;                        // (self, target, reduction, delta)
  table["aten::binary_cross_entropy"] = Loss<3>;              // (self, target, weight, reduction)
  table["aten::binary_cross_entropy_backward"] = LikeSecond;  // (grad_output, self, ...)
  table["aten::glu_backward"] = LikeSecond;                   // (grad_output, self, dim)
}

}  // namespace placewright
