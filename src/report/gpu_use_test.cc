#include "report/gpu_use.h"

#include <gmock/gmock.h>

#include "report/two_devices_fixture.h"

namespace placewright {
namespace {

using testing::HasSubstr;
using testing::Not;

// Four GPUs joined pair by pair at 1 GB/s without latency, and the graph of TwoDevices, whose
// parameter of 1,000 B is trained.
class GpuUseTest : public TwoDevices {
 protected:
  void SetUp() override {
    TwoDevices::SetUp();
    ClusterBuilder builder("four");
    const int32_t kind = builder.AddKind({.name = "G", .device_class = DeviceClass::kGpu}).Take();
    const char* names[] = {"d0", "d1", "d2", "d3"};
    for (const char* name : names) {
      ASSERT_TRUE(builder.AddDevice({.name = name, .kind = kind, .capacity = Bytes(100000)}).ok());
    }
    for (int i = 0; i < 4; ++i) {
      for (int k = i + 1; k < 4; ++k) {
        ASSERT_TRUE(builder
                        .Connect(names[i], names[k], BytesPerSecond(1000000000), Nanos(0),
                                 Duplex::kFull, "by hand")
                        .ok());
      }
    }
    gpus_.emplace(std::move(builder).Build().Take());
    step_.step_time = Nanos(100000);
    step_.devices.resize(4);
  }

  void Busy(int device, int64_t time) {
    step_.devices[device].busy = Nanos(time);
    step_.devices[device].ops = 1;
  }

  std::optional<Cluster> gpus_;
  SimResult step_;
};

TEST_F(GpuUseTest, IdleGpusAreCountedAndWhatIsNotCoveredIsNamed) {
  Busy(0, 90000);
  const auto use = FindIdleGpus(step_, *graph_, *gpus_);
  ASSERT_TRUE(use.has_value());
  EXPECT_EQ(use->gpus, 4);
  EXPECT_EQ(use->idle, 3);
  EXPECT_DOUBLE_EQ(use->busy, 0.225);  // 90,000 of 4 * 100,000
  // 90,000 / 4 + 2 * 3 / 4 * 1,000 = 24,000 ns, less than half of 100,000.
  EXPECT_TRUE(use->data_parallelism_probably_faster);
  EXPECT_EQ(DescribeGpuUse(*use),
            "The 4 G compute 22.5% of the step on the average, 3 of them idle. The bound does not "
            "cover data parallelism, replication or pipelining; data "
            "parallelism would probably be faster.");
}

// 4 * 45,000 / 4 + 1,500 = 46,500 of 100,000 ns; with 49,000 each it is 50,500, more than half.
TEST_F(GpuUseTest, TheEstimateDecides) {
  for (int d = 0; d < 4; ++d) Busy(d, 45000);
  EXPECT_TRUE(FindIdleGpus(step_, *graph_, *gpus_)->data_parallelism_probably_faster);
  for (int d = 0; d < 4; ++d) Busy(d, 49000);
  const auto use = FindIdleGpus(step_, *graph_, *gpus_);
  EXPECT_FALSE(use->data_parallelism_probably_faster);
  EXPECT_THAT(DescribeGpuUse(*use), Not(HasSubstr("faster")));
  EXPECT_THAT(DescribeGpuUse(*use), Not(HasSubstr("idle")));
  for (int d = 0; d < 4; ++d) Busy(d, 50000);
  EXPECT_FALSE(FindIdleGpus(step_, *graph_, *gpus_).has_value());
}

TEST_F(GpuUseTest, ReplicasThatDoNotFitAreNotFaster) {
  Busy(0, 90000);
  // The parameter and its gradient take 2,000 B, a fourth of the rest of 400,000 B 99,750.
  step_.devices[0].tensor_peak = Bytes(400000);
  EXPECT_FALSE(FindIdleGpus(step_, *graph_, *gpus_)->data_parallelism_probably_faster);
  step_.devices[0].tensor_peak = Bytes(390000);
  EXPECT_TRUE(FindIdleGpus(step_, *graph_, *gpus_)->data_parallelism_probably_faster);
}

// One G that computes nearly all the time beside two slower H that do not.
TEST_F(GpuUseTest, GpusOfSeveralKindsAreCountedTogether) {
  ClusterBuilder builder("mixed");
  const int32_t fast = builder.AddKind({.name = "G", .device_class = DeviceClass::kGpu}).Take();
  const int32_t slow = builder.AddKind({.name = "H", .device_class = DeviceClass::kGpu}).Take();
  ASSERT_TRUE(builder.AddDevice({.name = "d0", .kind = fast, .capacity = Bytes(100000)}).ok());
  for (const char* name : {"d1", "d2"}) {
    ASSERT_TRUE(builder.AddDevice({.name = name, .kind = slow, .capacity = Bytes(100000)}).ok());
  }
  const Cluster mixed = std::move(builder).Build().Take();
  step_.devices.resize(3);
  Busy(0, 98000);
  Busy(1, 7000);
  const auto use = FindIdleGpus(step_, *graph_, mixed);
  ASSERT_TRUE(use.has_value());
  // (98,000 + 7,000) / 3 of 100,000
  EXPECT_THAT(DescribeGpuUse(*use),
              HasSubstr("The 3 GPUs compute 35.0% of the step on the average, 1 of them idle."));
}

TEST_F(GpuUseTest, WithoutGpusThereIsNothingToSay) {
  EXPECT_FALSE(FindIdleGpus(result_, *graph_, *cluster_).has_value());
}

}  // namespace
}  // namespace placewright
