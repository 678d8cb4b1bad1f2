#include "sim/contention.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "graph/graph_builder.h"

namespace placewright {
namespace {

// Three ops that depend on nothing.
Graph ThreeOps() {
  GraphBuilder builder("three", "aten");
  const TensorId x = builder.AddInput("x", TensorKind::kInput, DType::kF32, {1}).Take();
  for (const char* name : {"a", "b", "c"}) {
    OpSpec op;
    op.name = name;
    op.type = "aten.neg.default";
    op.args = {Value(InputRef{0})};
    op.inputs = {x};
    op.outputs = {{name, DType::kF32, {1}, OutputSpec::Alias::kFresh}};
    builder.AddOp(std::move(op)).Take();
  }
  return std::move(builder).Build().Take();
}

struct ScheduledOps {
  Graph graph;
  Placement placement;
  Schedule schedule;
};

// a [0, 40) and b [40, 100) on device 0, c [30, 50) on device 1.
ScheduledOps ThreeOpsOnTwo() {
  ScheduledOps ops{ThreeOps(), {}, {}};
  for (const auto& [device, start, end] :
       {std::tuple(0, 0, 40), std::tuple(0, 40, 100), std::tuple(1, 30, 50)}) {
    ops.placement.push_back(DeviceId(device));
    ops.schedule.ops.push_back({Nanos(start), Nanos(end)});
  }
  return ops;
}

// a meets c for 10, b for 10.
TEST(Contention, OverlapIsTheShareOfBusyTime) {
  auto [graph, placement, schedule] = ThreeOpsOnTwo();
  const std::vector<double> overlap = OverlapOf(graph, placement, schedule, 3);
  EXPECT_DOUBLE_EQ(overlap[0], 0.2);
  EXPECT_DOUBLE_EQ(overlap[1], 1);
  EXPECT_DOUBLE_EQ(overlap[2], 0);
}

TEST(Contention, CostsLieBetweenAloneAndLoaded) {
  CostTable alone(2, 2), loaded(2, 2);
  alone.SetTime(OpId(0), DeviceId(0), Nanos(100));
  alone.SetTime(OpId(0), DeviceId(1), Nanos(100));
  loaded.SetTime(OpId(0), DeviceId(0), Nanos(201));
  loaded.SetTime(OpId(0), DeviceId(1), Nanos(201));
  loaded.SetTime(OpId(1), DeviceId(0), Nanos(7));
  const CostTable mixed = MixCosts(alone, loaded, {0.5, 0});
  EXPECT_EQ(mixed.time(OpId(0), DeviceId(0)), Nanos(151));
  EXPECT_EQ(mixed.time(OpId(0), DeviceId(1)), Nanos(100));
  EXPECT_FALSE(mixed.Supports(OpId(1), DeviceId(0)));
}

// Of what crosses from rank 0 to rank 1 in
// [90, 120) and in [35, 45) device 0 spends 10 in a and b each time, device 1 10; the copy within a rank counts for
// nothing.
TEST(Contention, ExchangesAreOfTwoRanks) {
  auto [graph, placement, schedule] = ThreeOpsOnTwo();
  const auto cross = [&spans = schedule.transfers](int from, int to, int64_t start, int64_t end) {
    TransferSpan span;
    span.from = DeviceId(from);
    span.to = DeviceId(to);
    span.ready = span.start = Nanos(start);
    span.end = Nanos(end);
    spans.push_back(span);
  };
  cross(0, 1, 35, 45);
  cross(0, 2, 0, 100);
  cross(1, 0, 90, 120);
  IdVector<DeviceId, int32_t> rank_of(3, 0);
  rank_of[DeviceId(1)] = 1;
  const std::vector<ExchangeTime> times = ExchangeTimesOf(graph, placement, schedule, rank_of);
  ASSERT_EQ(times.size(), 3u);
  EXPECT_EQ(times[0].all, Nanos(40));
  EXPECT_EQ(times[0].beside_ops, Nanos(20));
  EXPECT_EQ(times[1].all, Nanos(40));
  EXPECT_EQ(times[1].beside_ops, Nanos(10));
  EXPECT_EQ(times[2].all, Nanos(0));
  EXPECT_EQ(times[2].beside_ops, Nanos(0));
}

TEST(Contention, OpsOfADeviceShareWhatTheyTakeLonger) {
  const Graph graph = ThreeOps();
  CostTable costs(3, 2);
  costs.SetTime(OpId(0), DeviceId(0), Nanos(30));
  costs.SetTime(OpId(1), DeviceId(0), Nanos(60));
  costs.SetTime(OpId(2), DeviceId(1), Nanos(50));
  Placement placement(3, DeviceId(0));
  placement[OpId(2)] = DeviceId(1);
  const CostTable longer = LongerCosts(costs, graph, placement, {Nanos(45), Nanos(0)});
  EXPECT_EQ(longer.time(OpId(0), DeviceId(0)), Nanos(45));
  EXPECT_EQ(longer.time(OpId(1), DeviceId(0)), Nanos(90));
  EXPECT_EQ(longer.time(OpId(2), DeviceId(1)), Nanos(50));
}

}  // namespace
}  // namespace placewright
