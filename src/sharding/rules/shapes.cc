// Ops that move or rename elements: views, permutations, pieces, concatenation; and what makes tensors
// from nothing.
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
  if (!IsUnary(maker)) return;
  const Regrouped axes = Regroup(maker, maker.in(0), maker.out(0));
  maker.input(0) = axes.from;
  maker.output(0) = axes.to;
  LinearInAll(maker);
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
  std::vector<TensorAxes> pieces;
  TensorAxes whole;
  if (maker.failed()) return;
  Pieces(maker, shape, dim, whole, pieces, shapes);
  if (maker.failed()) return;
  maker.input(0) = whole;
  for (size_t i = 0; i < pieces.size(); ++i) maker.output(i) = pieces[i];
  // One size for all, or one for each piece; results that nothing reads may be left out of the outputs,
  // but if all are of one size the first one's axes are theirs, too.
  const bool one_size = maker.Argument(1, "split_size") != nullptr;
  const char* const sizes = one_size ? "split_size" : "split_sizes";
  const auto stated = maker.Integers(1, sizes);
  const bool even = maker.parts(pieces[0][dim].back()) != Parts::kWhole;
  for (size_t i = 0; even && stated && i < stated->size(); ++i) {
    maker.Size(1, sizes, i, pieces[0][dim]);
  }
  LinearInAll(maker);
}

void Concatenate(RuleMaker& maker) {
  if (maker.input_count() < 1 || maker.output_count() != 1 || maker.out(0).empty()) {
    return maker.Fail();
  }
  const std::vector<int64_t>& shape = maker.out(0);
  const size_t dim = maker.Dimension(maker.Integer(1, "dim", 0), shape.size());
  std::vector<std::vector<int64_t>> shapes;
  for (size_t i = 0; i < maker.input_count(); ++i) shapes.push_back(maker.in(i));
  std::vector<TensorAxes> pieces;
  TensorAxes whole;
  if (maker.failed()) return;
  Pieces(maker, shape, dim, whole, pieces, shapes);
  if (maker.failed()) return;
  maker.output(0) = whole;
  for (size_t i = 0; i < pieces.size(); ++i) maker.input(i) = pieces[i];
  LinearInAll(maker);
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

// zeros(size), full(size, value), ...: any part of any dimension.
void MakeFilled(RuleMaker& maker) {
  if (maker.input_count() != 0 || maker.output_count() != 1) return maker.Fail();
  maker.output(0) = maker.AxesOf(maker.out(0));
  maker.Sizes(0, "size", maker.output(0));
}

// new_zeros(x, size): of x only the dtype counts.
void MakeFilledLike(RuleMaker& maker) {
  if (!IsUnary(maker)) return;
  maker.input(0) = maker.AxesOf(maker.in(0), Parts::kWhole);
  maker.output(0) = maker.AxesOf(maker.out(0));
  maker.Sizes(1, "size", maker.output(0));
}

// arange, one number: values follow the place, so that there are no parts.
void MakeWhole(RuleMaker& maker) {
  if (maker.input_count() != 0 || maker.output_count() != 1) return maker.Fail();
  maker.output(0) = maker.AxesOf(maker.out(0), Parts::kWhole);
}

}  // namespace

std::vector<RuleRow> ShapeRules() {
  return {{"view", ViewAsType, "dtype"},
          {"view", View},
          {"reshape", View},
          {"_unsafe_view", View},
          {"view_copy", View},
          {"_reshape_alias", ReshapeAlias},
          {"expand", Expand},
          {"permute", Permute},
          {"transpose", Transpose},
          {"t", TransposeMatrix},
          {"unsqueeze", ResizeByOnes},
          {"squeeze", ResizeByOnes},
          {"select", Select},
          {"select_backward", SelectBackward},
          {"unbind", Unbind},
          {"stack", Stack},
          {"slice", Slice},
          {"slice_backward", SliceBackward},
          {"split", Split},
          {"unsafe_split", Split},
          {"split_with_sizes", Split},
          {"unsafe_split_with_sizes", Split},
          {"cat", Concatenate},
          {"constant_pad_nd", Pad},
          {"flip", Flip},
          {"roll", Roll},
          {"tril", Triangle},
          {"triu", Triangle},
          {"zeros", MakeFilled},
          {"ones", MakeFilled},
          {"empty", MakeFilled},
          {"full", MakeFilled},
          {"new_zeros", MakeFilledLike},
          {"new_ones", MakeFilledLike},
          {"new_empty", MakeFilledLike},
          {"new_full", MakeFilledLike},
          {"scalar_tensor", MakeWhole},
          {"arange", MakeWhole}};
}

}  // namespace placewright
