// Ops that move or rename elements: views, permutations, pieces, diagonals, windows, concatenation.
#include <algorithm>
#include <numeric>
#include <utility>

#include "sharding/rules/forms.h"

namespace placewright {
namespace {

void View(RuleMaker& maker) {
  if (maker.input_count() != 1 || maker.output_count() != 1) return maker.Fail();
  const Regrouped axes = Regroup(maker, maker.in(0), maker.out(0));
  if (maker.failed()) return;
  maker.input(0) = axes.from;
  maker.output(0) = axes.to;
  maker.Sizes(1, "size", axes.to);
  LinearInAll(maker);
}

// _reshape_alias(x, size, stride): its strides are the whole's; a part is viewed.
void ReshapeAlias(RuleMaker& maker) {
  View(maker);
  maker.rule().part_type = "aten.view.default";
  maker.rule().part_args = 2;
}

// view.dtype(x, dtype): of another element size, the last dimension is whole.
void ViewAsType(RuleMaker& maker) {
  if (maker.input_count() != 1 || maker.output_count() != 1 || maker.in(0) != maker.out(0)) {
    return maker.Fail();
  }
  maker.input(0) = maker.output(0) = maker.AxesOf(maker.in(0));
}

void Expand(RuleMaker& maker) {
  if (maker.input_count() != 1 || maker.output_count() != 1) return maker.Fail();
  const std::vector<int64_t>& shape = maker.out(0);
  const TensorAxes axes = maker.AxesOf(shape);
  maker.output(0) = axes;
  maker.input(0) = maker.Broadcast(maker.in(0), axes, shape);
  maker.Sizes(1, "size", axes);
  LinearInAll(maker);
}

void Permute(RuleMaker& maker) {
  if (!IsUnary(maker)) return;
  const auto dims = maker.Integers(1, "dims");
  if (!dims || dims->size() != maker.in(0).size()) return maker.Fail();
  std::vector<size_t> order;
  for (const int64_t dim : *dims) order.push_back(maker.Dimension(dim, dims->size()));
  Reorder(maker, order);
}

void Exchange(RuleMaker& maker, int64_t a, int64_t b) {
  std::vector<size_t> order(maker.in(0).size());
  std::iota(order.begin(), order.end(), 0);
  if (order.empty()) return Reorder(maker, order);
  const size_t first = maker.Dimension(a, order.size()), second = maker.Dimension(b, order.size());
  if (maker.failed()) return;
  std::swap(order[first], order[second]);
  Reorder(maker, order);
}

void Transpose(RuleMaker& maker) {
  if (IsUnary(maker)) Exchange(maker, maker.Integer(1, "dim0", 0), maker.Integer(2, "dim1", 1));
}

void TransposeMatrix(RuleMaker& maker) {
  if (!IsUnary(maker)) return;
  if (maker.in(0).size() < 2) return Reorder(maker, std::vector<size_t>(maker.in(0).size(), 0));
  Exchange(maker, 0, 1);
}

// unsqueeze, squeeze: dimensions of size 1 come or go.
void ResizeByOnes(RuleMaker& maker) {
  if (maker.op().type.find("queeze_.") != std::string_view::npos) return maker.Fail();  // in place
  if (!IsUnary(maker)) return;
  const Regrouped axes = Regroup(maker, maker.in(0), maker.out(0));
  maker.input(0) = axes.from;
  maker.output(0) = axes.to;
  LinearInAll(maker);
}

// A dimension that has one element in a part alone stays.
void Squeeze(RuleMaker& maker) {
  ResizeByOnes(maker);
  maker.rule().part_type = "aten.view.default";
  maker.rule().part_args = 1;
  maker.rule().part_takes_sizes = true;
}

// select(x, dim, index)
void Select(RuleMaker& maker) {
  if (!IsUnary(maker) || maker.in(0).empty()) return maker.Fail();
  const size_t dim = maker.Dimension(maker.Integer(1, "dim", 0), maker.in(0).size());
  const TensorAxes axes = maker.AxesOf(maker.in(0));
  maker.SetParts(axes[dim][0], Parts::kWhole);
  maker.input(0) = axes;
  maker.output(0) = Without(axes, dim);
  LinearInAll(maker);
}

// select_backward(grad, input_sizes, dim, index)
void SelectBackward(RuleMaker& maker) {
  if (!IsUnary(maker) || maker.out(0).empty()) return maker.Fail();
  const size_t dim = maker.Dimension(maker.Integer(2, "dim", 0), maker.out(0).size());
  const TensorAxes axes = maker.AxesOf(maker.out(0));
  maker.SetParts(axes[dim][0], Parts::kWhole);
  maker.output(0) = axes;
  maker.input(0) = Without(axes, dim);
  maker.Sizes(1, "input_sizes", axes);
  LinearInAll(maker);
}

void Unbind(RuleMaker& maker) {
  if (maker.input_count() != 1 || maker.output_count() < 1 || maker.in(0).empty()) {
    return maker.Fail();
  }
  const size_t dim = maker.Dimension(maker.Integer(1, "dim", 0), maker.in(0).size());
  const TensorAxes axes = maker.AxesOf(maker.in(0));
  maker.SetParts(axes[dim][0], Parts::kWhole);
  maker.input(0) = axes;
  for (size_t i = 0; i < maker.output_count(); ++i) maker.output(i) = Without(axes, dim);
  LinearInAll(maker);
}

void Stack(RuleMaker& maker) {
  if (maker.input_count() < 1 || maker.output_count() != 1 || maker.out(0).empty()) {
    return maker.Fail();
  }
  const size_t dim = maker.Dimension(maker.Integer(1, "dim", 0), maker.out(0).size());
  const TensorAxes axes = maker.AxesOf(maker.out(0));
  maker.SetParts(axes[dim][0], Parts::kWhole);
  maker.output(0) = axes;
  for (size_t i = 0; i < maker.input_count(); ++i) maker.input(i) = Without(axes, dim);
  LinearInAll(maker);
}

struct Range {
  int64_t start = 0, length = 0;
};

// Of [start:end:step] with the defaults and the clamping of aten.slice; nothing for another step.
std::optional<Range> RangeOf(RuleMaker& maker, size_t first_argument, int64_t size) {
  if (maker.Integer(first_argument + 2, "step", 1) != 1) return std::nullopt;
  const auto clamped = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const int64_t start = clamped(maker.Integer(first_argument, "start", 0));
  const int64_t end = clamped(maker.Integer(first_argument + 1, "end", size));
  return Range{start, std::max<int64_t>(end - start, 0)};
}

// The dimension of which a slice takes a part, and the numbers that say which.
void Slicing(RuleMaker& maker, const std::vector<int64_t>& shape, size_t dim_at, TensorAxes& whole,
             TensorAxes& part, const std::vector<int64_t>& part_shape) {
  const size_t dim = maker.Dimension(maker.Integer(dim_at, "dim", 0), shape.size());
  if (maker.failed() || part_shape.size() != shape.size()) return maker.Fail();
  whole = part = maker.AxesOf(shape);
  const std::optional<Range> range = RangeOf(maker, dim_at + 1, shape[dim]);
  if (!range || range->length != part_shape[dim]) {
    whole[dim] = {maker.Axis(shape[dim], Parts::kWhole)};
    part[dim] = {maker.Axis(part_shape[dim], Parts::kWhole)};
    return;
  }
  DimensionPiece piece = PieceOf(maker, shape[dim], range->start, range->length);
  // Numbers from the end would be those of the part's end.
  const bool from_end =
      maker.Integer(dim_at + 1, "start", 0) < 0 || maker.Integer(dim_at + 2, "end", 0) < 0;
  if (from_end && range->length != shape[dim]) {
    piece = {
        {maker.Axis(shape[dim], Parts::kWhole)}, {maker.Axis(range->length, Parts::kWhole)}, false};
  }
  whole[dim] = piece.whole;
  part[dim] = piece.piece;
  if (!piece.even || range->length == 0) return;
  // An end beyond the dimension stays: it means "to the end" in every part, too.
  const int64_t pieces = range->start / range->length;
  if (range->start > 0) maker.Size(dim_at + 1, "start", 0, piece.piece, pieces);
  const int64_t end = maker.Integer(dim_at + 2, "end", shape[dim]);
  if (end > 0 && end <= shape[dim]) maker.Size(dim_at + 2, "end", 0, piece.piece, pieces + 1);
}

void Slice(RuleMaker& maker) {
  if (!IsUnary(maker) || maker.in(0).empty()) return maker.Fail();
  TensorAxes whole, part;
  Slicing(maker, maker.in(0), 1, whole, part, maker.out(0));
  maker.input(0) = whole;
  maker.output(0) = part;
  LinearInAll(maker);
}

// slice_backward(grad, input_sizes, dim, start, end, step)
void SliceBackward(RuleMaker& maker) {
  if (!IsUnary(maker) || maker.out(0).empty()) return maker.Fail();
  TensorAxes whole, part;
  Slicing(maker, maker.out(0), 2, whole, part, maker.in(0));
  maker.output(0) = whole;
  maker.input(0) = part;
  if (!maker.failed()) maker.Sizes(1, "input_sizes", whole);
  LinearInAll(maker);
}

// split(x, size, dim), split_with_sizes(x, sizes, dim)
void Split(RuleMaker& maker) {
  if (maker.input_count() != 1 || maker.output_count() < 1 || maker.in(0).empty()) {
    return maker.Fail();
  }
  const std::vector<int64_t>& shape = maker.in(0);
  const size_t dim = maker.Dimension(maker.Integer(2, "dim", 0), shape.size());
  std::vector<std::vector<int64_t>> shapes;
  for (size_t i = 0; i < maker.output_count(); ++i) shapes.push_back(maker.out(i));
  // One size for all, or one for each piece; results that nothing reads may be left out of the outputs,
  // but if all are of one size the first one's axes are theirs, too.
  const bool one_size = maker.Argument(1, "split_size") != nullptr;
  TakeApart(maker, dim, shapes, 1, one_size ? "split_size" : "split_sizes");
  LinearInAll(maker);
}

// Of tensors with several dimensions a one-dimensional one without elements counts for nothing: caches of
// transformers begin with one.
void Concatenate(RuleMaker& maker) {
  if (maker.input_count() < 1 || maker.output_count() != 1 || maker.out(0).empty()) {
    return maker.Fail();
  }
  const size_t rank = maker.out(0).size();
  const size_t dim = maker.Dimension(maker.Integer(1, "dim", 0), rank);
  std::vector<size_t> counted;
  for (size_t i = 0; i < maker.input_count(); ++i) {
    if (rank > 1 && maker.in(i) == std::vector<int64_t>{0}) {
      maker.input(i) = maker.AxesOf(maker.in(i), Parts::kWhole);
    } else {
      counted.push_back(i);
    }
  }
  PutTogether(maker, dim, counted);
}

// constant_pad_nd(x, pad, value): pairs from the last dimension backwards.
void Pad(RuleMaker& maker) {
  if (!IsUnary(maker) || maker.in(0).size() != maker.out(0).size()) return maker.Fail();
  maker.input(0) = maker.AxesOf(maker.in(0));
  maker.output(0) = maker.input(0);
  for (size_t i = 0; i < maker.in(0).size(); ++i) {
    const size_t from_end = maker.in(0).size() - 1 - i;
    const auto pad = maker.Integers(1, "pad");
    const bool padded = pad && 2 * from_end + 1 < pad->size() &&
                        ((*pad)[2 * from_end] != 0 || (*pad)[2 * from_end + 1] != 0);
    if (!padded && maker.in(0)[i] == maker.out(0)[i]) continue;
    maker.SetParts(maker.input(0)[i][0], Parts::kWhole);
    maker.output(0)[i] = {maker.Axis(maker.out(0)[i], Parts::kWhole)};
  }
}

// flip(x, dims), roll(x, shifts, dims): these dimensions are whole.
void MoveWithin(RuleMaker& maker, size_t dims_at, bool needs_dims) {
  if (!IsUnary(maker)) return;
  maker.input(0) = maker.output(0) = maker.AxesOf(maker.in(0));
  const auto dims = maker.Integers(dims_at, "dims");
  if (!dims || (needs_dims && dims->empty())) return maker.Fail();
  for (const int64_t stated : *dims) {
    const size_t dim = maker.Dimension(stated, maker.in(0).size());
    if (!maker.failed()) maker.SetParts(maker.input(0)[dim][0], Parts::kWhole);
  }
  LinearInAll(maker);
}
void Flip(RuleMaker& maker) { MoveWithin(maker, 1, false); }
// Without dimensions it rolls all elements in a row.
void Roll(RuleMaker& maker) { MoveWithin(maker, 2, true); }

// tril, triu: rows and columns are whole.
void Triangle(RuleMaker& maker) {
  if (!IsUnary(maker) || maker.in(0).size() < 2) return maker.Fail();
  maker.input(0) = maker.output(0) = maker.AxesOf(maker.in(0));
  const size_t rank = maker.in(0).size();
  for (const size_t dim : {rank - 2, rank - 1}) {
    maker.SetParts(maker.input(0)[dim][0], Parts::kWhole);
  }
  LinearInAll(maker);
}

// repeat(x, repeats): "n -> [r n]", dimensions in front anew.
void Repeat(RuleMaker& maker) {
  if (!IsUnary(maker) || maker.out(0).size() < maker.in(0).size()) return maker.Fail();
  const std::vector<int64_t>&from = maker.in(0), &to = maker.out(0);
  const size_t before = to.size() - from.size();
  for (size_t i = 0; i < to.size(); ++i) {
    const int64_t own = i < before ? 1 : from[i - before];
    if (own < 1 || to[i] % own != 0) return maker.Fail();
    std::vector<RuleAxisId> dimension;
    if (to[i] != own) dimension.push_back(maker.Axis(to[i] / own));
    maker.Size(1, "repeats", i, dimension);
    if (i >= before) {
      std::vector<RuleAxisId> source;
      if (own > 1) source.push_back(maker.Axis(own));
      dimension.insert(dimension.end(), source.begin(), source.end());
      maker.input(0).push_back(std::move(source));
    }
    maker.output(0).push_back(std::move(dimension));
  }
  LinearInAll(maker);
}

// Two dimensions of x, which the diagonal takes the place of.
struct Diagonal {
  size_t a = 0, b = 0;
};
std::optional<Diagonal> DiagonalOf(RuleMaker& maker, size_t dims_at, size_t rank) {
  if (rank < 2) return std::nullopt;
  const Diagonal found = {maker.Dimension(maker.Integer(dims_at, "dim1", 0), rank),
                          maker.Dimension(maker.Integer(dims_at + 1, "dim2", 1), rank)};
  if (maker.failed() || found.a == found.b) return std::nullopt;
  return found;
}

// Of a tensor and its diagonal, which is the last dimension of the latter: what is around it can be split.
bool AroundDiagonal(RuleMaker& maker, const std::vector<int64_t>& full, const Diagonal& at,
                    const std::vector<int64_t>& line, TensorAxes& whole, TensorAxes& diagonal) {
  if (line.size() + 1 != full.size()) return false;
  whole = maker.AxesOf(full);
  for (const size_t dim : {at.a, at.b}) maker.SetParts(whole[dim][0], Parts::kWhole);
  for (size_t i = 0; i < full.size(); ++i) {
    if (i != at.a && i != at.b) diagonal.push_back(whole[i]);
  }
  diagonal.push_back({maker.Axis(line.back(), Parts::kWhole)});
  return true;
}

// diagonal(x, offset, dim1, dim2); diag_embed(line, offset, dim1, dim2)
void TakeDiagonal(RuleMaker& maker) {
  if (!IsUnary(maker)) return;
  const auto at = DiagonalOf(maker, 2, maker.in(0).size());
  if (!at ||
      !AroundDiagonal(maker, maker.in(0), *at, maker.out(0), maker.input(0), maker.output(0))) {
    return maker.Fail();
  }
  LinearInAll(maker);
}
void EmbedDiagonal(RuleMaker& maker) {
  if (!IsUnary(maker)) return;
  const size_t rank = maker.out(0).size();
  if (rank < 2) return maker.Fail();
  const Diagonal at = {maker.Dimension(maker.Integer(2, "dim1", -2), rank),
                       maker.Dimension(maker.Integer(3, "dim2", -1), rank)};
  if (maker.failed() || at.a == at.b ||
      !AroundDiagonal(maker, maker.out(0), at, maker.in(0), maker.output(0), maker.input(0))) {
    return maker.Fail();
  }
  LinearInAll(maker);
}
// diagonal_backward(grad, input_sizes, offset, dim1, dim2)
void DiagonalBackward(RuleMaker& maker) {
  if (!IsUnary(maker)) return;
  const auto at = DiagonalOf(maker, 3, maker.out(0).size());
  if (!at ||
      !AroundDiagonal(maker, maker.out(0), *at, maker.in(0), maker.output(0), maker.input(0))) {
    return maker.Fail();
  }
  maker.Sizes(1, "input_sizes", maker.output(0));
  LinearInAll(maker);
}
// diagonal_scatter(x, line, offset, dim1, dim2)
void ScatterDiagonal(RuleMaker& maker) {
  if (!HasOneResult(maker, 2)) return;
  const auto at = DiagonalOf(maker, 3, maker.in(0).size());
  if (!at ||
      !AroundDiagonal(maker, maker.in(0), *at, maker.in(1), maker.input(0), maker.input(1))) {
    return maker.Fail();
  }
  maker.output(0) = maker.input(0);
  LinearInAll(maker);
}

// select_scatter(x, part, dim, index), slice_scatter(x, part, dim, start, end, step)
void ScatterAlong(RuleMaker& maker) {
  if (!HasOneResult(maker, 2) || maker.in(0).empty() || maker.in(0) != maker.out(0)) {
    return maker.Fail();
  }
  const size_t dim = maker.Dimension(maker.Integer(2, "dim", 0), maker.in(0).size());
  if (maker.failed()) return;
  const TensorAxes axes = maker.AxesOf(maker.in(0));
  maker.SetParts(axes[dim][0], Parts::kWhole);
  maker.input(0) = maker.output(0) = axes;
  maker.input(1) = Without(axes, dim);
  if (maker.in(1).size() == maker.in(0).size()) {
    maker.input(1) = axes;
    maker.input(1)[dim] = {maker.Axis(maker.in(1)[dim], Parts::kWhole)};
  }
  LinearInAll(maker);
}

// narrow_copy(x, dim, start, length): the dimension is whole.
void Narrow(RuleMaker& maker) {
  if (!IsUnary(maker) || maker.in(0).empty() || maker.in(0).size() != maker.out(0).size()) {
    return maker.Fail();
  }
  const size_t dim = maker.Dimension(maker.Integer(1, "dim", 0), maker.in(0).size());
  if (maker.failed()) return;
  maker.input(0) = maker.AxesOf(maker.in(0));
  maker.SetParts(maker.input(0)[dim][0], Parts::kWhole);
  maker.output(0) = maker.input(0);
  maker.output(0)[dim] = {maker.Axis(maker.out(0)[dim], Parts::kWhole)};
  LinearInAll(maker);
}

// unfold(x, dim, size, step): windows along a dimension, behind all others what is in them.
void Windows(RuleMaker& maker, size_t dim_at, const std::vector<int64_t>& full,
             const std::vector<int64_t>& windows, TensorAxes& whole, TensorAxes& taken) {
  if (full.empty() || windows.size() != full.size() + 1) return maker.Fail();
  const size_t dim = maker.Dimension(maker.Integer(dim_at, "dim", 0), full.size());
  if (maker.failed()) return;
  whole = maker.AxesOf(full);
  maker.SetParts(whole[dim][0], Parts::kWhole);
  taken = whole;
  taken[dim] = {maker.Axis(windows[dim], Parts::kWhole)};
  taken.push_back({maker.Axis(windows.back(), Parts::kWhole)});
  LinearInAll(maker);
}
void Unfold(RuleMaker& maker) {
  if (!IsUnary(maker)) return;
  Windows(maker, 1, maker.in(0), maker.out(0), maker.input(0), maker.output(0));
}
// unfold_backward(grad, input_sizes, dim, size, step)
void UnfoldBackward(RuleMaker& maker) {
  if (!IsUnary(maker)) return;
  Windows(maker, 2, maker.out(0), maker.in(0), maker.output(0), maker.input(0));
  if (!maker.failed()) maker.Sizes(1, "input_sizes", maker.output(0));
}

// rot90(x, k, dims): both dimensions are whole, whichever becomes which.
void Rotate(RuleMaker& maker) {
  const std::vector<int64_t> dims = maker.Integers(2, "dims").value_or(std::vector<int64_t>{0, 1});
  if (!IsUnary(maker) || maker.in(0).size() != maker.out(0).size()) return maker.Fail();
  maker.input(0) = maker.output(0) = maker.AxesOf(maker.in(0));
  for (const int64_t stated : dims) {
    const size_t dim = maker.Dimension(stated, maker.in(0).size());
    if (maker.failed()) return;
    maker.SetParts(maker.input(0)[dim][0], Parts::kWhole);
    maker.output(0)[dim] = {maker.Axis(maker.out(0)[dim], Parts::kWhole)};
  }
  LinearInAll(maker);
}

// view_as_complex "... 2 -> ...", view_as_real "... -> ... 2"
void AsComplex(RuleMaker& maker) {
  if (!IsUnary(maker) || maker.in(0).size() != maker.out(0).size() + 1) return maker.Fail();
  maker.output(0) = maker.AxesOf(maker.out(0));
  maker.input(0) = maker.output(0);
  maker.input(0).push_back({maker.Axis(2, Parts::kWhole)});
}
void AsReal(RuleMaker& maker) {
  if (!IsUnary(maker) || maker.in(0).size() + 1 != maker.out(0).size()) return maker.Fail();
  maker.input(0) = maker.AxesOf(maker.in(0));
  maker.output(0) = maker.input(0);
  maker.output(0).push_back({maker.Axis(2, Parts::kWhole)});
}

// glu(x, dim): both halves of a dimension make one; glu_backward(grad, x, dim).
void Halves(RuleMaker& maker, size_t x, size_t dim_at) {
  const std::vector<int64_t>& shape = maker.in(x);
  if (maker.output_count() != 1 || shape.empty()) return maker.Fail();
  const size_t dim = maker.Dimension(maker.Integer(dim_at, "dim", -1), shape.size());
  if (maker.failed() || shape[dim] % 2 != 0) return maker.Fail();
  TensorAxes axes = maker.AxesOf(shape), half = axes;
  const RuleAxisId inner = maker.Axis(shape[dim] / 2);
  axes[dim] = {maker.Axis(2, Parts::kWhole), inner};
  half[dim] = {inner};
  maker.input(x) = maker.output(0) = axes;
  (x == 0 ? maker.output(0) : maker.input(0)) = half;
}
void GatedHalves(RuleMaker& maker) {
  if (IsUnary(maker)) Halves(maker, 0, 1);
}
void GatedHalvesBackward(RuleMaker& maker) {
  if (HasOneResult(maker, 2)) Halves(maker, 1, 2);
}

}  // namespace

std::vector<RuleRow> ShapeRules() {
  return {{"view view_copy", ViewAsType, "dtype"},
          {"view reshape _unsafe_view view_copy _reshape_copy", View},
          {"_reshape_alias", ReshapeAlias},
          {"expand", Expand},
          {"permute", Permute},
          {"transpose", Transpose},
          {"t", TransposeMatrix},
          {"unsqueeze", ResizeByOnes},
          {"squeeze", Squeeze},
          {"select", Select},
          {"select_backward", SelectBackward},
          {"unbind", Unbind},
          {"stack _stack", Stack},
          {"slice", Slice},
          {"slice_backward", SliceBackward},
          {"split unsafe_split split_with_sizes unsafe_split_with_sizes", Split},
          {"cat", Concatenate},
          {"constant_pad_nd", Pad},
          {"flip", Flip},
          {"roll", Roll},
          {"tril triu", Triangle},
          {"repeat", Repeat},
          {"diagonal", TakeDiagonal},
          {"diag_embed", EmbedDiagonal},
          {"diagonal_backward", DiagonalBackward},
          {"diagonal_scatter", ScatterDiagonal},
          {"select_scatter slice_scatter", ScatterAlong},
          {"narrow_copy", Narrow},
          {"unfold", Unfold},
          {"unfold_backward", UnfoldBackward},
          {"rot90", Rotate},
          {"view_as_complex", AsComplex},
          {"view_as_real", AsReal},
          {"glu", GatedHalves},
          {"glu_backward", GatedHalvesBackward}};
}

}  // namespace placewright
