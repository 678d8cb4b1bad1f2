#include "transforms/split_backward.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "sharding/separable_results.h"
#include "transforms/op_copy.h"

namespace placewright {
namespace {

constexpr int32_t kInput = 0;  // its gradient is the first result

bool MakesBoth(const Graph& step, OpId id) {
  const Op& op = step.op(id);
  if (!SeparableResults(op)) return false;
  const auto of_input = [&](TensorId output) { return step.tensor(output).output_index == kInput; };
  return std::any_of(op.outputs.begin(), op.outputs.end(), of_input) &&
         !std::all_of(op.outputs.begin(), op.outputs.end(), of_input);
}

class BackwardSplitter {
 public:
  explicit BackwardSplitter(const Graph& step)
      : step_(step), builder_(step.name(), std::string(step.format())), made_(step.tensor_count()) {
    builder_.set_batch(step.batch());
  }

  Result<std::unique_ptr<Graph>> Split() {
    for (const TensorId id : step_.tensors()) {
      if (step_.tensor(id).producer.valid()) continue;
      PW_ASSIGN(made_[id], CopyInput(step_, id, builder_));
      tensor_of_.push_back(id);
    }
    for (const OpId id : step_.ops()) {
      if (!MakesBoth(step_, id)) {
        PW_RETURN_IF_ERROR(Add(id, CopyOfOp(step_, id, made_), step_.op(id).outputs));
        continue;
      }
      const GradientMask mask = *SeparableResults(step_.op(id));
      PW_RETURN_IF_ERROR(AddWith(id, {true, false, false}, step_.op(id).name));
      PW_RETURN_IF_ERROR(AddWith(id, {false, mask[1], mask[2]}, step_.op(id).name + ".weights"));
      builder_.Colocate(step_.op(id).name, step_.op(id).name + ".weights");
    }
    return FinishCopy(step_, std::move(builder_), made_, tensor_of_, op_of_);
  }

 private:
  Status AddWith(OpId id, const GradientMask& mask, std::string name) {
    const Op part = WithResults(step_, step_.op(id), mask);
    OpSpec spec = CopyOfOp(step_, id, made_);
    spec.name = std::move(name);
    spec.args = part.args;
    std::erase_if(spec.outputs, [&](const OutputSpec& output) {
      return !mask[static_cast<size_t>(output.output_index)];
    });
    return Add(id, std::move(spec), part.outputs);
  }

  Status Add(OpId id, OpSpec spec, const std::vector<TensorId>& outputs) {
    PW_ASSIGN(const std::vector<TensorId> added, builder_.AddOp(std::move(spec)));
    for (size_t i = 0; i < added.size(); ++i) {
      made_[outputs[i]] = added[i];
      tensor_of_.push_back(outputs[i]);
    }
    op_of_.push_back(id);
    return Ok();
  }

  const Graph& step_;
  GraphBuilder builder_;
  IdVector<TensorId, TensorId> made_;
  std::vector<TensorId> tensor_of_;  // by the new graph's tensors and ops those of the step
  std::vector<OpId> op_of_;
};

}  // namespace

Result<std::unique_ptr<Graph>> WithSplitBackward(const Graph& step) {
  bool any = false;
  for (const OpId id : step.ops()) any = any || MakesBoth(step, id);
  if (!any) return std::unique_ptr<Graph>();
  return BackwardSplitter(step).Split();
}

}  // namespace placewright
