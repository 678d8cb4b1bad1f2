#include "sim/step_split.h"

#include <gmock/gmock.h>
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

// a until 100, c from 200 to 300 of 400; an all-reduce from 90 to 350, a gather from 120 to 200: the gather is what c
// waited for, so that 20 and, behind c, 50 are the all-reduce's.
TEST(StepSplit, ADeviceWaitsForWhatEndsWhenItGoesOn) {
  Graph graph = [] {
    GraphBuilder builder("net", "aten");
    const TensorId x = builder.AddInput("x", TensorKind::kInput, DType::kF32, {1}).Take();
    for (const char* name : {"a", "r", "s", "c"}) {
      OpSpec op;
      op.name = name;
      op.type = name[0] == 'r'   ? "placewright.all_reduce.default"
                : name[0] == 's' ? "placewright.all_gather.default"
                                 : "aten.mm.default";
      op.inputs = {x};
      op.outputs = {{.name = name, .shape = {1}}};
      EXPECT_TRUE(builder.AddOp(std::move(op)).ok());
    }
    EXPECT_TRUE(builder.AddCollective("r", {OpId(1)}).ok());
    EXPECT_TRUE(builder.AddCollective("s", {OpId(2)}).ok());
    return std::move(builder).Build().Take();
  }();
  Placement placement(graph.op_count(), DeviceId(0));
  Schedule schedule;
  schedule.ops.assign(graph.op_count(), {});
  schedule.ops[graph.FindOp("a")] = {Nanos(0), Nanos(100)};
  schedule.ops[graph.FindOp("c")] = {Nanos(200), Nanos(300)};
  schedule.collectives.assign(graph.collective_count(), {});
  for (const CollectiveId id : graph.collectives()) {
    const bool reduces = graph.op(graph.collective(id).members.front()).name == "r";
    schedule.collectives[id].start = Nanos(reduces ? 90 : 120);
    schedule.collectives[id].end = Nanos(reduces ? 350 : 200);
  }
  const StepSplit split = SplitOfStep(graph, placement, schedule, 1, Nanos(400));
  EXPECT_THAT(split.op_types, testing::ElementsAre(std::pair("aten.mm.default", 0.5)));
  EXPECT_THAT(split.kinds,
              testing::ElementsAre(std::pair("all-gather", 0.2), std::pair("all-reduce", 0.175)));
  EXPECT_DOUBLE_EQ(split.idle, 0.125);
}

}  // namespace
}  // namespace placewright
