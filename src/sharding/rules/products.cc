// Products of matrices and of more, convolutions.
#include <algorithm>
#include <utility>

#include "sharding/rules/forms.h"

namespace placewright {
namespace {

bool HasRanks(const RuleMaker& maker, std::initializer_list<size_t> ranks) {
  if (maker.input_count() < ranks.size() || maker.output_count() < 1) return false;
  size_t i = 0;
  for (const size_t rank : ranks) {
    if (maker.in(i++).size() != rank) return false;
  }
  return true;
}

// "mk,kn->mn" of inputs a and b.
void Multiply(RuleMaker& maker, size_t a, size_t b) {
  const RuleAxisId m = maker.Axis(maker.in(a)[0]), n = maker.Axis(maker.in(b)[1]);
  const RuleAxisId k = maker.Axis(maker.in(a)[1], Parts::kSum);
  maker.input(a) = {{m}, {k}};
  maker.input(b) = {{k}, {n}};
  maker.output(0) = {{m}, {n}};
  maker.rule().linear.push_back({static_cast<int32_t>(a)});
  maker.rule().linear.push_back({static_cast<int32_t>(b)});
}

void Mm(RuleMaker& maker) {
  if (!HasRanks(maker, {2, 2})) return maker.Fail();
  Multiply(maker, 0, 1);
}

void Addmm(RuleMaker& maker) {
  if (maker.input_count() != 3 || maker.in(1).size() != 2 || maker.in(2).size() != 2 ||
      maker.output_count() != 1) {
    return maker.Fail();
  }
  Multiply(maker, 1, 2);
  AddOnce(maker, 0);
}

// "bmk,bkn->bmn"
void MultiplyBatched(RuleMaker& maker, size_t a, size_t b) {
  const RuleAxisId batch = maker.Axis(maker.in(a)[0]);
  const RuleAxisId m = maker.Axis(maker.in(a)[1]), n = maker.Axis(maker.in(b)[2]);
  const RuleAxisId k = maker.Axis(maker.in(a)[2], Parts::kSum);
  maker.input(a) = {{batch}, {m}, {k}};
  maker.input(b) = {{batch}, {k}, {n}};
  maker.output(0) = {{batch}, {m}, {n}};
  maker.rule().linear.push_back({static_cast<int32_t>(a)});
  maker.rule().linear.push_back({static_cast<int32_t>(b)});
}

void Bmm(RuleMaker& maker) {
  if (!HasRanks(maker, {3, 3})) return maker.Fail();
  MultiplyBatched(maker, 0, 1);
}

void Baddbmm(RuleMaker& maker) {
  if (maker.input_count() != 3 || maker.in(1).size() != 3 || maker.in(2).size() != 3 ||
      maker.output_count() != 1) {
    return maker.Fail();
  }
  MultiplyBatched(maker, 1, 2);
  AddOnce(maker, 0);
}

void Mv(RuleMaker& maker) {
  if (!HasRanks(maker, {2, 1})) return maker.Fail();
  const RuleAxisId m = maker.Axis(maker.in(0)[0]), k = maker.Axis(maker.in(0)[1], Parts::kSum);
  maker.input(0) = {{m}, {k}};
  maker.input(1) = {{k}};
  maker.output(0) = {{m}};
  maker.rule().linear = {{0}, {1}};
}

void Dot(RuleMaker& maker) {
  if (!HasRanks(maker, {1, 1})) return maker.Fail();
  const RuleAxisId k = maker.Axis(maker.in(0)[0], Parts::kSum);
  maker.input(0) = maker.input(1) = {{k}};
  maker.output(0) = {};
  maker.rule().linear = {{0}, {1}};
}

// addmv(x, a, v), addr(x, u, v), addbmm(x, a, b): sums of products, and x once.
void Addmv(RuleMaker& maker) {
  if (maker.input_count() != 3 || maker.output_count() != 1 || maker.in(1).size() != 2 ||
      maker.in(2).size() != 1) {
    return maker.Fail();
  }
  const RuleAxisId m = maker.Axis(maker.in(1)[0]), k = maker.Axis(maker.in(1)[1], Parts::kSum);
  maker.input(1) = {{m}, {k}};
  maker.input(2) = {{k}};
  maker.output(0) = {{m}};
  AddOnce(maker, 0);
}
void Addr(RuleMaker& maker) {
  if (maker.input_count() != 3 || maker.output_count() != 1 || maker.in(1).size() != 1 ||
      maker.in(2).size() != 1) {
    return maker.Fail();
  }
  const RuleAxisId m = maker.Axis(maker.in(1)[0]), n = maker.Axis(maker.in(2)[0]);
  maker.input(1) = {{m}};
  maker.input(2) = {{n}};
  maker.output(0) = {{m}, {n}};
  AddOnce(maker, 0);
}
void Addbmm(RuleMaker& maker) {
  if (maker.input_count() != 3 || maker.in(1).size() != 3 || maker.in(2).size() != 3 ||
      maker.output_count() != 1) {
    return maker.Fail();
  }
  MultiplyBatched(maker, 1, 2);
  maker.SetParts(maker.input(1)[0][0], Parts::kSum);
  maker.output(0).erase(maker.output(0).begin());
  AddOnce(maker, 0);
}

// _scaled_mm(a, b, scale a, scale b, bias?, ...): scales are one number, or one for each row of a and column of
// b. The inner axis is whole: sums are rounded to the result's type.
void ScaledMm(RuleMaker& maker) {
  if (!HasRanks(maker, {2, 2}) || maker.input_count() < 4) return maker.Fail();
  const std::vector<int64_t> a = maker.in(0), b = maker.in(1);
  const RuleAxisId m = maker.Axis(a[0]), n = maker.Axis(b[1]);
  const RuleAxisId k = maker.Axis(a[1], Parts::kWhole);
  maker.input(0) = {{m}, {k}};
  maker.input(1) = {{k}, {n}};
  maker.output(0) = {{m}, {n}};
  for (size_t i = 2; i < maker.input_count(); ++i) {
    const std::vector<int64_t>& shape = maker.in(i);
    const bool by_row = shape == std::vector<int64_t>{a[0], 1};
    const bool by_column = shape == std::vector<int64_t>{1, b[1]};
    const bool bias = static_cast<int32_t>(i) == maker.InputAt(4) && shape.size() == 1;
    if (by_row && i == 2) {
      maker.input(i) = {{m}, {}};
    } else if (by_column) {
      maker.input(i) = {{}, {n}};
    } else if (bias) {
      maker.input(i) = {{n}};
    } else {
      // Blocks of scales are of all rows and columns.
      int64_t count = 1;
      for (const int64_t size : shape) count *= std::max<int64_t>(size, 1);
      maker.input(i) = maker.AxesOf(shape, Parts::kWhole);
      if (count == 1) continue;
      maker.SetParts(m, Parts::kWhole);
      maker.SetParts(n, Parts::kWhole);
    }
  }
}

// _grouped_mm(a, b, ends of groups?, bias?): rows of a (columns of b, or what is multiplied) in groups, each with
// a matrix of its own. Groups lie behind one another, so that what is in a row of groups is whole.
//   [t k] [g k n] -> [t n];  [g m k] [k t] -> [m t];  [m t] [t n] -> [g m n];  [g m k] [g k n] -> [g m n]
void GroupedMm(RuleMaker& maker) {
  if (maker.input_count() < 2 || maker.output_count() != 1) return maker.Fail();
  const std::vector<int64_t>&a = maker.in(0), &b = maker.in(1), &y = maker.out(0);
  if (a.size() < 2 || b.size() < 2 || a.size() > 3 || b.size() > 3 || y.size() < 2) {
    return maker.Fail();
  }
  const bool both = a.size() == 3 && b.size() == 3, rows = a.size() == 2 && b.size() == 3;
  const bool inner_groups = a.size() == 2 && b.size() == 2;
  const RuleAxisId m = maker.Axis(a[a.size() - 2], rows ? Parts::kWhole : Parts::kSplit);
  const RuleAxisId n =
      maker.Axis(b.back(), a.size() == 3 && b.size() == 2 ? Parts::kWhole : Parts::kSplit);
  const RuleAxisId k = maker.Axis(a.back(), inner_groups ? Parts::kWhole : Parts::kSum);
  const RuleAxisId g = maker.Axis(a.size() == 3   ? a[0]
                                  : b.size() == 3 ? b[0]
                                                  : y[0],
                                  both ? Parts::kSplit : Parts::kWhole);
  const auto add = [&](TensorAxes& axes, const std::vector<int64_t>& shape, RuleAxisId r,
                       RuleAxisId c) {
    if (shape.size() == 3) axes.push_back({g});
    axes.push_back({r});
    axes.push_back({c});
  };
  add(maker.input(0), a, m, k);
  add(maker.input(1), b, k, n);
  add(maker.output(0), y, m, n);
  maker.rule().linear = {{0}, {1}};
  for (size_t i = 2; i < maker.input_count(); ++i) {
    maker.input(i) = maker.AxesOf(maker.in(i), Parts::kWhole);
    if (static_cast<int32_t>(i) != maker.InputAt(2)) {  // a bias
      maker.SetParts(n, Parts::kWhole);
      maker.SetParts(k, Parts::kWhole);
      maker.rule().linear.clear();
    }
  }
}

// _trilinear(a, b, c, expand a, expand b, expand c, sum dims, ...): products of three tensors that get
// dimensions where they lack them, summed.
void Trilinear(RuleMaker& maker) {
  const auto summed = maker.Integers(6, "sumdim");
  if (maker.input_count() != 3 || maker.output_count() != 1 || !summed) return maker.Fail();
  const auto first = maker.Integers(3, "expand1");
  if (!first) return maker.Fail();
  const size_t rank = maker.in(0).size() + first->size();
  std::vector<std::vector<size_t>> places;  // of each tensor's dimensions
  std::vector<int64_t> full(rank, 1);
  for (size_t i = 0; i < 3; ++i) {
    const auto expanded = maker.Integers(3 + i, "expand");
    if (!expanded || maker.in(i).size() + expanded->size() != rank) return maker.Fail();
    std::vector<size_t> own;
    for (size_t d = 0; d < rank; ++d) {
      if (std::find(expanded->begin(), expanded->end(), static_cast<int64_t>(d)) !=
          expanded->end()) {
        continue;
      }
      if (own.size() == maker.in(i).size()) return maker.Fail();
      full[d] = std::max(full[d], maker.in(i)[own.size()]);
      own.push_back(d);
    }
    if (own.size() != maker.in(i).size()) return maker.Fail();
    places.push_back(std::move(own));
  }
  TensorAxes axes = maker.AxesOf(full);
  for (const int64_t dim : *summed) {
    const size_t d = maker.Dimension(dim, rank);
    if (maker.failed()) return;
    maker.SetParts(axes[d][0], Parts::kSum);
  }
  for (size_t i = 0; i < 3; ++i) {
    for (size_t d = 0; d < places[i].size(); ++d) {
      const bool one = maker.in(i)[d] == 1 && full[places[i][d]] != 1;
      maker.input(i).push_back(one ? std::vector<RuleAxisId>() : axes[places[i][d]]);
    }
    maker.rule().linear.push_back({static_cast<int32_t>(i)});
  }
  for (size_t d = 0; d < rank; ++d) {
    if (maker.parts(axes[d][0]) != Parts::kSum) maker.output(0).push_back(axes[d]);
  }
}

// _cdist_forward(a "... p m", b "... r m", ...) -> "... p r"; _cdist_backward(grad, a, b, p, distances) -> grad a
void Distances(RuleMaker& maker) {
  const bool backward = maker.op().type.find("backward") != std::string_view::npos;
  const size_t a_at = backward ? 1 : 0;
  if (maker.input_count() != (backward ? 4U : 2U) || maker.output_count() != 1) return maker.Fail();
  const std::vector<int64_t>&a = maker.in(a_at), &b = maker.in(a_at + 1);
  const size_t rank = a.size();
  if (rank < 2 || b.size() != rank) return maker.Fail();
  TensorAxes samples;
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (a[i] != b[i]) return maker.Fail();
    samples.push_back({maker.Axis(a[i])});
  }
  const RuleAxisId p = maker.Axis(a[rank - 2]);
  const RuleAxisId r = maker.Axis(b[rank - 2], backward ? Parts::kSum : Parts::kSplit);
  const RuleAxisId m = maker.Axis(a[rank - 1], Parts::kWhole);
  const auto with = [&](RuleAxisId row, RuleAxisId column) {
    TensorAxes axes = samples;
    axes.push_back({row});
    axes.push_back({column});
    return axes;
  };
  maker.input(a_at) = with(p, m);
  maker.input(a_at + 1) = with(r, m);
  maker.output(0) = backward ? with(p, m) : with(p, r);
  if (backward) maker.input(0) = maker.input(3) = with(p, r);
}

// Cells of recurrent layers, of samples in front: all tensors but biases have them.
void RecurrentCell(RuleMaker& maker) {
  if (maker.input_count() < 3 || maker.output_count() < 1 || maker.in(0).size() != 2) {
    return maker.Fail();
  }
  const RuleAxisId samples = maker.Axis(maker.in(0)[0]);
  const auto axes_of = [&](const std::vector<int64_t>& shape) {
    TensorAxes axes = maker.AxesOf(shape, Parts::kWhole);
    if (shape.size() == 2 && shape[0] == maker.in(0)[0]) axes[0] = {samples};
    return axes;
  };
  for (size_t i = 0; i < maker.input_count(); ++i) maker.input(i) = axes_of(maker.in(i));
  for (size_t i = 0; i < maker.output_count(); ++i) maker.output(i) = axes_of(maker.out(i));
}

// convolution(x, w, bias?, stride, padding, dilation, transposed, output_padding, groups)
void Convolution(RuleMaker& maker) {
  if (maker.input_count() < 2 || maker.output_count() != 1) return maker.Fail();
  ConvolutionWithBias(maker, maker.Flag(6, "transposed", false), 8, "groups");
}

// convolution_backward(grad, x, w, bias_sizes?, stride, padding, dilation, transposed, output_padding,
// groups, output_mask) -> (grad x, grad w, grad bias)
void ConvolutionBackward(RuleMaker& maker) {
  if (maker.input_count() != 3 || maker.output_count() < 1) return maker.Fail();
  const bool transposed = maker.Flag(7, "transposed", false);
  const ConvolutionAxes axes =
      Convolve(maker, maker.in(1), maker.in(2), maker.in(0), transposed, 9, "groups");
  if (maker.failed()) return;
  // The gradient of x is a sum over the channels of y; those of weight and bias are sums over samples.
  maker.SetParts(axes.batch, Parts::kSum);
  const bool one_group = maker.parts(axes.in) != Parts::kWhole;
  if (one_group) {
    maker.SetParts(axes.in, Parts::kSplit);
    maker.SetParts(axes.out, Parts::kSum);
  }
  maker.input(0) = axes.output;
  maker.input(1) = axes.input;
  maker.input(2) = axes.weight;
  const Op& op = maker.op();
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    switch (maker.ResultOf(i)) {
      case 0: maker.output(i) = axes.input; break;
      case 1: maker.output(i) = axes.weight; break;
      case 2: maker.output(i) = {{axes.group, axes.out}}; break;
      default: return maker.Fail();
    }
  }
  const auto bias = maker.Integers(3, "bias_sizes");
  if (bias && bias->size() == 1 && bias->front() > 0) {
    maker.Size(3, "bias_sizes", 0, {axes.group, axes.out});
  }
  maker.rule().linear = {{0}};
}

}  // namespace

std::vector<RuleRow> ProductRules() {
  return {{"mm _int_mm", Mm},
          {"addmm", Addmm},
          {"bmm", Bmm},
          {"baddbmm", Baddbmm},
          {"mv", Mv},
          {"dot vdot", Dot},
          {"addmv", Addmv},
          {"addr", Addr},
          {"addbmm", Addbmm},
          {"_scaled_mm _scaled_mm_v2", ScaledMm},
          {"_grouped_mm", GroupedMm},
          {"_trilinear", Trilinear},
          {"_cdist_forward _euclidean_dist _cdist_backward", Distances},
          {"_thnn_fused_lstm_cell _thnn_fused_gru_cell", RecurrentCell},
          {"convolution", Convolution},
          {"convolution_backward", ConvolutionBackward}};
}

}  // namespace placewright
