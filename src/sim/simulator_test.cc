// Times of tiny steps, each derived by hand. Unless a test says otherwise every ordered pair of
// devices has a link of its own: 10 ns, then a byte a nanosecond.
#include "sim/simulator.h"

#include <gtest/gtest.h>

#include "sim/placement_check.h"
#include "sim/saturation_check.h"
#include "sim/tiny_step.h"

namespace placewright {
namespace {

SimResult Simulate(const TinyProblem& problem, SchedulingPolicy policy = SchedulingPolicy::kFifo) {
  const Status legal =
      CheckPlacementLegal(problem.sim_graph, problem.graph, problem.cluster, problem.placement);
  EXPECT_TRUE(legal.ok()) << legal.error().ToString();
  Simulator simulator(problem.sim_graph);
  SimOptions options;
  options.policy = policy;
  options.schedule = true;
  options.feedback = true;
  return simulator.Run(problem.placement, options);
}

int64_t Start(const TinyProblem& problem, const SimResult& result, std::string_view op) {
  return result.schedule->ops[problem.op(op)].start.count;
}
int64_t End(const TinyProblem& problem, const SimResult& result, std::string_view op) {
  return result.schedule->ops[problem.op(op)].end.count;
}

TEST(Times, ChainOverALink) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId y = step.Op("a", 0, 5, {}, {100})[0];
  step.Op("b", 1, 7, {y}, {});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  // a 0-5 on d0; y crosses 5-115 (10 + 100); b 115-122 on d1.
  EXPECT_EQ(End(problem, result, "a"), 5);
  EXPECT_EQ(Start(problem, result, "b"), 115);
  EXPECT_EQ(result.step_time.count, 122);
  EXPECT_EQ(result.devices[0].busy.count, 5);
  EXPECT_EQ(result.devices[1].busy.count, 7);
  // d1 waits for nothing but the transfer from 5 on.
  EXPECT_EQ(result.devices[1].idle_before_transfers.count, 110);
  EXPECT_EQ(result.links[0].busy.count, 110);
  EXPECT_EQ(result.links[0].moved.count, 100);
  EXPECT_EQ(result.links[0].transfers, 1);
}

TEST(Times, FifoServesByReadyTimeThenId) {
  TinyStep step(1);
  // At 0 the ops 0 and 1 are ready: op 0 runs 0-10. Its output makes op 2 ready at 10; op 1 has
  // been ready since 0 and goes first although its id... is lower anyway, so let op 3 be ready at
  // 0.
  const TensorId y = step.Op("o0", 0, 10, {}, {8})[0];
  step.Op("o1", 0, 20, {y}, {});
  step.Op("o2", 0, 30, {}, {});
  step.Op("o3", 0, 40, {y}, {});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  // o0 0-10, o2 (ready at 0) 10-40, then o1 and o3 (both ready at 10) by id: 40-60, 60-100.
  EXPECT_EQ(Start(problem, result, "o2"), 10);
  EXPECT_EQ(Start(problem, result, "o1"), 40);
  EXPECT_EQ(Start(problem, result, "o3"), 60);
  EXPECT_EQ(result.step_time.count, 100);
}

TEST(Times, ZeroDurationEndsInTheNextPhase) {
  TinyStep step(1);
  // All at instant 0. First phase: z and last are ready, z (id 0) starts with duration 0. Second
  // phase: z ends, w becomes ready at 0 with id 1, before `last` (id 2) in the queue.
  const TensorId y = step.Op("z", 0, 0, {}, {8})[0];
  step.Op("w", 0, 3, {y}, {});
  step.Op("last", 0, 4, {}, {});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  EXPECT_EQ(End(problem, result, "z"), 0);
  EXPECT_EQ(Start(problem, result, "w"), 0);
  EXPECT_EQ(Start(problem, result, "last"), 3);
}

TEST(Times, TransferWaitsForEveryLinkOfItsRoute) {
  TinyStep step(3);
  // d0 > hub 1 B/ns (l0), hub > d1 1 B/ns (l1), hub > d2 1 B/ns (l2); latency 0.
  for (int i = 0; i < 3; ++i) step.Link(1'000'000'000, 0);
  step.Route(0, 1, {0, 1});
  step.Route(0, 2, {0, 2});
  const TensorId y = step.Op("a", 0, 5, {}, {100})[0];
  step.Op("b", 1, 1, {y}, {});
  step.Op("c", 2, 1, {y}, {});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  // Both transfers are ready at 5 with one key but for the destination: d1's goes 5-105 and holds
  // l0; d2's starts when l0 is idle, 105-205, although l2 was idle all the time.
  EXPECT_EQ(Start(problem, result, "b"), 105);
  EXPECT_EQ(Start(problem, result, "c"), 205);
}

TEST(Times, HalfDuplexLinkServesBothDirections) {
  TinyStep step(2);
  const int32_t link = step.Link(1'000'000'000, 0);
  step.Route(0, 1, {link});
  step.Route(1, 0, {link});
  const TensorId x = step.Op("a", 0, 5, {}, {100})[0];
  const TensorId y = step.Op("b", 1, 3, {}, {100})[0];
  step.Op("c", 1, 1, {x}, {});
  step.Op("d", 0, 1, {y}, {});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  // y is ready at 3 and crosses 3-103; x is ready at 5, waits, and crosses 103-203.
  EXPECT_EQ(Start(problem, result, "d"), 103);
  EXPECT_EQ(Start(problem, result, "c"), 203);
}

TEST(Times, EqualReadyTimesQueueByProducerThenStorage) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId w = step.Input("w", TensorKind::kParameter, 20);
  step.Op("keep", 0, 0, {w}, {});  // w's home is d0
  const std::vector<TensorId> y = step.Op("a", 0, 0, {}, {30, 40});
  step.Op("r0", 1, 1, {y[1]}, {});
  step.Op("r1", 1, 1, {y[0]}, {});
  step.Op("r2", 1, 1, {w}, {});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  // At 0 a parameter's transfer (producer -1) is ready and starts in the first phase: w 0-30. Then
  // a's outputs in the order of their storages: 30 bytes 30-70, 40 bytes 70-120.
  EXPECT_EQ(Start(problem, result, "r2"), 30);
  EXPECT_EQ(Start(problem, result, "r1"), 70);
  EXPECT_EQ(Start(problem, result, "r0"), 120);
}

TEST(Views, CostNothingAndEndWhenTheirInputDoes) {
  TinyStep step(1);
  const TensorId w = step.Input("w", TensorKind::kParameter, 64);
  const TensorId y = step.Op("a", 0, 5, {}, {100})[0];
  const TensorId v = step.View("v", 0, y, 0, 50);
  const TensorId vv = step.View("vv", 0, v, 10, 20);
  step.Op("b", 0, 7, {vv}, {});
  step.View("t", 0, w, 0, 64);
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  // a 0-5, b 5-12; both views of y are there at 5, the one of the parameter at 0.
  EXPECT_EQ(Start(problem, result, "v"), 5);
  EXPECT_EQ(End(problem, result, "vv"), 5);
  EXPECT_EQ(End(problem, result, "t"), 0);
  EXPECT_EQ(result.step_time.count, 12);
  EXPECT_EQ(result.devices[0].ops, 2);
}

TEST(Views, OneRangeCrossesOnce) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId y = step.Op("a", 0, 5, {}, {100})[0];
  const TensorId v1 = step.View("v1", 0, y, 20, 50);
  const TensorId v2 = step.View("v2", 0, y, 20, 50);
  step.Op("b", 1, 7, {v1}, {});
  step.Op("c", 1, 7, {v2}, {});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  // Bytes 20-70 cross once, 5-65 (10 + 50); b 65-72, c 72-79.
  EXPECT_EQ(result.schedule->transfers.size(), 1u);
  EXPECT_EQ(result.schedule->transfers[0].offset.count, 20);
  EXPECT_EQ(result.schedule->transfers[0].length.count, 50);
  EXPECT_EQ(Start(problem, result, "b"), 65);
  EXPECT_EQ(result.step_time.count, 79);
}

TEST(Views, DifferentRangesCrossApartInTheOrderOfOffsetAndLength) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId y = step.Op("a", 0, 5, {}, {100})[0];
  const TensorId high = step.View("high", 0, y, 50, 50);
  const TensorId low = step.View("low", 0, y, 0, 50);
  step.Op("b", 1, 1, {high}, {});
  step.Op("c", 1, 1, {low}, {});
  step.Op("d", 1, 1, {y}, {});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  // Ready together at 5: [0, 50) 5-65, [0, 100) 65-175, [50, 100) 175-235.
  EXPECT_EQ(Start(problem, result, "c"), 65);
  EXPECT_EQ(Start(problem, result, "d"), 175);
  EXPECT_EQ(Start(problem, result, "b"), 235);
}

