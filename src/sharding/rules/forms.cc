#include "sharding/rules/forms.h"

#include <algorithm>
#include <utility>

namespace placewright {
namespace {

// Both shapes from the outermost dimension in.
class Regrouping {
 public:
  Regrouping(RuleMaker& maker, const std::vector<int64_t>& a, const std::vector<int64_t>& b)
      : maker_(maker), a_{a, TensorAxes(a.size())}, b_{b, TensorAxes(b.size())} {
    if (Elements(a) != Elements(b)) {
      maker.Fail();
      return;
    }
    if (Elements(a) == 0) {
      a_.axes = maker.AxesOf(a, Parts::kWhole);
      b_.axes = maker.AxesOf(b, Parts::kWhole);
      return;
    }
    while (a_.Open() && b_.Open()) Step();
  }

  Regrouped Take() && { return {std::move(a_.axes), std::move(b_.axes)}; }

 private:
  struct Side {
    const std::vector<int64_t>& shape;
    TensorAxes axes;
    size_t dim = 0;
    int64_t taken = 1;  // of the dimension

    bool Open() {
      while (dim < shape.size() && shape[dim] == taken) {
        ++dim;
        taken = 1;
      }
      return dim < shape.size();
    }
    int64_t left() const { return shape[dim] / taken; }
    void Take(RuleAxisId axis, int64_t size) {
      axes[dim].push_back(axis);
      taken *= size;
    }
  };

  static int64_t Elements(const std::vector<int64_t>& shape) {
    __int128 count = 1;
    for (const int64_t size : shape) count = std::min<__int128>(count * size, kMaxQuantity);
    return static_cast<int64_t>(count);
  }

  void Step() {
    const int64_t size = std::min(a_.left(), b_.left());
    if (a_.left() % size == 0 && b_.left() % size == 0) {
      const RuleAxisId axis = maker_.Axis(size);
      a_.Take(axis, size);
      b_.Take(axis, size);
      return;
    }
    // Until both sides have a bound at the same place.
    int64_t a = TakeWhole(a_), b = TakeWhole(b_);
    while (a != b) {
      int64_t& behind = a < b ? a : b;
      behind *= TakeWhole(a < b ? a_ : b_);
    }
  }

  int64_t TakeWhole(Side& side) {
    if (!side.Open()) {  // the same number of elements: cannot be
      maker_.Fail();
      return kMaxQuantity;
    }
    const int64_t size = side.left();
    side.Take(maker_.Axis(size, Parts::kWhole), size);
    return size;
  }

  RuleMaker& maker_;
  Side a_, b_;
};

// Of a dimension that is made of pieces, as split takes them apart and cat puts them together.
struct DimensionPieces {
  TensorAxes whole;
  std::vector<TensorAxes> pieces;
};

DimensionPieces PiecesOf(RuleMaker& maker, const std::vector<int64_t>& shape, size_t dim,
                         const std::vector<std::vector<int64_t>>& shapes) {
  DimensionPieces axes;
  bool even = true;
  for (const std::vector<int64_t>& piece : shapes) {
    if (piece.size() != shape.size()) {
      maker.Fail();
      return axes;
    }
    even = even && piece[dim] == shapes[0][dim];
  }
  axes.whole = maker.AxesOf(shape);
  const DimensionPiece first =
      even ? PieceOf(maker, shape[dim], 0, shapes[0][dim]) : DimensionPiece();
  axes.whole[dim] = even ? first.whole : std::vector{maker.Axis(shape[dim], Parts::kWhole)};
  for (const std::vector<int64_t>& piece : shapes) {
    axes.pieces.push_back(axes.whole);
    axes.pieces.back()[dim] =
        even ? first.piece : std::vector{maker.Axis(piece[dim], Parts::kWhole)};
  }
  return axes;
}

}  // namespace

void Elementwise(RuleMaker& maker) {
  if (maker.output_count() == 0) return maker.Fail();
  const std::vector<int64_t>& shape = maker.out(0);
  const TensorAxes axes = maker.AxesOf(shape);
  maker.AllowRepeats();
  for (size_t i = 0; i < maker.input_count(); ++i) {
    maker.input(i) = maker.Broadcast(maker.in(i), axes, shape);
  }
  for (size_t i = 0; i < maker.output_count(); ++i) {
    if (maker.out(i) != shape) return maker.Fail();
    maker.output(i) = axes;
  }
}

void LinearTogether(RuleMaker& maker) {
  Elementwise(maker);
  std::vector<int32_t> all;
  for (size_t i = 0; i < maker.input_count(); ++i) all.push_back(static_cast<int32_t>(i));
  if (!all.empty()) maker.rule().linear.push_back(std::move(all));
}

void LinearInEach(RuleMaker& maker) {
  Elementwise(maker);
  for (size_t i = 0; i < maker.input_count(); ++i) {
    maker.rule().linear.push_back({static_cast<int32_t>(i)});
  }
}

void LinearInFirst(RuleMaker& maker) {
  Elementwise(maker);
  if (maker.input_count() > 0) maker.rule().linear.push_back({0});
}

void LinearInAll(RuleMaker& maker) {
  std::vector<int32_t> all;
  for (size_t i = 0; i < maker.input_count(); ++i) all.push_back(static_cast<int32_t>(i));
  maker.rule().linear = {std::move(all)};
}

bool IsUnary(RuleMaker& maker) {
  if (maker.input_count() == 1 && maker.output_count() == 1) return true;
  maker.Fail();
  return false;
}

bool HasOneResult(RuleMaker& maker, size_t inputs) {
  if (maker.input_count() >= inputs && maker.output_count() == 1) return true;
  maker.Fail();
  return false;
}

void WholeFrom(RuleMaker& maker, size_t first) {
  for (size_t i = first; i < maker.input_count(); ++i) {
    maker.input(i) = maker.AxesOf(maker.in(i), Parts::kWhole);
  }
}

Regrouped Regroup(RuleMaker& maker, const std::vector<int64_t>& from,
                  const std::vector<int64_t>& to) {
  return Regrouping(maker, from, to).Take();
}

TensorAxes Without(TensorAxes axes, size_t dim) {
  axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(dim));
  return axes;
}

