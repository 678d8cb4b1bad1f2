#include "report/step_rates.h"

#include <gtest/gtest.h>

#include "cluster/cluster_builder.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

// Two samples of four tokens; x [8, 16] = rows of a table, h = x w with w [16, 32] in bf16.
//   forward   lookup, h = mm(x, w): 2 * 8 * 16 * 32 = 8,192 FLOPs
//   backward  again = mm(x, w), as a checkpoint has it; seed, which reads the loss; dw = mm(x', g): 2 * 16 * 8 *
//             32 = 8,192
class StepRatesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    GraphBuilder graph("lm", "aten");
    graph.set_batch(2);
    const TensorId ids =
        graph.AddInput("input:ids", TensorKind::kInput, DType::kI64, {2, 4}).Take();
    const TensorId table =
        graph.AddInput("param:e", TensorKind::kParameter, DType::kBF16, {100, 16}).Take();
    const TensorId w =
        graph.AddInput("param:w", TensorKind::kParameter, DType::kBF16, {16, 32}).Take();
    const TensorId x =
        Add(graph, "lookup", "aten.embedding.default", Phase::kForward, {table, ids}, {8, 16});
    const TensorId h = Add(graph, "h", "aten.mm.default", Phase::kForward, {x, w}, {8, 32});
    const TensorId loss = Add(graph, "loss", "aten.sum.default", Phase::kForward, {h}, {});
    Add(graph, "again", "aten.mm.default", Phase::kBackward, {x, w}, {8, 32});
    const TensorId seed =
        Add(graph, "seed", "aten.ones_like.default", Phase::kBackward, {loss}, {});
    const TensorId g =
        Add(graph, "g", "aten.expand_copy.default", Phase::kBackward, {seed}, {8, 32});
    const TensorId turned =
        Add(graph, "turned", "aten.t_copy.default", Phase::kForward, {x}, {16, 8});
    Add(graph, "dw", "aten.mm.default", Phase::kBackward, {turned, g}, {16, 32});
    graph.SetOutputs({loss});
    graph_.emplace(std::move(graph).Build().Take());

    ClusterBuilder cluster("pair");
    DeviceKind kind;
    kind.name = "gpu";
    kind.device_class = DeviceClass::kGpu;
    kind.peak = {.f32 = 1e9, .bf16 = 4e9};
    const int32_t index = cluster.AddKind(kind).Take();
    for (const char* name : {"g0", "g1"}) {
      Device device;
      device.name = name;
      device.kind = index;
      device.capacity = Bytes(1 << 20);
      ASSERT_TRUE(cluster.AddDevice(device).ok());
    }
    cluster_.emplace(std::move(cluster).Build().Take());
    // All on g0, 1 us each one after the other, but for the last: on g1, 2 us.
    placement_.assign(graph_->op_count(), DeviceId(0));
    for (const OpId op : graph_->ops()) {
      schedule_.ops.push_back({Nanos(1000 * op.value()), Nanos(1000 * op.value() + 1000)});
    }
    const OpId last = graph_->FindOp("dw");
    placement_[last] = DeviceId(1);
    schedule_.ops[last].end = schedule_.ops[last].start + Nanos(2000);
  }

  static TensorId Add(GraphBuilder& graph, const char* name, const char* type, Phase phase,
                      std::vector<TensorId> inputs, std::vector<int64_t> shape) {
    OpSpec spec;
    spec.name = name;
    spec.type = type;
    spec.phase = phase;
    spec.inputs = std::move(inputs);
    OutputSpec output;
    output.name = name;
    output.dtype = DType::kBF16;
    output.shape = std::move(shape);
    spec.outputs = {output};
    return graph.AddOp(std::move(spec)).Take()[0];
  }

  StepRates Rates() const {
    return RatesOf({*graph_, *graph_, placement_, schedule_, Nanos(9000), *cluster_});
  }

  std::optional<Graph> graph_;
  std::optional<Cluster> cluster_;
  Placement placement_;
  Schedule schedule_;
};

TEST_F(StepRatesTest, WhatIsComputedAgainIsNoWorkOfTheModel) {
  const StepWork work = WorkOfStep(*graph_);
  EXPECT_EQ(work.samples, 2);
  EXPECT_EQ(work.sequence, 4);
  EXPECT_EQ(work.flops, 2 * 8192);
}

TEST_F(StepRatesTest, RatesOfTwoGpus) {
  const StepRates rates = Rates();
  EXPECT_EQ(rates.gpus, 2);
  // 2 samples, 8 tokens in 9 us.
  EXPECT_DOUBLE_EQ(rates.SamplesPerSecond(), 2 / 9e-6);
  EXPECT_DOUBLE_EQ(rates.TokensPerSecond(), 8 / 9e-6);
  // Two GPUs of 4e9 FLOP/s in bf16: 16,384 / (9e-6 * 8e9).
  EXPECT_DOUBLE_EQ(rates.peak_flops, 8e9);
  EXPECT_DOUBLE_EQ(*rates.mfu, 16384 / 72000.0);
  // 9 us on two GPUs, for 8 tokens.
  EXPECT_DOUBLE_EQ(rates.GpuHours(), 18e-6 / 3600);
  EXPECT_DOUBLE_EQ(rates.GpuHoursPerMillionTokens(), 18e-6 / 3600 / 8e-6);
  // The devices compute for 7 and 2 us of 9 each.
  EXPECT_DOUBLE_EQ(*rates.idle, 0.5);
  EXPECT_EQ(DescribeRates(rates, "modelled", true),
            "888,889 tokens/s, 444,444 a GPU; MFU 22.8%; 0.000625 GPU-hours a million tokens; "
            "bubble 50.0% (modelled)");
}

// Other integers, of a clicks model say, are no sequence: no embedding looks all of them up.
TEST_F(StepRatesTest, AnInputThatNoEmbeddingLooksUpIsNoSequence) {
  GraphBuilder builder("clicks", "aten");
  builder.set_batch(2);
  const TensorId ids =
      builder.AddInput("input:ids", TensorKind::kInput, DType::kI64, {2, 4}).Take();
  Add(builder, "one", "aten.sum.default", Phase::kForward, {ids}, {2});
  const Graph graph = std::move(builder).Build().Take();
  EXPECT_EQ(WorkOfStep(graph).sequence, 0);
}

TEST_F(StepRatesTest, APeakThatIsNotKnownLeavesNoMfu) {
  ClusterBuilder cluster("pair");
  DeviceKind kind;
  kind.name = "gpu";
  kind.device_class = DeviceClass::kGpu;
  kind.peak = {.f32 = 1e9};
  const int32_t index = cluster.AddKind(kind).Take();
  for (const char* name : {"g0", "g1"}) {
    Device device;
    device.name = name;
    device.kind = index;
    device.capacity = Bytes(1 << 20);
    ASSERT_TRUE(cluster.AddDevice(device).ok());
  }
  cluster_.emplace(std::move(cluster).Build().Take());
  EXPECT_FALSE(Rates().mfu.has_value());
}

}  // namespace
}  // namespace placewright
