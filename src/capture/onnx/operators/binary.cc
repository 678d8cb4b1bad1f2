// Two or more tensors, element by element, broadcast against each other.
#include <ATen/ATen.h>

#include "capture/onnx/operators/table.h"

namespace placewright::lowering {
namespace {

struct Pair {
  at::Tensor a, b;
};

// Before operator set 7 the second operand was broadcast only on demand, from `axis` on.
at::Tensor Aligned(const NodeCall& call, const at::Tensor& a, const at::Tensor& b) {
  if (call.version >= 7 || call.Int("broadcast", 0) == 0) return b;
  const auto* axis = FindImportedAttribute<int64_t>(call.node, "axis");
  if (axis == nullptr || b.dim() == 0) return b;
  Ints shape = b.sizes().vec();
  const int64_t behind = a.dim() - call.Axis(*axis, a.dim()) - b.dim();
  for (int64_t i = 0; i < behind; ++i) shape.push_back(1);
  return at::reshape(b, shape);
}

// One known number stays a number; of two known ones neither.
Pair Operands(const NodeCall& call) {
  const auto is_host = [&](size_t i) { return call.Has(i) && call.inputs[i].is_host(); };
  if (call.on_host || !is_host(0)) {
    const at::Tensor a = call.In(0);
    return {a, Aligned(call, a, call.Operand(1, a))};
  }
  const at::Tensor b = call.In(1);
  return {call.Operand(0, b), b};
}

template <at::Tensor (*Function)(const at::Tensor&, const at::Tensor&)>
Values Binary(const NodeCall& call) {
  const Pair pair = Operands(call);
  return {Function(pair.a, pair.b)};
}

Values Add(const NodeCall& call) {
  const Pair pair = Operands(call);
  return {at::add(pair.a, pair.b)};
}
Values Sub(const NodeCall& call) {
  const Pair pair = Operands(call);
  return {at::sub(pair.a, pair.b)};
}
bool Whole(const Pair& pair) {
  return at::isIntegralType(pair.a.scalar_type(), true) &&
         at::isIntegralType(pair.b.scalar_type(), true);
}

// A processor stops at the smallest integer over -1: such divisors of the file are kept from it.
at::Tensor WithoutMinusOne(const at::Tensor& b) {
  return at::where(at::eq(b, -1), at::ones_like(b), b);
}

// Integers are divided towards zero.
Values Div(const NodeCall& call) {
  const Pair pair = Operands(call);
  if (!Whole(pair)) return {at::div(pair.a, pair.b)};
  if (!call.on_host) return {at::div(pair.a, pair.b, "trunc")};
  const at::Tensor quotient = at::div(pair.a, WithoutMinusOne(pair.b), "trunc");
  return {at::where(at::eq(pair.b, -1), at::neg(quotient), quotient)};
}

// The result has the type of the base.
Values Pow(const NodeCall& call) {
  const at::Tensor base = call.In(0);
  const auto exponent = call.on_host ? std::nullopt : call.Number(1);
  const bool number = exponent && call.inputs[1].tensor().dim() <= base.dim();
  const at::Tensor result =
      number ? at::pow(base, *exponent) : at::pow(base, Aligned(call, base, call.In(1)));
  return {result.scalar_type() == base.scalar_type() ? result : result.to(base.scalar_type())};
}

Values Mod(const NodeCall& call) {
  Pair pair = Operands(call);
  const bool like_c = call.Int("fmod", 0) != 0;
  if (call.on_host && Whole(pair)) pair.b = WithoutMinusOne(pair.b);  // the rest is 0, too
  return {like_c ? at::fmod(pair.a, pair.b) : at::remainder(pair.a, pair.b)};
}

Values BitShift(const NodeCall& call) {
  const std::string direction = call.Text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") call.Invalid("no direction LEFT or RIGHT");
  const at::Tensor a = call.In(0), b = call.In(1);
  return {direction == "LEFT" ? at::bitwise_left_shift(a, b) : at::bitwise_right_shift(a, b)};
}

template <at::Tensor (*Function)(const at::Tensor&, const at::Tensor&)>
at::Tensor Fold(const NodeCall& call) {
  at::Tensor result = call.In(0);
  for (size_t i = 1; i < call.inputs.size(); ++i) result = Function(result, call.In(i));
  return result;
}
at::Tensor Plus(const at::Tensor& a, const at::Tensor& b) { return at::add(a, b); }

Values Max(const NodeCall& call) { return {Fold<at::maximum>(call)}; }
Values Min(const NodeCall& call) { return {Fold<at::minimum>(call)}; }
Values Sum(const NodeCall& call) { return {Fold<Plus>(call)}; }
Values Mean(const NodeCall& call) {
  return {at::div(Fold<Plus>(call), static_cast<double>(call.inputs.size()))};
}

// max(x, 0) + slope min(x, 0), the slope broadcast to x.
Values PRelu(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  at::Tensor slope = call.In(1);
  // Before operator set 7 the slope counted channels.
  if (call.version < 7 && slope.dim() == 1 && slope.numel() > 1 && x.dim() > 2) {
    Ints shape(static_cast<size_t>(x.dim() - 1), 1);
    shape[0] = slope.numel();
    slope = at::reshape(slope, shape);
  }
  return {at::where(at::lt(x, 0), at::mul(x, slope), x)};
}

Values Where(const NodeCall& call) { return {at::where(call.In(0), call.In(1), call.In(2))}; }

}  // namespace

void AddBinaryOperators(OperatorTable& table) {
  table["Add"] = Add;
  table["And"] = Binary<at::logical_and>;
  table["BitShift"] = BitShift;
  table["BitwiseAnd"] = Binary<at::bitwise_and>;
  table["BitwiseOr"] = Binary<at::bitwise_or>;
  table["BitwiseXor"] = Binary<at::bitwise_xor>;
  table["Div"] = Div;
  table["Equal"] = Binary<at::eq>;
  table["Greater"] = Binary<at::gt>;
  table["GreaterOrEqual"] = Binary<at::ge>;
  table["Less"] = Binary<at::lt>;
  table["LessOrEqual"] = Binary<at::le>;
  table["Max"] = Max;
  table["Mean"] = Mean;
  table["Min"] = Min;
  table["Mod"] = Mod;
  table["Mul"] = Binary<at::mul>;
  table["Or"] = Binary<at::logical_or>;
  table["PRelu"] = PRelu;
  table["Pow"] = Pow;
  table["Sub"] = Sub;
  table["Sum"] = Sum;
  table["Where"] = Where;
  table["Xor"] = Binary<at::logical_xor>;
}

}  // namespace placewright::lowering
