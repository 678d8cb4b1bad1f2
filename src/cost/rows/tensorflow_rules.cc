// Products, convolutions and LSTM in TensorFlow's layouts. MACs as elsewhere: |out| * k for
// products, |image side| * taps * channels of a filter for convolutions and each of their
// gradients.
#include <algorithm>
#include <string>

#include "cost/rows/rules.h"

namespace placewright {
namespace {

bool ChannelsFirst(const OpView& op) {
  const Value* format = op.Attribute("data_format");
  const std::string* text = format != nullptr ? format->AsString() : nullptr;
  return text != nullptr && text->starts_with("NC");
}

bool AllOnes(const Value* value) {
  const auto integers = OpView::Integers(value);
  return !integers ||
         std::all_of(integers->begin(), integers->end(), [](auto i) { return i == 1; });
}

// [n, ..., c] or [n, c, ...] as the second form.
std::vector<int64_t> ChannelsSecond(const OpView& op, std::vector<int64_t> shape) {
  if (!ChannelsFirst(op) && shape.size() > 2) {
    std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  }
  return shape;
}

// [taps ..., in, out] as [out, in, taps ...]; a depthwise one [taps ..., in, times] as
// [in * times, 1, taps ...].
std::vector<int64_t> OutputsFirst(const std::vector<int64_t>& filter, bool depthwise) {
  const int64_t in = filter.end()[-2], out = filter.back();
  std::vector<int64_t> shape{depthwise ? SaturatingMultiply(in, out) : out, depthwise ? 1 : in};
  shape.insert(shape.end(), filter.begin(), filter.end() - 2);
  return shape;
}

}  // namespace

// transpose_a of MatMul and adj_x of BatchMatMul say which dimension of a is summed over.
void TensorflowProduct(const OpView& op, const WorkRow& row, Work& work) {
  const Tensor *a = op.input(0), *out = op.output(0);
  if (a == nullptr || out == nullptr || a->shape.size() < 2 || out->shape.size() < 2) {
    return Streaming(op, row, work);
  }
  const bool turned = OpView::BoolOr(op.Attribute("transpose_a"), false) ||
                      OpView::BoolOr(op.Attribute("adj_x"), false);
  const int64_t k = a->shape.end()[turned ? -2 : -1];
  const int64_t m = out->shape.end()[-2], n = out->shape.back();
  const int64_t plane = std::max<int64_t>(SaturatingMultiply(m, n), 1);
  SetProduct(op, {Elements(*out) / plane, m, n, k}, work);
  work.macs = SaturatingMultiply(Elements(*out), k);
}

// Conv2D(image, filter); Conv2DBackpropInput(sizes, filter, gradient);
// Conv2DBackpropFilter(image, sizes, gradient).
void TensorflowConvolution(const OpView& op, const WorkRow& row, Work& work) {
  const bool forward = row.flops == 0;
  const Tensor* image = forward ? op.output(0) : op.input(2);
  const Tensor* filter = row.flops == 2 ? op.output(0) : op.input(1);
  if (image == nullptr || filter == nullptr || filter->shape.size() < 3 ||
      image->shape.size() != filter->shape.size()) {
    return Streaming(op, row, work);
  }
  const bool depthwise = row.op_class == OpClass::kConvDepthwise;
  Tensor made = *image, weight = *filter;
  made.shape = ChannelsSecond(op, image->shape);
  weight.shape = OutputsFirst(filter->shape, depthwise);
  int64_t groups = depthwise ? std::max<int64_t>(filter->shape.end()[-2], 2) : 1;
  if (!depthwise && forward && op.input(0) != nullptr && op.input(0)->shape.size() > 2) {
    const int64_t channels = ChannelsSecond(op, op.input(0)->shape)[1];
    groups = weight.shape[1] > 0 ? std::max<int64_t>(channels / weight.shape[1], 1) : 1;
  }
  const bool unit = AllOnes(op.Attribute("strides")) && AllOnes(op.Attribute("dilations"));
  SetConvolution(op, made, weight, groups, unit, work);
}

// LSTMBlockCell(x [b, i], cs, h, w [i + h, 4h], ...); BlockLSTM(length, x [t, b, i], cs, h, w,
// ...): every row of x meets every weight.
void TensorflowLstm(const OpView& op, const WorkRow& row, Work& work) {
  Streaming(op, row, work);
  const bool cell = op.op().type.starts_with("tf.LSTMBlockCell");
  const Tensor *x = op.input(cell ? 0 : 1), *w = op.input(cell ? 3 : 4);
  if (x == nullptr || w == nullptr || x->shape.size() < 2 || w->shape.size() != 2) return;
  const int64_t rows = Elements(*x) / std::max<int64_t>(x->shape.back(), 1);
  const auto times = static_cast<int64_t>(row.flops);
  work.macs = SaturatingMultiply(SaturatingMultiply(rows, Elements(*w)), times);
  work.flops = 2 * static_cast<double>(work.macs);
  const int64_t steps = cell ? 1 : x->shape.front();
  // Within a step, sums of more than 512 terms are split.
  work.depth = SaturatingMultiply(steps, std::min<int64_t>(w->shape[0], 512));
  if (steps > 1) {  // the weights are read again at every step
    const int64_t again = SaturatingMultiply(steps - 1, TouchedBytes(*w));
    work.bytes_read = Bytes(SaturatingAdd(work.bytes_read.count, again));
  }
}

}  // namespace placewright
