#include <ATen/ATen.h>
#include <fmt/format.h>

#include "capture/onnx/operators/table.h"
#include "capture/onnx/operators/window.h"

namespace placewright::lowering {
namespace {

// Mean and variance of each channel over all else.
struct Moments {
  at::Tensor mean, variance;
};
Moments ChannelMoments(const at::Tensor& x) {
  Ints axes;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (d != 1) axes.push_back(d);
  }
  const at::Tensor mean = at::mean(x, axes, true), centred = at::sub(x, mean);
  return {at::reshape(mean, {x.size(1)}), at::mean(at::mul(centred, centred), axes)};
}

// In a training step the statistics are those of the batch, and the running ones are written: they
// are buffers of the model, and the node's outputs. Else the node's own mode counts.
Values BatchNormalization(const NodeCall& call) {
  const at::Tensor x = call.In(0), scale = call.In(1), bias = call.In(2);
  // They have no gradient, even where the file's parameters reach the node by a detour.
  at::Tensor mean = call.In(3).detach(), variance = call.In(4).detach();
  if (x.dim() < 2) call.Invalid("an input without channels");
  if (call.version < 9 && call.Int("spatial", 1) == 0) call.Unsupported("spatial 0");
  const bool own = call.version >= 14 ? call.Int("training_mode", 0) != 0
                   : call.version < 7 ? call.Int("is_test", 0) == 0 && call.Wants(1)
                                      : call.Wants(1);
  const double epsilon = call.Real("epsilon", 1e-5), kept = call.Real("momentum", 0.9);
  if (call.training) {
    const at::Tensor y =
        at::batch_norm(x, scale, bias, mean, variance, true, 1 - kept, epsilon, false);
    return {y, mean, variance};
  }
  if (!own) {
    const at::Tensor y =
        at::batch_norm(x, scale, bias, mean, variance, false, 1 - kept, epsilon, false);
    return {y, mean, variance};
  }
  const at::Tensor y = at::batch_norm(x, scale, bias, {}, {}, true, 1 - kept, epsilon, false);
  if (!call.Wants(1) && !call.Wants(2)) return {y};
  const Moments batch = ChannelMoments(x);
  mean = at::add(at::mul(mean, kept), at::mul(batch.mean, 1 - kept));
  variance = at::add(at::mul(variance, kept), at::mul(batch.variance, 1 - kept));
  return {y, mean, variance};
}

Values InstanceNormalization(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  if (x.dim() < 3) call.Invalid("an input without spatial dimensions");
  return {at::instance_norm(x, call.In(1), call.In(2), {}, {}, true, 0.0,
                            call.Real("epsilon", 1e-5), false)};
}

// Scale and bias count groups before operator set 21, then channels.
Values GroupNormalization(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  const int64_t groups = call.Int("num_groups", 1);
  if (x.dim() < 2 || groups < 1 || x.size(1) % groups != 0) {
    call.Invalid(fmt::format("{} groups of the channels", groups));
  }
  at::Tensor scale = call.In(1), bias = call.In(2);
  if (call.version < 21) {
    const int64_t each = x.size(1) / groups;
    scale = at::reshape(at::expand_copy(at::unsqueeze(scale, 1), {groups, each}), {-1});
    bias = at::reshape(at::expand_copy(at::unsqueeze(bias, 1), {groups, each}), {-1});
  }
  return {at::group_norm(x, groups, scale, bias, call.Real("epsilon", 1e-5), false)};
}

at::Tensor Normalized(const NodeCall& call, const at::Tensor& x, const at::Tensor& scale,
                      const at::Tensor& bias, at::Tensor* mean, at::Tensor* deviation) {
  const int64_t axis = call.Axis(call.Int("axis", -1), x.dim());
  const Ints shape(x.sizes().begin() + axis, x.sizes().end());
  // LibTorch wants scale and bias of just that shape; ONNX broadcasts them.
  const bool exact = scale.sizes() == at::IntArrayRef(shape) &&
                     (!bias.defined() || bias.sizes() == at::IntArrayRef(shape));
  c10::optional<at::Tensor> weight, offset;
  if (exact) weight = scale;
  if (exact && bias.defined()) offset = bias;
  auto [y, mean_of, deviation_of] =
      at::native_layer_norm(x, shape, weight, offset, call.Real("epsilon", 1e-5));
  *mean = mean_of;
  *deviation = deviation_of;
  if (exact) return y;
  y = at::mul(y, scale);
  return bias.defined() ? at::add(y, bias) : y;
}

Values LayerNormalization(const NodeCall& call) {
  at::Tensor mean, deviation;
  const at::Tensor x = call.In(0);
  if (x.dim() == 0) call.Invalid("an input without dimensions");
  const at::Tensor y = Normalized(call, x, call.In(1), call.InOrNone(2), &mean, &deviation);
  return {y, mean, deviation};
}

// com.microsoft: the sum of two or three tensors, normalized. Outputs: that, mean, deviation, sum.
Values SkipLayerNormalization(const NodeCall& call) {
  at::Tensor sum = at::add(call.In(0), call.In(1)), mean, deviation;
  if (call.Has(4)) sum = at::add(sum, call.In(4));
  const at::Tensor y = Normalized(call, sum, call.In(2), call.InOrNone(3), &mean, &deviation);
  return {y, mean, deviation, sum};
}

Values RmsNormalization(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  if (x.dim() == 0) call.Invalid("an input without dimensions");
  Ints axes;
  for (int64_t d = call.Axis(call.Int("axis", -1), x.dim()); d < x.dim(); ++d) axes.push_back(d);
  const at::Tensor square = at::mean(at::mul(x, x), axes, true);
  const at::Tensor share = at::rsqrt(at::add(square, call.Real("epsilon", 1e-5)));
  return {at::mul(at::mul(x, share), call.In(1))};
}

// x / (bias + alpha / size * sum of squares of `size` neighbouring channels) ^ beta
Values Lrn(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  const int64_t size = call.Int("size", 0);
  if (x.dim() < 3 || size < 1 || size > (int64_t{1} << 20)) {
    call.Invalid(fmt::format("size {} of an input of {} dimensions", size, x.dim()));
  }
  Ints flat = {x.size(0), 1, x.size(1), x.numel() / std::max<int64_t>(1, x.size(0) * x.size(1))};
  at::Tensor squares = at::reshape(at::mul(x, x), flat);
  squares = at::constant_pad_nd(squares, {0, 0, (size - 1) / 2, size / 2}, 0);
  const at::Tensor means = at::reshape(at::avg_pool2d(squares, {size, 1}, {1, 1}), x.sizes());
  const at::Tensor base = at::add(at::mul(means, call.Real("alpha", 1e-4)), call.Real("bias", 1.0));
  return {at::div(x, at::pow(base, call.Real("beta", 0.75)))};
}

Values LpNormalization(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  const int64_t p = call.Int("p", 2);
  if (p != 1 && p != 2) call.Unsupported(fmt::format("p {}", p));
  const Ints axes = {call.Axis(call.Int("axis", -1), x.dim())};
  const at::Tensor sum = at::sum(p == 1 ? at::abs(x) : at::mul(x, x), axes, true);
  return {at::div(x, p == 1 ? sum : at::sqrt(sum))};
}

// (x - mean) / (deviation + 1e-9)
Values MeanVarianceNormalization(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  const Ints axes = call.Axes(call.IntList("axes").value_or(Ints{0, 2, 3}), x.dim());
  const at::Tensor centred = at::sub(x, at::mean(x, axes, true));
  const at::Tensor variance = at::mean(at::mul(centred, centred), axes, true);
  return {at::div(centred, at::add(at::sqrt(variance), 1e-9))};
}

using OverAxis = at::Tensor (*)(const at::Tensor&, int64_t);

// Before operator set 13 the tensor is a matrix of what is before the axis and the rest.
Values Softened(const NodeCall& call, OverAxis function) {
  const at::Tensor x = call.In(0);
  if (x.dim() == 0) call.Invalid("an input without dimensions");
  if (call.version >= 13) return {function(x, call.Axis(call.Int("axis", -1), x.dim()))};
  const int64_t given = call.Int("axis", 1);
  const int64_t axis = given == x.dim() ? given : call.Axis(given, x.dim());
  if (axis == x.dim() - 1) return {function(x, axis)};
  int64_t rows = 1;
  for (int64_t d = 0; d < axis; ++d) rows *= x.size(d);
  const int64_t columns = rows == 0 ? 0 : x.numel() / rows;
  return {at::reshape(function(at::reshape(x, {rows, columns}), 1), x.sizes())};
}

at::Tensor SoftmaxOver(const at::Tensor& x, int64_t axis) { return at::softmax(x, axis); }
at::Tensor LogSoftmaxOver(const at::Tensor& x, int64_t axis) { return at::log_softmax(x, axis); }
// One at the first largest, zero elsewhere.
at::Tensor HardmaxOver(const at::Tensor& x, int64_t axis) {
  return at::scatter(at::zeros_like(x), axis, at::argmax(x, axis, true), 1);
}

Values Softmax(const NodeCall& call) { return Softened(call, SoftmaxOver); }
Values LogSoftmax(const NodeCall& call) { return Softened(call, LogSoftmaxOver); }
Values Hardmax(const NodeCall& call) { return Softened(call, HardmaxOver); }

// Trains in a training step; else if its input says so. The mask is true where an element is kept.
Values Dropout(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  double ratio = call.Real("ratio", 0.5);
  if (call.version >= 12 && call.Has(1)) ratio = call.KnownReal(1);
  if (!(ratio >= 0 && ratio < 1)) call.Invalid(fmt::format("ratio {}", ratio));
  bool drops = call.training;
  if (call.version >= 12 && call.Has(2)) drops = drops || call.KnownInt(2) != 0;
  if (call.version < 7) drops = drops || call.Int("is_test", 0) == 0;
  if (drops && ratio > 0) {
    auto [y, mask] = at::native_dropout(x, ratio, true);
    return {y, mask};
  }
  if (!call.Wants(1)) return {call.inputs[0]};
  return {call.inputs[0], at::ones_like(x, x.options().dtype(at::kBool))};
}

}  // namespace

void AddNormalizationOperators(OperatorTable& table) {
  table["BatchNormalization"] = BatchNormalization;
  table["Dropout"] = Dropout;
  table["GroupNormalization"] = GroupNormalization;
  table["Hardmax"] = Hardmax;
  table["InstanceNormalization"] = InstanceNormalization;
  table["LRN"] = Lrn;
  table["LayerNormalization"] = LayerNormalization;
  table["LogSoftmax"] = LogSoftmax;
  table["LpNormalization"] = LpNormalization;
  table["MeanVarianceNormalization"] = MeanVarianceNormalization;
  table["RMSNormalization"] = RmsNormalization;
  table["SimplifiedLayerNormalization"] = RmsNormalization;
  table["Softmax"] = Softmax;
  table["com.microsoft.SkipLayerNormalization"] = SkipLayerNormalization;
}

}  // namespace placewright::lowering
