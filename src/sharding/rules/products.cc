// Products of matrices, convolutions, attention.
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

// convolution(x, w, bias?, stride, padding, dilation, transposed, output_padding, groups)
void Convolution(RuleMaker& maker) {
  if (maker.input_count() < 2 || maker.output_count() != 1) return maker.Fail();
  const ConvolutionAxes axes = Convolve(maker, maker.in(0), maker.in(1), maker.out(0),
                                        maker.Flag(6, "transposed", false), 8, "groups");
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
