// Convolutions: macs = |out| * |W[1:]|, a transposed one |in| * |W[1:]|; flops = 2 * macs.
//
// Classes: 3x3 and 5x5 with stride 1 take Winograd's F(2x2, 3x3) and F(2x2, 5x5), which need 2.25
// and 2.78 times fewer products (Lavin & Gray 2015; cuDNN has both sizes); flops stay those of the
// direct method, the class's efficiency says.
#include <algorithm>

#include "cost/rows/rules.h"

namespace placewright {
namespace {

struct ConvShape {
  int64_t macs = 0;        // of the forward pass
  int64_t depth = 0;       // k of the equivalent product: input channels per group * taps
  int64_t out_pixels = 0;  // batch * spatial size of the output
  int64_t weight_bytes = 0;
  OpClass op_class = OpClass::kConvDense;
};

// Fewer channels leave the transforms of Winograd's method larger than what they save.
constexpr int64_t kMinWinogradChannels = 16;
// Groups of fewer channels share too little for a product: one output, one sum.
constexpr int64_t kMinGroupChannels = 4;

bool AllOnes(const Value* value) {
  const auto integers = OpView::Integers(value);
  return !integers ||
         std::all_of(integers->begin(), integers->end(), [](auto i) { return i == 1; });
}

OpClass ClassOf(const std::vector<int64_t>& w, int64_t groups, bool unit_stride) {
  if (groups > 1) {
    return w[1] < kMinGroupChannels ? OpClass::kConvDepthwise : OpClass::kConvDense;
  }
  const bool taps_all_1 = std::all_of(w.begin() + 2, w.end(), [](int64_t s) { return s == 1; });
  if (taps_all_1) return OpClass::kConvPointwise;
  const bool square = w.size() == 4 && w[2] == w[3] && (w[2] == 3 || w[2] == 5);
  const bool wide = std::min(w[0], w[1]) >= kMinWinogradChannels;
  return square && wide && unit_stride ? OpClass::kConvWinograd : OpClass::kConvDense;
}

// `image`: the output, or the input of a transposed convolution.
ConvShape ShapeOf(const Tensor& image, const Tensor& weight, int64_t groups, bool unit_stride) {
  ConvShape shape;
  const std::vector<int64_t>& w = weight.shape;
  if (w.size() < 2) return shape;
  shape.depth = Elements(w, 1);
  shape.macs = SaturatingMultiply(Elements(image), shape.depth);
  const int64_t channels = image.shape.size() > 1 ? std::max<int64_t>(image.shape[1], 1) : 1;
  shape.out_pixels = Elements(image) / channels;
  shape.weight_bytes = TouchedBytes(weight);
  shape.op_class = ClassOf(w, groups, unit_stride);
  return shape;
}

// Winograd: the transformed filters, 16 coefficients where there were 9, or 36 where there were 25
// (Lavin & Gray sec. 4.1).
// Otherwise implicit GEMM with precomputed offsets: 4 bytes per filter tap and output pixel of the
// whole batch (Chetlur et al. 2014 sec. 3).
int64_t ForwardWorkspace(const ConvShape& shape) {
  if (shape.op_class == OpClass::kConvWinograd)
    return shape.weight_bytes / 9 * 16;  // 36 / 25 is less
  return SaturatingMultiply(4, SaturatingAdd(shape.depth, shape.out_pixels));
}

void SetForward(const OpView& op, const ConvShape& shape, Work& work) {
  work.op_class = shape.op_class;
  work.macs = shape.macs;
  work.flops = 2 * static_cast<double>(shape.macs);
  work.depth = shape.depth;
  work.bytes_read = Bytes(op.InputBytes());
  work.bytes_written = Bytes(op.OutputBytes());
  work.workspace = Bytes(ForwardWorkspace(shape));
}

}  // namespace

void SetConvolution(const OpView& op, const Tensor& image, const Tensor& filter, int64_t groups,
                    bool unit_stride, Work& work) {
  SetForward(op, ShapeOf(image, filter, groups, unit_stride), work);
}

// convolution(x, w, bias, stride, padding, dilation, transposed, output_padding, groups)
void AtenConvolution(const OpView& op, const WorkRow& row, Work& work) {
  const Tensor *x = op.TensorArg(0), *w = op.TensorArg(1), *out = op.output(0);
  if (x == nullptr || w == nullptr || out == nullptr) return Streaming(op, row, work);
  const bool transposed = OpView::BoolOr(op.Arg(6), false);
  const bool unit = !transposed && AllOnes(op.Arg(3)) && AllOnes(op.Arg(5));
  SetForward(op, ShapeOf(transposed ? *x : *out, *w, OpView::IntegerOr(op.Arg(8), 1), unit), work);
}

namespace {

struct WantedGradients {
  bool input = true, weight = true, bias = true;
};

// The output mask; without a usable one, the outputs by their position in the name ("op:1").
WantedGradients WantedOf(const OpView& op, size_t mask_position) {
  const Value* mask = op.Arg(mask_position);
  const Value::List* list = mask ? mask->AsList() : nullptr;
  if (list != nullptr && list->size() == 3) {
    return {OpView::BoolOr(&(*list)[0], false), OpView::BoolOr(&(*list)[1], false),
            OpView::BoolOr(&(*list)[2], false)};
  }
  WantedGradients wanted{false, false, false};
  for (size_t i = 0; i < op.output_count(); ++i) {
    const int32_t k = op.output(i)->output_index;
    (k == 0 ? wanted.input : k == 1 ? wanted.weight : wanted.bias) = true;
  }
  return wanted;
}

}  // namespace

// convolution_backward(dy, x, w, bias_sizes, stride, padding, dilation, transposed, output_padding,
// groups, mask): each wanted gradient is a convolution of its own that reads its operands again.
void AtenConvolutionBackward(const OpView& op, const WorkRow& row, Work& work) {
  const Tensor *dy = op.TensorArg(0), *x = op.TensorArg(1), *w = op.TensorArg(2);
  if (dy == nullptr || x == nullptr || w == nullptr) return Streaming(op, row, work);
  const bool transposed = OpView::BoolOr(op.Arg(7), false);
  const bool unit = !transposed && AllOnes(op.Arg(4)) && AllOnes(op.Arg(6));
  const ConvShape shape = ShapeOf(transposed ? *x : *dy, *w, OpView::IntegerOr(op.Arg(9), 1), unit);
  const WantedGradients wanted = WantedOf(op, 10);
  work.op_class = shape.op_class;
  const int64_t products = (wanted.input ? 1 : 0) + (wanted.weight ? 1 : 0);
  work.macs = SaturatingMultiply(shape.macs, products);
  work.flops = 2 * static_cast<double>(shape.macs) * static_cast<double>(products);
  work.depth = SaturatingAdd(wanted.input ? shape.depth : 0, wanted.weight ? shape.out_pixels : 0);
  int64_t read = wanted.bias ? TouchedBytes(*dy) : 0;
  if (wanted.input) read = SaturatingAdd(read, TouchedBytes(*dy) + TouchedBytes(*w));
  if (wanted.weight) read = SaturatingAdd(read, TouchedBytes(*dy) + TouchedBytes(*x));
  work.bytes_read = Bytes(read);
  work.bytes_written = Bytes(op.OutputBytes());
  // The weight gradient sums over the whole batch in parts: one further copy of the weights.
  work.workspace = Bytes(
      std::max(wanted.input ? ForwardWorkspace(shape) : 0, wanted.weight ? shape.weight_bytes : 0));
}

void OnnxConvolution(const OpView& op, const WorkRow& row, Work& work) {
  const Tensor *w = op.input(1), *out = op.output(0);
  if (w == nullptr || out == nullptr) return Streaming(op, row, work);
  const bool unit = AllOnes(op.Attribute("strides")) && AllOnes(op.Attribute("dilations"));
  SetForward(op, ShapeOf(*out, *w, OpView::IntegerOr(op.Attribute("group"), 1), unit), work);
}

void OnnxConvTranspose(const OpView& op, const WorkRow& row, Work& work) {
  const Tensor *x = op.input(0), *w = op.input(1);
  if (x == nullptr || w == nullptr) return Streaming(op, row, work);
  SetForward(op, ShapeOf(*x, *w, OpView::IntegerOr(op.Attribute("group"), 1), false), work);
}

// Quantised convolutions: the weight is the first later input of the image's rank.
void UncountedConvolution(const OpView& op, const WorkRow& row, Work& work) {
  const Tensor *x = op.input(0), *out = op.output(0);
  const Tensor* w = nullptr;
  for (size_t i = 1; x != nullptr && i < op.input_count() && w == nullptr; ++i) {
    if (op.input(i)->shape.size() == x->shape.size()) w = op.input(i);
  }
  if (w == nullptr || out == nullptr) return Streaming(op, row, work);
  SetForward(op, ShapeOf(*out, *w, OpView::IntegerOr(op.Attribute("group"), 1), false), work);
  work.macs = 0;
}

}  // namespace placewright
