// Rule 17 of docs/simulator.md, with numbers derived by hand.
#include <gtest/gtest.h>

#include "sim/order_advice.h"
#include "sim/program_sequences.h"
#include "sim/tiny_step.h"

namespace placewright {
namespace {

SimResult RunIn(const TinyProblem& problem, SchedulingPolicy policy = SchedulingPolicy::kProgram,
                const Sequences* sequences = nullptr) {
  Simulator simulator(problem.sim_graph);
  SimOptions options;
  options.policy = policy;
  options.schedule = true;
  options.sequences = sequences;
  return simulator.Run(problem.placement, options);
}
int64_t StartIn(const TinyProblem& problem, const SimResult& result, std::string_view name) {
  return result.schedule->ops[problem.op(name)].start.count;
}

TinyOpOptions Typed(const std::string& type) {
  TinyOpOptions options;
  options.type = "placewright." + type + ".default";
  return options;
}

// far (100 ns on d1) --10 + 100--> needs (d0); free (d0) needs nothing and is listed behind it.
TEST(ProgramOrder, ADeviceIdlesUntilItsNextOpIsReady) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId y = step.Op("far", 1, 100, {}, {100})[0];
  step.Op("needs", 0, 7, {y}, {});
  step.Op("free", 0, 5, {}, {});
  const TinyProblem problem = step.Build();
  // needs 210-217, free 217-222. First come, first served, free runs 0-5.
  const SimResult result = RunIn(problem);
  EXPECT_EQ(StartIn(problem, result, "needs"), 210);
  EXPECT_EQ(StartIn(problem, result, "free"), 217);
  EXPECT_EQ(result.step_time.count, 222);
  EXPECT_EQ(StartIn(problem, RunIn(problem, SchedulingPolicy::kFifo), "free"), 0);
}

// A checkpoint x is there from the beginning; two long results are computed again from it, and each is read by one
// op alone. In the program's order only one of them lies in memory at a time.
TEST(ProgramOrder, WhatIsComputedAgainIsComputedWhereItIsRead) {
  TinyStep step(1, 8192);
  const TensorId x = step.Op("x", 0, 1, {}, {512})[0];
  const TensorId loss = step.Op("loss", 0, 10, {x}, {512})[0];
  const TensorId again2 = step.Op("again2", 0, 10, {x}, {4096})[0];
  const TensorId grad2 = step.Op("grad2", 0, 10, {again2, loss}, {512})[0];
  const TensorId again1 = step.Op("again1", 0, 10, {x}, {4096})[0];
  step.Op("grad1", 0, 10, {again1, grad2}, {512});
  const TinyProblem problem = step.Build();
  // While grad1 runs x has gone, so that again1, grad2 and grad1 lie there; while grad2 does x, loss, again2 and
  // grad2: 512 * 3 + 4096.
  EXPECT_EQ(RunIn(problem).devices[0].tensor_peak.count, 5632);
  EXPECT_TRUE(RunIn(problem).feasible);
  // x makes loss, again2 and again1 ready at once, and they run in this order: while again1 runs x, loss, again2
  // and it are there, while grad2 does loss, both and grad2: 512 * 2 + 2 * 4096.
  const SimResult fifo = RunIn(problem, SchedulingPolicy::kFifo);
  EXPECT_EQ(fifo.devices[0].tensor_peak.count, 9216);
  EXPECT_FALSE(fifo.feasible);
  const auto advice =
      FindCheaperOrder(problem.sim_graph, problem.placement, SchedulingPolicy::kFifo);
  ASSERT_TRUE(advice);
  EXPECT_EQ(Describe(*advice, problem.cluster),
            "--order program: this plan then needs 5.5 KiB on d0, and fits");
  EXPECT_FALSE(FindCheaperOrder(problem.sim_graph, problem.placement, SchedulingPolicy::kProgram));
}

// make (d0) and long (d0), then what d1 wants of make's result, as compiled steps have it: beside its reader.
TEST(ProgramOrder, WhatOthersNeedIsMadeAtOnce) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId y = step.Op("make", 0, 10, {}, {200})[0];
  const TensorId z = step.Op("long", 0, 500, {y}, {100})[0];
  const TensorId part = step.Op("part", 0, 5, {y}, {100}, Typed("split"))[0];
  step.Op("read", 1, 7, {part}, {});
  step.Op("end", 0, 1, {z}, {});
  const TinyProblem problem = step.Build();
  // make 0-10, part 10-15, crosses 15-125, read 125-132; long 15-515, end 515-516.
  const SimResult result = RunIn(problem);
  EXPECT_EQ(StartIn(problem, result, "part"), 10);
  EXPECT_EQ(StartIn(problem, result, "long"), 15);
  EXPECT_EQ(StartIn(problem, result, "read"), 125);
  EXPECT_EQ(StartIn(problem, result, "end"), 515);
  const Sequences sequences = ProgramSequences(problem.sim_graph, problem.placement);
  const std::vector<OpId> expected = {problem.op("make"), problem.op("part"), problem.op("long"),
                                      problem.op("end")};
  EXPECT_EQ(*sequences[DeviceId(0)], expected);
}

