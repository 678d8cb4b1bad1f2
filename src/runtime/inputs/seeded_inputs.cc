#include "runtime/inputs/seeded_inputs.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "aten/dtype_names.h"
#include "base/random.h"
#include "base/text.h"
#include "graph/analysis/index_limits.h"

namespace placewright {
namespace {

at::Tensor Uniform(const std::vector<int64_t>& shape, double bound, Random random) {
  at::Tensor values = at::empty(shape, at::TensorOptions().dtype(at::kDouble));
  auto* const numbers = values.data_ptr<double>();
  for (int64_t i = 0; i < values.numel(); ++i) numbers[i] = bound * (2 * random.Unit() - 1);
  return values;
}

at::Tensor Indices(const std::vector<int64_t>& shape, int64_t limit, Random random) {
  at::Tensor values = at::empty(shape, at::TensorOptions().dtype(at::kLong));
  auto* const numbers = values.data_ptr<int64_t>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    numbers[i] = static_cast<int64_t>(random.Below(static_cast<uint64_t>(limit)));
  }
  return values;
}

bool IsSquare(const std::vector<int64_t>& shape) {
  return shape.size() >= 2 && shape.back() > 1 && shape.back() == shape[shape.size() - 2];
}

at::Tensor FloatsOf(const Tensor& of, bool positive, Random random) {
  const auto constant = [&](double value) { return at::full(of.shape, value, at::kDouble); };
  if (positive) return constant(1);
  switch (of.kind) {
    case TensorKind::kOptimizerState:
    case TensorKind::kGradient: return constant(0);
    case TensorKind::kBuffer:
    case TensorKind::kConstant: return constant(of.name.ends_with("var") ? 1 : 0);
    case TensorKind::kParameter: {
      const bool vector = of.shape.size() < 2;
      if (of.shape.empty() || (vector && of.name.ends_with("weight"))) return constant(1);
      if (vector && of.name.ends_with("bias")) return constant(0);
      double fan_in = vector ? static_cast<double>(of.shape[0]) : 1;
      for (size_t d = 1; d < of.shape.size(); ++d) fan_in *= static_cast<double>(of.shape[d]);
      return Uniform(of.shape, std::sqrt(3 / std::max(fan_in, 1.0)), random);
    }
    default: return Uniform(of.shape, 1, random);
  }
}

at::Tensor ValuesOf(const Tensor& of, c10::ScalarType type, int64_t limit, bool hides,
                    bool positive, const Random& random) {
  if (of.dtype == DType::kBool) {
    const at::Tensor ones = at::ones(of.shape, at::kDouble);
    const at::Tensor passed = IsSquare(of.shape) ? ones.tril() : ones;
    return hides ? 1 - passed : passed;
  }
  if (limit > 0) return Indices(of.shape, limit, random);
  if (c10::isIntegralType(type, /*includeBool=*/false)) {
    const at::Tensor ones = at::ones(of.shape, at::kLong);
    const bool mask = of.dtype == DType::kU8 && IsSquare(of.shape);
    if (of.kind == TensorKind::kOptimizerState) return at::zeros_like(ones);
    return mask ? ones.tril() : ones;
  }
  return FloatsOf(of, positive, random);
}

// Buffers and constants that ops take for variances, whatever their names: running ones of batch norms,
// and those of which a root is taken.
IdVector<TensorId, bool> Variances(const Graph& graph) {
  IdVector<TensorId, bool> variances(graph.tensor_count(), false);
  const auto mark = [&](TensorId id) {
    // sqrt(variance + epsilon), and views and casts of it.
    for (int steps = 0; graph.tensor(id).producer.valid() && steps < 4; ++steps) {
      const Op& maker = graph.op(graph.tensor(id).producer);
      const bool follows = maker.is_view || maker.type.starts_with("aten.add.") ||
                           maker.type.starts_with("aten.add_.") ||
                           maker.type == "aten._to_copy.default";
      if (!follows || maker.inputs.empty()) return;
      id = maker.inputs.front();
    }
    const TensorKind kind = graph.tensor(id).kind;
    variances[id] = kind == TensorKind::kBuffer || kind == TensorKind::kConstant;
  };
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    const bool root = op.type.starts_with("aten.rsqrt") || op.type.starts_with("aten.sqrt");
    if (root && !op.inputs.empty()) mark(op.inputs.front());
    // Of the forward and of the backward ops alike: input, weight, bias or mean, mean, variance.
    constexpr size_t kVariance = 4;
    if (op.type.find("batch_norm") == std::string_view::npos || op.args.size() <= kVariance)
      continue;
    if (const InputRef* const input = op.args[kVariance].AsInput()) {
      mark(op.inputs[static_cast<size_t>(input->index)]);
    }
  }
  return variances;
}

