// The same elements in another shape or order, and what puts tensors together and apart.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "capture/onnx/operators/table.h"

namespace placewright::lowering {
namespace {

// 0 stands for the input's own dimension (unless allowzero), one -1 for what is left.
Values Reshape(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  Ints shape = call.version < 5 ? call.IntList("shape").value_or(Ints()) : call.KnownInts(1);
  for (size_t i = 0; i < shape.size() && call.Int("allowzero", 0) == 0; ++i) {
    if (shape[i] != 0) continue;
    if (static_cast<int64_t>(i) >= x.dim()) call.Invalid("a 0 for a dimension that is not there");
    shape[i] = x.size(static_cast<int64_t>(i));
  }
  return {at::reshape(x, shape)};
}

Values Flatten(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  const int64_t given = call.Int("axis", 1);
  const int64_t axis = given == x.dim() ? given : call.Axis(given, x.dim());
  int64_t rows = 1, columns = 1;
  for (int64_t d = 0; d < x.dim(); ++d) (d < axis ? rows : columns) *= x.size(d);
  return {at::reshape(x, {rows, columns})};
}

Values Squeeze(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  const std::optional<Ints> named = call.IntsOf("axes", 1, 13);
  const Ints axes = named ? call.Axes(*named, x.dim()) : Ints();
  Ints shape;
  for (int64_t d = 0; d < x.dim(); ++d) {
    const bool leaves = named ? std::count(axes.begin(), axes.end(), d) > 0 : x.size(d) == 1;
    if (leaves && x.size(d) != 1) call.Invalid(fmt::format("dimension {} is {}", d, x.size(d)));
    if (!leaves) shape.push_back(x.size(d));
  }
  if (axes.size() == 1) return {at::squeeze(x, axes[0])};
  return {at::reshape(x, shape)};
}

Values Unsqueeze(const NodeCall& call) {
  at::Tensor x = call.In(0);
  const std::optional<Ints> named = call.IntsOf("axes", 1, 13);
  if (!named) call.Invalid("no axes");
  Ints axes = call.Axes(*named, x.dim() + static_cast<int64_t>(named->size()));
  std::sort(axes.begin(), axes.end());
  for (const int64_t axis : axes) x = at::unsqueeze(x, axis);
  return {x};
}

Values Transpose(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  Ints order;
  for (int64_t d = x.dim(); d-- > 0;) order.push_back(d);
  if (const auto named = call.IntList("perm")) order = call.Axes(*named, x.dim());
  if (static_cast<int64_t>(order.size()) != x.dim()) call.Invalid("perm names not all dimensions");
  return {at::permute(x, order)};
}

// Inputs without elements are left out by LibTorch only where they have one dimension.
Values Concat(const NodeCall& call) {
  std::vector<at::Tensor> parts;
  for (size_t i = 0; i < call.inputs.size(); ++i) parts.push_back(call.In(i));
  if (parts.empty()) call.Invalid("no inputs");
  const int64_t axis = call.Axis(call.Int("axis", call.version < 4 ? 1 : 0), parts[0].dim());
  if (parts.size() == 1) return {call.inputs[0]};
  return {at::cat(parts, axis)};
}

// Sizes are an attribute before operator set 13, then input 1; without them the parts are equal,
// the last one smaller where they cannot be.
Ints SplitSizes(const NodeCall& call, int64_t size, size_t count) {
  if (const auto given = call.IntsOf("split", 1, 13)) return *given;
  const auto parts = static_cast<int64_t>(count);
  const int64_t each = (size + parts - 1) / parts;
  Ints sizes;
  for (int64_t i = 0; i < parts; ++i) {
    sizes.push_back(std::clamp<int64_t>(size - i * each, 0, each));
  }
  return sizes;
}

Values Split(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  const int64_t axis = call.Axis(call.Int("axis", 0), x.dim());
  const size_t count = std::max<size_t>(1, call.node.outputs.size());
  const Ints sizes = SplitSizes(call, x.size(axis), count);
  for (const int64_t size : sizes) {
    if (size < 0) call.Invalid("a part of negative size");
  }
  Values parts;
  for (at::Tensor& part : at::split_with_sizes(x, sizes, axis)) parts.emplace_back(std::move(part));
  return parts;
}

struct Slicing {
  Ints starts, ends, axes, steps;
};

// Attributes before operator set 10, then inputs.
Slicing ReadSlicing(const NodeCall& call, int64_t rank) {
  Slicing read;
  if (call.version < 10) {
    read.starts = call.IntList("starts").value_or(Ints());
    read.ends = call.IntList("ends").value_or(Ints());
    read.axes = call.IntList("axes").value_or(Ints());
  } else {
    read.starts = call.KnownInts(1);
    read.ends = call.KnownInts(2);
    if (call.Has(3)) read.axes = call.KnownInts(3);
    if (call.Has(4)) read.steps = call.KnownInts(4);
  }
  if (read.axes.empty()) {
    for (size_t i = 0; i < read.starts.size(); ++i) read.axes.push_back(static_cast<int64_t>(i));
  }
  read.axes = call.Axes(read.axes, rank);
  if (read.steps.empty()) read.steps.assign(read.starts.size(), 1);
  const size_t count = read.starts.size();
  if (read.ends.size() != count || read.axes.size() != count || read.steps.size() != count) {
    call.Invalid("starts, ends, axes and steps differ in length");
  }
  return read;
}

// Counted from behind where negative, then held within [min, max].
int64_t Position(int64_t given, int64_t size, int64_t min, int64_t max) {
  if (given < 0) given = std::max<int64_t>(given, -size - 1) + size;
  return std::clamp(given, min, max);
}

// Against the grain: a slice of the flipped tensor.
at::Tensor SliceOne(const NodeCall& call, const at::Tensor& x, int64_t axis, int64_t start,
                    int64_t end, int64_t step) {
  const int64_t size = x.size(axis);
  if (step == 0) call.Invalid("a step of 0");
  if (step > 0) {
    const int64_t from = Position(start, size, 0, size);
    const int64_t to = std::max(from, Position(end, size, 0, size));
    return from == 0 && to == size && step == 1 ? x : at::slice(x, axis, from, to, step);
  }
  const int64_t from = size - 1 - Position(start, size, -1, size - 1);
  const int64_t to = std::max(from, size - 1 - Position(end, size, -1, size - 1));
  const int64_t back = step < -size ? std::max<int64_t>(1, size) : -step;
  return at::slice(at::flip(x, {axis}), axis, from, to, back);
}

Values Slice(const NodeCall& call) {
  at::Tensor x = call.In(0);
  const Slicing read = ReadSlicing(call, x.dim());
  for (size_t i = 0; i < read.axes.size(); ++i) {
    x = SliceOne(call, x, read.axes[i], read.starts[i], read.ends[i], read.steps[i]);
  }
  return {x};
}

// Broadcast against the shape; 1 keeps the input's dimension.
Values Expand(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  Ints shape = call.KnownInts(1);
  call.CheckSizes(shape);
  const auto rank = static_cast<int64_t>(shape.size());
  for (int64_t d = 0; d < std::min(rank, x.dim()); ++d) {
    int64_t& size = shape[static_cast<size_t>(rank - 1 - d)];
    if (size == 1) size = x.size(x.dim() - 1 - d);
  }
  if (rank < x.dim()) return {x};
  call.CheckSizes(shape);
  return {at::expand_copy(x, shape)};
}

Values Tile(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  const Ints repeats = call.KnownInts(1);
  if (static_cast<int64_t>(repeats.size()) != x.dim()) {
    call.Invalid("repeats has not one item for each dimension");
  }
  Ints sizes;
  for (int64_t d = 0; d < x.dim(); ++d) {
    const int64_t times = repeats[static_cast<size_t>(d)];
    if (times < 0) call.Invalid("a negative repeat");
    sizes.push_back(SaturatingMultiply(x.size(d), times));
  }
  call.CheckSizes(sizes);
  return {x.repeat(repeats)};
}

// Blocks of b x b neighbours become channels, and back.
struct Blocks {
  at::Tensor x;
  int64_t n, c, h, w, b;
};
Blocks ReadBlocks(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  const int64_t b = call.Int("blocksize", 0);
  if (x.dim() != 4 || b < 1 || b > (int64_t{1} << 20)) call.Invalid("no image, or no block size");
  return {x, x.size(0), x.size(1), x.size(2), x.size(3), b};
}
Values DepthToSpace(const NodeCall& call) {
  const auto [x, n, c, h, w, b] = ReadBlocks(call);
  if (c % (b * b) != 0) call.Invalid("the channels are no multiple of the block");
  const bool columns = call.Text("mode", "DCR") == "CRD";
  const at::Tensor split = columns ? at::reshape(x, {n, c / (b * b), b, b, h, w})
                                   : at::reshape(x, {n, b, b, c / (b * b), h, w});
  const at::Tensor mixed =
      at::permute(split, columns ? Ints{0, 1, 4, 2, 5, 3} : Ints{0, 3, 4, 1, 5, 2});
  return {at::reshape(mixed, {n, c / (b * b), h * b, w * b})};
}
Values SpaceToDepth(const NodeCall& call) {
  const auto [x, n, c, h, w, b] = ReadBlocks(call);
  if (h % b != 0 || w % b != 0) call.Invalid("the image is no multiple of the block");
  const at::Tensor split = at::reshape(x, {n, c, h / b, b, w / b, b});
  return {at::reshape(at::permute(split, {0, 3, 5, 1, 2, 4}), {n, c * b * b, h / b, w / b})};
}

}  // namespace

void AddLayoutOperators(OperatorTable& table) {
  table["Concat"] = Concat;
  table["DepthToSpace"] = DepthToSpace;
  table["Expand"] = Expand;
  table["Flatten"] = Flatten;
  table["Reshape"] = Reshape;
  table["Slice"] = Slice;
  table["SpaceToDepth"] = SpaceToDepth;
  table["Split"] = Split;
  table["Squeeze"] = Squeeze;
  table["Tile"] = Tile;
  table["Transpose"] = Transpose;
  table["Unsqueeze"] = Unsqueeze;
}

}  // namespace placewright::lowering
