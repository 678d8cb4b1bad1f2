#include "sim/synthetic_step.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace placewright {
namespace {

// The header's description, op by op.
TEST(SyntheticStep, IsAsDescribed) {
  const SyntheticStep step = MakeSyntheticStep({.ops = 1000, .devices = 3});
  ASSERT_EQ(step.graph.op_count(), 1000u);
  ASSERT_EQ(step.cluster.device_count(), 3u);
  ASSERT_EQ(step.cluster.link_count(), 6u);
  for (OpId op : step.graph.ops()) {
    const Op& row = step.graph.op(op);
    const int32_t layer = op.value() / 40;
    ASSERT_EQ(row.outputs.size(), 1u);
    const int64_t bytes = step.graph.tensor(row.outputs[0]).length.count;
    ASSERT_TRUE(std::has_single_bit(static_cast<uint64_t>(bytes)));
    ASSERT_GE(bytes, 1 << 10);
    ASSERT_LE(bytes, 1 << 23);
    const Nanos time = step.costs.time(op, DeviceId(0));
    ASSERT_GE(time, Nanos(1000));
    ASSERT_LE(time, Nanos(5'000'000));
    ASSERT_EQ(step.costs.time(op, DeviceId(2)), time);
    ASSERT_EQ(row.inputs.empty(), layer == 0);
    for (size_t i = 0; i < row.inputs.size(); ++i) {
      const int32_t of = step.graph.tensor(row.inputs[i]).producer.value() / 40;
      ASSERT_LT(of, layer);
      ASSERT_GE(of, i == 0 ? layer - 1 : layer - 3);
    }
  }
}

// 159,230 edges, as counted by another program that draws the same: what speeds are quoted for.
TEST(SyntheticStep, IsTheSameEverywhere) {
  const SyntheticStep step = MakeSyntheticStep();
  size_t edges = 0;
  for (OpId op : step.graph.ops()) edges += step.graph.op(op).inputs.size();
  EXPECT_EQ(edges, 159'230u);
}

// 5 ops on 2 devices: 0*2/5 = 0, 2/5 = 0, 4/5 = 0, 6/5 = 1, 8/5 = 1.
TEST(SyntheticStep, Placements) {
  const SyntheticStep step = MakeSyntheticStep({.ops = 5, .devices = 2});
  const Placement contiguous = ContiguousPlacement(step);
  std::vector<int32_t> devices;
  for (OpId op : step.graph.ops()) devices.push_back(contiguous[op].value());
  EXPECT_EQ(devices, (std::vector<int32_t>{0, 0, 0, 1, 1}));
  EXPECT_EQ(RandomPlacement(step).size(), 5u);
}

}  // namespace
}  // namespace placewright
