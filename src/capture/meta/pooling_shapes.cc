// Pooling whose output size is given.
#include "capture/meta/shape_functions.h"

namespace placewright {
namespace {

// _adaptive_avg_pool2d(self, output_size)
std::vector<c10::IValue> AdaptiveAveragePool(const TorchCall& call) {
  const at::Tensor self = TensorArgument(call, 0);
  const std::vector<int64_t> output = call.argument(1).toIntVector();
  std::vector<int64_t> sizes = self.sizes().vec();
  std::copy(output.begin(), output.end(), sizes.end() - 2);
  return {EmptyMeta(sizes, self.scalar_type())};
}

// _adaptive_avg_pool2d_backward(grad_output, self)
std::vector<c10::IValue> AdaptiveAveragePoolBackward(const TorchCall& call) {
  const at::Tensor self = TensorArgument(call, 1);
  return {EmptyMeta(self.sizes(), self.scalar_type())};
}

}  // namespace

void AddPoolingShapes(ShapeTable& table) {
  table["aten::_adaptive_avg_pool2d"] = AdaptiveAveragePool;
  table["aten::_adaptive_avg_pool2d_backward"] = AdaptiveAveragePoolBackward;
}

}  // namespace placewright
