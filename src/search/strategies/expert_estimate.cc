#include "search/strategies/expert_estimate.h"

#include <algorithm>

namespace placewright {
namespace {

// It takes rows in the order of a sort from samples, which are in none.
bool TakesSorted(const Graph& graph, const NamedAxes& axes, const Op& op) {
  return op.phase == Phase::kForward && op.inputs.size() == 2 && op.outputs.size() == 1 &&
         axes.in_own_order(op.outputs[0]) && !axes.in_own_order(op.inputs[0]) &&
         axes.in_own_order(op.inputs[1]) && axes.Holds(op.inputs[0], axes.batch()) &&
         graph.tensor(op.inputs[0]).shape.size() > 1;
}

}  // namespace

ExpertTable ExpertsOfStep(const StepFacts& facts) {
  const Graph& graph = facts.problem().graph;
  const NamedAxes& axes = facts.problem().axes;
  const std::vector<AxisId>& experts = facts.structure().experts;
  const auto is_of_experts = [&](TensorId id) {
    return std::any_of(experts.begin(), experts.end(),
                       [&](AxisId axis) { return axes.Holds(id, axis); });
  };
  ExpertTable table;
  for (const StorageId id : graph.storages()) {
    const Storage& storage = graph.storage(id);
    const Tensor& tensor = graph.tensor(storage.first);
    const bool parameter = tensor.kind == TensorKind::kParameter;
    if (tensor.producer.valid() || (!parameter && tensor.kind != TensorKind::kOptimizerState) ||
        !is_of_experts(storage.first)) {
      continue;
    }
    const auto bytes = static_cast<double>(storage.bytes.count);
    (parameter ? table.parameters : table.state) += bytes;
    if (!parameter || storage.versions.size() < 2) continue;
    table.gradients += bytes;
    ++table.sizes[storage.bytes.count];
  }
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (!TakesSorted(graph, axes, op) || !is_of_experts(op.outputs[0])) continue;
    table.tokens += static_cast<double>(graph.tensor(op.inputs[0]).bytes.count);
    ++table.sorts;
  }
  return table;
}

StepTable WithoutExperts(StepTable table, const ExpertTable& experts) {
  const double others =
      table.parameters > 0 ? std::max(0.0, 1 - experts.parameters / table.parameters) : 1;
  table.parameters *= others;
  table.in_layers = std::max(0.0, table.in_layers - experts.parameters);
  table.largest_layer *= others;
  table.copied *= others;
  table.casts *= others;
  table.gradients = std::max(0.0, table.gradients - experts.gradients);
  table.state = std::max(0.0, table.state - experts.state);
  for (const auto& [bytes, number] : experts.sizes) {
    const auto at = table.sizes.find(bytes);
    if (at == table.sizes.end()) continue;
    at->second -= number;
    if (at->second <= 0) table.sizes.erase(at);
  }
  return table;
}

}  // namespace placewright
