#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>

#include "formats/onnx/attributes.h"
#include "formats/onnx/shapes/fold_rules.h"

namespace placewright::onnx_import {
namespace {

using onnx::TensorProto;

// Doubles hold every value that these conversions accept exactly.
constexpr double kMaxExact = 9007199254740992.0;  // 2^53

enum class Arithmetic { kAdd, kSub, kMul, kDiv, kMod, kMin, kMax };
enum class Comparison { kEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual, kAnd, kOr, kXor };

template <class Kind>
struct Named {
  std::string_view name;
  Kind kind;
};
constexpr std::array kArithmetic = {
    Named<Arithmetic>{"Add", Arithmetic::kAdd}, Named<Arithmetic>{"Sub", Arithmetic::kSub},
    Named<Arithmetic>{"Mul", Arithmetic::kMul}, Named<Arithmetic>{"Div", Arithmetic::kDiv},
    Named<Arithmetic>{"Mod", Arithmetic::kMod}, Named<Arithmetic>{"Min", Arithmetic::kMin},
    Named<Arithmetic>{"Max", Arithmetic::kMax}, Named<Arithmetic>{"Sum", Arithmetic::kAdd}};
constexpr std::array kComparisons = {
    Named<Comparison>{"Equal", Comparison::kEqual},
    Named<Comparison>{"Less", Comparison::kLess},
    Named<Comparison>{"LessOrEqual", Comparison::kLessOrEqual},
    Named<Comparison>{"Greater", Comparison::kGreater},
    Named<Comparison>{"GreaterOrEqual", Comparison::kGreaterOrEqual},
    Named<Comparison>{"And", Comparison::kAnd},
    Named<Comparison>{"Or", Comparison::kOr},
    Named<Comparison>{"Xor", Comparison::kXor}};

template <class Table>
auto Lookup(const Table& table, std::string_view name) {
  return std::find_if(table.begin(), table.end(),
                      [&](const auto& row) { return row.name == name; });
}

std::optional<int64_t> Compute(Arithmetic kind, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (kind) {
    case Arithmetic::kAdd:
      return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case Arithmetic::kSub:
      return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case Arithmetic::kMul:
      return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case Arithmetic::kDiv:
      if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
      return a / b;
    case Arithmetic::kMod:
      // The result takes the divisor's sign (fmod = 0).
      if (b == 0 || b == -1) return b == 0 ? std::nullopt : std::optional<int64_t>(0);
      out = a % b;
      return out != 0 && (out < 0) != (b < 0) ? out + b : out;
    case Arithmetic::kMin: return std::min(a, b);
    case Arithmetic::kMax: return std::max(a, b);
  }
  return std::nullopt;
}

std::optional<double> Compute(Arithmetic kind, double a, double b) {
  switch (kind) {
    case Arithmetic::kAdd: return a + b;
    case Arithmetic::kSub: return a - b;
    case Arithmetic::kMul: return a * b;
    case Arithmetic::kDiv: return a / b;
    case Arithmetic::kMod: return std::nullopt;
    case Arithmetic::kMin: return std::min(a, b);
    case Arithmetic::kMax: return std::max(a, b);
  }
  return std::nullopt;
}

template <class T>
bool Compute(Comparison kind, T a, T b) {
  switch (kind) {
    case Comparison::kEqual: return a == b;
    case Comparison::kLess: return a < b;
    case Comparison::kLessOrEqual: return a <= b;
    case Comparison::kGreater: return a > b;
    case Comparison::kGreaterOrEqual: return a >= b;
    case Comparison::kAnd: return a != 0 && b != 0;
    case Comparison::kOr: return a != 0 || b != 0;
    case Comparison::kXor: return (a != 0) != (b != 0);
  }
  return false;
}

// Keeps the precision that the element type has.
double Rounded(int32_t type, double value) {
  return type == TensorProto::FLOAT ? static_cast<double>(static_cast<float>(value)) : value;
}

// Calls visit(i, a index, b index) for every element of the broadcast shape.
Folded Elementwise(int32_t type, const SmallTensor& a, const SmallTensor& b,
                   const std::function<bool(SmallTensor&, size_t, size_t, size_t)>& visit) {
  const auto dims = Broadcast(a.dims, b.dims);
  if (!dims) return std::nullopt;
  Folded out = Zeros(type, *dims);
  if (!out) return std::nullopt;
  std::vector<int64_t> index(dims->size(), 0);
  for (size_t i = 0; i < out->size(); ++i) {
    if (!visit(*out, i, FlatBroadcast(a.dims, index), FlatBroadcast(b.dims, index))) {
      return std::nullopt;
    }
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < (*dims)[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

Folded FoldArithmetic(Arithmetic kind, const SmallTensor& a, const SmallTensor& b) {
  if (a.type != b.type) return std::nullopt;
  return Elementwise(a.type, a, b, [&](SmallTensor& out, size_t i, size_t x, size_t y) {
    if (a.is_real()) {
      const auto value = Compute(kind, a.reals[x], b.reals[y]);
      if (value) out.reals[i] = Rounded(a.type, *value);
      return value.has_value();
    }
    const auto value = Compute(kind, a.ints[x], b.ints[y]);
    if (value) out.ints[i] = *value;
    return value.has_value();
  });
}

Folded FoldComparison(Comparison kind, const SmallTensor& a, const SmallTensor& b) {
  if (a.type != b.type) return std::nullopt;
  return Elementwise(TensorProto::BOOL, a, b, [&](SmallTensor& out, size_t i, size_t x, size_t y) {
    out.ints[i] =
        a.is_real() ? Compute(kind, a.reals[x], b.reals[y]) : Compute(kind, a.ints[x], b.ints[y]);
    return true;
  });
}

Folded FoldWhere(const SmallTensor& condition, const SmallTensor& a, const SmallTensor& b) {
  if (a.type != b.type || condition.is_real()) return std::nullopt;
  const auto branches = Broadcast(a.dims, b.dims);
  const auto dims = branches ? Broadcast(*branches, condition.dims) : std::nullopt;
  if (!dims) return std::nullopt;
  const auto expand = [&](const SmallTensor& tensor) {
    return Remap(tensor, *dims, [&](const std::vector<int64_t>& index) {
      return std::optional(FlatBroadcast(tensor.dims, index));
    });
  };
  const Folded where = expand(condition), yes = expand(a), no = expand(b);
  if (!where || !yes || !no) return std::nullopt;
  SmallTensor out = *no;
  for (size_t i = 0; i < out.size(); ++i) {
    if (where->ints[i] == 0) continue;
    if (out.is_real()) {
      out.reals[i] = yes->reals[i];
    } else {
      out.ints[i] = yes->ints[i];
    }
  }
  return out;
}

Folded FoldCast(const onnx::NodeProto& node, const SmallTensor& a) {
  const int64_t to = IntAttribute(node, "to", 0);
  if (to < 0 || to > INT32_MAX) return std::nullopt;
  Folded out = Zeros(static_cast<int32_t>(to), a.dims);
  if (!out) return std::nullopt;
  for (size_t i = 0; i < a.size(); ++i) {
    if (out->is_real()) {
      out->reals[i] = Rounded(out->type, a.is_real() ? a.reals[i] : static_cast<double>(a.ints[i]));
      continue;
    }
    int64_t value = 0;
    if (a.is_real()) {
      if (!(std::fabs(a.reals[i]) < kMaxExact)) return std::nullopt;
      value = static_cast<int64_t>(a.reals[i]);  // towards zero
      if (out->type == TensorProto::BOOL) value = a.reals[i] != 0;
    } else {
      value = a.ints[i];
    }
    if (out->type == TensorProto::BOOL) value = value != 0;
    if (out->type == TensorProto::INT32 && value != static_cast<int32_t>(value)) {
      return std::nullopt;
    }
    out->ints[i] = value;
  }
  return out;
}

// Floor, Ceil, Sqrt, Neg, Abs, Not: all exact in IEEE arithmetic.
Folded FoldUnary(std::string_view type, const SmallTensor& a) {
  SmallTensor out = a;
  for (double& value : out.reals) {
    if (type == "Floor") {
      value = std::floor(value);
    } else if (type == "Ceil") {
      value = std::ceil(value);
    } else if (type == "Sqrt") {
      value = Rounded(a.type, std::sqrt(value));
    } else if (type == "Neg") {
      value = -value;
    } else if (type == "Abs") {
      value = std::fabs(value);
    } else {
      return std::nullopt;
    }
  }
  for (int64_t& value : out.ints) {
    if (type == "Not") {
      value = value == 0;
    } else if ((type == "Neg" || type == "Abs") && value != INT64_MIN) {
      value = type == "Neg" || value < 0 ? -value : value;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

// ReduceProd, ReduceSum, ReduceMin and ReduceMax over all elements or over the given axes.
Folded FoldReduction(const onnx::NodeProto& node, const Inputs& inputs, Arithmetic kind,
                     const SmallTensor& a) {
  std::vector<bool> reduced(a.dims.size(), false);
  const auto axes = IntsFrom(node, inputs, "axes", 1);
  if (!axes && inputs.size() > 1 && inputs[1].present) return std::nullopt;
  const bool all = !axes || axes->empty();
  if (all && IntAttribute(node, "noop_with_empty_axes", 0) != 0) return a;
  if (all) reduced.assign(a.dims.size(), true);
  for (const int64_t given : axes ? *axes : std::vector<int64_t>()) {
    const auto axis = Axis(given, a.dims.size());
    if (!axis) return std::nullopt;
    reduced[*axis] = true;
  }
  if (a.size() == 0 || a.is_real()) return std::nullopt;
  std::vector<int64_t> kept = a.dims, dims;
  for (size_t d = 0; d < kept.size(); ++d) {
    if (reduced[d]) kept[d] = 1;
    if (!reduced[d] || IntAttribute(node, "keepdims", 1) != 0) dims.push_back(kept[d]);
  }
  Folded out = Zeros(a.type, kept);
  if (!out) return std::nullopt;
  std::vector<bool> seen(out->size(), false);
  std::vector<int64_t> index(a.dims.size(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    const size_t to = FlatBroadcast(kept, index);
    const auto value = seen[to] ? Compute(kind, out->ints[to], a.ints[i]) : a.ints[i];
    if (!value) return std::nullopt;
    out->ints[to] = *value;
    seen[to] = true;
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < a.dims[d]) break;
      index[d] = 0;
    }
  }
  out->dims = dims;
  return out;
}

std::optional<Arithmetic> ReductionKind(std::string_view type) {
  if (type == "ReduceProd") return Arithmetic::kMul;
  if (type == "ReduceSum") return Arithmetic::kAdd;
  if (type == "ReduceMin") return Arithmetic::kMin;
  if (type == "ReduceMax") return Arithmetic::kMax;
  return std::nullopt;
}

// Add, Mul, ... of two inputs; Min, Max and Sum of any number.
Folded FoldVariadic(Arithmetic kind, const Inputs& inputs) {
  const SmallTensor* first = ValueAt(inputs, 0);
  if (first == nullptr) return std::nullopt;
  Folded out = *first;
  for (size_t i = 1; i < inputs.size() && out; ++i) {
    const SmallTensor* next = ValueAt(inputs, i);
    if (next == nullptr) return std::nullopt;
    out = FoldArithmetic(kind, *out, *next);
  }
  return out;
}

}  // namespace

Folded FoldMath(const onnx::NodeProto& node, const Inputs& inputs) {
  const std::string_view type = node.op_type();
  const SmallTensor* a = ValueAt(inputs, 0);
  if (a == nullptr) return std::nullopt;
  if (const auto row = Lookup(kArithmetic, type); row != kArithmetic.end()) {
    return FoldVariadic(row->kind, inputs);
  }
  if (const auto kind = ReductionKind(type)) return FoldReduction(node, inputs, *kind, *a);
  if (type == "Cast") return FoldCast(node, *a);
  const SmallTensor* b = ValueAt(inputs, 1);
  if (const auto row = Lookup(kComparisons, type); row != kComparisons.end()) {
    return b == nullptr ? std::nullopt : FoldComparison(row->kind, *a, *b);
  }
  if (type == "Where") {
    const SmallTensor* c = ValueAt(inputs, 2);
    return b == nullptr || c == nullptr ? std::nullopt : FoldWhere(*a, *b, *c);
  }
  if (type == "Floor" || type == "Ceil" || type == "Sqrt" || type == "Neg" || type == "Abs" ||
      type == "Not") {
    return FoldUnary(type, *a);
  }
  return std::nullopt;
}

}  // namespace placewright::onnx_import
