// Between floats and few integers.
#include <ATen/ATen.h>

#include "capture/onnx/operators/table.h"

namespace placewright::lowering {
namespace {

// One number for all, or one for each place along an axis.
at::Tensor AlongAxis(const NodeCall& call, size_t i, const at::Tensor& x) {
  const at::Tensor given = call.In(i);
  if (call.Int("block_size", 0) != 0) call.Unsupported("block_size");
  if (given.dim() == 0 || given.numel() == 1) return at::reshape(given, {});
  Ints shape(static_cast<size_t>(x.dim()), 1);
  shape[static_cast<size_t>(call.Axis(call.Int("axis", 1), x.dim()))] = given.numel();
  return at::reshape(given, shape);
}

struct Bounds {
  at::ScalarType type;
  double min, max;
};
Bounds BoundsOf(const NodeCall& call) {
  const at::ScalarType type = call.Has(2) ? call.inputs[2].tensor().scalar_type() : at::kByte;
  switch (type) {
    case at::kByte: return {type, 0, 255};
    case at::kChar: return {type, -128, 127};
    case at::kShort: return {type, -32768, 32767};
    default: call.Unsupported("a zero point of that type");
  }
}

// round(x / scale) + zero point, within what the type holds.
Values QuantizeLinear(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  const Bounds bounds = BoundsOf(call);
  at::Tensor q = at::round(at::div(x, AlongAxis(call, 1, x)));
  if (call.Has(2)) q = at::add(q, AlongAxis(call, 2, x).to(x.scalar_type()));
  return {at::clamp(q, bounds.min, bounds.max).to(bounds.type)};
}

// (x - zero point) scale
Values DequantizeLinear(const NodeCall& call) {
  const at::Tensor q = call.In(0), scale = AlongAxis(call, 1, q);
  at::Tensor x = q.to(scale.scalar_type());
  if (call.Has(2)) x = at::sub(x, AlongAxis(call, 2, q).to(scale.scalar_type()));
  return {at::mul(x, scale)};
}

}  // namespace

void AddQuantizationOperators(OperatorTable& table) {
  table["DequantizeLinear"] = DequantizeLinear;
  table["QuantizeLinear"] = QuantizeLinear;
}

}  // namespace placewright::lowering
