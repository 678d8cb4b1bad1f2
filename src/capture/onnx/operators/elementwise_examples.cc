#include <cmath>
#include <limits>

#include "capture/onnx/operators/operator_examples.h"

namespace placewright::lowering {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// By the definition of the operator, at three places.
Example Unary(const char* type, double (*f)(double), std::vector<double> at = {-0.5, 0.25, 0.75}) {
  std::vector<double> results;
  for (const double x : at) results.push_back(f(x));
  const auto count = static_cast<int64_t>(at.size());
  return {type, {F({count}, at)}, {F({count}, results)}};
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double NormalShare(double x) { return 0.5 * (1 + std::erf(x / std::sqrt(2.0))); }
// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
double TanhGelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

std::vector<Example> Functions() {
  return {
      Unary("Abs", [](double x) { return std::fabs(x); }),
      Unary("Acos", std::acos),
      Unary("Acosh", std::acosh, {1.0, 1.5, 3.0}),
      Unary("Asin", std::asin),
      Unary("Asinh", std::asinh),
      Unary("Atan", std::atan),
      Unary("Atanh", std::atanh),
      Unary("Ceil", std::ceil, {-1.5, 0.2, 2.0}),
      Unary("Cos", std::cos),
      Unary("Cosh", std::cosh),
      Unary("Erf", std::erf),
      Unary("Exp", std::exp),
      Unary("Floor", std::floor, {-1.5, 0.2, 2.0}),
      Unary("Log", std::log, {0.5, 1.0, 2.0}),
      Unary("Neg", [](double x) { return -x; }),
      Unary("Reciprocal", [](double x) { return 1 / x; }),
      // Halves go to the even neighbour.
      {"Round", {F({4}, {0.5, 1.5, 2.5, -0.6})}, {F({4}, {0, 2, 2, -1})}},
      Unary("Sigmoid", Sigmoid),
      Unary("Sign", [](double x) { return x > 0   ? 1.0
                                          : x < 0 ? -1.0
                                                  : 0.0; }, {-2, 0, 3}),
      Unary("Sin", std::sin),
      Unary("Sinh", std::sinh),
      Unary("Sqrt", std::sqrt, {0, 1, 2}),
      Unary("Tan", std::tan),
      Unary("Tanh", std::tanh),
      Unary("Relu", [](double x) { return std::max(x, 0.0); }),
      Unary("Identity", [](double x) { return x; }),
      Unary("Softplus", [](double x) { return std::log1p(std::exp(x)); }),
      Unary("Softsign", [](double x) { return x / (1 + std::fabs(x)); }),
      Unary("Mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }),
      Unary("HardSwish", [](double x) { return x * std::fmin(1, std::fmax(0, x / 6 + 0.5)); }),
      Unary("Gelu", [](double x) { return x * NormalShare(x); }),
      Unary("com.microsoft.Gelu", [](double x) { return x * NormalShare(x); }),
      Unary("com.microsoft.QuickGelu", [](double x) { return x * Sigmoid(1.702 * x); }),
      Unary("com.microsoft.FastGelu", TanhGelu),
  };
}

std::vector<Example> WithNumbers() {
  std::vector<Example> examples = {
      {"LeakyRelu", {F({2}, {-2, 3})}, {F({2}, {-0.2, 3})}, {{"alpha", Real(0.1)}}},
      {"Elu", {F({2}, {-1, 3})}, {F({2}, {2 * std::expm1(-1), 3})}, {{"alpha", Real(2)}}},
      // max(0, x) + min(0, 2 (exp(x / 2) - 1))
      {"Celu", {F({2}, {-1, 3})}, {F({2}, {2 * std::expm1(-0.5), 3})}, {{"alpha", Real(2)}}},
      {"Selu",
       {F({2}, {-1, 3})},
       {F({2}, {3 * 2 * std::expm1(-1), 9})},
       {{"alpha", Real(2)}, {"gamma", Real(3)}}},
      // max(0, min(1, x / 5 + 0.5))
      {"HardSigmoid", {F({3}, {-5, 0.5, 5})}, {F({3}, {0, 0.6, 1})}},
      {"HardSigmoid", {F({2}, {-1.5, 6})}, {F({2}, {0.25, 1})}, {{"alpha", Real(1.0 / 6)}}},
      {"ThresholdedRelu", {F({3}, {0.5, 1, 2})}, {F({3}, {0, 0, 2})}},
      {"Shrink",
       {F({3}, {-2, 0.25, 3})},
       {F({3}, {-1, 0, 2})},
       {{"lambd", Real(0.5)}, {"bias", Real(1)}}},
      {"Swish", {F({1}, {2})}, {F({1}, {2 * Sigmoid(1)})}, {{"alpha", Real(0.5)}}},
      {"Affine", {F({1}, {3})}, {F({1}, {7})}, {{"alpha", Real(2)}, {"beta", Real(1)}}, 1},
      {"ScaledTanh",
       {F({1}, {3})},
       {F({1}, {2 * std::tanh(1.5)})},
       {{"alpha", Real(2)}, {"beta", Real(0.5)}},
       1},
      {"Gelu", {F({1}, {0.7})}, {F({1}, {TanhGelu(0.7)})}, {{"approximate", Word("tanh")}}, 20},
      {"com.microsoft.BiasGelu",
       {F({1}, {0.5}), F({1}, {0.2})},
       {F({1}, {0.7 * NormalShare(0.7)})}},
      {"IsInf", {F({3}, {-kInfinity, 1, kInfinity})}, {B({3}, {1, 0, 1})}},
      {"IsInf",
       {F({3}, {-kInfinity, 1, kInfinity})},
       {B({3}, {0, 0, 1})},
       {{"detect_negative", Int(0)}}},
      {"IsNaN", {F({2}, {std::nan(""), 1})}, {B({2}, {1, 0})}},
      {"Not", {B({2}, {0, 1})}, {B({2}, {1, 0})}},
      {"BitwiseNot", {I({2}, {0, 5})}, {I({2}, {-1, -6})}},
      {"Clip",
       {F({3}, {-2, 0.5, 9})},
       {F({3}, {-1, 0.5, 6})},
       {{"min", Real(-1)}, {"max", Real(6)}},
       6},
      {"Clip", {F({2}, {-2, 9}), None(), Known(F({}, {6}))}, {F({2}, {-2, 6})}},
      {"Clip", {F({2}, {-2, 9}), F({}, {0})}, {F({2}, {0, 9})}},
      // Towards zero; to 7: int64, to 9: bools.
      {"Cast", {F({2}, {-1.7, 2.9})}, {I({2}, {-1, 2})}, {{"to", Int(7)}}},
      {"Cast", {F({2}, {0, 2.9})}, {B({2}, {0, 1})}, {{"to", Int(9)}}},
      {"Cast", {I({1}, {3})}, {F({1}, {3})}, {{"to", Word("FLOAT")}}, 1},
      {"CastLike", {F({1}, {2.9}), I({1}, {0})}, {I({1}, {2})}},
  };
  return examples;
}

std::vector<Example> Pairs() {
  std::vector<Example> examples = {
      {"Add", {F({2, 1}, {1, 2}), F({2}, {10, 20})}, {F({2, 2}, {11, 21, 12, 22})}},
      {"Add", {F({2}, {1, 2}), Known(F({}, {0.5}))}, {F({2}, {1.5, 2.5})}},
      // A known vector; a known number of more dimensions than the other operand.
      {"Add", {F({2}, {1, 2}), KF({1, 3})}, {F({2}, {2, 5})}},
      {"Add", {F({2}, {1, 2}), Known(F({1, 1}, {3}))}, {F({1, 2}, {4, 5})}},
      // Operator set 6: b stands at axis 1 of a.
      {"Add",
       {F({1, 2, 2}, {1, 2, 3, 4}), F({2}, {10, 20})},
       {F({1, 2, 2}, {11, 12, 23, 24})},
       {{"broadcast", Int(1)}, {"axis", Int(1)}},
       6},
      {"Sub", {Known(F({}, {5})), F({2}, {1, 2})}, {F({2}, {4, 3})}},
      {"Mul", {F({2}, {3, 4}), F({2}, {2, 0.5})}, {F({2}, {6, 2})}},
      {"Div", {F({2}, {3, 4}), Known(F({1}, {2}))}, {F({2}, {1.5, 2})}},
      {"Div", {I({2}, {-7, 7}), I({2}, {2, 2})}, {I({2}, {-3, 3})}},
      // The smallest integer over -1 is itself.
      {"Div",
       {Known(I({2}, {-9223372036854775808.0, 6})), Known(I({2}, {-1, -1}))},
       {I({2}, {-9223372036854775808.0, -6})}},
      {"Mod",
       {Known(I({2}, {-9223372036854775808.0, 6})), Known(I({2}, {-1, 4}))},
       {I({2}, {0, 2})}},
      {"Pow", {F({2}, {2, 3}), Known(F({}, {2}))}, {F({2}, {4, 9})}},
      {"Pow", {I({2}, {2, 3}), F({2}, {3, 1})}, {I({2}, {8, 3})}},
      {"Mod", {I({2}, {-7, 7}), I({2}, {3, -3})}, {I({2}, {2, -2})}},
      {"Mod", {F({2}, {-7, 7}), F({2}, {3, -3})}, {F({2}, {-1, 1})}, {{"fmod", Int(1)}}},
      {"And", {B({2}, {0, 1}), B({2}, {1, 1})}, {B({2}, {0, 1})}},
      {"Or", {B({2}, {0, 1}), B({2}, {0, 1})}, {B({2}, {0, 1})}},
      {"Xor", {B({2}, {0, 1}), B({2}, {1, 1})}, {B({2}, {1, 0})}},
      {"BitwiseAnd", {I({1}, {6}), I({1}, {3})}, {I({1}, {2})}},
      {"BitwiseOr", {I({1}, {6}), I({1}, {3})}, {I({1}, {7})}},
      {"BitwiseXor", {I({1}, {6}), I({1}, {3})}, {I({1}, {5})}},
      {"BitShift", {I({1}, {3}), I({1}, {2})}, {I({1}, {12})}, {{"direction", Word("LEFT")}}},
      {"BitShift", {I({1}, {12}), I({1}, {2})}, {I({1}, {3})}, {{"direction", Word("RIGHT")}}},
      {"Equal", {I({2}, {1, 2}), Known(I({}, {2}))}, {B({2}, {0, 1})}},
      {"Greater", {F({2}, {1, 3}), F({2}, {2, 2})}, {B({2}, {0, 1})}},
      {"GreaterOrEqual", {F({2}, {2, 1}), F({2}, {2, 2})}, {B({2}, {1, 0})}},
      {"Less", {F({2}, {1, 3}), F({2}, {2, 2})}, {B({2}, {1, 0})}},
      {"LessOrEqual", {F({2}, {2, 3}), F({2}, {2, 2})}, {B({2}, {1, 0})}},
      {"Max", {F({2}, {1, 5}), F({2}, {3, 3}), F({1}, {2})}, {F({2}, {3, 5})}},
      {"Min", {F({2}, {1, 5}), F({2}, {3, 3}), F({1}, {2})}, {F({2}, {1, 2})}},
      {"Sum", {F({2}, {1, 5}), F({2}, {3, 3}), F({1}, {2})}, {F({2}, {6, 10})}},
      {"Mean", {F({2}, {1, 5}), F({2}, {3, 3}), F({1}, {2})}, {F({2}, {2, 10.0 / 3})}},
      {"PRelu", {F({2, 2}, {-1, 2, -3, 4}), F({2}, {0.5, 0.1})}, {F({2, 2}, {-0.5, 2, -1.5, 4})}},
      // 0.6 / 0.5 = 1.2, then 3 more; 1000 is too much.
      {"QuantizeLinear",
       {F({2}, {0.6, 1000}), Known(F({}, {0.5})), Known({at::kByte, {}, {3}})},
       {{at::kByte, {2}, {4, 255}}}},
      // Row by row: (4 - 3) 0.5, (4 - 0) 2.
      {"DequantizeLinear",
       {{at::kByte, {2, 1}, {4, 4}}, F({2}, {0.5, 2}), {at::kByte, {2}, {3, 0}}},
       {F({2, 1}, {0.5, 8})},
       {{"axis", Int(0)}}},
      {"Where", {B({2}, {1, 0}), F({2}, {1, 2}), Known(F({}, {9}))}, {F({2}, {1, 9})}},
      {"Where", {B({2, 1}, {1, 0}), F({2}, {1, 2}), F({2}, {7, 8})}, {F({2, 2}, {1, 2, 7, 8})}},
  };
  return examples;
}

}  // namespace

std::vector<Example> ElementwiseExamples() {
  std::vector<Example> all = Functions();
  for (const auto& more : {WithNumbers(), Pairs()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace placewright::lowering
