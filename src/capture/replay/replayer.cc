#include "capture/replay/replayer.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include "aten/failure.h"
#include "base/text.h"

namespace placewright {

Result<Replayer> Replayer::Create(const Graph& graph) {
  Replayer replayer(graph);
  for (const OpId id : graph.ops()) {
    PW_ASSIGN(BoxedCall call, BoxedCall::Create(graph.op(id)));
    replayer.calls_.push_back(std::move(call));
    std::vector<int32_t>& inputs = replayer.inputs_[replayer.inputs_.push_back({})];
    for (const TensorId input : graph.op(id).inputs) inputs.push_back(input.value());
  }
  return replayer;
}

void Replayer::RunOp(OpId id, IdVector<TensorId, at::Tensor>& tensors) const {
  std::vector<at::Tensor> results;
  calls_[id].Run(tensors.raw(), inputs_[id], results);
  for (const TensorId output : graph_->op(id).outputs) {
    tensors[output] = results.at(static_cast<size_t>(graph_->tensor(output).output_index));
  }
}

Result<IdVector<TensorId, at::Tensor>> Replayer::Run(
    std::span<const std::pair<TensorId, at::Tensor>> inputs, std::span<const OpId> order) const {
  IdVector<TensorId, at::Tensor> tensors(graph_->tensor_count());
  for (const auto& [id, tensor] : inputs) tensors[id] = tensor;
  OpId running;
  Status status = CatchFailure([&] {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    for (const OpId id : order) {
      running = id;
      RunOp(id, tensors);
    }
  });
  if (status.ok()) return tensors;
  status.error().place = "op " + Printable(graph_->op(running).name, 80);
  return std::move(status.error());
}

}  // namespace placewright
