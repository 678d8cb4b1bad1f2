#include "transforms/transforms.h"

#include <gtest/gtest.h>

#include "graph/test_graphs.h"
#include "plan/distributed_step.h"
#include "transforms/test_draws.h"

namespace placewright {
namespace {

TEST(Transforms, ThoseThatChangeNothingAreNotApplied) {
  TinyGraph graph;
  graph.Fresh("op", {graph.Input("input:x", TensorKind::kInput, {4})});
  const Graph step = graph.Build();
  EXPECT_EQ(ApplyTransforms(step, kUsualTransforms).Take(), nullptr);
}

TEST(Transforms, CountDrawsOnce) {
  const Graph step = DrawingStep();
  const auto once = ApplyTransforms(step, kUsualTransforms).Take();
  ASSERT_NE(once, nullptr);
  EXPECT_EQ(once->transforms(), kUsualTransforms);
  EXPECT_TRUE(once->FindTensor(kStepCounter).valid());
  EXPECT_EQ(once->op_count(), step.op_count() + 1);
  // Draws that count are drawn no other way.
  const Transform counted = {Transform::kCountedDraws};
  EXPECT_EQ(ApplyTransforms(step, {counted, counted}).Take()->transforms(), Transforms{counted});
  EXPECT_EQ(ApplyTransforms(*once, kUsualTransforms).Take(), nullptr);
  EXPECT_EQ(ApplyTransforms(step, {}).Take(), nullptr);
}

TEST(Transforms, AreInTheOrderThatMakesThemRight) {
  EXPECT_TRUE(TransformsFor({}).empty());
  EXPECT_EQ(Describe(TransformsFor({.micro_batches = 4, .recompute = {"layers.*", "head"}})),
            "counted-draws, accumulate 4, recompute layers.* head");
}

TEST(Transforms, OfNoRecordedStepAreRefused) {
  const Graph step = GraphBuilder("model", "onnx").Build().Take();
  const Error error = ApplyTransforms(step, TransformsFor({.micro_batches = 2})).error();
  EXPECT_EQ(error.code, ErrorCode::kUsage);
  EXPECT_EQ(error.place, "transforms");
}

}  // namespace
}  // namespace placewright
