#include "formats/accelerate/execution.h"

#include "graph/ownership/module_path.h"

namespace placewright {
namespace {

class Machine {
 public:
  Machine(const Graph& graph, const DispatchedModel& model, const IdVector<OpId, Runner>& runners)
      : graph_(graph), model_(model), runners_(runners) {
    execution_.device.assign(graph.op_count(), kAnywhere);
  }

  DispatchedExecution Run() {
    for (OpId id : graph_.topological_order()) {
      if (graph_.op(id).phase == Phase::kForward) execution_.device[id] = DeviceOfOp(id);
    }
    return std::move(execution_);
  }

 private:
  int32_t DeviceOfOp(OpId id) {
    const Runner& runner = runners_[id];
    if (const auto device = DeviceOf(model_, runner.module)) return *device;
    TensorId first;
    for (TensorId input : graph_.op(id).inputs) {
      const int32_t device = DeviceOfTensor(input);
      if (device == kAnywhere) continue;
      if (!first.valid()) first = input;
      const int32_t other = DeviceOfTensor(first);
      if (device == other) continue;
      if (!runner.sure) return runner.planned;
      execution_.mixtures.push_back({id, {first, input}, {other, device}});
      break;
    }
    return first.valid() ? DeviceOfTensor(first) : kAnywhere;
  }

  int32_t DeviceOfTensor(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    if (tensor.producer.valid()) return execution_.device[tensor.producer];
    const int32_t index = model_.tensor_of[tensor.storage];
    if (index < 0) return kAnywhere;
    const std::string_view path = model_.tensors[static_cast<size_t>(index)].path;
    if (ParentModule(path).empty()) return model_.main_device;
    return DeviceOf(model_, path).value_or(kAnywhere);
  }

  const Graph& graph_;
  const DispatchedModel& model_;
  const IdVector<OpId, Runner>& runners_;
  DispatchedExecution execution_;
};

}  // namespace

std::optional<int32_t> DeviceOf(const DispatchedModel& model, std::string_view path) {
  for (;;) {
    const auto found = model.entries.find(path);
    if (found != model.entries.end()) return found->second;
    if (path.empty()) return std::nullopt;
    path = ParentModule(path);
  }
}

DispatchedExecution Execute(const Graph& graph, const DispatchedModel& model,
                            const IdVector<OpId, Runner>& runners) {
  return Machine(graph, model, runners).Run();
}

}  // namespace placewright
