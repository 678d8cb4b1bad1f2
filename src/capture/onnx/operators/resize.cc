// Images in other sizes. LibTorch's own interpolation where it means the same; else every dimension
// by itself, as a sum of selected elements with known weights.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "capture/onnx/interpreter.h"
#include "capture/onnx/operators/table.h"

namespace placewright::lowering {
namespace {

struct Resizing {
  std::string mode, coordinates, nearest;
  double cubic = -0.75;
  bool exclude_outside = false;
  Ints sizes;                  // of the result, by dimension
  std::vector<double> scales;  // result over input, as given or by the sizes
  bool scales_given = false;
};

std::vector<double> KnownReals(const NodeCall& call, size_t i) {
  const at::Tensor known = call.Known(i);
  const OutsideStep outside;
  const at::Tensor flat = known.to(at::kDouble).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

// Sizes from input `sizes_at`, or else scales from input `scales_at`; both may speak of some axes
// only. An empty tensor stands for an absent one.
void ReadSizes(const NodeCall& call, const at::Tensor& x, size_t scales_at, size_t sizes_at,
               Resizing* read) {
  const int64_t rank = x.dim();
  Ints axes;
  for (int64_t d = 0; d < rank; ++d) axes.push_back(d);
  if (const auto named = call.IntList("axes")) axes = call.Axes(*named, rank);
  read->sizes = x.sizes().vec();
  read->scales.assign(static_cast<size_t>(rank), 1.0);
  const auto given = [&](size_t i) { return call.Has(i) && call.inputs[i].tensor().numel() > 0; };
  if (sizes_at > 0 && given(sizes_at)) {
    const Ints sizes = call.KnownInts(sizes_at);
    if (sizes.size() != axes.size()) call.Invalid("sizes has not one item for each axis");
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto d = static_cast<size_t>(axes[i]);
      read->sizes[d] = sizes[i];
      read->scales[d] = static_cast<double>(sizes[i]) / static_cast<double>(x.size(axes[i]));
    }
    return;
  }
  const std::vector<double> scales = call.version < 9
                                         ? call.RealList("scales").value_or(std::vector<double>())
                                         : KnownReals(call, scales_at);
  if (scales.size() != axes.size()) call.Invalid("scales has not one item for each axis");
  read->scales_given = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(axes[i]);
    const double size = std::floor(static_cast<double>(x.size(axes[i])) * scales[i]);
    if (!(scales[i] > 0) || !(size < 1e15)) call.Invalid(fmt::format("scale {}", scales[i]));
    read->scales[d] = scales[i];
    read->sizes[d] = static_cast<int64_t>(size);
  }
}

Resizing ReadResizing(const NodeCall& call, const at::Tensor& x) {
  Resizing read;
  read.mode = call.Text("mode", "nearest");
  if (read.mode == "bilinear") read.mode = "linear";
  const bool old = call.node.type == "Upsample" || call.version < 11;
  read.coordinates = old ? "asymmetric" : call.Text("coordinate_transformation_mode", "half_pixel");
  read.nearest = old ? "floor" : call.Text("nearest_mode", "round_prefer_floor");
  read.cubic = call.Real("cubic_coeff_a", -0.75);
  read.exclude_outside = call.Int("exclude_outside", 0) != 0;
  if (call.Int("antialias", 0) != 0) call.Unsupported("antialias");
  if (call.Text("keep_aspect_ratio_policy", "stretch") != "stretch") {
    call.Unsupported("keep_aspect_ratio_policy");
  }
  if (read.mode != "nearest" && read.mode != "linear" && read.mode != "cubic") {
    call.Unsupported("mode \"" + read.mode + "\"");
  }
  ReadSizes(call, x, old ? 1 : 2, old ? 0 : 3, &read);
  call.CheckSizes(read.sizes);
  return read;
}

// Whether LibTorch's functions for images compute the same.
bool LibTorchTakes(const Resizing& read, const at::Tensor& x) {
  if (x.dim() != 4 || read.sizes[0] != x.size(0) || read.sizes[1] != x.size(1)) return false;
  const bool whole = [&] {  // the scales that LibTorch works out from the sizes are those given
    for (size_t d = 2; d < 4; ++d) {
      const double by_size =
          static_cast<double>(read.sizes[d]) / static_cast<double>(x.size(static_cast<int64_t>(d)));
      if (read.scales_given && by_size != read.scales[d]) return false;
    }
    return true;
  }();
  if (!whole || read.exclude_outside) return false;
  if (read.mode == "nearest") {
    return read.coordinates == "asymmetric" && read.nearest == "floor";
  }
  if (read.mode == "cubic" && read.cubic != -0.75) return false;
  return read.coordinates == "align_corners" || read.coordinates == "half_pixel" ||
         (read.coordinates == "pytorch_half_pixel" && read.sizes[2] > 1 && read.sizes[3] > 1);
}

at::Tensor ByLibTorch(const Resizing& read, const at::Tensor& x) {
  const Ints sizes = {read.sizes[2], read.sizes[3]};
  const bool corners = read.coordinates == "align_corners";
  if (read.mode == "nearest") return at::upsample_nearest2d(x, sizes);
  if (read.mode == "linear") return at::upsample_bilinear2d(x, sizes, corners);
  return at::upsample_bicubic2d(x, sizes, corners);
}

// Where in the input position i of the result lies.
double Coordinate(const NodeCall& call, const Resizing& read, int64_t i, int64_t in, int64_t out,
                  double scale) {
  const auto at = static_cast<double>(i);
  if (read.coordinates == "asymmetric") return at / scale;
  if (read.coordinates == "align_corners") {
    // Of a scale that was given the size before it was rounded down: so ONNX's own suite has it.
    const double last =
        (read.scales_given ? scale * static_cast<double>(in) : static_cast<double>(out)) - 1;
    return out == 1 || last <= 0 ? 0 : at * static_cast<double>(in - 1) / last;
  }
  if (read.coordinates == "pytorch_half_pixel") return out > 1 ? (at + 0.5) / scale - 0.5 : 0;
  if (read.coordinates == "half_pixel") return (at + 0.5) / scale - 0.5;
  if (read.coordinates == "half_pixel_symmetric") {
    const double middle = static_cast<double>(in) / 2;
    const double share = static_cast<double>(out) / (scale * static_cast<double>(in));
    return middle * (1 - share) + (at + 0.5) / scale - 0.5;
  }
  call.Unsupported("coordinate_transformation_mode \"" + read.coordinates + "\"");
}

double Nearest(const NodeCall& call, const Resizing& read, double x) {
  if (read.nearest == "floor") return std::floor(x);
  if (read.nearest == "ceil") return std::ceil(x);
  if (read.nearest == "round_prefer_ceil") return std::floor(x + 0.5);
  if (read.nearest != "round_prefer_floor") call.Invalid("nearest_mode \"" + read.nearest + "\"");
  return std::ceil(x - 0.5);
}

// Weights of up to four neighbours of a place `t` behind the second (cubic) or first (linear) one.
std::array<double, 4> Weights(const Resizing& read, double t) {
  if (read.mode == "nearest") return {1, 0, 0, 0};
  if (read.mode == "linear") return {1 - t, t, 0, 0};
  const double a = read.cubic;
  const auto near = [&](double s) { return ((a + 2) * s - (a + 3)) * s * s + 1; };
  const auto far = [&](double s) { return ((a * s - 5 * a) * s + 8 * a) * s - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

at::Tensor Along(const NodeCall& call, const Resizing& read, const at::Tensor& x, size_t d) {
  const auto axis = static_cast<int64_t>(d);
  const int64_t in = x.size(axis), out = read.sizes[d];
  if (out > Interpreter::kMaxHostElements || in < 1) call.Unsupported("such a size");
  const size_t count = read.mode == "nearest" ? 1 : read.mode == "linear" ? 2 : 4;
  std::vector<Ints> places(count);
  std::vector<std::vector<double>> weights(count);
  for (int64_t i = 0; i < out; ++i) {
    const double at = Coordinate(call, read, i, in, out, read.scales[d]);
    const double first = read.mode == "nearest" ? Nearest(call, read, at) : std::floor(at);
    std::array<double, 4> w = Weights(read, at - first);
    double sum = 0;
    for (size_t k = 0; k < count; ++k) {
      const int64_t place =
          static_cast<int64_t>(first) + static_cast<int64_t>(k) - (count == 4 ? 1 : 0);
      if (read.exclude_outside && (place < 0 || place >= in)) w[k] = 0;
      places[k].push_back(std::clamp<int64_t>(place, 0, in - 1));
      sum += w[k];
    }
    for (size_t k = 0; k < count; ++k) weights[k].push_back(w[k] / sum);
  }
  Ints shape(static_cast<size_t>(x.dim()) - d, 1);
  shape[0] = out;
  at::Tensor result;
  for (size_t k = 0; k < count; ++k) {
    at::Tensor part = at::index_select(x, axis, Value::Host(HostInts(places[k])).InStep());
    if (count > 1) {
      const Value weight = [&] {
        const OutsideStep outside;
        return Value::Host(at::tensor(weights[k], at::kDouble).to(x.scalar_type()).reshape(shape));
      }();
      part = at::mul(part, weight.InStep());
    }
    result = result.defined() ? at::add(result, part) : part;
  }
  return result;
}

Values Resize(const NodeCall& call) {
  at::Tensor x = call.In(0);
  const Resizing read = ReadResizing(call, x);
  if (LibTorchTakes(read, x)) return {ByLibTorch(read, x)};
  for (size_t d = 0; d < read.sizes.size(); ++d) {
    const bool same = read.sizes[d] == x.size(static_cast<int64_t>(d)) && read.scales[d] == 1.0;
    if (!same) x = Along(call, read, x, d);
  }
  return {x};
}

Values GridSample(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  const std::string mode = call.Text("mode", "bilinear");
  const std::string padding = call.Text("padding_mode", "zeros");
  const int64_t how = mode == "bilinear" || mode == "linear" ? 0 : mode == "nearest" ? 1 : 2;
  const int64_t beyond = padding == "zeros" ? 0 : padding == "border" ? 1 : 2;
  if (x.dim() != 4) call.Unsupported("a tensor of other than 4 dimensions");
  return {at::grid_sampler(x, call.In(1), how, beyond, call.Int("align_corners", 0) != 0)};
}

}  // namespace

void AddResizeOperators(OperatorTable& table) {
  table["GridSample"] = GridSample;
  table["Resize"] = Resize;
  table["Upsample"] = Resize;
}

}  // namespace placewright::lowering
