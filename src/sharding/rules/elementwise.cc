// Ops that take element by element what they read, broadcast to one shape.
#include "sharding/rules/forms.h"

namespace placewright {
namespace {

// A sum with a number is not: the number would be added in every part.
void Addition(RuleMaker& maker) {
  if (maker.input_count() >= 2) return LinearTogether(maker);
  Elementwise(maker);
}

// where(condition, a, b); of the condition alone it gives the places where that holds.
void Where(RuleMaker& maker) {
  if (maker.op().args.size() < 3) return maker.Fail();
  Elementwise(maker);
}

void Random(RuleMaker& maker) {
  if (maker.input_count() == 0) return maker.Fail();  // sizes of its own
  Elementwise(maker);
  maker.rule().draws_random = true;
}

constexpr std::string_view kPlain[] = {"abs",
                                       "addcdiv",
                                       "addcmul",
                                       "atan",
                                       "bitwise_and",
                                       "bitwise_not",
                                       "bitwise_or",
                                       "ceil",
                                       "clamp",
                                       "clamp_max",
                                       "clamp_min",
                                       "cos",
                                       "elu",
                                       "elu_backward",
                                       "eq",
                                       "erf",
                                       "exp",
                                       "expm1",
                                       "floor",
                                       "floor_divide",
                                       "fmod",
                                       "ge",
                                       "gelu",
                                       "gelu_backward",
                                       "gt",
                                       "hardsigmoid",
                                       "hardsigmoid_backward",
                                       "hardswish",
                                       "hardswish_backward",
                                       "hardtanh",
                                       "hardtanh_backward",
                                       "isfinite",
                                       "isinf",
                                       "isnan",
                                       "le",
                                       "leaky_relu",
                                       "leaky_relu_backward",
                                       "log",
                                       "log1p",
                                       "log2",
                                       "log_sigmoid_backward",
                                       "logical_and",
                                       "logical_not",
                                       "logical_or",
                                       "lt",
                                       "maximum",
                                       "minimum",
                                       "mish",
                                       "mish_backward",
                                       "ne",
                                       "ones_like",
                                       "pow",
                                       "reciprocal",
                                       "relu",
                                       "relu6",
                                       "remainder",
                                       "round",
                                       "rsqrt",
                                       "rsub",
                                       "sigmoid",
                                       "sigmoid_backward",
                                       "sign",
                                       "silu",
                                       "silu_backward",
                                       "sin",
                                       "softplus",
                                       "softplus_backward",
                                       "sqrt",
                                       "tanh",
                                       "tanh_backward",
                                       "threshold",
                                       "threshold_backward",
                                       "trunc",
                                       "where",
                                       "xlogy",
                                       "zeros_like",
                                       "empty_like",
                                       "full_like",
                                       "fill",
                                       "zero",
                                       "logical_xor",
                                       "square",
                                       "bitwise_xor",
                                       "sgn",
                                       "lerp",
                                       "native_dropout_backward",
                                       "smooth_l1_loss_backward_none"};

// counter_bernoulli_(x, step, seed, draw, p, place), counter_dropout(same)
void CountingDraw(RuleMaker& maker) {
  if (maker.input_count() != 2 || maker.op().args.size() != 6) return maker.Fail();
  Elementwise(maker);
  maker.rule().place_argument = 5;
}

}  // namespace

std::vector<RuleRow> ElementwiseRules() {
  std::vector<RuleRow> rows;
  for (const std::string_view name : kPlain) rows.push_back({name, Elementwise});
  for (const std::string_view name : {"clone", "contiguous", "copy", "detach", "_to_copy", "neg",
                                      "alias", "lift_fresh", "lift_fresh_copy"}) {
    rows.push_back({name, LinearTogether});
  }
  rows.push_back({"add", Addition});
  rows.push_back({"sub", Addition});
  rows.push_back({"mul", LinearInEach});
  rows.push_back({"div", LinearInFirst, "Tensor"});
  rows.push_back({"div", LinearInFirst, "Scalar"});
  rows.push_back({"div", Elementwise});  // rounded
  rows.push_back({"masked_fill", Elementwise});
  rows.push_back({"where", Where});
  rows.push_back({"bernoulli", Random});
  rows.push_back({"native_dropout", Random});
  rows.push_back({"uniform", Random});
  rows.push_back({"normal", Random});
  rows.push_back({"rand_like", Random});
  rows.push_back({"randn_like", Random});
  rows.push_back({"counter_bernoulli", CountingDraw});
  rows.push_back({"counter_dropout", CountingDraw});
  return rows;
}

}  // namespace placewright