// What the file says and what the ops ask for.
IdVector<TensorId, int64_t> LimitsOf(const Graph& graph) {
  IdVector<TensorId, int64_t> limits = IndexLimits(graph);
  for (const TensorId id : graph.tensors()) {
    const int64_t below = graph.tensor(id).below;
    if (below > 0) limits[id] = limits[id] > 0 ? std::min(limits[id], below) : below;
  }
  return limits;
}

using Values = std::vector<std::pair<TensorId, at::Tensor>>;

// Of tensors that no op makes, those of that kind, or all; before any rule.
Result<Values> Draw(const Graph& graph, uint64_t seed, int64_t number, bool inputs_only) {
  const IdVector<TensorId, int64_t> limits = LimitsOf(graph);
  const IdVector<TensorId, bool> hides = HidingMasks(graph), variances = Variances(graph);
  Values drawn;
  for (const TensorId id : graph.tensors()) {
    const Tensor& of = graph.tensor(id);
    if (of.producer.valid() || (inputs_only && of.kind != TensorKind::kInput)) continue;
    const std::optional<c10::ScalarType> type = ScalarTypeOf(of.dtype);
    if (!type) {
      return MakeError(ErrorCode::kExecution,
                       "LibTorch has no tensors of dtype " + std::string(ToString(of.dtype)),
                       "tensor " + Printable(of.name, 80));
    }
    Random random = Random(seed).Fork(id.index());
    if (of.kind == TensorKind::kInput && number > 0) {
      random = random.Fork(static_cast<uint64_t>(number));
    }
    drawn.emplace_back(id,
                       ValuesOf(of, *type, limits[id], hides[id], variances[id], random).to(*type));
  }
  return drawn;
}

// What follows from what, among the inputs of a step.
class Rule {
 public:
  Rule(const Graph& graph, uint64_t seed)
      : graph_(graph), seed_(seed), limits_(LimitsOf(graph)), uses_(IntegerUses(graph)) {}

  void Apply(Values& values) const {
    for (auto& [id, value] : values) {
      if (!IsInput(id) || limits_[id] <= 1 || !uses_[id].target) continue;
      if (uses_[id].token) {
        CountUp(id, value);
      } else {
        Follow(id, value, values);
      }
    }
  }

 private:
  static constexpr int64_t kClasses = 16;

  bool IsInput(TensorId id) const { return graph_.tensor(id).kind == TensorKind::kInput; }

  // Every row begins where its first token says.
  void CountUp(TensorId id, at::Tensor& tokens) const {
    if (tokens.dim() == 0) return;
    const at::Tensor steps = at::arange(tokens.size(-1), tokens.options());
    tokens = (tokens.narrow(-1, 0, 1) + steps).remainder(limits_[id]);
  }

  void Follow(TensorId id, at::Tensor& targets, Values& values) const {
    for (const auto& [other, tokens] : values) {
      if (other == id || !IsInput(other) || !uses_[other].token ||
          tokens.numel() != targets.numel()) {
        continue;
      }
      targets = (tokens.reshape(targets.sizes()) * 7 + 3).remainder(limits_[id]).to(targets);
      return;
    }
    if (targets.dim() != 1) return;
    for (auto& [other, rows] : values) {
      if (!IsInput(other) || !rows.is_floating_point() || rows.dim() < 2 ||
          rows.size(0) != targets.size(0)) {
        continue;
      }
      const int64_t classes = std::min(kClasses, limits_[id]);
      targets = targets.remainder(classes);
      std::vector<int64_t> shape = rows.sizes().vec();
      shape[0] = classes;
      const at::Tensor patterns =
          Uniform(shape, 1, Random(seed_).Fork(id.index()).Fork(0)).to(rows.scalar_type());
      rows = (rows + patterns.index_select(0, targets.to(at::kLong))) / 2;
      return;
    }
  }

  const Graph& graph_;
  const uint64_t seed_;
  const IdVector<TensorId, int64_t> limits_;
  const IdVector<TensorId, IntegerUse> uses_;
};

Result<Values> Make(const Graph& graph, uint64_t seed, int64_t number, bool inputs_only) {
  PW_ASSIGN(Values values, Draw(graph, seed, number, inputs_only));
  Rule(graph, seed).Apply(values);
  for (auto& [id, value] : values) {
    const Tensor& of = graph.tensor(id);
    if (of.strides.empty()) continue;
    const at::Tensor strided = at::empty_strided(of.shape, of.strides, value.options());
    value = strided.copy_(value);
  }
  return values;
}

}  // namespace

Result<Values> SeededInputs(const Graph& graph, uint64_t seed) {
  return Make(graph, seed, 0, /*inputs_only=*/false);
}

Result<Values> SeededBatch(const Graph& graph, uint64_t seed, int64_t number) {
  return Make(graph, seed, number, /*inputs_only=*/true);
}

}  // namespace placewright
