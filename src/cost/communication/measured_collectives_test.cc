#include "cost/communication/measured_collectives.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cost/communication/test_clusters.h"

namespace placewright {
namespace {

TEST(MeasuredCollectives, KeysNameKindsAndMachines) {
  const Cluster cluster = GpuMachines("T4", {2, 2, 1}, Interconnect::kPcie3);
  std::vector<DeviceId> gpus = GpusOf(cluster);
  EXPECT_EQ(MeasuredCollectiveKey(CollectiveKind::kAllReduce, cluster, gpus),
            "all-reduce 1xT4/1, 2xT4/2");
  std::reverse(gpus.begin(), gpus.end());
  EXPECT_EQ(MeasuredCollectiveKey(CollectiveKind::kAllReduce, cluster, gpus),
            "all-reduce 1xT4/1, 2xT4/2");
  EXPECT_EQ(
      MeasuredCollectiveKey(CollectiveKind::kBroadcast, cluster, std::span(gpus).subspan(1, 2)),
      "broadcast 2xT4/1");
  ClusterBuilder builder("cores");
  DeviceKind core;
  core.name = "core";
  core.device_class = DeviceClass::kCpu;
  core.cores = 2;
  const int32_t kind = builder.AddKind(core).Take();
  for (const char* const name : {"a", "b"}) {
    EXPECT_TRUE(builder.AddDevice({.name = name, .kind = kind, .capacity = Bytes(1)}).ok());
  }
  const Cluster cores = std::move(builder).Build().Take();
  EXPECT_EQ(MeasuredCollectiveKey(CollectiveKind::kAllGather, cores, AllDevicesOf(cores)),
            "all-gather 2xcore:2/1");
}

// 5 us and 4 bytes a nanosecond, measured from 1 KiB to 1 MiB.
TEST(MeasuredCollectives, LinesGoThroughMeasuredSizes) {
  MeasuredCollectives measured{"gloo", "all-reduce 2xT4/1", {}};
  for (int64_t bytes = 1024; bytes <= 1 << 20; bytes *= 2) {
    measured.sizes.push_back({Bytes(bytes), Nanos(5000 + bytes / 4), 10});
  }
  const CollectiveFits fits({{"gloo", "all-reduce 3xT4/1", {{Bytes(8), Nanos(9), 1}}}, measured});
  EXPECT_EQ(fits.Find("all-reduce 4xT4/1"), nullptr);
  EXPECT_EQ(fits.Find("all-reduce 3xT4/1"), nullptr);  // one size makes no line
  const CollectiveFits::Fit* const fit = fits.Find("all-reduce 2xT4/1");
  ASSERT_NE(fit, nullptr);
  EXPECT_NEAR(static_cast<double>(fit->TimeOf(Bytes(40'000)).count), 15'000, 15);
  EXPECT_EQ(fit->SourceOf(Bytes(40'000)), CostSource::kMeasured);
  EXPECT_EQ(fit->SourceOf(Bytes(1023)), CostSource::kModelled);
  EXPECT_EQ(fit->SourceOf(Bytes((1 << 20) + 1)), CostSource::kModelled);
}

}  // namespace
}  // namespace placewright
