#include "planning/plan_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "planning/plan_session.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/layouts/test_clusters.h"
#include "search/layouts/test_tiny_steps.h"
#include "transforms/test_draws.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

DistributionSpec Alike(LayoutOption option) {
  return {{{"*", GroupId(), "", {{"a", {}}, {"b", {}}}, option}}, {}};
}

// What words leave open is decided once: the plan's own words say where each group lies.
TEST(PlanWords, ModelParallelGroupsLieOnOneDeviceEach) {
  const LayeredProblem tiny(3, {}, 4);
  const DistributionSpec stated = Alike(LayoutOption::kModelParallel);
  const StepPlan plan = ResolvePlan(*tiny.layouts, stated).Take();
  EXPECT_TRUE(plan.IsPlaced());
  EXPECT_THAT(DevicesOf(plan), ElementsAre(DeviceId(0), DeviceId(1)));
  const DistributionSpec words = Restate(*tiny.layouts, plan, stated);
  for (const LayoutSpec& spec : words.layouts) EXPECT_EQ(spec.option, LayoutOption::kPlace);
  EXPECT_EQ(ResolvePlan(*tiny.layouts, words).Take(), plan);
}

TEST(PlanWords, ExceptionsHoldBesideWhatIsLeftOpen) {
  const LayeredProblem tiny(3, {}, 4);
  DistributionSpec stated = Alike(LayoutOption::kModelParallel);
  stated.layouts.push_back({"", GroupId(1), "", {{"a", {}}, {"b", {}}}, LayoutOption::kDuplicate});
  const StepPlan plan = ResolvePlan(*tiny.layouts, stated).Take();
  EXPECT_EQ(plan.layouts.Of(GroupId(1)).shares.size(), 2u);
  EXPECT_EQ(plan.layouts.Of(GroupId(0)).shares.size(), 1u);
}

TEST(PlanWords, StatedWordsAreKept) {
  const LayeredProblem tiny(3, {}, 4);
  const StepPlan plan = ResolvePlan(*tiny.layouts, EvenSplit()).Take();
  const DistributionSpec words = Restate(*tiny.layouts, plan, EvenSplit());
  ASSERT_EQ(words.layouts.size(), 1u);
  EXPECT_THAT(words.layouts[0].devices[1].box, ElementsAre(LayoutSpec::Interval{"", 4, 8}));
  EXPECT_FALSE(words.transforms.has_value());  // nothing is drawn
}

TEST(PlanWords, FetchingNamesModules) {
  const LayeredProblem tiny(3, {}, 4);
  DistributionSpec stated = EvenSplit();
  stated.switches.regather = {"*"};
  stated.switches.prefetch = 1;
  const StepPlan plan = ResolvePlan(*tiny.layouts, stated).Take();
  EXPECT_EQ(plan.switches, stated.switches);
  EXPECT_EQ(StatePlan(*tiny.layouts, plan).switches, stated.switches);
  stated.switches.regather.push_back("decoder");
  const Error error = ResolvePlan(*tiny.layouts, stated).error();
  EXPECT_EQ(error.place, "regather[1]");
  EXPECT_THAT(error.message, HasSubstr("\"decoder\" matches no module"));
}

class DrawingPlans : public ::testing::Test {
 protected:
  DrawingPlans()
      : graph_(DrawingStep()),
        cluster_(TwoDevices(BytesPerSecond(1'000'000'000))),
        problem_(
            LayoutProblem::Make(graph_, cluster_, CostOptions(), SchedulingPolicy::kFifo).Take()),
        costs_(ModelCosts(graph_, cluster_, parts_).Take()) {}

  const Graph graph_;
  const Cluster cluster_;
  const std::unique_ptr<LayoutProblem> problem_;
  const CostOptions parts_;
  const CostTable costs_;
};

TEST_F(DrawingPlans, StateTheirTransforms) {
  DistributionSpec spec = Alike(LayoutOption::kDuplicate);
  const StepPlan plan = ResolvePlan(*problem_, spec).Take();
  EXPECT_EQ(StatePlan(*problem_, plan).transforms, kUsualTransforms);
  spec.transforms = kUsualTransforms;
  EXPECT_EQ(ResolvePlan(*problem_, spec).Take().transforms, kUsualTransforms);
}

TEST_F(DrawingPlans, AreRefusedWithOthers) {
  DistributionSpec spec = Alike(LayoutOption::kDuplicate);
  StepPlan plan = ResolvePlan(*problem_, spec).Take();
  spec.transforms = Transforms();
  const Error error = ResolvePlan(*problem_, spec).error();
  EXPECT_EQ(error.place, "transforms");
  EXPECT_THAT(error.message, HasSubstr("counted-draws"));
  spec.transforms = {kUsualTransforms.front(), kUsualTransforms.front()};
  EXPECT_FALSE(ResolvePlan(*problem_, spec).ok());
  const LayeredProblem draws_nothing(3, {}, 4);
  spec.transforms = kUsualTransforms;
  EXPECT_THAT(ResolvePlan(*draws_nothing.layouts, spec).error().message, HasSubstr("no transform"));
  // Who hands in plans, not words, is refused by the seam.
  const auto session = PlanSession::Open(graph_, cluster_, costs_, &parts_, {}, {}).Take();
  EXPECT_TRUE(session->evaluator().EvaluatePlan(plan).ok());
  plan.transforms = Transforms();
  EXPECT_EQ(session->evaluator().EvaluatePlan(plan).error().place, "transforms");
  EXPECT_EQ(session->evaluator().Compile(plan).error().place, "transforms");
}

}  // namespace
}  // namespace placewright
