// Planners and evaluators from a library that is opened when it is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <placewright/placewright.h>

#include <cstdlib>

#include "cost/cost_model.h"
#include "planning/algorithms.h"
#include "planning/prepared_problem.h"
#include "torch_api/evaluator_service.h"
#include "torch_api/planner_service.h"
#include "torch_api/torch_library.h"

namespace placewright {
namespace {

class Services : public testing::Test {
 protected:
  Services() : cluster_(ReadCluster("2xV100").Take()) {
    setenv("PLACEWRIGHT_TORCH_LIBRARY", PLACEWRIGHT_STUB_SERVICES, 1);
    GraphBuilder builder("two", "test");
    OpSpec first{.name = "first", .type = "aten.relu.default"};
    first.outputs = {{.name = "first.out", .shape = {1024}}};
    const TensorId made = builder.AddOp(first).Take()[0];
    OpSpec second{.name = "second", .type = "aten.relu.default"};
    second.inputs = {made};
    second.outputs = {{.name = "second.out", .shape = {1024}}};
    builder.SetOutputs({builder.AddOp(second).Take()[0]});
    graph_ = std::move(builder).Build().Take();
    costs_ = ModelCosts(graph_, cluster_, {}).Take();
    prepared_ = PreparedProblem::Prepare(graph_, cluster_, costs_, {}).Take();
  }

  Graph graph_;
  Cluster cluster_;
  CostTable costs_;
  std::unique_ptr<PreparedProblem> prepared_;
};

TEST_F(Services, PlannersStandInTheTableAndInAuto) {
  const Result<TorchLibrary> library = TorchLibrary::Open();
  ASSERT_TRUE(library.ok()) << library.error().ToString();
  EXPECT_EQ(library.value().api().capture(), nullptr);
  ASSERT_NE(library.value().api().planners(), nullptr);
  PlannerTable more;
  more.push_back(library.value().api().planners()->MakePlanner("stub-last", {}).Take());
  const Algorithms algorithms({}, std::move(more));
  EXPECT_EQ(algorithms.all().back()->name(), "stub-last");
  const Planner* planner = algorithms.Find("stub-last").Take();
  const PlannerResult result =
      planner->Plan(prepared_->problem(), prepared_->evaluator(), {}).Take();
  EXPECT_EQ(PlacementOf(graph_, result.plan)[OpId(0)], DeviceId(cluster_.device_count() - 1));
  PlannerOptions options;
  options.budget.iterations = 10;
  const PlannerResult best = algorithms.Find("auto")
                                 .Take()
                                 ->Plan(prepared_->problem(), prepared_->evaluator(), options)
                                 .Take();
  EXPECT_TRUE(std::any_of(best.baselines.begin(), best.baselines.end(),
                          [](const Baseline& b) { return b.algorithm == "stub-last"; }));
}

TEST_F(Services, EvaluatorsScoreWhatPlannersMake) {
  const Result<TorchLibrary> library = TorchLibrary::Open();
  ASSERT_TRUE(library.ok()) << library.error().ToString();
  ASSERT_NE(library.value().api().evaluators(), nullptr);
  const std::unique_ptr<Evaluator> evaluator =
      library.value().api().evaluators()->MakeMeasuringEvaluator(prepared_->problem()).Take();
  const Algorithms algorithms;
  const PlannerResult result =
      algorithms.Find("heft").Take()->Plan(prepared_->problem(), *evaluator, {}).Take();
  EXPECT_EQ(result.step_time, Nanos(2));
}

}  // namespace
}  // namespace placewright
