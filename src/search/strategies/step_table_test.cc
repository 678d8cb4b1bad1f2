#include "search/strategies/step_table.h"

#include <gtest/gtest.h>

#include "cluster/catalogue.h"
#include "search/layouts/test_attention.h"

namespace placewright {
namespace {

TEST(StepTable, KnowsWhatTakesMoreOfTheLastTokens) {
  const Cluster cluster = MakePreset("2xH100").Take();
  for (const bool causal : {false, true}) {
    const Graph graph = SelfAttention(causal, /*places=*/16);
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
