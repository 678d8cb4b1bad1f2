#include "planning/quick_fit.h"

#include <gmock/gmock.h>

#include "cost/cost_model.h"
#include "formats/input.h"
#include "graph/graph_builder.h"
#include "planning/algorithms.h"
#include "search/evaluation/group_placement.h"
#include "search/problem/layout_problem.h"

namespace placewright {
namespace {

// A chain of products, each with a parameter of 1 GiB that is there for the whole step, on the machine of four GPUs
// that hold about 11 GiB each, and of two CPUs with far more.
class QuickFitTest : public ::testing::Test {
 protected:
  const Problem& Chain(int length) {
    constexpr int64_t kWidth = 16384;
    GraphBuilder builder("chain", "test");
    TensorId last = builder.AddInput("x", TensorKind::kInput, DType::kF32, {1, kWidth}).Take();
    for (int i = 0; i < length; ++i) {
      const std::string name = "layer" + std::to_string(i);
      const TensorId weight =
          builder.AddInput(name + ".weight", TensorKind::kParameter, DType::kF32, {kWidth, kWidth})
              .Take();
      OpSpec product;
      product.name = name;
      product.type = "aten.mm.default";
      product.module = name;
      product.inputs = {last, weight};
      product.outputs = {{.name = name, .shape = {1, kWidth}}};
      last = builder.AddOp(product).Take()[0];
    }
    builder.SetOutputs({last});
    graph_.emplace(std::move(builder).Build().Take());
    costs_.emplace(ModelCosts(*graph_, cluster_, {}, nullptr).Take());
    problem_ = BuildProblem(*graph_, cluster_, *costs_, {}, SchedulingPolicy::kFifo).Take();
    return problem_;
  }

  const Cluster cluster_ = LoadCluster("4xP100", {}).Take().cluster;
  std::optional<Graph> graph_;
  std::optional<CostTable> costs_;
  Problem problem_;
};

TEST_F(QuickFitTest, FindsAPlanOnGpus) {
  const QuickFit fit = FindFit(Chain(30), nullptr, {}).Take();
  ASSERT_TRUE(fit.fits);
  EXPECT_TRUE(fit.plan.feasible);
  for (const OpId op : graph_->ops()) {
    EXPECT_EQ(cluster_.kind(PlacementOf(problem_, fit.plan.plan)[op]).device_class,
              DeviceClass::kGpu);
  }
}

// 60 GiB are more than the GPUs have; the CPUs have 125.
TEST_F(QuickFitTest, WhatCpusHoldAloneIsNoAnswer) {
  const QuickFit fit = FindFit(Chain(60), nullptr, {}).Take();
  EXPECT_FALSE(fit.fits);
  EXPECT_TRUE(fit.proven);
  EXPECT_NE(fit.reason, "");
}

// 30 GiB are more than one GPU has, though a search would find a plan.
TEST_F(QuickFitTest, APlannerThatMakesOnePlanIsTriedAlone) {
  const Algorithms algorithms;
  const Planner* const single = algorithms.Find("single").Take();
  EXPECT_TRUE(FindFit(Chain(8), single, {}).Take().fits);
  const QuickFit fit = FindFit(Chain(30), single, {}).Take();
  EXPECT_FALSE(fit.fits);
  EXPECT_FALSE(fit.proven);
}

// A product whose weight of 16 GiB fits no device as a whole: data parallelism copies it, and placements keep it whole.
TEST_F(QuickFitTest, SearchesLayoutsWhereNothingElseFits) {
  constexpr int64_t kWidth = 65536;
  GraphBuilder builder("wide", "test");
  const TensorId x = builder.AddInput("x", TensorKind::kInput, DType::kF32, {4, kWidth}).Take();
  const TensorId weight =
      builder.AddInput("wide.weight", TensorKind::kParameter, DType::kF32, {kWidth, kWidth}).Take();
  OpSpec product;
  product.name = product.module = "wide";
  product.type = "aten.mm.default";
  product.inputs = {x, weight};
  product.outputs = {{.name = "y", .shape = {4, kWidth}}};
  builder.SetOutputs({builder.AddOp(product).Take()[0]});
  graph_.emplace(std::move(builder).Build().Take());
  costs_.emplace(ModelCosts(*graph_, cluster_, {}, nullptr).Take());
  problem_ = BuildProblem(*graph_, cluster_, *costs_, {}, SchedulingPolicy::kFifo).Take();
  const QuickFit whole = FindFit(problem_, nullptr, {}).Take();
  EXPECT_FALSE(whole.fits);
  EXPECT_TRUE(whole.proven);
  const auto layouts = LayoutProblem::Make(*graph_, cluster_, {}, SchedulingPolicy::kFifo).Take();
  problem_.layouts = layouts.get();
  const QuickFit parts = FindFit(problem_, nullptr, {}).Take();
  ASSERT_TRUE(parts.fits);
  EXPECT_FALSE(parts.plan.plan.IsPlaced());
  const std::vector<DeviceId> devices = DevicesOf(parts.plan.plan);
  EXPECT_GT(devices.size(), 1U);
  for (const DeviceId device : devices) {
    EXPECT_EQ(cluster_.kind(device).device_class, DeviceClass::kGpu);
  }
}

}  // namespace
}  // namespace placewright
