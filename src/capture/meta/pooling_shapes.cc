// Pooling, sampling and reductions.
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

// grid_sampler_2d(input, grid, ...): the image's channels at the places of the grid.
std::vector<c10::IValue> GridSampler(const TorchCall& call) {
  const at::Tensor input = TensorArgument(call, 0), grid = TensorArgument(call, 1);
  return {
      EmptyMeta({input.size(0), input.size(1), grid.size(1), grid.size(2)}, input.scalar_type())};
}

// grid_sampler_2d_backward(grad_output, input, grid, ..., output_mask = 6)
std::vector<c10::IValue> GridSamplerBackward(const TorchCall& call) {
  const at::Tensor input = TensorArgument(call, 1), grid = TensorArgument(call, 2), none;
  const bool wanted = call.argument(6).toBoolList()[0];
  return {wanted ? EmptyMeta(input.sizes(), input.scalar_type()) : none,
          EmptyMeta(grid.sizes(), grid.scalar_type())};
}

// logsumexp(self, dim, keepdim)
std::vector<c10::IValue> LogSumExp(const TorchCall& call) {
  const at::Tensor self = TensorArgument(call, 0);
  const bool keep = call.argument(2).toBool();
  std::vector<bool> reduced(static_cast<size_t>(self.dim()), false);
  for (const int64_t dim : call.argument(1).toIntVector()) {
    reduced.at(static_cast<size_t>(dim < 0 ? dim + self.dim() : dim)) = true;
  }
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) sizes.push_back(self.size(static_cast<int64_t>(d)));
    if (reduced[d] && keep) sizes.push_back(1);
  }
  return {EmptyMeta(sizes, self.scalar_type())};
}

}  // namespace

void AddPoolingShapes(ShapeTable& table) {
  table["aten::grid_sampler_2d"] = GridSampler;
  table["aten::grid_sampler_2d_backward"] = GridSamplerBackward;
  table["aten::logsumexp"] = LogSumExp;
  table["aten::_adaptive_avg_pool2d"] = AdaptiveAveragePool;
  table["aten::_adaptive_avg_pool2d_backward"] = PoolBackward;
  table["aten::_adaptive_avg_pool3d"] = AdaptiveAveragePool;
  table["aten::_adaptive_avg_pool3d_backward"] = PoolBackward;
  table["aten::max_pool3d_with_indices"] = MaxPool3d;
  table["aten::max_pool3d_with_indices_backward"] = PoolBackward;
}

}  // namespace placewright
