// What tests write small recorded steps with: inputs and ops, one after the other, of the module and phase that are set.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_TEST_LAYER_WRITER_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_TEST_LAYER_WRITER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"

namespace placewright {

class LayerWriter {
 protected:
  explicit LayerWriter(const char* name = "layers") : builder_(name, "aten") {}

  TensorId Input(std::string name, TensorKind kind, std::vector<int64_t> shape) {
    return builder_.AddInput(std::move(name), kind, DType::kF32, std::move(shape)).Take();
  }
  // An alias is one of the first input.
  TensorId Add(const char* type, std::vector<TensorId> inputs, std::vector<int64_t> shape,
               AliasKind alias = AliasKind::kFresh) {
    OpSpec op{.name = "op" + std::to_string(ops_++), .type = type};
    op.phase = phase_;
    op.module = module_;
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    op.inputs = std::move(inputs);
    op.outputs = {{.name = op.name, .shape = std::move(shape)}};
    op.outputs[0].alias = alias;
    if (alias != AliasKind::kFresh) op.outputs[0].alias_of = 0;
    return builder_.AddOp(std::move(op)).Take()[0];
  }
  // Every dimension of that size follows the batch.
  static Graph Scaled(Graph graph, int64_t samples) {
    BatchScaling laws;
    laws.sizes = {samples, samples + 1, 2 * samples + 3};
    for (const TensorId id : graph.tensors()) {
      const std::vector<int64_t>& shape = graph.tensor(id).shape;
      for (size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] == samples) laws.dimensions.items.push_back({static_cast<int32_t>(d), 1});
      }
      laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
    }
    laws.arguments.offsets.resize(graph.op_count() + 1, 0);
    return WithBatchScaling(std::move(graph), laws).Take();
  }

  GraphBuilder builder_;
  Phase phase_ = Phase::kForward;
  std::string module_;

 private:
  int ops_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_TEST_LAYER_WRITER_H_