TEST(InPlace, WaitsForTheReaderBesideIt) {
  TinyStep step(1);
  const TensorId x = step.Op("a", 0, 5, {}, {100})[0];
  step.Op("slow", 0, 50, {x}, {});
  step.Op("other", 0, 8, {}, {});
  step.InPlace("write", 0, 7, {x});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  // a 0-5; other (ready at 0) 5-13; slow (ready at 5) 13-63; write is ready only at 63: 63-70.
  EXPECT_EQ(Start(problem, result, "slow"), 13);
  EXPECT_EQ(Start(problem, result, "write"), 63);
  EXPECT_EQ(result.step_time.count, 70);
}

TEST(InPlace, WaitsForTransfersNeverForRemoteReaders) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId x = step.Op("a", 0, 5, {}, {100})[0];
  step.Op("far", 1, 500, {x}, {});
  step.InPlace("write", 0, 7, {x});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  // x crosses 5-115; write 115-122 while far still reads its copy, 115-615.
  EXPECT_EQ(Start(problem, result, "write"), 115);
  EXPECT_EQ(End(problem, result, "write"), 122);
  EXPECT_EQ(result.step_time.count, 615);
}

TEST(InPlace, WaitsForATransferThatHasNotStarted) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId big = step.Op("big", 0, 0, {}, {1000})[0];
  const TensorId x = step.Op("a", 0, 5, {}, {100})[0];
  step.Op("far1", 1, 1, {big}, {});
  step.Op("far2", 1, 1, {x}, {});
  step.InPlace("write", 0, 7, {x});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  // The 1000 bytes hold the link 0-1010. x is ready at 5, crosses 1010-1120; write starts then.
  EXPECT_EQ(Start(problem, result, "write"), 1120);
}

