#include "report/explanation.h"

#include <gmock/gmock.h>

#include "report/two_devices_fixture.h"

namespace placewright {
namespace {

using testing::HasSubstr;

using Explanation = TwoDevices;

TEST_F(Explanation, ReasonsSumToTheStep) {
  const Bottlenecks bottlenecks =
      FindBottlenecks(sim_graph_, *graph_, *cluster_, placement_, *result_.schedule);
  ASSERT_EQ(bottlenecks.Total(), Nanos(6035));
  // The path is a, x crossing (4,000 ns), b, g crossing (2,000 ns), c. On d0 15 ns compute, on d1
  // 20 ns. 4000 / 6035 = 66.3%, 2000 / 6035 = 33.1%, 20 / 6035 = 0.3%.
  const std::string text = RenderReasons(bottlenecks, *cluster_, 3, {});
  EXPECT_THAT(text, HasSubstr("moving over d0>d1     4.00 us        66.3%  ########....\n"));
  EXPECT_THAT(text, HasSubstr("moving over d1>d0     2.00 us        33.1%  ####........\n"));
  EXPECT_THAT(text, HasSubstr("and 1 more            0.01 us         0.2%"));
}

TEST_F(Explanation, TransferWaitsAreSharesOfTheStep) {
  // b lacks only x from 10 to 4,010 ns, c only g from 4,030 to 6,030 ns: 66.3% and 33.1% of 6,035.
  EXPECT_EQ(RenderTransferWaits(result_, *cluster_, 5),
            "waiting for transfers: d1 66.3%, d0 33.1%\n");
  EXPECT_EQ(RenderTransferWaits(result_, *cluster_, 1),
            "waiting for transfers: d1 66.3% and 1 more\n");
  SimResult busy = result_;
  for (DeviceResult& device : busy.devices) device.idle_before_transfers = Nanos(6);
  EXPECT_EQ(RenderTransferWaits(busy, *cluster_, 5), "");
}

TEST_F(Explanation, PeakPartsSumToThePeak) {
  // d1 at its peak: the copy of x (4,096 B) and g (2,048 B).
  DeviceResult device = result_.devices[1];
  const std::vector<PeakItem> items =
      ItemisePeak(sim_graph_, *graph_, placement_, SchedulingPolicy::kFifo, DeviceId(1));
  EXPECT_EQ(PartsOf(items, device),
            (PeakParts{{"gradient", Bytes(2048)}, {"received copies", Bytes(4096)}}));
  device.workspace = Bytes(512);
  device.runtime_context = Bytes(1024);
  device.peak = Bytes(4096 + 2048 + 512 + 1024);
  Bytes sum;
  for (const auto& [name, bytes] : PartsOf(items, device)) sum += bytes;
  EXPECT_EQ(sum, device.peak);
  const std::string text = RenderPeak("d1", items, device, {});
  // b starts at 4,010 ns; 6144 + 1536 B are 7.5 KiB.
  EXPECT_THAT(text, HasSubstr("d1 is fullest at 4.01 us: 7.5 KiB\n"));
  EXPECT_THAT(text, HasSubstr("largest tensors: a 4.0 KiB, b 2.0 KiB"));
}

TEST_F(Explanation, FullestIsByShareOfCapacity) {
  // Both have 8,192 B; d1 needs 6,144 B, d0 5,120 B.
  EXPECT_EQ(FullestDevice(result_, *cluster_), DeviceId(1));
}

}  // namespace
}  // namespace placewright
