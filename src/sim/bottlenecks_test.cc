#include "sim/bottlenecks.h"

#include <gtest/gtest.h>

#include "sim/simulator.h"
#include "sim/tiny_step.h"

namespace placewright {
namespace {

TEST(Bottlenecks, AccountsForEveryNanosecond) {
  TinyStep step(2);
  step.ConnectAll();  // link 0 is d0>d1: 10 ns, a byte a nanosecond
  const TensorId big = step.Op("big", 0, 5, {}, {200})[0];
  const TensorId x = step.Op("a", 0, 20, {}, {100})[0];
  step.Op("first", 1, 130, {big}, {});
  step.Op("last", 1, 7, {x}, {});
  const TinyProblem problem = step.Build();
  Simulator simulator(problem.sim_graph);
  SimOptions options;
  options.schedule = true;
  const SimResult& result = simulator.Run(problem.placement, options);
  // big 0-5, its output crosses 5-215; a 5-25, x is ready at 25, crosses 215-325; first 215-345 on
  // d1; last is ready at 325, runs 345-352. Backwards: last 7 + 20 behind first, x 110 + 190 behind
  // big's output, a 20 + 5 behind big (a was ready at 0): 7 + 20 + 110 + 190 + 20 + 5 = 352.
  ASSERT_EQ(result.step_time.count, 352);
  const Bottlenecks found = FindBottlenecks(problem.sim_graph, problem.graph, problem.cluster,
                                            problem.placement, *result.schedule);
  EXPECT_EQ(found.compute[DeviceId(1)].count, 7);
  EXPECT_EQ(found.device_wait[DeviceId(1)].count, 20);
  EXPECT_EQ(found.transfer[LinkId(0)].count, 110);
  EXPECT_EQ(found.link_wait[LinkId(0)].count, 190);
  EXPECT_EQ(found.compute[DeviceId(0)].count, 20);
  EXPECT_EQ(found.device_wait[DeviceId(0)].count, 5);
  EXPECT_EQ(found.Total().count, 352);
  EXPECT_EQ(found.path, (std::vector<OpId>{problem.op("a"), problem.op("last")}));
  const std::vector<Reason> reasons = TopReasons(found, problem.cluster);
  ASSERT_EQ(reasons.size(), 6u);
  EXPECT_EQ(reasons[0].what, "queueing for l0");
  EXPECT_EQ(reasons[1].what, "moving over l0");
  EXPECT_EQ(reasons[5].what, "queueing for d0");
}

TEST(Bottlenecks, FollowsWhatAWriterWaitsFor) {
  TinyStep step(1);
  const TensorId x = step.Op("a", 0, 5, {}, {100})[0];
  step.Op("slow", 0, 50, {x}, {});
  step.InPlace("write", 0, 7, {x});
  const TinyProblem problem = step.Build();
  Simulator simulator(problem.sim_graph);
  SimOptions options;
  options.schedule = true;
  const SimResult& result = simulator.Run(problem.placement, options);
  const Bottlenecks found = FindBottlenecks(problem.sim_graph, problem.graph, problem.cluster,
                                            problem.placement, *result.schedule);
  // a 0-5, slow 5-55, write 55-62: all of it computing, by type 55 and 7.
  EXPECT_EQ(found.compute[DeviceId(0)].count, 62);
  ASSERT_EQ(found.compute_by_type.size(), 2u);
  EXPECT_EQ(found.compute_by_type[0].first, "test.op");
  EXPECT_EQ(found.compute_by_type[0].second.count, 55);
  EXPECT_EQ(found.compute_by_type[1].second.count, 7);
}

TEST(Bottlenecks, EmptyStep) {
  TinyStep step(1);
  step.Input("x", TensorKind::kInput, 10);
  const TinyProblem problem = step.Build();
  Simulator simulator(problem.sim_graph);
  SimOptions options;
  options.schedule = true;
  const SimResult& result = simulator.Run(problem.placement, options);
  EXPECT_EQ(result.step_time.count, 0);
  EXPECT_EQ(FindBottlenecks(problem.sim_graph, problem.graph, problem.cluster, problem.placement,
                            *result.schedule)
                .Total()
                .count,
            0);
}

}  // namespace
}  // namespace placewright
