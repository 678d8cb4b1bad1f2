// For tests: a step that draws random numbers.
#ifndef PLACEWRIGHT_TRANSFORMS_TEST_DRAWS_H_
#define PLACEWRIGHT_TRANSFORMS_TEST_DRAWS_H_

#include <utility>

#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"

namespace placewright {

// x [6 4]: a mask drawn in place, and a dropout behind it, in the order of the generator.
// With a probability of 0.5 the recorder leaves it out.
inline Graph DrawingStep(double p = 0.8) {
  GraphBuilder builder("draws", "aten");
  builder.set_batch(6);
  const TensorId x = builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {6, 4}).Take();
  OpSpec empty{.name = "empty", .type = "aten.empty_like.default"};
  empty.inputs = {x};
  empty.args = {Value(InputRef{0})};
  empty.outputs = {{.name = "empty", .shape = {6, 4}}};
  const TensorId noise = builder.AddOp(std::move(empty)).Take()[0];
  OpSpec mask{.name = "mask", .type = "aten.bernoulli_.float"};
  mask.inputs = {noise};
  mask.args = {Value(InputRef{0})};
  if (p != 0.5) mask.args.push_back(Value(p));
  mask.outputs = {{.name = "mask", .shape = {6, 4}, .alias = AliasKind::kInPlace, .alias_of = 0}};
  const TensorId drawn = builder.AddOp(std::move(mask)).Take()[0];
  OpSpec drop{.name = "drop", .type = "aten.native_dropout.default"};
  drop.inputs = {drawn};
  drop.args = {Value(InputRef{0}), Value(0.1), Value(true)};
  drop.after = {"mask"};
  drop.outputs = {{.name = "y", .shape = {6, 4}},
                  {.name = "kept", .dtype = DType::kBool, .shape = {6, 4}}};
  builder.SetOutputs({builder.AddOp(std::move(drop)).Take()[0]});
  Graph graph = std::move(builder).Build().Take();
  BatchScaling laws{{6, 7, 9}, "", {}, {}, 0};
  for (const TensorId id : graph.tensors()) {
    laws.dimensions.items.push_back({0, 1});
    laws.dimensions.offsets.push_back(static_cast<int32_t>(id.index()) + 1);
  }
  laws.arguments.offsets.assign(graph.op_count() + 1, 0);
  return WithBatchScaling(std::move(graph), std::move(laws)).Take();
}

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_TEST_DRAWS_H_
