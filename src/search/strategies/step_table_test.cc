#include "search/strategies/step_table.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cluster/catalogue.h"
#include "graph/graph_builder.h"
#include "sharding/test_ops.h"

namespace placewright {
namespace {

// Attention of 8 samples with 2 heads and 16 places of 64 numbers, and the double of what it gives.
Graph Attend(bool causal) {
  const std::vector<int64_t> heads = {8, 2, 16, 64};
  GraphBuilder builder("attend", "aten");
  builder.set_batch(8);
  const auto add = [&](const char* name, const char* type, std::vector<TensorId> inputs,
                       std::vector<Value> args, const std::vector<std::vector<int64_t>>& shapes) {
    OpSpec op{.name = name, .type = type};
    op.inputs = std::move(inputs);
    op.args = std::move(args);
    for (size_t i = 0; i < shapes.size(); ++i) {
      const std::string of =
          shapes.size() == 1 ? name : std::string(name) + ":" + std::to_string(i);
      op.outputs.push_back({.name = of, .dtype = DType::kF32, .shape = shapes[i]});
    }
    return builder.AddOp(std::move(op)).Take().front();
  };
  std::vector<TensorId> inputs;
  for (const char* const name : {"input:q", "input:k", "input:v"}) {
    inputs.push_back(builder.AddInput(name, TensorKind::kInput, DType::kF32, heads).Take());
  }
  const TensorId out =
      add("attend", "aten._scaled_dot_product_flash_attention_for_cpu.default", inputs,
          {Input(0), Input(1), Input(2), Value(0.0), Value(causal)}, {heads, {8, 2, 16}});
  add("double", "aten.mul.Scalar", {out}, {Input(0), Value(2.0)}, {heads});
  return FollowingItsBatch(std::move(builder).Build().Take());
}

TEST(StepTable, KnowsWhatTakesMoreOfTheLastTokens) {
  const Cluster cluster = MakePreset("2xH100").Take();
  for (const bool causal : {false, true}) {
    const Graph graph = Attend(causal);
    const auto problem = LayoutProblem::Make(graph, cluster, {}, SchedulingPolicy::kProgram).Take();
    const StepFacts facts(*problem, {DeviceId(0), DeviceId(1)});
    const StepTable table = FactsOfStep(facts, graph).MakeTable();
    const double of_attention = facts.nanos(graph.FindOp("attend"))[0];
    EXPECT_GT(of_attention, 0);
    EXPECT_GT(table.forward.nanos[0], of_attention);
    EXPECT_EQ(table.forward.causal[0], causal ? of_attention : 0);
  }
}

}  // namespace
}  // namespace placewright
