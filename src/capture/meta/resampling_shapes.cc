// Padding, patches and sampling of images.
#include "capture/meta/shape_functions.h"

namespace placewright {
namespace {

std::vector<c10::IValue> ContiguousLikeSecond(const TorchCall& call) {
  const at::Tensor second = TensorArgument(call, 1);
  return {EmptyMeta(second.sizes(), second.scalar_type())};
}

// reflection_pad2d(self, [left, right, top, bottom])
std::vector<c10::IValue> Pad2d(const TorchCall& call) {
  const at::Tensor self = TensorArgument(call, 0);
  const std::vector<int64_t> padding = call.argument(1).toIntVector();
  std::vector<int64_t> sizes = self.sizes().vec();
  sizes.at(sizes.size() - 1) += padding.at(0) + padding.at(1);
  sizes.at(sizes.size() - 2) += padding.at(2) + padding.at(3);
  return {EmptyMeta(sizes, self.scalar_type())};
}

int64_t At(const std::vector<int64_t>& values, size_t i) {
  return values.at(values.size() == 1 ? 0 : i);
}

// im2col(self, kernel_size, dilation, padding, stride): a column for every patch.
std::vector<c10::IValue> ImageToColumns(const TorchCall& call) {
  const at::Tensor self = TensorArgument(call, 0);
  const std::vector<int64_t> kernel = call.argument(1).toIntVector();
  const std::vector<int64_t> dilation = call.argument(2).toIntVector();
  const std::vector<int64_t> padding = call.argument(3).toIntVector();
  const std::vector<int64_t> stride = call.argument(4).toIntVector();
  TORCH_CHECK(self.dim() == 3 || self.dim() == 4, "patches are taken of ", self.sizes());
  for (const int64_t step : stride) TORCH_CHECK(step > 0, "a stride is ", step);
  int64_t patches = 1;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = self.size(static_cast<int64_t>(i) - 2);
    patches *=
        (size + 2 * At(padding, i) - At(dilation, i) * (At(kernel, i) - 1) - 1) / At(stride, i) + 1;
  }
  std::vector<int64_t> sizes = self.sizes().vec();
  sizes.resize(sizes.size() - 2);
  sizes.back() *= At(kernel, 0) * At(kernel, 1);
  sizes.push_back(patches);
  return {EmptyMeta(sizes, self.scalar_type())};
}

// col2im(self, output_size, kernel_size, ...)
std::vector<c10::IValue> ColumnsToImage(const TorchCall& call) {
  const at::Tensor self = TensorArgument(call, 0);
  const std::vector<int64_t> image = call.argument(1).toIntVector();
  const std::vector<int64_t> kernel = call.argument(2).toIntVector();
  std::vector<int64_t> sizes = self.sizes().vec();
  TORCH_CHECK(sizes.size() > 1 && At(kernel, 0) > 0 && At(kernel, 1) > 0, "patches of ", kernel,
              " are put together of ", self.sizes());
  sizes.pop_back();
  sizes.back() /= At(kernel, 0) * At(kernel, 1);
  sizes.push_back(image.at(0));
  sizes.push_back(image.at(1));
  return {EmptyMeta(sizes, self.scalar_type())};
}

// grid_sampler_2d(input, grid, ...), and 3d: the places of the grid.
std::vector<c10::IValue> GridSampler(const TorchCall& call) {
  const at::Tensor input = TensorArgument(call, 0);
  std::vector<int64_t> sizes = TensorArgument(call, 1).sizes().vec();
  TORCH_CHECK(sizes.size() > 3, "the grid has sizes ", sizes);
  sizes.pop_back();
  sizes.insert(sizes.begin() + 1, input.size(1));
  return {EmptyMeta(sizes, input.scalar_type())};
}

// grid_sampler_2d_backward(grad_output, input, grid, ..., output_mask = 6), and 3d
std::vector<c10::IValue> GridSamplerBackward(const TorchCall& call) {
  const at::Tensor input = TensorArgument(call, 1), grid = TensorArgument(call, 2);
  const c10::List<bool> wanted = call.argument(6).toBoolList();
  return {wanted[0] ? EmptyMeta(input.sizes(), input.scalar_type()) : at::Tensor(),
          EmptyMeta(grid.sizes(), grid.scalar_type())};
}

std::vector<c10::IValue> ChannelShuffle(const TorchCall& call) {
  return {EmptyLike(TensorArgument(call, 0))};
}

// unfold_backward(grad_in, input_sizes, dim, size, step)
std::vector<c10::IValue> UnfoldBackward(const TorchCall& call) {
  return {EmptyMeta(call.argument(1).toIntVector(), TensorArgument(call, 0).scalar_type())};
}

}  // namespace

void AddResamplingShapes(ShapeTable& table) {
  table["aten::reflection_pad2d"] = Pad2d;
  table["aten::reflection_pad2d_backward"] = ContiguousLikeSecond;   // (grad_output, self, padding)
  table["aten::replication_pad2d_backward"] = ContiguousLikeSecond;  // (grad_output, self, padding)
  table["aten::replication_pad3d_backward"] = ContiguousLikeSecond;  // (grad_output, self, padding)
  table["aten::im2col"] = ImageToColumns;
  table["aten::col2im"] = ColumnsToImage;
  table["aten::grid_sampler_2d"] = GridSampler;
  table["aten::grid_sampler_3d"] = GridSampler;
  table["aten::grid_sampler_2d_backward"] = GridSamplerBackward;
  table["aten::grid_sampler_3d_backward"] = GridSamplerBackward;
  table["aten::channel_shuffle"] = ChannelShuffle;
  table["aten::unfold_backward"] = UnfoldBackward;
}

}  // namespace placewright