void Reorder(RuleMaker& maker, const std::vector<size_t>& order) {
  const TensorAxes axes = maker.AxesOf(maker.in(0));
  if (maker.failed() || order.size() != axes.size()) return maker.Fail();
  maker.input(0) = axes;
  maker.output(0).clear();
  for (const size_t from : order) maker.output(0).push_back(axes[from]);
  LinearInAll(maker);
}

DimensionPiece PieceOf(RuleMaker& maker, int64_t size, int64_t start, int64_t length) {
  DimensionPiece piece;
  if (length == size) {
    piece.whole = piece.piece = {maker.Axis(size)};
    piece.even = true;
  } else if (length > 1 && size % length == 0 && start % length == 0) {
    const RuleAxisId inner = maker.Axis(length);
    piece.whole = {maker.Axis(size / length, Parts::kWhole), inner};
    piece.piece = {inner};
    piece.even = true;
  } else {
    piece.whole = {maker.Axis(size, Parts::kWhole)};
    piece.piece = {maker.Axis(length, Parts::kWhole)};
  }
  return piece;
}

void TakeApart(RuleMaker& maker, size_t dim, const std::vector<std::vector<int64_t>>& shapes,
               size_t sizes_at, std::string_view sizes_name) {
  if (maker.failed()) return;
  const auto [whole, pieces] = PiecesOf(maker, maker.in(0), dim, shapes);
  if (maker.failed()) return;
  maker.input(0) = whole;
  for (size_t i = 0; i < maker.output_count(); ++i) maker.output(i) = pieces[i];
  const auto sizes = maker.Integers(sizes_at, sizes_name);
  const bool even = maker.parts(pieces[0][dim].back()) != Parts::kWhole;
  for (size_t i = 0; even && sizes && i < sizes->size(); ++i) {
    maker.Size(sizes_at, sizes_name, i, pieces[0][dim]);
  }
}

void PutTogether(RuleMaker& maker, size_t dim, const std::vector<size_t>& inputs) {
  if (maker.failed()) return;
  std::vector<std::vector<int64_t>> shapes;
  for (const size_t input : inputs) shapes.push_back(maker.in(input));
  const auto [whole, pieces] = PiecesOf(maker, maker.out(0), dim, shapes);
  if (maker.failed()) return;
  maker.output(0) = whole;
  for (size_t i = 0; i < inputs.size(); ++i) maker.input(inputs[i]) = pieces[i];
  LinearInAll(maker);
}

