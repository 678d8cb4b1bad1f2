// Products of matrices, convolutions, attention.
#include <utility>

#include "sharding/rules/rule_maker.h"

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

// What is added to a product: broadcast to it, and taken once where the inner axis is split.
void AddOnce(RuleMaker& maker, size_t added) {
  maker.input(added) = maker.Broadcast(maker.in(added), maker.output(0), maker.out(0));
  for (RuleAxisId axis : IdRange<RuleAxisId>(maker.rule().axes.size())) {
    if (maker.parts(axis) == Parts::kSum) {
      maker.rule().once.emplace_back(axis, static_cast<int32_t>(added));
    }
  }
  maker.rule().linear.clear();
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

// Where the spatial dimensions of a convolution are: whole, since their parts overlap.
struct ConvolutionAxes {
  RuleAxisId batch, group, in, out;  // channels are [group in] and [group out]
  TensorAxes input, weight, output;
};

// `x`, `w`, `y`: shapes; a stated number of groups g at argument `groups`.
ConvolutionAxes Convolve(RuleMaker& maker, const std::vector<int64_t>& x,
                         const std::vector<int64_t>& w, const std::vector<int64_t>& y,
                         bool transposed, size_t groups_at) {
  ConvolutionAxes axes;
  const int64_t groups = maker.Integer(groups_at, "groups", 1);
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
  maker.Size(groups_at, "groups", 0, {axes.group});
  return axes;
}

// convolution(x, w, bias?, stride, padding, dilation, transposed, output_padding, groups)
void Convolution(RuleMaker& maker) {
  if (maker.input_count() < 2 || maker.output_count() != 1) return maker.Fail();
  const ConvolutionAxes axes = Convolve(maker, maker.in(0), maker.in(1), maker.out(0),
                                        maker.Flag(6, "transposed", false), 8);
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

// convolution_backward(grad, x, w, bias_sizes?, stride, padding, dilation, transposed, output_padding,
// groups, output_mask) -> (grad x, grad w, grad bias)
void ConvolutionBackward(RuleMaker& maker) {
  if (maker.input_count() != 3 || maker.output_count() < 1) return maker.Fail();
  const bool transposed = maker.Flag(7, "transposed", false);
  const ConvolutionAxes axes =
      Convolve(maker, maker.in(1), maker.in(2), maker.in(0), transposed, 9);
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
  return {{"mm", Mm},
          {"addmm", Addmm},
          {"bmm", Bmm},
          {"baddbmm", Baddbmm},
          {"mv", Mv},
          {"dot", Dot},
          {"convolution", Convolution},
          {"convolution_backward", ConvolutionBackward}};
}

}  // namespace placewright
