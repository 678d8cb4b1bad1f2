// Convolutions and their gradients. The CPU gives contiguous results for contiguous arguments.
#include <ATen/ops/empty_like.h>

#include "capture/meta/shape_functions.h"

namespace placewright {
namespace {

// convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
//   out = (in + 2 padding - dilation (kernel - 1) - 1) / stride + 1, or transposed
//   out = (in - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1
std::vector<c10::IValue> Convolution(const TorchCall& call) {
  const at::Tensor input = TensorArgument(call, 0), weight = TensorArgument(call, 1);
  const auto list = [&](size_t i) { return call.argument(i).toIntVector(); };
  const std::vector<int64_t> stride = list(3), padding = list(4), dilation = list(5),
                             output_padding = list(7);
  const bool transposed = call.argument(6).toBool();
  const int64_t groups = call.argument(8).toInt();
  TORCH_CHECK(input.dim() == weight.dim() && input.dim() > 2, "a convolution of ", input.dim(),
              " dimensions has weights of ", weight.dim());
  const int64_t channels = transposed ? weight.size(0) : weight.size(1) * groups;
  TORCH_CHECK(input.size(1) == channels, "a convolution of ", channels, " channels is given ",
              input.size(1));
  for (const int64_t step : stride) TORCH_CHECK(step > 0, "a stride is ", step);
  // One number stands for all dimensions.
  const auto at = [](const std::vector<int64_t>& v, size_t d) {
    return v.at(v.size() == 1 ? 0 : d);
  };
  std::vector<int64_t> sizes = {input.size(0),
                                transposed ? weight.size(1) * groups : weight.size(0)};
  for (int64_t i = 2; i < input.dim(); ++i) {
    const auto d = static_cast<size_t>(i - 2);
    const int64_t reach = at(dilation, d) * (weight.size(i) - 1);
    sizes.push_back(transposed
                        ? (input.size(i) - 1) * at(stride, d) - 2 * at(padding, d) + reach +
                              at(output_padding, d) + 1
                        : (input.size(i) + 2 * at(padding, d) - reach - 1) / at(stride, d) + 1);
  }
  return {EmptyMeta(sizes, input.scalar_type())};
}

// convolution_backward(grad_output, input, weight, bias_sizes, ..., transposed = 7, ...,
//                      groups = 9, output_mask = 10)
std::vector<c10::IValue> ConvolutionBackward(const TorchCall& call) {
  const at::Tensor gradient = TensorArgument(call, 0), input = TensorArgument(call, 1),
                   weight = TensorArgument(call, 2);
  const c10::List<bool> wanted = call.argument(10).toBoolList();
  const at::Tensor none;
  return {wanted[0] ? EmptyContiguous(input) : none, wanted[1] ? EmptyContiguous(weight) : none,
          wanted[2] ? EmptyMeta({gradient.size(1)}, gradient.scalar_type()) : none};
}

}  // namespace

void AddConvolutionShapes(ShapeTable& table) {
  table["aten::convolution"] = Convolution;
  table["aten::convolution_backward"] = ConvolutionBackward;
}

}  // namespace placewright
