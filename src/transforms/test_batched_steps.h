// For tests: steps that follow their batch, written op by op.
#ifndef PLACEWRIGHT_TRANSFORMS_TEST_BATCHED_STEPS_H_
#define PLACEWRIGHT_TRANSFORMS_TEST_BATCHED_STEPS_H_

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"

namespace placewright {

inline Value Read(int32_t i) { return Value(InputRef{i}); }
inline Value Number(int64_t number) { return Value(number); }

// Writes steps op by op. What begins with the batch follows it.
class BatchedStepWriter {
 public:
  explicit BatchedStepWriter(int64_t batch) : batch_(batch) { builder_.set_batch(batch); }

  TensorId Input(const std::string& name, std::vector<int64_t> shape, DType dtype = DType::kF32) {
    const TensorKind kind = name.starts_with("param:")    ? TensorKind::kParameter
                            : name.starts_with("buffer:") ? TensorKind::kBuffer
                                                          : TensorKind::kInput;
    return builder_.AddInput(name, kind, dtype, std::move(shape)).Take();
  }
  void Begin(Phase phase) { phase_ = phase; }
  void Enter(std::string module) { module_ = std::move(module); }

  TensorId Op(const std::string& name, const std::string& type, std::vector<TensorId> inputs,
              std::vector<int64_t> shape, std::vector<Value> more = {},
              AliasKind alias = AliasKind::kFresh, DType dtype = DType::kF32) {
    return Ops(name, type, std::move(inputs), {std::move(shape)}, std::move(more), alias, dtype)[0];
  }
  std::vector<TensorId> Ops(const std::string& name, const std::string& type,
                            std::vector<TensorId> inputs, std::vector<std::vector<int64_t>> shapes,
                            std::vector<Value> more = {}, AliasKind alias = AliasKind::kFresh,
                            DType dtype = DType::kF32) {
    OpSpec op{.name = name, .type = "aten." + type};
    op.phase = phase_;
    op.module = module_;
    op.in_root = module_.empty();
    for (size_t i = 0; i < inputs.size(); ++i) op.args.push_back(Read(static_cast<int32_t>(i)));
    op.inputs = std::move(inputs);
    op.args.insert(op.args.end(), more.begin(), more.end());
    for (size_t i = 0; i < shapes.size(); ++i) {
      OutputSpec output{.name = shapes.size() == 1 ? name : fmt::format("{}:{}", name, i)};
      output.dtype = dtype;
      output.shape = shapes[i];
      output.alias = alias;
      if (alias != AliasKind::kFresh) output.alias_of = 0;
      op.outputs.push_back(std::move(output));
    }
    return builder_.AddOp(std::move(op)).Take();
  }
  GraphBuilder& builder() { return builder_; }

  // With a proof that first dimensions which are multiples of the batch follow it.
  Graph Build(std::vector<TensorId> outputs) {
    builder_.SetOutputs(std::move(outputs));
    Graph graph = std::move(builder_).Build().Take();
    BatchScaling laws;
    laws.sizes = {batch_, batch_ + 1, batch_ + 3};
    for (const TensorId id : graph.tensors()) {
      const Tensor& tensor = graph.tensor(id);
      const bool follows = !tensor.shape.empty() && tensor.kind != TensorKind::kParameter &&
                           tensor.shape[0] % batch_ == 0;
      if (follows) laws.dimensions.items.push_back({0, tensor.shape[0] / batch_});
      laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
    }
    laws.arguments.offsets.assign(graph.op_count() + 1, 0);
    return WithBatchScaling(std::move(graph), std::move(laws)).Take();
  }

 private:
  const int64_t batch_;
  Phase phase_ = Phase::kForward;
  std::string module_;
  GraphBuilder builder_{"step", "aten"};
};

// x w' against y in squares, and a step of plain gradient descent; w has 5 by 3.
inline Graph Perceptron(int64_t batch) {
  BatchedStepWriter step(batch);
  const TensorId x = step.Input("input:x", {batch, 3}), y = step.Input("input:y", {batch, 5});
  const TensorId w = step.Input("param:w", {5, 3});
  const TensorId wt = step.Op("wt", "t.default", {w}, {3, 5}, {}, AliasKind::kView);
  const TensorId p = step.Op("p", "mm.default", {x, wt}, {batch, 5});
  const TensorId loss = step.Op("loss", "mse_loss.default", {p, y}, {}, {Number(1)});
  step.Begin(Phase::kBackward);
  const TensorId one = step.Op("one", "ones_like.default", {loss}, {});
  const TensorId gp =
      step.Op("gp", "mse_loss_backward.default", {one, p, y}, {batch, 5}, {Number(1)});
  const TensorId gpt = step.Op("gpt", "t.default", {gp}, {5, batch}, {}, AliasKind::kView);
  const TensorId gw = step.Op("gw", "mm.default", {gpt, x}, {5, 3});
  step.Begin(Phase::kOptimizer);
  const TensorId next = step.Op("next", "sub_.Tensor", {w, gw}, {5, 3}, {}, AliasKind::kInPlace);
  Graph graph = step.Build({loss, next});
  // The transposed gradient has the batch in its second dimension.
  BatchScaling laws = *graph.batch_scaling();
  laws.dimensions = {};
  for (const TensorId id : graph.tensors()) {
    const std::string& name = graph.tensor(id).name;
    if (name == "input:x" || name == "input:y" || name == "p" || name == "gp") {
      laws.dimensions.items.push_back({0, 1});
    }
    if (name == "gpt") laws.dimensions.items.push_back({1, 1});
    laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
  }
  return WithBatchScaling(std::move(graph), std::move(laws)).Take();
}

// Of y = conv(x, w): gradients of x, of w and of the bias, which other ops read.
inline Graph ConvolutionStep() {
  BatchedStepWriter step(2);
  const TensorId g = step.Input("input:g", {2, 6, 3, 3}), x = step.Input("input:x", {2, 2, 5, 5});
  const TensorId w = step.Input("param:w", {6, 2, 3, 3});
  step.Begin(Phase::kBackward);
  const auto numbers = [](int64_t a, int64_t b) {
    return Value(Value::List{Number(a), Number(b)});
  };
  const std::vector<TensorId> made = step.Ops(
      "back", "convolution_backward.default", {g, x, w}, {{2, 2, 5, 5}, {6, 2, 3, 3}, {6}},
      {Value(Value::List{Number(6)}), numbers(1, 1), numbers(0, 0), numbers(1, 1), Value(false),
       numbers(0, 0), Number(1), Value(Value::List{Value(true), Value(true), Value(true)})});
  step.Op("gx", "relu.default", {made[0]}, {2, 2, 5, 5});
  step.Begin(Phase::kOptimizer);
  step.Op("next", "sub_.Tensor", {w, made[1]}, {6, 2, 3, 3}, {}, AliasKind::kInPlace);
  return step.Build({});
}

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_TEST_BATCHED_STEPS_H_
