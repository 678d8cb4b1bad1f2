#include "sim/placeto/simulator.h"

#include <gmock/gmock.h>

#include "sim/placeto/from_step.h"
#include "sim/tiny_step.h"

namespace placewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Two devices; a device rests 1 us, a bus 3 us, a byte takes 1 us.
PlacetoCase SmallCase(int devices = 2) {
  PlacetoCase problem;
  problem.params = {1, 3, 0, 1};
  for (int d = 0; d < devices; ++d) problem.devices.push_back("d" + std::to_string(d));
  return problem;
}

int32_t Add(PlacetoCase& problem, const std::string& name, double cost, int32_t device,
            std::vector<double> output_bytes = {}) {
  problem.ops.push_back({name, cost, false, std::move(output_bytes)});
  problem.placement.push_back(device);
  return static_cast<int32_t>(problem.ops.size()) - 1;
}

struct Ran {
  double makespan;
  std::vector<double> starts;
};

Ran Simulate(const PlacetoCase& problem) {
  const PlacetoSimGraph sim_graph = CompilePlacetoCase(problem).Take();
  PlacetoSimulator simulator(sim_graph);
  const double makespan = simulator.Run(problem.placement);
  return {makespan, simulator.starts()};
}

// a 0-10, transfer 10-30, b 30-35; d0 is free at 11, the bus at 33, d1 at 36.
TEST(PlacetoSimulator, AnOpATransferAnOp) {
  PlacetoCase problem = SmallCase();
  Add(problem, "a", 10, 0, {20});
  Add(problem, "b", 5, 1);
  problem.edges = {{0, 0, 1}};
  Ran ran = Simulate(problem);
  EXPECT_THAT(ran.starts, ElementsAre(0, 30));
  EXPECT_EQ(ran.makespan, 36);
  // b takes no time: it ends at 30 and d1 is free at 31; the bus's rest ends last.
  problem.ops[1].cost_us = 0;
  EXPECT_EQ(Simulate(problem).makespan, 33);
  // On one device: b starts when a's rest is over, at 11.
  problem.placement[1] = 0;
  ran = Simulate(problem);
  EXPECT_THAT(ran.starts, ElementsAre(0, 11));
  EXPECT_EQ(ran.makespan, 12);
}

TEST(PlacetoSimulator, OnlyTheIntegerZeroSparesTheRest) {
  PlacetoCase problem = SmallCase();
  Add(problem, "a", 0, 0);
  EXPECT_EQ(Simulate(problem).makespan, 1);
  problem.ops[0].no_rest = true;
  EXPECT_EQ(Simulate(problem).makespan, 0);
}

TEST(PlacetoSimulator, NothingTakesNoTime) {
  EXPECT_EQ(Simulate(SmallCase()).makespan, 0);
  EXPECT_EQ(Simulate(SmallCase(0)).makespan, 0);
}

// -10 to -8, free at -7: nothing happens after 0, where the makespan begins.
TEST(PlacetoSimulator, TheOffsetMayBeNegative) {
  PlacetoCase problem = SmallCase();
  problem.params.init_offset = -10;
  Add(problem, "a", 2, 0);
  Add(problem, "b", 2, 0);
  const Ran ran = Simulate(problem);
  EXPECT_THAT(ran.starts, ElementsAre(-10, -7));
  EXPECT_EQ(ran.makespan, 0);
}

// a ends at 2. Its bus serves one output at a time, in the order of the first edges: output 1
// (5 us, to b) until 7, a rest until 10, output 0 (4 us, to c and d together) until 14.
TEST(PlacetoSimulator, OneBusServesOneOutputAtATime) {
  PlacetoCase problem = SmallCase(3);
  Add(problem, "a", 2, 0, {4, 5});
  Add(problem, "b", 1, 1);
  Add(problem, "c", 1, 1);
  Add(problem, "d", 1, 2);
  problem.edges = {{0, 1, 1}, {0, 0, 2}, {0, 0, 3}};
  const Ran ran = Simulate(problem);
  EXPECT_THAT(ran.starts, ElementsAre(0, 7, 14, 14));
  EXPECT_EQ(ran.makespan, 17);  // the bus's rest after 14
}

