#include "twice.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"
#include "step_editor.h"

namespace placewright::tests {
namespace {

class TwiceWriter {
 public:
  explicit TwiceWriter(const Graph& step)
      : step_(step),
        builder_(step.name(), std::string(step.format())),
        tensors_(step.tensor_count()),
        last_of_(step.group_count()) {
    builder_.set_batch(step.batch());
    for (const TensorId id : step.tensors()) {
      const Tensor& tensor = step.tensor(id);
      if (tensor.producer.valid()) continue;
      tensors_[id] = builder_.AddInput(tensor.name, tensor.kind, tensor.dtype, tensor.shape).Take();
      of_.push_back(id);
    }
  }

  Graph Write() && {
    AddOps("");
    AddOps("again.");
    std::vector<TensorId> outputs;
    for (const TensorId id : step_.outputs()) outputs.push_back(tensors_[id]);
    builder_.SetOutputs(std::move(outputs));
    Graph twice = std::move(builder_).Build().Take();
    if (step_.batch_scaling() == nullptr) return twice;
    const BatchScaling& laws = *step_.batch_scaling();
    BatchScaling copied{laws.sizes, laws.reason, {}, {}, laws.smaller};
    for (const TensorId id : of_) {
      const auto slopes = laws.dimensions[id];
      copied.dimensions.items.insert(copied.dimensions.items.end(), slopes.begin(), slopes.end());
      copied.dimensions.offsets.push_back(static_cast<int32_t>(copied.dimensions.items.size()));
    }
    copied.arguments.offsets.resize(twice.op_count() + 1, 0);
    return WithBatchScaling(std::move(twice), std::move(copied)).Take();
  }

 private:
  void AddOps(const std::string& prefix) {
    for (const OpId id : step_.ops()) {
      const Op& op = step_.op(id);
      OpSpec spec = SpecOf(step_, op);
      spec.name = prefix + spec.name;
      for (TensorId& input : spec.inputs) input = tensors_[input];
      for (OutputSpec& output : spec.outputs) output.name = prefix + output.name;
      const std::string name = spec.name;
      const std::vector<TensorId> made = builder_.AddOp(std::move(spec)).Take();
      for (size_t i = 0; i < made.size(); ++i) {
        tensors_[op.outputs[i]] = made[i];
        of_.push_back(op.outputs[i]);
      }
      std::string& last = last_of_[step_.group(id)];
      if (!last.empty()) builder_.Colocate(last, name);
      last = name;
    }
  }

  const Graph& step_;
  GraphBuilder builder_;
  IdVector<TensorId, TensorId> tensors_;  // of what is written, by those of the step: the last
  IdVector<TensorId, TensorId> of_;       // of the step, by those of what is written
  IdVector<GroupId, std::string> last_of_;
};

}  // namespace

Graph Twice(const Graph& step) { return TwiceWriter(step).Write(); }

}  // namespace placewright::tests