TEST(InPlace, ReadersOfTheNewVersionReadItAndItCrossesAnew) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId w = step.Input("w", TensorKind::kParameter, 100);
  step.Op("old", 1, 1, {w}, {});
  const TensorId w1 = step.InPlace("write", 0, 7, {w});
  step.Op("new", 1, 1, {w1}, {});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  // Version 0 crosses 0-110, so write 110-117; version 1 crosses 117-227.
  EXPECT_EQ(Start(problem, result, "old"), 110);
  EXPECT_EQ(Start(problem, result, "write"), 110);
  EXPECT_EQ(Start(problem, result, "new"), 227);
  ASSERT_EQ(result.schedule->transfers.size(), 2u);
  EXPECT_EQ(result.schedule->transfers[1].version, 1);
}

TEST(InPlace, SlicesWrittenOneAfterTheOtherAreReadAtTheLastVersion) {
  TinyStep step(1);
  const TensorId gates = step.Op("gates", 0, 10, {}, {200})[0];
  const TensorId g0 = step.View("g0", 0, gates, 0, 100);
  const TensorId g1 = step.View("g1", 0, gates, 100, 100);
  const TensorId s0 = step.InPlace("s0", 0, 3, {g0});
  step.InPlace("s1", 0, 4, {g1});
  step.Op("read", 0, 5, {s0}, {});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  // gates 0-10, s0 10-13 (version 1), s1 13-17 (version 2); the reader comes after both writes in
  // file order, so it reads version 2 and waits for s1: 17-22.
  EXPECT_EQ(Start(problem, result, "s1"), 13);
  EXPECT_EQ(Start(problem, result, "read"), 17);
  EXPECT_EQ(result.step_time.count, 22);
}

TEST(InPlace, HiddenWriteMakesAVersionToo) {
  TinyStep step(1);
  const TensorId mean = step.Input("mean", TensorKind::kBuffer, 64);
  step.Op("reader", 0, 20, {mean}, {});
  step.Op("norm", 0, 5, {mean}, {64}, {.writes = {0}});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  // norm writes the buffer, so it waits for the reader of the old content: 20-25.
  EXPECT_EQ(Start(problem, result, "norm"), 20);
}

TEST(InPlace, WriterCountsInTheReadersPath) {
  TinyStep step(1);
  const std::vector<TensorId> x = step.Op("a", 0, 5, {}, {100, 100});
  step.Op("o", 0, 500, {x[1]}, {});
  step.Op("r", 0, 10, {x[0]}, {});
  step.InPlace("write", 0, 1000, {x[0]});
  const TinyProblem problem = step.Build();
  const SimResult fifo = Simulate(problem, SchedulingPolicy::kFifo);
  // Both ready at 5: o (lower id) 5-505, r 505-515, write 515-1515.
  EXPECT_EQ(Start(problem, fifo, "r"), 505);
  const SimResult critical = Simulate(problem, SchedulingPolicy::kCriticalPath);
  // Paths: o 500; r 10 + 1000, as the write waits for it. r 5-15, write 15-1015, o 1015-1515.
  EXPECT_EQ(Start(problem, critical, "r"), 5);
  EXPECT_EQ(Start(problem, critical, "write"), 15);
  EXPECT_EQ(Start(problem, critical, "o"), 1015);
}

TEST(InPlace, WriterDoesNotCountInARemoteReadersPath) {
  // x crosses 5-115; then far (path 10) and own (path 20) are ready on d1. own goes first: the
  // write of x on d0 waits for neither of them.
  TinyStep step(2);
  step.ConnectAll();
  const TensorId x = step.Op("a", 0, 5, {}, {100})[0];
  step.Op("far", 1, 10, {x}, {});
  step.Op("own", 1, 20, {x}, {});
  step.InPlace("write", 0, 1000, {x});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem, SchedulingPolicy::kCriticalPath);
  EXPECT_EQ(Start(problem, result, "own"), 115);
  EXPECT_EQ(Start(problem, result, "far"), 135);
}

