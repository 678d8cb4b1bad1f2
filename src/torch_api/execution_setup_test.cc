#include "torch_api/execution_setup.h"

#include <gtest/gtest.h>

#include "sim/tiny_step.h"

namespace placewright {
namespace {

// Two ops on d0 and one on d1: each device gets its ops in the order of the file, and nothing where it takes what is
// ready.
TEST(ExecutionSetup, TheProgramsOrderIsGivenAsSequences) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId y = step.Op("a", 0, 1, {}, {8})[0];
  step.Op("b", 1, 1, {y}, {8});
  step.Op("c", 0, 1, {}, {8});
  const TinyProblem problem = step.Build();
  const auto request_of = [&](SchedulingPolicy policy) {
    return MakeExecutionRequest(problem.graph, problem.cluster, problem.costs, problem.placement,
                                policy, /*simulate=*/true)
        .Take();
  };
  const Sequences sequences = request_of(SchedulingPolicy::kProgram).sequences;
  ASSERT_EQ(sequences.size(), 2u);
  EXPECT_EQ(*sequences[DeviceId(0)], (std::vector<OpId>{OpId(0), OpId(2)}));
  EXPECT_EQ(*sequences[DeviceId(1)], std::vector<OpId>{OpId(1)});
  EXPECT_TRUE(request_of(SchedulingPolicy::kFifo).sequences.empty());
}

TEST(ExecutionSetup, AnOrderThatCannotRunIsRefused) {
  TinyStep step(1);
  TinyOpOptions after;
  after.after = {"late"};
  step.Op("early", 0, 1, {}, {8}, after);
  step.Op("late", 0, 1, {}, {8});
  const TinyProblem problem = step.Build();
  const auto request = MakeExecutionRequest(problem.graph, problem.cluster, problem.costs,
                                            problem.placement, SchedulingPolicy::kProgram, true);
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(request.error().code, ErrorCode::kGraphOrder);
}

}  // namespace
}  // namespace placewright
