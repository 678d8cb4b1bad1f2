#include "sim/step_split.h"

#include <gtest/gtest.h>

#include "sim/simulator.h"
#include "sim/tiny_step.h"

namespace placewright {
namespace {

// A (100 ns on d0) --90 B at 1 B/ns + 10 ns--> B (200 ns on d1): B starts at 200, the step ends at 400.
//   d0: computes 100, moves 100, idles 200;  d1: idles 100, moves 100, computes 200
TEST(StepSplit, SharesAreMeansOverTheDevicesThatCompute) {
  TinyStep step(3);
  step.ConnectAll();
  const TensorId made = step.Op("a", 0, 100, {}, {90}).front();
  step.Op("b", 1, 200, {made}, {8});
  const TinyProblem problem = step.Build();
  Simulator simulator(problem.sim_graph);
  const SimResult run = simulator.Run(problem.placement, {.schedule = true});
  ASSERT_EQ(run.step_time, Nanos(400));
  const StepSplit split =
      SplitOfStep(problem.graph, problem.placement, *run.schedule, 3, run.step_time);
  EXPECT_DOUBLE_EQ(split.compute, (0.25 + 0.5) / 2);
  EXPECT_DOUBLE_EQ(split.communication, (0.25 + 0.25) / 2);
  EXPECT_DOUBLE_EQ(split.idle, (0.5 + 0.25) / 2);
}

// What moves while the device computes is hidden.
TEST(StepSplit, CommunicationBesideComputingIsHidden) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId made = step.Op("a", 0, 100, {}, {90}).front();
  step.Op("c", 0, 300, {}, {8});
  step.Op("b", 1, 200, {made}, {8});
  const TinyProblem problem = step.Build();
  Simulator simulator(problem.sim_graph);
  const SimResult run = simulator.Run(problem.placement, {.schedule = true});
  ASSERT_EQ(run.step_time, Nanos(400));
  const StepSplit split =
      SplitOfStep(problem.graph, problem.placement, *run.schedule, 2, run.step_time);
  EXPECT_DOUBLE_EQ(split.compute, (1 + 0.5) / 2);
  EXPECT_DOUBLE_EQ(split.communication, 0.25 / 2);
}

}  // namespace
}  // namespace placewright
