#include "cost/machine_state.h"

#include <gtest/gtest.h>

namespace placewright {
namespace {

Work Of(OpClass op_class, int64_t bytes) {
  Work work;
  work.op_class = op_class;
  work.bytes_read = Bytes(bytes);
  return work;
}

TEST(MachineState, MedianIsOfEachReferenceByItself) {
  const MachineState median = MedianOf({{Nanos(3), Nanos(10), Nanos(100)},
                                        {Nanos(1), Nanos(30), Nanos(300)},
                                        {Nanos(2), Nanos(20), Nanos(200)}});
  EXPECT_EQ(median, (MachineState{Nanos(2), Nanos(20), Nanos(200)}));
  EXPECT_FALSE(MedianOf({}).known());
  const MachineState mean =
      MeanOf({{Nanos(3), Nanos(10), Nanos(100)}, {}, {Nanos(2), Nanos(20), Nanos(200)}});
  EXPECT_EQ(mean, (MachineState{Nanos(3), Nanos(15), Nanos(150)}));
  EXPECT_FALSE(MeanOf({{}}).known());
}

TEST(MachineState, OpsFollowTheReferencesThatTheyAreLike) {
  const MachineState then{Nanos(100), Nanos(10), Nanos(1000)};
  const MachineState now{Nanos(110), Nanos(20), Nanos(1500)};
  constexpr int64_t kLarge = 100 << 20;
  const auto factor = [&](OpClass op_class, int64_t bytes) {
    return Slowdown(Of(op_class, bytes), then, now);
  };
  EXPECT_DOUBLE_EQ(factor(OpClass::kGemm, kLarge), 0.9 * 1.1 + 0.1 * 1.5);
  EXPECT_DOUBLE_EQ(factor(OpClass::kConvDense, kLarge), 0.6 * 1.1 + 0.4 * 2);
  EXPECT_NEAR(factor(OpClass::kElementwise, kLarge), 0.1 * 1.1 + 0.1 * 2 + 0.8 * 1.5, 1e-12);
  // The cache holds it; it draws numbers.
  EXPECT_DOUBLE_EQ(factor(OpClass::kElementwise, 1000), 0.7 * 1.1 + 0.3 * 2);
  EXPECT_DOUBLE_EQ(factor(OpClass::kRandom, kLarge), 1.1);
  EXPECT_DOUBLE_EQ(Slowdown(Of(OpClass::kGemm, kLarge), now, now), 1);
}

TEST(MachineState, WhatIsNotKnownChangesNothing) {
  const MachineState known{Nanos(100), Nanos(10), Nanos(1000)};
  EXPECT_EQ(Slowdown(Of(OpClass::kGemm, 1), {}, known), 1);
  EXPECT_EQ(Slowdown(Of(OpClass::kGemm, 1), known, {}), 1);
}

}  // namespace
}  // namespace placewright
