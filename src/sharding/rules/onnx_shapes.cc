// ONNX: ops that move or rename elements, or make tensors from nothing. Sizes that they are given as
// tensors follow the part, as numbers among the arguments of other ops do: what a Reshape or an Expand
// makes of its input is seen in the shapes.
#include <algorithm>
#include <numeric>
#include <utility>

#include "sharding/rules/forms.h"

namespace placewright {
namespace {

// Reshape, Flatten, Squeeze, Unsqueeze.
void OnnxReshape(RuleMaker& maker) {
  if (!HasOneResult(maker, 1)) return;
  const Regrouped axes = Regroup(maker, maker.in(0), maker.out(0));
  if (maker.failed()) return;
  maker.input(0) = axes.from;
  maker.output(0) = axes.to;
  WholeFrom(maker, 1);
  maker.rule().linear = {{0}};
}

void OnnxTranspose(RuleMaker& maker) {
  if (!IsUnary(maker)) return;
  const size_t rank = maker.in(0).size();
  std::vector<size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  if (const auto stated = maker.Integers(kByName, "perm")) {
    if (stated->size() != rank) return maker.Fail();
    for (size_t d = 0; d < rank; ++d) order[d] = maker.Dimension((*stated)[d], rank);
  }
  Reorder(maker, order);
}

void OnnxExpand(RuleMaker& maker) {
  if (!HasOneResult(maker, 1)) return;
  const TensorAxes axes = maker.AxesOf(maker.out(0));
  maker.output(0) = axes;
  maker.input(0) = maker.Broadcast(maker.in(0), axes, maker.out(0));
  WholeFrom(maker, 1);
  maker.rule().linear = {{0}};
}

// Tile(x, repeats): a repeated dimension is "[repeats inner]".
void OnnxTile(RuleMaker& maker) {
  if (!HasOneResult(maker, 1) || maker.in(0).size() != maker.out(0).size()) return maker.Fail();
  for (size_t d = 0; d < maker.in(0).size(); ++d) {
    const int64_t size = maker.in(0)[d], made = maker.out(0)[d];
    const RuleAxisId axis = maker.Axis(size);
    maker.input(0).push_back({axis});
    maker.output(0).push_back({axis});
    if (made == size) continue;
    if (size < 1 || made % size != 0) return maker.Fail();
    maker.output(0)[d] = {maker.Axis(made / size, Parts::kWhole), axis};
  }
  WholeFrom(maker, 1);
  maker.rule().linear = {{0}};
}

// One dimension that a Slice cuts.
struct Cut {
  size_t dim = 0;
  int64_t start = 0, end = 0, step = 1;
};

// Its cuts as attributes or as inputs of known values; nothing where they are not known.
std::optional<std::vector<Cut>> CutsOf(RuleMaker& maker, size_t rank) {
  const auto starts = maker.Integers(kByName, "starts"), ends = maker.Integers(kByName, "ends");
  const auto axes = maker.Integers(kByName, "axes"), steps = maker.Integers(kByName, "steps");
  const auto is_given = [&](size_t at) { return maker.InputAt(at) >= 0; };
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  if ((!axes && is_given(3)) || (!steps && is_given(4))) return std::nullopt;
  if ((axes && axes->size() != starts->size()) || (steps && steps->size() != starts->size())) {
    return std::nullopt;
  }
  std::vector<Cut> cuts;
  for (size_t i = 0; i < starts->size(); ++i) {
    const int64_t dim = axes ? (*axes)[i] : static_cast<int64_t>(i);
    cuts.push_back({maker.Dimension(dim, rank), (*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1});
  }
  return cuts;
}

// [start, end) of a dimension, with the clamping of a Slice.
Cut Clamped(Cut cut, int64_t size) {
  const auto clamped = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  cut.start = clamped(cut.start);
  cut.end = std::max(cut.start, clamped(cut.end));
  return cut;
}

// Cut number `i`: "[pieces inner]", or whole.
void CutDimension(RuleMaker& maker, const Cut& stated, size_t i) {
  const int64_t size = maker.in(0)[stated.dim], made = maker.out(0)[stated.dim];
  const Cut cut = Clamped(stated, size);
  const int64_t length = cut.end - cut.start;
  // Numbers from the end would be those of the part's end.
  const bool from_end = (stated.start < 0 || stated.end < 0) && length != size;
  DimensionPiece piece = {
      {maker.Axis(size, Parts::kWhole)}, {maker.Axis(made, Parts::kWhole)}, false};
  if (cut.step == 1 && length == made && !from_end) piece = PieceOf(maker, size, cut.start, length);
  maker.input(0)[cut.dim] = piece.whole;
  maker.output(0)[cut.dim] = piece.piece;
  if (!piece.even || length == 0) return;
  // An end beyond the dimension stays: it means "to the end" in every part, too.
  const int64_t pieces = cut.start / length;
  if (cut.start > 0) maker.Size(kByName, "starts", i, piece.piece, pieces);
  if (stated.end > 0 && stated.end <= size) {
    maker.Size(kByName, "ends", i, piece.piece, pieces + 1);
  }
}

// Slice(x, starts, ends, axes?, steps?)
void OnnxSlice(RuleMaker& maker) {
  if (!HasOneResult(maker, 1) || maker.in(0).size() != maker.out(0).size()) return maker.Fail();
  const auto cuts = CutsOf(maker, maker.in(0).size());
  if (!cuts || maker.failed()) return maker.Fail();
  maker.input(0) = maker.output(0) = maker.AxesOf(maker.in(0));
  std::vector<bool> seen(maker.in(0).size(), false);
  for (size_t i = 0; i < cuts->size(); ++i) {
    if (seen[(*cuts)[i].dim]) return maker.Fail();
    seen[(*cuts)[i].dim] = true;
    CutDimension(maker, (*cuts)[i], i);
  }
  WholeFrom(maker, 1);
  maker.rule().linear = {{0}};
}

// Split(x, sizes?). Where the file leaves pieces out, those that are there may begin anywhere.
void OnnxSplit(RuleMaker& maker) {
  if (maker.input_count() < 1 || maker.output_count() < 1 || maker.in(0).empty()) {
    return maker.Fail();
  }
  const std::vector<int64_t>& shape = maker.in(0);
  const size_t dim = maker.Dimension(maker.Integer(kByName, "axis", 0), shape.size());
  std::vector<std::vector<int64_t>> shapes;
  int64_t left = shape[dim];
  for (size_t i = 0; i < maker.output_count(); ++i) {
    shapes.push_back(maker.out(i));
    if (shapes.back().size() != shape.size()) return maker.Fail();
    left -= shapes.back()[dim];
  }
  if (left > 0) shapes.push_back(shape);  // of another length than the others
  TakeApart(maker, dim, shapes, kByName, "split");
  WholeFrom(maker, 1);
  maker.rule().linear = {{0}};
}

void OnnxConcat(RuleMaker& maker) {
  if (!HasOneResult(maker, 1) || maker.out(0).empty() ||
      maker.Argument(kByName, "axis") == nullptr) {
    return maker.Fail();
  }
  const size_t dim = maker.Dimension(maker.Integer(kByName, "axis", 0), maker.out(0).size());
  std::vector<size_t> inputs(maker.input_count());
  std::iota(inputs.begin(), inputs.end(), 0);
  PutTogether(maker, dim, inputs);
}

// Pad(x, pads, value?, axes?): pairs as "all begins, all ends". What is padded, or whose pads are not
// known, is whole.
void OnnxPad(RuleMaker& maker) {
  if (!HasOneResult(maker, 1) || maker.in(0).size() != maker.out(0).size()) return maker.Fail();
  const size_t rank = maker.in(0).size();
  const auto pads = maker.Integers(kByName, "pads");
  const auto axes = maker.Integers(kByName, "axes");
  std::vector<bool> padded(rank, !pads || (!axes && maker.InputAt(3) >= 0));
  const size_t count = axes ? axes->size() : rank;
  if (pads && pads->size() != 2 * count) return maker.Fail();
  for (size_t i = 0; pads && i < count; ++i) {
    const size_t dim = axes ? maker.Dimension((*axes)[i], rank) : i;
    if (maker.failed()) return;
    padded[dim] = padded[dim] || (*pads)[i] != 0 || (*pads)[i + count] != 0;
  }
  for (size_t d = 0; d < rank; ++d) {
    const bool whole = padded[d] || maker.in(0)[d] != maker.out(0)[d];
    maker.input(0).push_back({maker.Axis(maker.in(0)[d], whole ? Parts::kWhole : Parts::kSplit)});
    maker.output(0).push_back(whole ? std::vector{maker.Axis(maker.out(0)[d], Parts::kWhole)}
                                    : maker.input(0).back());
  }
  WholeFrom(maker, 1);
}

// Trilu(x, k?): rows and columns are whole.
void OnnxTriangle(RuleMaker& maker) {
  if (!HasOneResult(maker, 1) || maker.in(0).size() < 2) return maker.Fail();
  maker.input(0) = maker.output(0) = maker.AxesOf(maker.in(0));
  const size_t rank = maker.in(0).size();
  for (const size_t dim : {rank - 2, rank - 1}) {
    maker.SetParts(maker.input(0)[dim][0], Parts::kWhole);
  }
  WholeFrom(maker, 1);
  maker.rule().linear = {{0}};
}

// DepthToSpace, SpaceToDepth: samples are split.
void OnnxMoveInSample(RuleMaker& maker) {
  if (!IsUnary(maker) || maker.in(0).empty() || maker.out(0).empty()) return maker.Fail();
  maker.input(0) = maker.AxesOf(maker.in(0), Parts::kWhole);
  maker.output(0) = maker.AxesOf(maker.out(0), Parts::kWhole);
  maker.input(0)[0] = maker.output(0)[0] = {maker.Axis(maker.in(0)[0])};
  maker.rule().linear = {{0}};
}

// ConstantOfShape(shape): any part of any dimension.
void OnnxFilled(RuleMaker& maker) {
  if (!HasOneResult(maker, 1)) return;
  maker.output(0) = maker.AxesOf(maker.out(0));
  WholeFrom(maker, 0);
}

// Shape, Size: no element is read, so that any part will do; the sizes are those of the whole.
void OnnxSizes(RuleMaker& maker) {
  if (!IsUnary(maker)) return;
  maker.input(0) = maker.AxesOf(maker.in(0));
  maker.output(0) = maker.AxesOf(maker.out(0), Parts::kWhole);
}

// Range, EyeLike: values follow the place.
void OnnxWhole(RuleMaker& maker) {
  WholeFrom(maker, 0);
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = maker.AxesOf(maker.out(i), Parts::kWhole);
  }
}

}  // namespace

std::vector<RuleRow> OnnxShapeRules() {
  return {{"Reshape Flatten Squeeze Unsqueeze", OnnxReshape},
          {"Transpose", OnnxTranspose},
          {"Expand", OnnxExpand},
          {"Tile", OnnxTile},
          {"Slice", OnnxSlice},
          {"Split", OnnxSplit},
          {"Concat", OnnxConcat},
          {"Pad", OnnxPad},
          {"Trilu", OnnxTriangle},
          {"DepthToSpace SpaceToDepth", OnnxMoveInSample},
          {"ConstantOfShape", OnnxFilled},
          {"Shape Size", OnnxSizes},
          {"Range EyeLike", OnnxWhole}};
}

}  // namespace placewright
