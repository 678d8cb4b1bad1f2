#include <ATen/ATen.h>
#include <fmt/format.h>

#include "capture/onnx/operators/table.h"
#include "capture/onnx/operators/window.h"

namespace placewright::lowering {
namespace {

Ints SpatialSizes(const at::Tensor& weight) {
  return weight.dim() < 3 ? Ints() : Ints(weight.sizes().begin() + 2, weight.sizes().end());
}

at::Tensor Convolve(const NodeCall& call, at::Tensor x, const at::Tensor& weight,
                    const at::Tensor& bias) {
  if (x.dim() != weight.dim()) call.Invalid("input and weight differ in their dimensions");
  Window window = ReadWindow(call, x, SpatialSizes(weight));
  const int64_t group = call.Int("group", 1);
  if (group < 1) call.Invalid(fmt::format("group {}", group));
  if (!window.Symmetric()) {
    x = PadSpatial(x, window.begin, window.end, 0);
    window.begin.assign(window.rank(), 0);
  }
  c10::optional<at::Tensor> given;
  if (bias.defined()) given = bias;
  return at::convolution(x, weight, given, window.stride, window.begin, window.dilation, false,
                         Ints(window.rank(), 0), group);
}

Values Conv(const NodeCall& call) {
  return {Convolve(call, call.In(0), call.In(1), call.InOrNone(2))};
}

// com.microsoft: a convolution, a summand, an activation.
Values FusedConv(const NodeCall& call) {
  at::Tensor y = Convolve(call, call.In(0), call.In(1), call.InOrNone(2));
  if (call.Has(3)) y = at::add(y, call.In(3));
  const std::string activation = call.Text("activation", "");
  if (activation == "Relu") return {at::relu(y)};
  if (activation == "Sigmoid") return {at::sigmoid(y)};
  if (activation == "Tanh") return {at::tanh(y)};
  if (!activation.empty()) call.Unsupported("activation \"" + activation + "\"");
  return {y};
}

struct Transposed {
  Window window;
  Ints output_padding;
};

// What is cut from the full result, (in - 1) stride + reach, at both ends; `output_shape` and the
// modes SAME say how large the result is instead.
Transposed ReadTransposed(const NodeCall& call, const at::Tensor& x, const at::Tensor& weight) {
  Transposed read{ReadWindow(call, x, SpatialSizes(weight)), {}};
  Window& window = read.window;
  const size_t rank = window.rank();
  read.output_padding = call.IntList("output_padding").value_or(Ints(rank, 0));
  const std::string mode = call.Text("auto_pad", "NOTSET");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  const std::optional<Ints> asked = call.IntList("output_shape");
  if (read.output_padding.size() != rank || (asked && asked->size() < rank)) {
    call.Invalid("output_padding or output_shape has not one item for each dimension");
  }
  for (size_t d = 0; (asked || same) && d < rank; ++d) {
    const int64_t in = x.size(static_cast<int64_t>(d) + 2);
    const int64_t out = asked ? (*asked)[asked->size() - rank + d] : in * window.stride[d];
    const int64_t total =
        window.stride[d] * (in - 1) + read.output_padding[d] + window.CandidateScope(d) - out;
    const int64_t cut = std::max<int64_t>(0, total);  // what is missing is added at the end
    window.begin[d] = mode == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
    window.end[d] = total - window.begin[d];
  }
  return read;
}

// LibTorch takes padding that is the same on both sides, and less output padding than a stride.
bool LibTorchTakes(const Transposed& read) {
  if (!read.window.Symmetric()) return false;
  for (size_t d = 0; d < read.output_padding.size(); ++d) {
    const int64_t more = read.output_padding[d];
    if (more < 0 || more >= std::max(read.window.stride[d], read.window.dilation[d])) return false;
  }
  return true;
}

Values ConvTranspose(const NodeCall& call) {
  const at::Tensor x = call.In(0), weight = call.In(1);
  if (x.dim() != weight.dim()) call.Invalid("input and weight differ in their dimensions");
  const Transposed read = ReadTransposed(call, x, weight);
  const Window& window = read.window;
  const int64_t group = call.Int("group", 1);
  if (group < 1) call.Invalid(fmt::format("group {}", group));
  c10::optional<at::Tensor> bias;
  if (call.Has(2)) bias = call.In(2);
  if (LibTorchTakes(read)) {
    return {at::convolution(x, weight, bias, window.stride, window.begin, window.dilation, true,
                            read.output_padding, group)};
  }
  const Ints none(window.rank(), 0);
  at::Tensor y =
      at::convolution(x, weight, {}, window.stride, none, window.dilation, true, none, group);
  Ints begin, end;
  for (size_t d = 0; d < window.rank(); ++d) {
    begin.push_back(-window.begin[d]);
    end.push_back(read.output_padding[d] - window.end[d]);
  }
  y = PadSpatial(y, begin, end, 0);
  if (!bias) return {y};
  Ints shape(static_cast<size_t>(x.dim() - 1), 1);
  shape[0] = bias->numel();
  return {at::add(y, at::reshape(*bias, shape))};
}

}  // namespace

void AddConvolutionOperators(OperatorTable& table) {
  table["Conv"] = Conv;
  table["ConvTranspose"] = ConvTranspose;
  table["com.microsoft.FusedConv"] = FusedConv;
}

}  // namespace placewright::lowering