// The order is that of the first edge that leaves the device: with b beside a, output 1 comes
// second, although it is named first.
TEST(PlacetoSimulator, OutputsThatStayDoNotQueue) {
  PlacetoCase problem = SmallCase();
  Add(problem, "a", 2, 0, {4, 5});
  Add(problem, "b", 1, 0);
  Add(problem, "c", 1, 1);
  Add(problem, "d", 1, 1);
  problem.edges = {{0, 1, 1}, {0, 0, 2}, {0, 1, 3}};
  // b after a's rest at 3; output 0 2-6 for c, a rest until 9, output 1 9-14 for d.
  EXPECT_THAT(Simulate(problem).starts, ElementsAre(0, 3, 6, 14));
}

// The pair (a, b) reads output 0 first and output 1 last: 7 us. Output 9 is not listed: 0 us.
TEST(PlacetoSimulator, TheLastEdgeOfAPairNamesTheOutput) {
  PlacetoCase problem = SmallCase();
  Add(problem, "a", 2, 0, {4, 7});
  Add(problem, "b", 1, 1);
  problem.edges = {{0, 0, 1}, {0, 1, 1}};
  EXPECT_THAT(Simulate(problem).starts, ElementsAre(0, 9));
  problem.edges.push_back({0, 9, 1});
  EXPECT_THAT(Simulate(problem).starts, ElementsAre(0, 2));
}

// "q" (op 0) and "p" (op 1) end at 4 on two devices and send a byte to a child each on d2, until 5.
// p's child comes first, as "p" < "q"; the other waits until 5 + 2 + 1.
TEST(PlacetoSimulator, NamesBreakTies) {
  PlacetoCase problem = SmallCase(3);
  Add(problem, "q", 4, 0, {1});
  Add(problem, "p", 4, 1, {1});
  Add(problem, "child of q", 2, 2);
  Add(problem, "child of p", 2, 2);
  problem.edges = {{0, 0, 2}, {1, 0, 3}};
  EXPECT_THAT(Simulate(problem).starts, ElementsAre(0, 0, 8, 5));
  // Byte by byte: "\xc3\xa9" comes after every ASCII letter.
  problem.ops[1].name = "\xc3\xa9";
  EXPECT_THAT(Simulate(problem).starts, ElementsAre(0, 0, 5, 8));
}

// The same with nothing to send. The bus of d0 serves first, and what takes no time is notified
// before the bus of d1 serves at the same instant: q's child comes first, whatever the ops are
// called.
TEST(PlacetoSimulator, WhatTakesNoTimeIsNotifiedAtOnce) {
  PlacetoCase problem = SmallCase(3);
  Add(problem, "q", 4, 0);
  Add(problem, "p", 4, 1);
  Add(problem, "child of q", 2, 2);
  Add(problem, "child of p", 2, 2);
  problem.edges = {{0, 0, 2}, {1, 0, 3}};
  EXPECT_THAT(Simulate(problem).starts, ElementsAre(0, 0, 4, 7));
  problem.devices = {"z", "d1", "d2"};
  EXPECT_THAT(Simulate(problem).starts, ElementsAre(0, 0, 7, 4));
}