TEST(ExplicitOrder, WaitsAcrossDevicesWithoutATransfer) {
  TinyStep step(2);  // no links at all
  step.Op("a", 0, 5, {}, {});
  step.Op("b", 1, 7, {}, {}, {.after = {"a"}});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  EXPECT_EQ(Start(problem, result, "b"), 5);
  EXPECT_EQ(result.step_time.count, 12);
}

TEST(ExplicitOrder, PassesThroughViews) {
  TinyStep step(1);
  const TensorId y = step.Op("a", 0, 5, {}, {100})[0];
  step.Op("slow", 0, 50, {}, {});
  const TensorId v = step.View("v", 0, y, 0, 50, {.after = {"slow"}});
  step.Op("b", 0, 7, {v}, {});
  step.Op("c", 0, 9, {}, {}, {.after = {"v"}});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  // a 0-5, slow 5-55; the view is there at 55, and so may b (55-62) and c (62-71) start.
  EXPECT_EQ(End(problem, result, "v"), 55);
  EXPECT_EQ(Start(problem, result, "b"), 55);
  EXPECT_EQ(Start(problem, result, "c"), 62);
}

TEST(Abandon, ExactlyAboveTheLimit) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId y = step.Op("a", 0, 5, {}, {100})[0];
  step.Op("b", 1, 7, {y}, {});
  const TinyProblem problem = step.Build();
  Simulator simulator(problem.sim_graph);
  SimOptions options;
  options.abandon_above = Nanos(122);  // the step time, see ChainOverALink
  EXPECT_FALSE(simulator.Run(problem.placement, options).abandoned);
  options.abandon_above = Nanos(121);
  const SimResult& result = simulator.Run(problem.placement, options);
  EXPECT_TRUE(result.abandoned);
  EXPECT_FALSE(result.feasible);
  EXPECT_GT(result.step_time.count, 121);
  EXPECT_LE(result.step_time.count, 122);
}

TEST(Times, SaturateInsteadOfOverflowing) {
  TinyStep step(2);
  step.Route(0, 1, {step.Link(1, 5)});
  const TensorId y = step.Op("a", 0, kMaxQuantity, {}, {kMaxQuantity})[0];
  step.Op("b", 1, kMaxQuantity, {y}, {kMaxQuantity});
  step.Op("c", 0, kMaxQuantity, {}, {kMaxQuantity});
  const TinyProblem problem = step.Build();
  const SimResult result = Simulate(problem);
  EXPECT_EQ(result.step_time.count, kMaxQuantity);
  EXPECT_EQ(result.devices[0].tensor_peak.count, kMaxQuantity);
  EXPECT_FALSE(result.feasible);
}

// 2^59 ns twice on one device reach 2^60, where the clock stops: no figure, and said so. A
// nanosecond less is one.
TEST(Times, WhereCountingStopsIsNoResult) {
  for (const int64_t less : {0, 1}) {
    TinyStep step(1);
    const TensorId y = step.Op("a", 0, kMaxQuantity / 2, {}, {8})[0];
    step.Op("b", 0, kMaxQuantity / 2 - less, {y}, {8});
    const TinyProblem problem = step.Build();
    Simulator simulator(problem.sim_graph);
    SimOptions options;
    options.schedule = true;
    const Status counted =
        CheckNotSaturated(problem.sim_graph, problem.graph, problem.cluster, problem.placement,
                          simulator.Run(problem.placement, options));
    EXPECT_EQ(counted.ok(), less == 1);
    if (counted.ok()) continue;
    EXPECT_EQ(counted.error().code, ErrorCode::kTooLarge);
    EXPECT_NE(counted.error().message.find("op a takes 576,460,752,303,423,488 ns on d0"),
              std::string::npos)
        << counted.error().message;
  }
}

// Two results of 2^59 B at once: 2^60 B.
TEST(Times, MemoryWhereCountingStopsIsNoResult) {
  TinyStep step(1, kMaxQuantity);
  const TensorId y = step.Op("a", 0, 1, {}, {kMaxQuantity / 2})[0];
  step.Op("b", 0, 1, {y}, {kMaxQuantity / 2});
  const TinyProblem problem = step.Build();
  Simulator simulator(problem.sim_graph);
  SimOptions options;
  options.schedule = true;
  const Status counted =
      CheckNotSaturated(problem.sim_graph, problem.graph, problem.cluster, problem.placement,
                        simulator.Run(problem.placement, options));
  ASSERT_FALSE(counted.ok());
  EXPECT_EQ(counted.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(counted.error().message.find("d0"), std::string::npos);
}

}  // namespace
}  // namespace placewright
