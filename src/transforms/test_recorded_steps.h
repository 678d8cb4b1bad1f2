// For tests: training steps as they are recorded, written op by op.
#ifndef PLACEWRIGHT_TRANSFORMS_TEST_RECORDED_STEPS_H_
#define PLACEWRIGHT_TRANSFORMS_TEST_RECORDED_STEPS_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"

namespace placewright {

// Tensors are named after their ops, all [4 8] of f32.
class StepByOps {
 public:
  StepByOps& In(Phase phase, std::string module) {
    phase_ = phase;
    module_ = std::move(module);
    return *this;
  }
  void Input(const std::string& name, TensorKind kind) {
    (void)builder_.AddInput(name, kind, DType::kF32, {4, 8}).Take();
  }
  void Op(const std::string& name, const std::string& type, const std::vector<std::string>& inputs,
          AliasKind alias = AliasKind::kFresh, std::vector<int32_t> writes = {}, int outputs = 1) {
    OpSpec spec{.name = name, .type = "aten." + type, .phase = phase_, .module = module_};
    spec.in_root = module_.empty();
    for (const std::string& input : inputs) spec.inputs.push_back(builder_.Lookup(input));
    for (size_t i = 0; i < inputs.size(); ++i)
      spec.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    for (int i = 0; i < outputs; ++i) {
      OutputSpec output{.name = outputs == 1 ? name : name + ":" + std::to_string(i),
                        .shape = {4, 8}};
      output.alias = alias;
      output.alias_of = alias == AliasKind::kFresh ? -1 : 0;
      spec.outputs.push_back(std::move(output));
    }
    spec.writes = std::move(writes);
    const auto made = builder_.AddOp(std::move(spec));
    ASSERT_TRUE(made.ok()) << made.error().ToString();
  }
  Graph Build(const std::vector<std::string>& outputs = {}) {
    std::vector<TensorId> ids;
    for (const std::string& output : outputs) ids.push_back(builder_.Lookup(output));
    builder_.SetOutputs(std::move(ids));
    return std::move(builder_).Build().Take();
  }

 private:
  GraphBuilder builder_{"step", "aten"};
  Phase phase_ = Phase::kForward;
  std::string module_;
};

// Two blocks: norm, product, activation, addition to what came in. The derivative of the activation reads what it
// reads, that of the product what the norm made, that of the norm what came in and its statistics.
inline Graph TwoBlocks(const std::string& list = "layers") {
  StepByOps step;
  step.Input("param:w", TensorKind::kParameter);
  step.Input("input:x", TensorKind::kInput);
  std::string x = "input:x";
  for (const char* i : {"0", "1"}) {
    const std::string block = list + "." + i, n(i);
    step.In(Phase::kForward, block + ".norm")
        .Op("norm" + n, "norm.default", {x}, AliasKind::kFresh, {}, 2);
    step.In(Phase::kForward, block + ".up")
        .Op("up" + n, "mm.default", {"norm" + n + ":0", "param:w"});
    step.In(Phase::kForward, block).Op("act" + n, "tanh.default", {"up" + n});
    step.Op("sum" + n, "add.Tensor", {"act" + n, x});
    x = "sum" + n;
  }
  step.In(Phase::kForward, "").Op("loss", "mean.default", {x});
  step.In(Phase::kBackward, "").Op("g", "ones_like.default", {"loss"});
  std::string g = "g";
  for (const char* i : {"1", "0"}) {
    const std::string block = list + "." + i, n(i);
    const std::string entered = n == "1" ? "sum0" : "input:x";
    step.In(Phase::kBackward, block).Op("dact" + n, "gelu_backward.default", {g, "up" + n});
    step.In(Phase::kBackward, block + ".up")
        .Op("dw" + n, "mm.default", {"norm" + n + ":0", "dact" + n});
    step.Op("dup" + n, "mm.default", {"dact" + n, "param:w"});
    step.In(Phase::kBackward, block + ".norm")
        .Op("dnorm" + n, "norm_backward.default", {"dup" + n, entered, "norm" + n + ":1"});
    step.In(Phase::kBackward, block).Op("dsum" + n, "add.Tensor", {"dnorm" + n, g});
    g = "dsum" + n;
  }
  return step.Build({"loss"});
}

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_TEST_RECORDED_STEPS_H_
