#include "cost/cost_table.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace placewright {
namespace {

constexpr Nanos kNone = CostTable::kUnsupported;

TEST(CostTable, DevicesShareAColumnUntilOneIsSetApart) {
  CostTable table(2, 1000);
  EXPECT_EQ(table.column_count(), 1U);
  EXPECT_EQ(table.time(OpId(1), DeviceId(999)), kNone);
  table.SetColumnTime(OpId(0), 0, Nanos(5));
  EXPECT_EQ(table.time(OpId(0), DeviceId(999)), Nanos(5));
  table.SetTime(OpId(0), DeviceId(7), Nanos(5));  // as it is
  EXPECT_EQ(table.column_count(), 1U);
  table.SetTime(OpId(1), DeviceId(7), Nanos(9));
  EXPECT_EQ(table.column_count(), 2U);
  EXPECT_EQ(table.time(OpId(0), DeviceId(7)), Nanos(5));
  EXPECT_EQ(table.time(OpId(1), DeviceId(7)), Nanos(9));
  EXPECT_EQ(table.time(OpId(1), DeviceId(6)), kNone);
  table.SetSource(OpId(0), DeviceId(3), CostSource::kMeasured);
  EXPECT_EQ(table.column_count(), 3U);
  EXPECT_EQ(table.source(OpId(0), DeviceId(3)), CostSource::kMeasured);
  EXPECT_EQ(table.source(OpId(0), DeviceId(4)), CostSource::kModelled);
  EXPECT_EQ(table.MinTime(OpId(1)), Nanos(9));
}

// Of the sorts 0 and 2: what is set of the one that no device has is no minimum.
TEST(CostTable, WhatNoDeviceHasCountsForNothing) {
  IdVector<DeviceId, size_t> sorts;
  for (const size_t sort : {2, 0, 2}) sorts.push_back(sort);
  CostTable table(1, sorts);
  table.SetColumnTime(OpId(0), 0, Nanos(30));
  table.SetColumnTime(OpId(0), 1, Nanos(10));
  table.SetColumnTime(OpId(0), 2, Nanos(20));
  EXPECT_EQ(table.time(OpId(0), DeviceId(0)), Nanos(20));
  EXPECT_EQ(table.time(OpId(0), DeviceId(1)), Nanos(30));
  EXPECT_EQ(table.MinTime(OpId(0)), Nanos(20));
  table.SetSource(OpId(0), CostSource::kGiven);
  EXPECT_EQ(table.source(OpId(0)), CostSource::kGiven);
}

// Whatever is set in whatever order: as if every device had its own times and sources.
TEST(CostTable, IsAsIfEveryDeviceHadItsOwn) {
  constexpr size_t kOps = 5, kDevices = 6;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const bool one_each = seed % 2 == 1;
    CostTable table =
        one_each ? CostTable::OfOneDeviceEach(kOps, kDevices) : CostTable(kOps, kDevices);
    std::vector<Nanos> times(kOps * kDevices, kNone);
    std::vector<CostSource> sources(kOps * kDevices, CostSource::kModelled);
    for (int i = 0; i < 40; ++i) {
      const OpId op(static_cast<int32_t>(random.Below(kOps)));
      // First each op on one device, then some on others, too.
      const size_t of_op = one_each && i < 20 ? op.index() : random.Below(kDevices);
      const DeviceId device(static_cast<int32_t>(of_op));
      const size_t at = op.index() * kDevices + device.index();
      times[at] = Nanos(static_cast<int64_t>(random.Below(3)));
      table.SetTime(op, device, times[at]);
      if (one_each) continue;
      sources[at] = random.Below(2) == 0 ? CostSource::kGiven : CostSource::kMeasured;
      table.SetSource(op, device, sources[at]);
    }
    for (size_t op = 0; op < kOps; ++op) {
      for (size_t device = 0; device < kDevices; ++device) {
        const OpId of(static_cast<int32_t>(op));
        const DeviceId on(static_cast<int32_t>(device));
        EXPECT_EQ(table.time(of, on), times[op * kDevices + device]) << seed;
        EXPECT_EQ(table.source(of, on), sources[op * kDevices + device]) << seed;
      }
    }
  }
}

}  // namespace
}  // namespace placewright
