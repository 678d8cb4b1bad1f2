#include "sharding/statistics_call.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace placewright {
namespace {

// The input at a position of the arguments, or -1: none, as None says. Nothing where it is something else.
std::optional<int32_t> InputAt(const Op& op, size_t position) {
  if (position >= op.args.size()) return std::nullopt;
  const InputRef* const input = op.args[position].AsInput();
  if (input == nullptr) return op.args[position] == Value() ? std::optional(-1) : std::nullopt;
  const bool there = input->index >= 0 && static_cast<size_t>(input->index) < op.inputs.size();
  return there ? std::optional(input->index) : std::nullopt;
}

std::optional<double> NumberAt(const Op& op, size_t position) {
  if (position >= op.args.size()) return std::nullopt;
  if (const double* number = op.args[position].AsDouble()) return *number;
  if (const int64_t* number = op.args[position].AsInt()) return static_cast<double>(*number);
  return std::nullopt;
}

// Ascending, from 0; all where none are stated. Nothing where they are no dimensions.
std::optional<std::vector<int64_t>> DimensionsAt(const Op& op, size_t position, size_t rank) {
  std::vector<int64_t> dimensions;
  const auto add = [&](const Value& value) {
    const int64_t* const stated = value.AsInt();
    if (stated == nullptr) return false;
    const auto all = static_cast<int64_t>(rank);
    const int64_t dimension = *stated < 0 ? *stated + all : *stated;
    dimensions.push_back(dimension);
    return dimension >= 0 && dimension < all;
  };
  if (position < op.args.size() && op.args[position] != Value()) {
    const Value& value = op.args[position];
    const Value::List* const list = value.AsList();
    if (list != nullptr ? !std::all_of(list->begin(), list->end(), add) : !add(value)) {
      return std::nullopt;
    }
  }
  if (dimensions.empty()) {
    for (size_t i = 0; i < rank; ++i) dimensions.push_back(static_cast<int64_t>(i));
  }
  std::sort(dimensions.begin(), dimensions.end());
  const bool once = std::adjacent_find(dimensions.begin(), dimensions.end()) == dimensions.end();
  return once ? std::optional(dimensions) : std::nullopt;
}

// Of a vector norm: 2 where none is stated.
std::optional<double> OrderOf(const Op& op) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::array kInParts = {2.0, 1.0, 0.0, kInfinity, -kInfinity};
  if (op.args.size() < 2 || op.args[1] == Value()) return 2;
  const std::optional<double> order = NumberAt(op, 1);
  const bool in_parts =
      order && std::find(kInParts.begin(), kInParts.end(), *order) != kInParts.end();
  return in_parts ? order : std::nullopt;
}

// linalg_vector_norm(x, order, dims?, keepdim), norm(x, order?, dims, keepdim), amax(x, dims, keepdim)
std::optional<StatisticsCall> ReductionOf(const Op& op, size_t rank, StatisticsCall call) {
  const size_t dims_at = call.kind == StatisticsCall::kNorm ? 2 : 1;
  const bool plain = op.inputs.size() == 1 && op.outputs.size() == 1 && op.attributes.empty() &&
                     InputAt(op, 0) == 0 && op.args.size() <= dims_at + 2;
  if (!plain) return std::nullopt;
  if (call.kind == StatisticsCall::kNorm) {
    const std::optional<double> order = OrderOf(op);
    if (!order) return std::nullopt;
    call.order = *order;
  }
  const auto dimensions = DimensionsAt(op, dims_at, rank);
  if (!dimensions) return std::nullopt;
  call.dimensions = *dimensions;
  if (op.args.size() > dims_at + 1) {
    const bool* const keeps = op.args[dims_at + 1].AsBool();
    if (keeps == nullptr) return std::nullopt;
    call.keeps = *keeps;
  }
  return call;
}

// native_layer_norm(x, shape, weight?, bias?, eps), _fused_rms_norm(x, shape, weight?, eps), their backward
// (grad, x, shape, mean, rstd, weight?, bias?, mask) and (grad, x, shape, rstd, weight?, mask)
std::optional<StatisticsCall> LayerNormOf(const Op& op, const std::vector<size_t>& ranks,
                                          StatisticsCall call) {
  const size_t first = call.backward() ? 1 : 0;
  size_t at = first;
  bool right = op.attributes.empty();
  const auto take = [&](int32_t& input, bool needed) {
    const std::optional<int32_t> found = InputAt(op, at++);
    right = right && found && (*found >= 0 || !needed);
    input = found.value_or(-1);
  };
  if (call.backward()) {
    at = 0;
    take(call.grad, true);
  }
  take(call.x, true);
  const Value::List* const shape = at < op.args.size() ? op.args[at++].AsList() : nullptr;
  right = right && shape != nullptr && !shape->empty();
  if (call.kind == StatisticsCall::kLayerNormBackward) take(call.mean, true);
  if (call.backward()) take(call.rstd, true);
  take(call.weight, false);
  if (call.centers()) take(call.bias, false);
  if (!call.backward()) {
    const std::optional<double> eps = NumberAt(op, at++);
    right = right && eps;
    call.eps = eps.value_or(0);
  } else {
    ++at;  // which results there are
  }
  if (!right || op.args.size() != at) return std::nullopt;
  const size_t rank = ranks[static_cast<size_t>(call.x)];
  if (rank <= shape->size()) return std::nullopt;
  for (size_t i = rank - shape->size(); i < rank; ++i) {
    call.dimensions.push_back(static_cast<int64_t>(i));
  }
  call.keeps = true;
  return call;
}

}  // namespace

std::optional<StatisticsCall> StatisticsCallOf(const Op& op, const std::vector<size_t>& ranks) {
  struct Named {
    std::string_view type;
    StatisticsCall::Kind kind;
  };
  constexpr Named kKinds[] = {
      {"aten.linalg_vector_norm.default", StatisticsCall::kNorm},
      {"aten.norm.Scalar", StatisticsCall::kNorm},
      {"aten.norm.ScalarOpt_dim", StatisticsCall::kNorm},
      {"aten.amax.default", StatisticsCall::kMax},
      {"aten.amin.default", StatisticsCall::kMin},
      {"aten.native_layer_norm.default", StatisticsCall::kLayerNorm},
      {"aten.native_layer_norm_backward.default", StatisticsCall::kLayerNormBackward},
      {"aten._fused_rms_norm.default", StatisticsCall::kRmsNorm},
      {"aten._fused_rms_norm_backward.default", StatisticsCall::kRmsNormBackward}};
  const auto* const found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                         [&](const Named& one) { return one.type == op.type; });
  if (found == std::end(kKinds) || op.inputs.empty() || !op.writes.empty()) return std::nullopt;
  StatisticsCall call;
  call.kind = found->kind;
  return call.normalizes() ? LayerNormOf(op, ranks, call) : ReductionOf(op, ranks.front(), call);
}

std::optional<StatisticsCall> StatisticsCallOf(const Graph& graph, OpId op) {
  std::vector<size_t> ranks;
  for (const TensorId input : graph.op(op).inputs) {
    ranks.push_back(graph.tensor(input).shape.size());
  }
  return StatisticsCallOf(graph.op(op), ranks);
}

}  // namespace placewright
