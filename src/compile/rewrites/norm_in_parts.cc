#include "compile/rewrites/norm_in_parts.h"

#include <utility>

#include "graph/is_read.h"

namespace placewright {
NormInParts::NormInParts(Emitter& emitter, const OpInParts& op, const BatchNormCall& call)
    : emitter_(emitter),
      op_(op),
      call_(call),
      rank_(emitter.shape(InputOf(call.x, 0)).size()),
      channels_(emitter.shape(InputOf(call.x, 0))[1]) {
  for (size_t part = 0; part < op.devices.size(); ++part) {
    parts_.emplace_back(emitter, op, part);
    const std::vector<int64_t>& shape = emitter.shape(InputOf(call.x, part));
    int64_t count = 1;
    for (size_t d = 0; d < rank_; ++d) count *= d == 1 ? 1 : shape[d];
    counts_.push_back(count);
    count_ += count;
  }
}

void NormInParts::AddTensors(const std::vector<TensorId>& tensors, PlainOp& plain) {
  for (const TensorId tensor : tensors) {
    if (!tensor.valid()) {
      plain.args.push_back(Value());
      continue;
    }
    plain.args.push_back(Value(InputRef{static_cast<int32_t>(plain.inputs.size())}));
    plain.inputs.push_back(tensor);
  }
}

void NormInParts::Set(Outputs& outputs, int32_t result, TensorId tensor) const {
  const Op& op = op_.graph.op(op_.op);
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    if (op_.graph.tensor(op.outputs[i]).output_index == result) outputs[i] = tensor;
  }
}

bool NormInParts::Wants(int32_t result) const {
  for (const TensorId output : op_.graph.op(op_.op).outputs) {
    if (op_.graph.tensor(output).output_index != result) continue;
    return IsRead(op_.graph, output);
  }
  return false;
}

}  // namespace placewright
