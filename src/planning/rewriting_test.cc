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

}  // namespace
}  // namespace placewright
