#include "search/strategies/expert_estimate.h"

#include <gtest/gtest.h>

#include "cluster/catalogue.h"
#include "sharding/mixture.h"

namespace placewright {
namespace {

// Two experts of 6 x 5 numbers in f32: 240 bytes; 8 tokens of 6 numbers are sorted once: 192. Without the experts no
// parameter is left.
TEST(ExpertEstimate, KnowsWhatStaysAndWhatCrosses) {
  const Graph graph = MixtureOfExperts(/*biased=*/false).Build();
  const Cluster cluster = MakePreset("2xH100").Take();
  const auto problem = LayoutProblem::Make(graph, cluster, {}, SchedulingPolicy::kProgram).Take();
  const StepFacts facts(*problem, {DeviceId(0), DeviceId(1)});
  const ExpertTable experts = ExpertsOfStep(facts);
  EXPECT_EQ(experts.parameters, 240);
  EXPECT_EQ(experts.state, 0);
  EXPECT_EQ(experts.tokens, 192);
  EXPECT_EQ(experts.sorts, 1);
  StepTable table;
  table.parameters = 1000;
  table.in_layers = 600;
  table.gradients = 900;
  table.sizes = {{40, 2}, {240, 1}};
  ExpertTable trained = experts;
  trained.gradients = 240;
  trained.sizes = {{240, 1}};
  const StepTable others = WithoutExperts(table, trained);
  EXPECT_EQ(others.parameters, 760);
  EXPECT_EQ(others.in_layers, 360);
  EXPECT_EQ(others.gradients, 660);
  EXPECT_EQ(others.sizes, (std::map<int64_t, int64_t>{{40, 2}}));
}

// Where a bias is looked up by the expert of a row, experts do not lie apart.
TEST(ExpertEstimate, IsOfNothingWhereExpertsStayTogether) {
  const Graph graph = MixtureOfExperts().Build();
  const Cluster cluster = MakePreset("2xH100").Take();
  const auto problem = LayoutProblem::Make(graph, cluster, {}, SchedulingPolicy::kProgram).Take();
  const ExpertTable experts = ExpertsOfStep(StepFacts(*problem, {DeviceId(0), DeviceId(1)}));
  EXPECT_EQ(experts.parameters, 0);
  EXPECT_EQ(experts.sorts, 0);
}

}  // namespace
}  // namespace placewright