void ReduceDimensions(RuleMaker& maker, const std::vector<bool>& reduced, Parts parts) {
  const std::vector<int64_t>& shape = maker.in(0);
  if (maker.input_count() < 1 || maker.output_count() < 1 || reduced.size() != shape.size()) {
    return maker.Fail();
  }
  const bool keeps = maker.out(0).size() == shape.size();
  TensorAxes input, output;
  for (size_t i = 0; i < shape.size(); ++i) {
    const RuleAxisId axis = maker.Axis(shape[i], reduced[i] ? parts : Parts::kSplit);
    input.push_back({axis});
    if (!reduced[i]) output.push_back({axis});
    if (reduced[i] && keeps) output.emplace_back();
  }
  maker.input(0) = input;
  for (size_t i = 0; i < maker.output_count(); ++i) maker.output(i) = output;
}

void AddOnce(RuleMaker& maker, size_t added) {
  maker.input(added) = maker.Broadcast(maker.in(added), maker.output(0), maker.out(0));
  for (RuleAxisId axis : IdRange<RuleAxisId>(maker.rule().axes.size())) {
    if (maker.parts(axis) == Parts::kSum) {
      maker.rule().once.emplace_back(axis, static_cast<int32_t>(added));
    }
  }
  maker.rule().linear.clear();
}

ConvolutionAxes Convolve(RuleMaker& maker, const std::vector<int64_t>& x,
                         const std::vector<int64_t>& w, const std::vector<int64_t>& y,
                         bool transposed, size_t groups_at, std::string_view groups_name) {
  ConvolutionAxes axes;
  const int64_t groups = maker.Integer(groups_at, groups_name, 1);
  if (x.size() < 3 || w.size() != x.size() || y.size() != x.size() || groups < 1 ||
      x[1] % groups != 0 || y[1] % groups != 0) {
    maker.Fail();
    return axes;
  }
  axes.batch = maker.Axis(x[0]);
  axes.group = maker.Axis(groups);
  axes.in = maker.Axis(x[1] / groups, Parts::kSum);
  axes.out = maker.Axis(y[1] / groups);
  if (groups == 1) maker.SetParts(axes.group, Parts::kWhole);
  // A split of the channels inside of groups is one of several pieces at a distance: left whole, where
  // there is more than one group.
  if (groups > 1) {
    maker.SetParts(axes.in, Parts::kWhole);
    maker.SetParts(axes.out, Parts::kWhole);
  }
  axes.input = {{axes.batch}, {axes.group, axes.in}};
  axes.output = {{axes.batch}, {axes.group, axes.out}};
  axes.weight = {{axes.group, transposed ? axes.in : axes.out}, {transposed ? axes.out : axes.in}};
  for (size_t i = 2; i < x.size(); ++i) {
    axes.input.push_back({maker.Axis(x[i], Parts::kWhole)});
    axes.output.push_back({maker.Axis(y[i], Parts::kWhole)});
    axes.weight.push_back({maker.Axis(w[i], Parts::kWhole)});
  }
  maker.Size(groups_at, groups_name, 0, {axes.group});
  return axes;
}

void ConvolutionWithBias(RuleMaker& maker, bool transposed, size_t groups_at,
                         std::string_view groups_name) {
  const ConvolutionAxes axes =
      Convolve(maker, maker.in(0), maker.in(1), maker.out(0), transposed, groups_at, groups_name);
  if (maker.failed()) return;
  maker.input(0) = axes.input;
  maker.input(1) = axes.weight;
  maker.output(0) = axes.output;
  maker.rule().linear = {{0}, {1}};
  if (maker.input_count() < 3) return;
  maker.input(2) = {{axes.group, axes.out}};
  maker.rule().once.emplace_back(axes.in, 2);
  maker.rule().linear.clear();
}

Lookup LookUp(RuleMaker& maker, const std::vector<int64_t>& table,
              const std::vector<int64_t>& index, size_t dim, Parts along) {
  Lookup axes;
  if (table.size() != index.size()) {
    maker.Fail();
    return axes;
  }
  for (size_t i = 0; i < table.size(); ++i) {
    if (i != dim && table[i] == index[i]) {
      axes.table.push_back({maker.Axis(table[i])});
      axes.index.push_back(axes.table.back());
      continue;
    }
    axes.table.push_back({maker.Axis(table[i], Parts::kWhole)});
    axes.index.push_back({maker.Axis(index[i], i == dim ? along : Parts::kWhole)});
  }
  return axes;
}

}  // namespace placewright