// The file joins two parts from d1 long before they are read.
TEST(ProgramOrder, WhatIsReceivedIsJoinedBeforeItsReader) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId far = step.Op("far", 1, 100, {}, {100})[0];
  const TensorId own = step.Op("own", 0, 10, {}, {100})[0];
  const TensorId both = step.Op("both", 0, 5, {own, far}, {200}, Typed("concat"))[0];
  const TensorId work = step.Op("work", 0, 50, {}, {8})[0];
  step.Op("read", 0, 7, {both, work}, {});
  const TinyProblem problem = step.Build();
  // own 0-10, work 10-60; far crosses 100-210, both 210-215, read 215-222.
  const SimResult result = RunIn(problem);
  EXPECT_EQ(StartIn(problem, result, "work"), 10);
  EXPECT_EQ(StartIn(problem, result, "both"), 210);
  EXPECT_EQ(result.step_time.count, 222);
}

// One communicator of d0 and d1: the first collective waits for its late member, the second behind it although
// its members are ready at 10. They have no link in common.
TEST(ProgramOrder, CollectivesOverTheSameDevicesKeepTheOrder) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId a0 = step.Op("a0", 0, 10, {}, {8})[0], a1 = step.Op("a1", 1, 10, {}, {8})[0];
  const TensorId b0 = step.Op("b0", 0, 10, {a0}, {8})[0], b1 = step.Op("b1", 1, 90, {a1}, {8})[0];
  TinyOpOptions none;
  none.times = {0, 0};
  // In the file the sum of b stands first, in the program behind a's, which its members do not wait for.
  step.Op("sum_b0", 0, 0, {b0}, {8}, none);
  step.Op("sum_b1", 1, 0, {b1}, {8}, none);
  step.Collective("sum_b", {OpId(4), OpId(5)}, {0}, 30);
  step.Op("sum_a0", 0, 0, {a0}, {8}, none);
  step.Op("sum_a1", 1, 0, {a1}, {8}, none);
  step.Collective("sum_a", {OpId(6), OpId(7)}, {1}, 30);
  const TinyProblem problem = step.Build();
  // a 0-10: its sum 10-40; b0 10-20, b1 10-100: their sum 100-130.
  const SimResult result = RunIn(problem);
  EXPECT_EQ(StartIn(problem, result, "sum_a0"), 10);
  EXPECT_EQ(StartIn(problem, result, "sum_b1"), 100);
}

