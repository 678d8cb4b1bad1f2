// Reductions along axes, running sums, positions of extremes.
#include <ATen/ATen.h>

#include <algorithm>

#include "capture/onnx/operators/table.h"

namespace placewright::lowering {
namespace {

// Axes are an attribute before the operator set `since`, then input 1. None named: all of them, or
// with noop_with_empty_axes none.
struct Reduced {
  at::Tensor x;
  Ints axes;
  bool keep = true;
};
Reduced ReadReduced(const NodeCall& call, int64_t since) {
  Reduced read{call.In(0), {}, call.Int("keepdims", 1) != 0};
  const Ints named = call.IntsOf("axes", 1, since).value_or(Ints());
  if (named.empty() && call.Int("noop_with_empty_axes", 0) == 0) {
    for (int64_t d = 0; d < read.x.dim(); ++d) read.axes.push_back(d);
  } else {
    read.axes = call.Axes(named, read.x.dim());
  }
  return read;
}

// `function` reduces a tensor that has dimensions along axes of which there is at least one.
template <at::Tensor (*Function)(const at::Tensor&, const Ints&, bool), int64_t Since = 18>
Values Reduce(const NodeCall& call) {
  const Reduced read = ReadReduced(call, Since);
  if (read.axes.empty()) {
    const at::Tensor alone = Function(at::unsqueeze(read.x, 0), {0}, false);
    return {alone};
  }
  return {Function(read.x, read.axes, read.keep)};
}

at::Tensor SumOf(const at::Tensor& x, const Ints& axes, bool keep) {
  return at::sum(x, axes, keep, x.scalar_type());
}
at::Tensor MeanOf(const at::Tensor& x, const Ints& axes, bool keep) {
  if (at::isFloatingType(x.scalar_type())) return at::mean(x, axes, keep);
  int64_t count = 1;
  for (const int64_t axis : axes) count *= x.size(axis);
  return at::div(SumOf(x, axes, keep), count, "trunc");
}
at::Tensor MaxOf(const at::Tensor& x, const Ints& axes, bool keep) {
  return at::amax(x, axes, keep);
}
at::Tensor MinOf(const at::Tensor& x, const Ints& axes, bool keep) {
  return at::amin(x, axes, keep);
}
at::Tensor ProductOf(const at::Tensor& x, Ints axes, bool keep) {
  std::sort(axes.rbegin(), axes.rend());  // the last first, so that others keep their number
  at::Tensor result = x;
  for (const int64_t axis : axes) result = at::prod(result, axis, keep, x.scalar_type());
  return result;
}
at::Tensor ProdOf(const at::Tensor& x, const Ints& axes, bool keep) {
  return ProductOf(x, axes, keep);
}
at::Tensor L1Of(const at::Tensor& x, const Ints& axes, bool keep) {
  return SumOf(at::abs(x), axes, keep);
}
at::Tensor SumSquareOf(const at::Tensor& x, const Ints& axes, bool keep) {
  return SumOf(at::mul(x, x), axes, keep);
}
at::Tensor L2Of(const at::Tensor& x, const Ints& axes, bool keep) {
  return at::sqrt(SumSquareOf(x, axes, keep)).to(x.scalar_type());
}
at::Tensor LogSumOf(const at::Tensor& x, const Ints& axes, bool keep) {
  return at::log(SumOf(x, axes, keep)).to(x.scalar_type());
}
at::Tensor LogSumExpOf(const at::Tensor& x, const Ints& axes, bool keep) {
  return at::logsumexp(x, axes, keep);
}

Values Extreme(const NodeCall& call,
               at::Tensor (*function)(const at::Tensor&, c10::optional<int64_t>, bool)) {
  const at::Tensor x = call.In(0);
  const int64_t axis = call.Axis(call.Int("axis", 0), std::max<int64_t>(1, x.dim()));
  const bool keep = call.Int("keepdims", 1) != 0;
  if (x.dim() == 0 || call.Int("select_last_index", 0) == 0) return {function(x, axis, keep)};
  // The last is the first from behind.
  const at::Tensor found = function(at::flip(x, {axis}), axis, keep);
  return {at::sub(at::full({}, x.size(axis) - 1, found.options()), found)};
}
Values ArgMax(const NodeCall& call) { return Extreme(call, at::argmax); }
Values ArgMin(const NodeCall& call) { return Extreme(call, at::argmin); }

// Sums of all elements up to each; `exclusive` leaves the element itself out.
Values CumSum(const NodeCall& call) {
  at::Tensor x = call.In(0);
  const int64_t axis = call.Axis(call.KnownInt(1), x.dim());
  const bool reverse = call.Int("reverse", 0) != 0;
  if (reverse) x = at::flip(x, {axis});
  at::Tensor sums = at::cumsum(x, axis, x.scalar_type());
  if (call.Int("exclusive", 0) != 0) sums = at::sub(sums, x);
  return {reverse ? at::flip(sums, {axis}) : sums};
}

Values CumProd(const NodeCall& call) {
  at::Tensor x = call.In(0);
  const int64_t axis = call.Axis(call.KnownInt(1), x.dim());
  if (call.Int("exclusive", 0) != 0) call.Unsupported("exclusive");
  const bool reverse = call.Int("reverse", 0) != 0;
  if (reverse) x = at::flip(x, {axis});
  const at::Tensor products = at::cumprod(x, axis, x.scalar_type());
  return {reverse ? at::flip(products, {axis}) : products};
}

// k is an attribute before operator set 10, then input 1.
Values TopK(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  const int64_t k = call.version < 10 ? call.Int("k", 0) : call.KnownInt(1);
  const int64_t axis = call.Axis(call.Int("axis", -1), x.dim());
  if (k < 0 || k > x.size(axis)) call.Invalid("k is larger than the dimension");
  auto [values, indices] =
      at::topk(x, k, axis, call.Int("largest", 1) != 0, call.Int("sorted", 1) != 0);
  return {values, indices};
}

}  // namespace

void AddReductionOperators(OperatorTable& table) {
  table["ArgMax"] = ArgMax;
  table["ArgMin"] = ArgMin;
  table["CumProd"] = CumProd;
  table["CumSum"] = CumSum;
  table["ReduceL1"] = Reduce<L1Of>;
  table["ReduceL2"] = Reduce<L2Of>;
  table["ReduceLogSum"] = Reduce<LogSumOf>;
  table["ReduceLogSumExp"] = Reduce<LogSumExpOf>;
  table["ReduceMax"] = Reduce<MaxOf>;
  table["ReduceMean"] = Reduce<MeanOf>;
  table["ReduceMin"] = Reduce<MinOf>;
  table["ReduceProd"] = Reduce<ProdOf>;
  table["ReduceSum"] = Reduce<SumOf, 13>;
  table["ReduceSumSquare"] = Reduce<SumSquareOf>;
  table["TopK"] = TopK;
}

}  // namespace placewright::lowering
