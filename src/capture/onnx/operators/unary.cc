// One tensor, element by element.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "capture/onnx/operators/table.h"

namespace placewright::lowering {
namespace {

template <at::Tensor (*Function)(const at::Tensor&)>
Values Apply(const NodeCall& call) {
  return {Function(call.In(0))};
}

Values Same(const NodeCall& call) {
  if (!call.Has(0)) call.Invalid("no input");
  return {call.inputs[0]};
}

Values Relu(const NodeCall& call) { return {at::relu(call.In(0))}; }
Values LeakyRelu(const NodeCall& call) {
  return {at::leaky_relu(call.In(0), call.Real("alpha", 0.01))};
}
Values ThresholdedRelu(const NodeCall& call) {
  return {at::threshold(call.In(0), call.Real("alpha", 1.0), 0)};
}

Values Elu(const NodeCall& call) { return {at::elu(call.In(0), call.Real("alpha", 1.0))}; }
// max(0, x) + min(0, alpha (exp(x / alpha) - 1)): elu with another slope of its input.
Values Celu(const NodeCall& call) {
  const double alpha = call.Real("alpha", 1.0);
  if (alpha == 0) call.Invalid("alpha is 0");
  return {at::elu(call.In(0), alpha, 1.0, 1.0 / alpha)};
}
// gamma (alpha exp(x) - alpha) below 0, gamma x above.
Values Selu(const NodeCall& call) {
  const double alpha = call.Real("alpha", 1.67326319217681884765625);
  return {at::elu(call.In(0), alpha, call.Real("gamma", 1.05070102214813232421875))};
}

Values HardSigmoid(const NodeCall& call) {
  const double alpha = call.Real("alpha", 0.2), beta = call.Real("beta", 0.5);
  const at::Tensor x = call.In(0);
  // LibTorch's own has a sixth for alpha.
  if (std::abs(alpha - 1.0 / 6) < 1e-6 && beta == 0.5) return {at::hardsigmoid(x)};
  return {at::clamp(at::add(at::mul(x, alpha), beta), 0.0, 1.0)};
}
Values HardSwish(const NodeCall& call) { return {at::hardswish(call.In(0))}; }
Values Mish(const NodeCall& call) { return {at::mish(call.In(0))}; }
// x sigmoid(alpha x)
Values Swish(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  const double alpha = call.Real("alpha", 1.0);
  return {alpha == 1.0 ? at::silu(x) : at::mul(x, at::sigmoid(at::mul(x, alpha)))};
}
Values Gelu(const NodeCall& call) {
  const std::string form = call.Text("approximate", "none");
  if (form != "none" && form != "tanh") call.Unsupported("approximate \"" + form + "\"");
  return {at::gelu(call.In(0), form)};
}
Values FastGelu(const NodeCall& call) {
  at::Tensor x = call.In(0);
  if (call.Has(1)) x = at::add(x, call.In(1));
  return {at::gelu(x, "tanh")};
}
Values QuickGelu(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  return {at::mul(x, at::sigmoid(at::mul(x, call.Real("alpha", 1.702))))};
}
Values BiasGelu(const NodeCall& call) { return {at::gelu(at::add(call.In(0), call.In(1)))}; }
Values Softplus(const NodeCall& call) { return {at::softplus(call.In(0))}; }
Values Softsign(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  return {at::div(x, at::add(at::abs(x), 1))};
}
// x - bias above lambd, x + bias below -lambd, else 0.
Values Shrink(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  const double edge = call.Real("lambd", 0.5), bias = call.Real("bias", 0.0);
  const at::Tensor above = at::mul(at::sub(x, bias), at::gt(x, edge).to(x.scalar_type()));
  const at::Tensor below = at::mul(at::add(x, bias), at::lt(x, -edge).to(x.scalar_type()));
  return {at::add(above, below)};
}
// alpha x + beta, and alpha tanh(beta x): of the first operator sets.
Values Affine(const NodeCall& call) {
  return {at::add(at::mul(call.In(0), call.Real("alpha", 1.0)), call.Real("beta", 0.0))};
}
Values ScaledTanh(const NodeCall& call) {
  const at::Tensor inner = at::mul(call.In(0), call.Real("beta", 1.0));
  return {at::mul(at::tanh(inner), call.Real("alpha", 1.0))};
}

Values IsInf(const NodeCall& call) {
  const bool negative = call.Int("detect_negative", 1) != 0;
  const bool positive = call.Int("detect_positive", 1) != 0;
  const at::Tensor x = call.In(0);
  const double infinity = std::numeric_limits<double>::infinity();
  if (negative && positive) return {at::eq(at::abs(x), infinity)};
  if (!negative && !positive) return {at::zeros_like(x, x.options().dtype(at::kBool))};
  return {at::eq(x, positive ? infinity : -infinity)};
}
Values IsNan(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  return {at::ne(x, x)};
}

// Limits are attributes before operator set 11, then inputs, which may be absent.
Values Clip(const NodeCall& call) {
  at::Tensor x = call.In(0);
  if (call.version < 11) {
    const double low = call.Real("min", -3.4028234663852886e38);
    const double high = call.Real("max", 3.4028234663852886e38);
    return {at::clamp(x, low, high)};
  }
  c10::optional<at::Scalar> low, high;
  if (const auto known = call.Number(1)) low = *known;
  if (const auto known = call.Number(2)) high = *known;
  if (low || high) x = at::clamp(x, low, high);
  if (call.Has(1) && !low) x = at::maximum(x, call.In(1));
  if (call.Has(2) && !high) x = at::minimum(x, call.In(2));
  return {x};
}

Values Cast(const NodeCall& call) {
  int64_t to = call.Int("to", 0);
  if (call.version < 6) {
    static const std::vector<std::string> kNames = {"UNDEFINED", "FLOAT", "UINT8",   "INT8",
                                                    "UINT16",    "INT16", "INT32",   "INT64",
                                                    "STRING",    "BOOL",  "FLOAT16", "DOUBLE"};
    const auto found = std::find(kNames.begin(), kNames.end(), call.Text("to", ""));
    if (found != kNames.end()) to = found - kNames.begin();
  }
  const std::optional<at::ScalarType> type = TorchTypeOfOnnx(to);
  if (!type) call.Unsupported("element type " + std::to_string(to));
  const at::Tensor x = call.In(0);
  if (x.scalar_type() == *type) return {call.inputs[0]};
  return {x.to(*type)};
}
Values CastLike(const NodeCall& call) {
  const at::Tensor x = call.In(0), like = call.In(1);
  if (x.scalar_type() == like.scalar_type()) return {call.inputs[0]};
  return {x.to(like.scalar_type())};
}

}  // namespace

void AddUnaryOperators(OperatorTable& table) {
  table["Abs"] = Apply<at::abs>;
  table["Acos"] = Apply<at::acos>;
  table["Acosh"] = Apply<at::acosh>;
  table["Asin"] = Apply<at::asin>;
  table["Asinh"] = Apply<at::asinh>;
  table["Atan"] = Apply<at::atan>;
  table["Atanh"] = Apply<at::atanh>;
  table["BitwiseNot"] = Apply<at::bitwise_not>;
  table["Ceil"] = Apply<at::ceil>;
  table["Cos"] = Apply<at::cos>;
  table["Cosh"] = Apply<at::cosh>;
  table["Erf"] = Apply<at::erf>;
  table["Exp"] = Apply<at::exp>;
  table["Floor"] = Apply<at::floor>;
  table["Log"] = Apply<at::log>;
  table["Neg"] = Apply<at::neg>;
  table["Not"] = Apply<at::logical_not>;
  table["Reciprocal"] = Apply<at::reciprocal>;
  table["Round"] = Apply<at::round>;
  table["Sigmoid"] = Apply<at::sigmoid>;
  table["Sign"] = Apply<at::sign>;
  table["Sin"] = Apply<at::sin>;
  table["Sinh"] = Apply<at::sinh>;
  table["Sqrt"] = Apply<at::sqrt>;
  table["Tan"] = Apply<at::tan>;
  table["Tanh"] = Apply<at::tanh>;
  table["Identity"] = Same;
  table["Affine"] = Affine;
  table["Cast"] = Cast;
  table["CastLike"] = CastLike;
  table["Celu"] = Celu;
  table["Clip"] = Clip;
  table["Elu"] = Elu;
  table["Gelu"] = Gelu;
  table["HardSigmoid"] = HardSigmoid;
  table["HardSwish"] = HardSwish;
  table["IsInf"] = IsInf;
  table["IsNaN"] = IsNan;
  table["LeakyRelu"] = LeakyRelu;
  table["Mish"] = Mish;
  table["Relu"] = Relu;
  table["ScaledTanh"] = ScaledTanh;
  table["Selu"] = Selu;
  table["Shrink"] = Shrink;
  table["Softplus"] = Softplus;
  table["Softsign"] = Softsign;
  table["Swish"] = Swish;
  table["ThresholdedRelu"] = ThresholdedRelu;
  table["com.microsoft.BiasGelu"] = BiasGelu;
  table["com.microsoft.FastGelu"] = FastGelu;
  table["com.microsoft.Gelu"] = Gelu;
  table["com.microsoft.QuickGelu"] = QuickGelu;
}

}  // namespace placewright::lowering