TEST(PlacetoSimulator, CyclesAreNamed) {
  PlacetoCase problem = SmallCase();
  for (const char* name : {"in", "x", "y", "z", "out"}) Add(problem, name, 1, 0);
  problem.edges = {{0, 0, 1}, {1, 0, 2}, {2, 0, 3}, {3, 0, 1}, {3, 0, 4}};
  const auto cyclic = CompilePlacetoCase(problem);
  ASSERT_FALSE(cyclic.ok());
  EXPECT_EQ(cyclic.error().code, ErrorCode::kGraphCycle);
  EXPECT_THAT(cyclic.error().message, HasSubstr("y -> z -> x -> y"));
  problem.edges = {{4, 0, 4}};
  const auto loop = CompilePlacetoCase(problem);
  ASSERT_FALSE(loop.ok());
  EXPECT_THAT(loop.error().message, HasSubstr("out -> out"));
  // A long one is cut.
  problem = SmallCase();
  for (int32_t i = 0; i < 100; ++i) {
    Add(problem, "o" + std::to_string(i), 1, 0);
    problem.edges.push_back({i, 0, (i + 1) % 100});
  }
  const auto ring = CompilePlacetoCase(problem);
  ASSERT_FALSE(ring.ok());
  EXPECT_LT(ring.error().message.size(), 200u);
}

// Of ours: a (3,000 ns) makes 7,600 B for v, a view of the last 3,800, which b reads elsewhere:
// 0.5 us at 7,600 B/us. a 0-3, b 3.5-4.5; d1 rests until 10.2, the bus until 28.5.
TEST(PlacetoFromStep, ViewsAreWhatTheyView) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId x = step.Input("x", TensorKind::kParameter, 1000);
  const TensorId a = step.Op("a", 0, 3000, {x}, {7600})[0];
  const TensorId v = step.View("v", 0, a, 3800, 3800);
  step.Op("b", 1, 1000, {v}, {10});
  const TinyProblem problem = step.Build();
  const PlacetoCase made =
      MakePlacetoCase(problem.sim_graph, problem.graph, problem.cluster, problem.placement);
  ASSERT_EQ(made.ops.size(), 2u);
  const Ran ran = Simulate(made);
  EXPECT_THAT(ran.starts, ElementsAre(0, 3.5));
  EXPECT_EQ(ran.makespan, 28.5);
}

// a (3 us) makes 7,600 B and 15,200 B, which take 1 us and 2 us. Of those that b reads the last as
// listed counts, whichever a made first: b starts at 3 + 1 or 3 + 2.
TEST(PlacetoFromStep, TheLastInputAsListedCounts) {
  const auto start_of_b = [](const std::vector<size_t>& reads) {
    TinyStep step(2);
    step.ConnectAll();
    const std::vector<TensorId> a = step.Op("a", 0, 3000, {}, {7600, 15200});
    const TensorId w = step.Input("w", TensorKind::kParameter, 1000);
    std::vector<TensorId> inputs;
    for (size_t i : reads) inputs.push_back(a[i]);
    inputs.push_back(w);
    step.Op("b", 1, 1000, inputs, {10});
    const TinyProblem problem = step.Build();
    return Simulate(MakePlacetoCase(problem.sim_graph, problem.graph, problem.cluster,
                                    problem.placement))
        .starts[1];
  };
  EXPECT_EQ(start_of_b({0, 1}), 5);
  EXPECT_EQ(start_of_b({1, 0}), 4);
  EXPECT_EQ(start_of_b({0, 1, 0}), 4);
}

// write changes in place what a made and read reads beside it: it waits for both, and for after1,
// which it names. All on d0 with rests of 5.7 us; each value is the sum in the simulator's order.
TEST(PlacetoFromStep, WritersWaitForReadersBesideThem) {
  TinyStep step(1);
  const TensorId a = step.Op("a", 0, 1000, {}, {100})[0];
  step.Op("read", 0, 1000, {a}, {10});
  step.Op("after1", 0, 0, {}, {});
  step.InPlace("write", 0, 1000, {a}, {.after = {"after1"}});
  const TinyProblem problem = step.Build();
  const PlacetoCase made =
      MakePlacetoCase(problem.sim_graph, problem.graph, problem.cluster, problem.placement);
  EXPECT_TRUE(made.ops[2].no_rest);
  const double begin_after1 = 0.0 + 1 + 5.7, begin_read = begin_after1;
  EXPECT_THAT(Simulate(made).starts,
              ElementsAre(0, begin_read, begin_after1, begin_read + 1 + 5.7));
}

}  // namespace
}  // namespace placewright