// Copies from d0 to d1 (100 ns, then 20) and one back (30 ns): the second waits for the first, the one back for neither.
TEST(ProgramOrder, CopiesWaitForThoseInTheirDirection) {
  TinyStep step(2);
  step.ConnectAll();
  TinyOpOptions none;
  none.times = {0, 0};
  const TensorId x = step.Op("x", 0, 10, {}, {8})[0], y = step.Op("y", 1, 10, {}, {8})[0];
  int32_t op = 2;
  const auto copy = [&](const std::string& name, TensorId of, int32_t from, int32_t link,
                        int64_t time) {
    step.Op(name + "0", from, 0, {of}, {}, none);
    step.Op(name + "1", 1 - from, 0, {}, {8}, none);
    step.Collective(name, {OpId(op), OpId(op + 1)}, {link}, time);
    op += 2;
  };
  copy("first", x, 0, 0, 100);
  copy("second", x, 0, 0, 20);
  copy("back", y, 1, 1, 30);
  const TinyProblem problem = step.Build();
  const SimResult result = RunIn(problem);
  EXPECT_EQ(StartIn(problem, result, "first1"), 10);
  EXPECT_EQ(StartIn(problem, result, "second1"), 110);
  EXPECT_EQ(StartIn(problem, result, "back1"), 10);
}

TEST(ProgramOrder, ACollectiveWaitsForTheOneBefore) {
  TinyStep step(2);
  step.ConnectAll();
  TinyOpOptions none;
  none.times = {0, 0};
  // d1 is late with x, so that the first collective begins at 100; y is there at 0.
  const TensorId x = step.Op("x", 1, 100, {}, {8})[0];
  step.Op("first0", 0, 0, {}, {8}, none);
  step.Op("first1", 1, 0, {x}, {8}, none);
  step.Collective("first", {OpId(1), OpId(2)}, {0}, 30);
  step.Op("late0", 0, 5, {}, {8});
  TinyOpOptions after = none;
  after.after = {"late0"};
  step.Op("second0", 0, 0, {}, {8}, after);
  step.Op("second1", 1, 0, {}, {8}, after);
  step.Collective("second", {OpId(4), OpId(5)}, {1}, 30);
  const TinyProblem problem = step.Build();
  // Both communicate over d0 and d1. first 100-130, second 130-160, over another link.
  const SimResult result = RunIn(problem);
  EXPECT_EQ(StartIn(problem, result, "first0"), 100);
  EXPECT_EQ(StartIn(problem, result, "second0"), 130);
  EXPECT_EQ(result.schedule->collectives[CollectiveId(1)].ready.count, 130);
  EXPECT_EQ(StartIn(problem, RunIn(problem, SchedulingPolicy::kFifo), "second0"), 5);
}

// A sequence of one device and the program's order of the other make them wait for one another.
TEST(ProgramOrder, SequencesComeBeforeIt) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId a = step.Op("a", 0, 1, {}, {8})[0];
  const TensorId b = step.Op("b", 1, 1, {a}, {8})[0];
  step.Op("c", 0, 1, {b}, {8});
  const TinyProblem problem = step.Build();
  Sequences sequences(2);
  sequences[DeviceId(0)] = {problem.op("a"), problem.op("c")};
  EXPECT_FALSE(RunIn(problem, SchedulingPolicy::kProgram, &sequences).stuck.valid());
  sequences[DeviceId(0)] = {problem.op("c"), problem.op("a")};
  EXPECT_EQ(RunIn(problem, SchedulingPolicy::kProgram, &sequences).stuck, problem.op("c"));
}

// Cost graphs may list ops in any order.
TEST(ProgramOrder, AFileThatListsAReaderFirstHasNone) {
  TinyStep step(1);
  TinyOpOptions after;
  after.after = {"last"};
  step.Op("first", 0, 1, {}, {8}, after);
  step.Op("last", 0, 1, {}, {8});
  const TinyProblem problem = step.Build();
  const Status checked = CheckProgramOrder(problem.sim_graph, problem.graph);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, ErrorCode::kGraphOrder);
  EXPECT_NE(checked.error().message.find("op \"first\" is listed"), std::string::npos)
      << checked.error().message;
}

}  // namespace
}  // namespace placewright
