#include "sim/contention.h"

#include <gtest/gtest.h>

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

// a [0, 40) and b [40, 100) on device 0, c [30, 50) on device 1: a meets it for 10, b for 10.
TEST(Contention, OverlapIsTheShareOfBusyTime) {
  const Graph graph = ThreeOps();
  Placement placement;
  Schedule schedule;
  for (const auto& [device, start, end] :
       {std::tuple(0, 0, 40), std::tuple(0, 40, 100), std::tuple(1, 30, 50)}) {
    placement.push_back(DeviceId(device));
    schedule.ops.push_back({Nanos(start), Nanos(end)});
  }
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

}  // namespace
}  // namespace placewright
