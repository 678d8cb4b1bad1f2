#include "compile/transforms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/test_draws.h"
#include "graph/test_graphs.h"
#include "plan/distributed_step.h"

namespace placewright {
namespace {

using ::testing::IsEmpty;

TEST(Transforms, ThoseThatChangeNothingAreNotApplied) {
  TinyGraph graph;
  graph.Fresh("op", {graph.Input("input:x", TensorKind::kInput, {4})});
  const Graph step = graph.Build();
  const TransformedStep made = ApplyTransforms(step, kUsualTransforms).Take();
  EXPECT_EQ(made.graph, nullptr);
  EXPECT_THAT(made.applied, IsEmpty());
}

TEST(Transforms, CountDrawsOnce) {
  const Graph step = DrawingStep();
  const TransformedStep once = ApplyTransforms(step, kUsualTransforms).Take();
  ASSERT_NE(once.graph, nullptr);
  EXPECT_EQ(once.applied, kUsualTransforms);
  EXPECT_TRUE(once.graph->FindTensor(kStepCounter).valid());
  EXPECT_EQ(once.graph->op_count(), step.op_count() + 1);
  // Draws that count are drawn no other way.
  const Transform counted = {Transform::kCountedDraws};
  EXPECT_EQ(ApplyTransforms(step, {counted, counted}).Take().applied, Transforms{counted});
  EXPECT_EQ(ApplyTransforms(step, {}).Take().graph, nullptr);
}

}  // namespace
}  // namespace placewright
