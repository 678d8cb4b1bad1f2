#include <ATen/ATen.h>

#include <limits>

#include "capture/onnx/interpreter.h"
#include "capture/onnx/operators/table.h"
#include "capture/onnx/operators/window.h"

namespace placewright::lowering {
namespace {

// Windows that LibTorch lets begin: those that begin behind the image and its padding before it are
// left out.
int64_t Windows(const Window& window, size_t d, int64_t in, bool ceil_mode) {
  const int64_t stride = window.stride[d];
  const int64_t room = in + window.begin[d] + window.end[d] - window.CandidateScope(d);
  if (room < 0) return ceil_mode && room > -stride ? 1 : 0;
  int64_t count = room / stride + 1;
  if (ceil_mode && room % stride != 0 && count * stride < in + window.begin[d]) ++count;
  return count;
}

// Makes the window one that slides in whole strides without a ceiling, by padding behind.
void PadForCeiling(const NodeCall& call, const at::Tensor& x, Window* window) {
  for (size_t d = 0; d < window->rank(); ++d) {
    const int64_t in = x.size(static_cast<int64_t>(d) + 2);
    const int64_t count = Windows(*window, d, in, call.Int("ceil_mode", 0) != 0);
    if (count < 1) call.Invalid("the window is larger than the padded image");
    const int64_t wanted = (count - 1) * window->stride[d] + window->CandidateScope(d);
    window->end[d] = std::max(window->end[d], wanted - in - window->begin[d]);
  }
}

// LibTorch takes at most half a kernel of padding.
bool LibTorchTakes(const Window& window) {
  if (!window.Symmetric()) return false;
  for (size_t d = 0; d < window.rank(); ++d) {
    if (2 * window.begin[d] > window.kernel[d]) return false;
  }
  return true;
}

// One spatial dimension is pooled as two, the first of size 1.
at::Tensor Widen(const at::Tensor& x, Window* window) {
  if (window->rank() != 1) return x;
  for (Ints* list : {&window->kernel, &window->stride, &window->dilation}) {
    list->insert(list->begin(), 1);
  }
  window->begin.insert(window->begin.begin(), 0);
  window->end.insert(window->end.begin(), 0);
  return at::unsqueeze(x, 2);
}

void CheckRank(const NodeCall& call, const at::Tensor& x) {
  if (x.dim() >= 3 && x.dim() <= 5) return;
  call.Unsupported("pooling of a tensor of " + std::to_string(x.dim()) + " dimensions");
}

// Indices count within an image in LibTorch, over the whole tensor in ONNX.
at::Tensor WholeIndices(const NodeCall& call, const at::Tensor& indices, const at::Tensor& x) {
  if (call.Int("storage_order", 0) != 0) call.Unsupported("storage_order 1");
  const int64_t images = x.size(0) * x.size(1), size = x.numel() / std::max<int64_t>(1, images);
  Ints shape(static_cast<size_t>(x.dim()), 1);
  shape[0] = x.size(0);
  shape[1] = x.size(1);
  const at::Tensor first = at::arange(0, images * size, size, indices.options());
  return at::add(indices, at::reshape(first, shape));
}

Values MaxPool(const NodeCall& call) {
  const at::Tensor given = call.In(0);
  CheckRank(call, given);
  Window window = ReadWindow(call, given, std::nullopt);
  bool ceil_mode = call.Int("ceil_mode", 0) != 0;
  const bool one = window.rank() == 1;
  at::Tensor x = given;
  if (!LibTorchTakes(window)) {
    if (call.Wants(1)) call.Unsupported("indices with padding that differs between the sides");
    PadForCeiling(call, x, &window);
    ceil_mode = false;
    x = PadSpatial(x, window.begin, window.end, -std::numeric_limits<double>::infinity());
    window.begin.assign(window.rank(), 0);
  }
  x = Widen(x, &window);
  // LibTorch pools floats; those of 32 bits hold integers of 8 exactly.
  const bool integer = at::isIntegralType(x.scalar_type(), /*includeBool=*/false);
  if (integer) x = x.to(at::kFloat);
  const auto pool = x.dim() == 5 ? at::max_pool3d_with_indices : at::max_pool2d_with_indices;
  auto [result, indices] =
      pool(x, window.kernel, window.stride, window.begin, window.dilation, ceil_mode);
  if (one) result = at::squeeze(result, 2);
  if (integer) result = result.to(given.scalar_type());
  if (!call.Wants(1)) return {result};
  if (one) indices = at::squeeze(indices, 2);
  return {result, WholeIndices(call, indices, given)};
}

at::Tensor AverageOf(at::Tensor x, Window window, bool ceil_mode, bool count_padding) {
  const bool one = window.rank() == 1;
  x = Widen(x, &window);
  at::Tensor result =
      x.dim() == 5
          ? at::avg_pool3d(x, window.kernel, window.stride, window.begin, ceil_mode, count_padding)
          : at::avg_pool2d(x, window.kernel, window.stride, window.begin, ceil_mode, count_padding);
  return one ? at::squeeze(result, 2) : result;
}

// By how many elements of dimension d each window is divided, over the size of the kernel: known,
// since it depends on sizes alone.
Value ShareOfWindows(const NodeCall& call, const at::Tensor& x, const Window& window, size_t d,
                     bool count_padding) {
  const int64_t in = x.size(static_cast<int64_t>(d) + 2), begin = window.begin[d];
  const int64_t count = Windows(window, d, in, call.Int("ceil_mode", 0) != 0);
  if (count < 1) call.Invalid("the window is larger than the padded image");
  if (count > Interpreter::kMaxHostElements) call.Unsupported("an image of that size");
  const int64_t low = count_padding ? -begin : 0, high = in + (count_padding ? window.end[d] : 0);
  const OutsideStep outside;
  at::Tensor shares = at::empty({count}, at::kDouble);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = i * window.stride[d] - begin;
    const int64_t inside = std::min(first + window.kernel[d], high) - std::max(first, low);
    shares.data_ptr<double>()[i] =
        static_cast<double>(inside) / static_cast<double>(window.kernel[d]);
  }
  Ints shape(window.rank() - d, 1);
  shape[0] = count;
  return Value::Host(shares.to(x.scalar_type()).reshape(shape));
}

// Windows that stand apart are pooled one phase of the dilation at a time.
void RejectDilation(const NodeCall& call, const Window& window) {
  for (const int64_t dilation : window.dilation) {
    if (dilation != 1) call.Unsupported("a dilation other than 1");
  }
}

Values AveragePool(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  CheckRank(call, x);
  Window window = ReadWindow(call, x, std::nullopt);
  RejectDilation(call, window);
  const bool count_padding = call.Int("count_include_pad", 0) != 0;
  const bool ceil_mode = call.Int("ceil_mode", 0) != 0;
  if (LibTorchTakes(window)) return {AverageOf(x, window, ceil_mode, count_padding)};
  Window padded = window;
  PadForCeiling(call, x, &padded);
  const at::Tensor wide = PadSpatial(x, padded.begin, padded.end, 0);
  padded.begin.assign(padded.rank(), 0);
  at::Tensor result = AverageOf(wide, padded, false, true);
  for (size_t d = 0; d < window.rank(); ++d) {
    const Value share = ShareOfWindows(call, x, window, d, count_padding);
    result = at::div(result, share.InStep());
  }
  return {result};
}

// The p-norm of every window.
Values LpPool(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  CheckRank(call, x);
  Window window = ReadWindow(call, x, std::nullopt);
  RejectDilation(call, window);
  const double p = call.version < 2 ? call.Real("p", 2.0) : static_cast<double>(call.Int("p", 2));
  double size = 1;
  for (const int64_t edge : window.kernel) size *= static_cast<double>(edge);
  PadForCeiling(call, x, &window);
  const at::Tensor powers = at::pow(at::abs(PadSpatial(x, window.begin, window.end, 0)), p);
  window.begin.assign(window.rank(), 0);
  const at::Tensor sums = at::mul(AverageOf(powers, window, false, true), size);
  return {at::pow(sums, 1.0 / p)};
}

Ints SpatialAxes(const NodeCall& call, const at::Tensor& x) {
  if (x.dim() < 3) call.Invalid("an input without spatial dimensions");
  Ints axes;
  for (int64_t d = 2; d < x.dim(); ++d) axes.push_back(d);
  return axes;
}

Values GlobalAveragePool(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  return {at::mean(x, SpatialAxes(call, x), true)};
}
Values GlobalMaxPool(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  return {at::amax(x, SpatialAxes(call, x), true)};
}
Values GlobalLpPool(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  const double p = call.version < 2 ? call.Real("p", 2.0) : static_cast<double>(call.Int("p", 2));
  const at::Tensor sums = at::sum(at::pow(at::abs(x), p), SpatialAxes(call, x), true);
  return {at::pow(sums, 1.0 / p)};
}

}  // namespace

void AddPoolingOperators(OperatorTable& table) {
  table["AveragePool"] = AveragePool;
  table["GlobalAveragePool"] = GlobalAveragePool;
  table["GlobalLpPool"] = GlobalLpPool;
  table["GlobalMaxPool"] = GlobalMaxPool;
  table["LpPool"] = LpPool;
  table["MaxPool"] = MaxPool;
}

}  // namespace placewright::lowering
