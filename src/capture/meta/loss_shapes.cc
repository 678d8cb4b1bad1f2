// Losses and their gradients.
#include <ATen/core/Reduction.h>

#include "capture/meta/shape_functions.h"

namespace placewright {
namespace {

std::vector<c10::IValue> LikeSecond(const TorchCall& call) {
  return {EmptyLike(TensorArgument(call, 1))};
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
  table["aten::nll_loss2d_backward"] = LikeSecond;  // (grad_output, self, ...)
  table["aten::mse_loss_backward"] = LikeSecond;    // (grad_output, self, ...)
  table["aten::glu_backward"] = LikeSecond;         // (grad_output, self, dim)
}

}  // namespace placewright
