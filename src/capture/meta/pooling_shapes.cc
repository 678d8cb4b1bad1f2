// Pooling.
#include "capture/meta/shape_functions.h"

namespace placewright {
namespace {

// _adaptive_avg_pool2d(self, output_size), and 3d
std::vector<c10::IValue> AdaptiveAveragePool(const TorchCall& call) {
  const at::Tensor self = TensorArgument(call, 0);
  const std::vector<int64_t> output = call.argument(1).toIntVector();
  std::vector<int64_t> sizes = self.sizes().vec();
  TORCH_CHECK(output.size() < sizes.size(), "pooling to ", output, " is given ", self.sizes());
  std::copy(output.begin(), output.end(), sizes.end() - static_cast<std::ptrdiff_t>(output.size()));
  return {EmptyMeta(sizes, self.scalar_type())};
}

// _adaptive_avg_pool2d_backward(grad_output, self), 3d, and max_pool3d_with_indices_backward
std::vector<c10::IValue> PoolBackward(const TorchCall& call) {
  const at::Tensor self = TensorArgument(call, 1);
  return {EmptyMeta(self.sizes(), self.scalar_type())};
}

// Rounded up, a last window must still begin within the input or its left padding.
int64_t Windows(int64_t size, int64_t kernel, int64_t padding, int64_t stride, int64_t dilation,
                bool up) {
  TORCH_CHECK(stride > 0, "a stride is ", stride);
  const int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
  const int64_t windows = (room + (up ? stride - 1 : 0)) / stride + 1;
  return up && (windows - 1) * stride >= size + padding ? windows - 1 : windows;
}

// max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)
//   -> (output, indices); one number stands for all three dimensions, no stride for the kernel's.
std::vector<c10::IValue> MaxPool3d(const TorchCall& call) {
  const at::Tensor self = TensorArgument(call, 0);
  const std::vector<int64_t> kernel = call.argument(1).toIntVector();
  const std::vector<int64_t> stride = call.argument(2).toIntVector();
  const std::vector<int64_t> padding = call.argument(3).toIntVector();
  const std::vector<int64_t> dilation = call.argument(4).toIntVector();
  std::vector<int64_t> sizes = self.sizes().vec();
  const auto at = [](const std::vector<int64_t>& values, size_t i) {
    return values.at(values.size() == 1 ? 0 : i);
  };
  for (size_t i = 0; i < 3; ++i) {
    int64_t& size = sizes.at(sizes.size() - 3 + i);
    size = Windows(size, at(kernel, i), at(padding, i), at(stride.empty() ? kernel : stride, i),
                   at(dilation, i), call.argument(5).toBool());
  }
  return {EmptyMeta(sizes, self.scalar_type()), EmptyMeta(sizes, at::kLong)};
}

}  // namespace

void AddPoolingShapes(ShapeTable& table) {
  table["aten::_adaptive_avg_pool2d"] = AdaptiveAveragePool;
  table["aten::_adaptive_avg_pool2d_backward"] = PoolBackward;
  table["aten::_adaptive_avg_pool3d"] = AdaptiveAveragePool;
  table["aten::_adaptive_avg_pool3d_backward"] = PoolBackward;
  table["aten::max_pool3d_with_indices"] = MaxPool3d;
  table["aten::max_pool3d_with_indices_backward"] = PoolBackward;
}

}  // namespace placewright
