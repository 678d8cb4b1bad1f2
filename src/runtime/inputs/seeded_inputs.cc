#include "runtime/inputs/seeded_inputs.h"

#include <ATen/ATen.h>

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

at::Tensor FloatsOf(const Tensor& of, Random random) {
  const auto constant = [&](double value) { return at::full(of.shape, value, at::kDouble); };
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
                    const Random& random) {
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
  return FloatsOf(of, random);
}

}  // namespace

Result<std::vector<std::pair<TensorId, at::Tensor>>> SeededInputs(const Graph& graph,
                                                                  uint64_t seed) {
  const IdVector<TensorId, int64_t> limits = IndexLimits(graph);
  const IdVector<TensorId, bool> hides = HidingMasks(graph);
  std::vector<std::pair<TensorId, at::Tensor>> inputs;
  for (const TensorId id : graph.tensors()) {
    const Tensor& of = graph.tensor(id);
    if (of.producer.valid()) continue;
    const std::optional<c10::ScalarType> type = ScalarTypeOf(of.dtype);
    if (!type) {
      return MakeError(ErrorCode::kExecution,
                       "LibTorch has no tensors of dtype " + std::string(ToString(of.dtype)),
                       "tensor " + Printable(of.name, 80));
    }
    const Random random = Random(seed).Fork(id.index());
    at::Tensor values = ValuesOf(of, *type, limits[id], hides[id], random).to(*type);
    if (!of.strides.empty()) {
      const at::Tensor strided = at::empty_strided(of.shape, of.strides, values.options());
      values = strided.copy_(values);
    }
    inputs.emplace_back(id, std::move(values));
  }
  return inputs;
}

}  // namespace placewright
