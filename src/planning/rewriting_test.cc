// What is said of a pipeline before its step is rewritten.
#include "planning/rewriting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/catalogue.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

Graph StepOfSamples(int64_t samples) {
  GraphBuilder builder("step", "aten");
  builder.set_batch(samples);
  (void)builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {samples, 4}).Take();
  return std::move(builder).Build().Take();
}

// Four stages of eight GPUs: micro-batches of eight samples do, of seven do not. Two kinds of GPUs may be planned on one of
// them alone.
TEST(Rewriting, AMicroBatchHasASampleForEachGpuOfAStage) {
  const Cluster alike = MakePreset("4x 8xH100").Take();
  const Rewriting pipeline{.micro_batches = 4, .schedule = "1f1b", .stages = 4};
  EXPECT_TRUE(CheckSamplesOfStages(StepOfSamples(32), alike, pipeline).ok());
  const Status refused = CheckSamplesOfStages(StepOfSamples(28), alike, pipeline);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("7 samples is shared out to 8 parts"));
  EXPECT_THAT(refused.error().remedy, ::testing::HasSubstr("--stages"));
  const Cluster mixed = MakePreset("mixed-lab").Take();
  const Rewriting two{.micro_batches = 4, .schedule = "1f1b", .stages = 2};
  EXPECT_TRUE(CheckSamplesOfStages(StepOfSamples(4), mixed, two).ok());
}

// A step of layers.0, layers.1, ..., each with a parameter.
Graph StepOfLayers(int64_t layers, int64_t samples) {
  GraphBuilder builder("layers", "aten");
  builder.set_batch(samples);
  TensorId x = builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {samples, 4}).Take();
  for (int64_t i = 0; i < layers; ++i) {
    const std::string layer = "layers." + std::to_string(i);
    const TensorId w =
        builder.AddInput("param:" + layer + ".scale.w", TensorKind::kParameter, DType::kF32, {4})
            .Take();
    OpSpec op{.name = "mul" + std::to_string(i), .type = "aten.mul.Tensor"};
    op.module = layer + ".scale";
    op.inputs = {x, w};
    op.outputs = {{.name = op.name, .shape = {samples, 4}}};
    x = builder.AddOp(std::move(op)).Take()[0];
  }
  builder.SetOutputs({x});
  return std::move(builder).Build().Take();
}

// Eight GPUs and 32 layers: eight stages of one GPU each have no tensor groups, two have four GPUs each. Three layers on
// four hosts are two stages of two hosts; without groups three stages.
TEST(Rewriting, StagesOfTensorGroupsHaveSeveralGpus) {
  const Cluster host = MakePreset("8xH100").Take(), four = MakePreset("4x 8xH100").Take();
  const auto stages = [](const Cluster& cluster, int64_t layers, bool of_groups) {
    const Rewriting asked{.schedule = "1f1b"};
    return ChooseRewriting(StepOfLayers(layers, 64), cluster, asked, of_groups).Take().stages;
  };
  EXPECT_EQ(stages(host, 32, false), 8);
  EXPECT_EQ(stages(host, 32, true), 2);
  EXPECT_EQ(stages(host, 3, true), 2);
  EXPECT_EQ(stages(four, 32, true), 4);
  EXPECT_EQ(stages(four, 3, true), 2);
  EXPECT_EQ(stages(four, 3, false), 3);
}

// No multiple of three divides 16 samples; of two stages with four GPUs each, four micro-batches do.
TEST(Rewriting, StagesThatFindNoMicroBatchesAreFewer) {
  const Graph step = StepOfLayers(6, 16);
  const Cluster host = MakePreset("8xH100").Take();
  const Rewriting chosen = ChooseRewriting(step, host, {.schedule = "interleaved"}).Take();
  EXPECT_EQ(chosen.stages, 2);
  EXPECT_EQ(chosen.micro_batches, 4);
  const auto stated = ChooseRewriting(step, host, {.schedule = "interleaved", .stages = 3});
  ASSERT_FALSE(stated.ok());
  EXPECT_THAT(stated.error().message, ::testing::HasSubstr("interleaved 3 stages"));
}

}  // namespace
}  // namespace placewright
