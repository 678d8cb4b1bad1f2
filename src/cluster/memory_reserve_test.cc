#include "cluster/memory_reserve.h"

#include <gmock/gmock.h>

#include "cluster/catalogue.h"
#include "cluster/cluster_builder.h"

namespace placewright {
namespace {

// Two GPUs of 1,000 B, of which the description leaves g1's reserve at 100 B, and a CPU.
Cluster Machine() {
  ClusterBuilder builder("machine");
  const int32_t gpu = builder.AddKind({.name = "gpu", .device_class = DeviceClass::kGpu}).Take();
  const int32_t cpu = builder.AddKind({.name = "cpu", .device_class = DeviceClass::kCpu}).Take();
  EXPECT_TRUE(builder.AddDevice({"g0", gpu, 0, Bytes(1000), Bytes(0)}).ok());
  EXPECT_TRUE(builder.AddDevice({"g1", gpu, 0, Bytes(900), Bytes(100), true}).ok());
  EXPECT_TRUE(builder.AddDevice({"c0", cpu, 0, Bytes(1000), Bytes(0)}).ok());
  return std::move(builder).Build().Take();
}

std::vector<int64_t> Reserves(const Cluster& cluster) {
  std::vector<int64_t> reserves;
  for (const DeviceId id : cluster.devices()) reserves.push_back(cluster.device(id).reserve.count);
  return reserves;
}

TEST(MemoryReserve, TheDefaultIsOfGpusThatStateNone) {
  Cluster cluster = Machine();
  ASSERT_TRUE(ApplyMemoryReserve(std::nullopt, &cluster).ok());
  EXPECT_EQ(Reserves(cluster), (std::vector<int64_t>{50, 100, 0}));  // 5% of 1,000
  EXPECT_EQ(cluster.device(DeviceId(0)).capacity, Bytes(950));
  EXPECT_EQ(cluster.device(DeviceId(2)).capacity, Bytes(1000));
}

TEST(MemoryReserve, AStatedOneIsOfAllGpus) {
  Cluster cluster = Machine();
  ASSERT_TRUE(ApplyMemoryReserve(MemoryReserve{.bytes = Bytes(300)}, &cluster).ok());
  EXPECT_EQ(Reserves(cluster), (std::vector<int64_t>{300, 300, 0}));
  EXPECT_EQ(cluster.device(DeviceId(1)).capacity, Bytes(700));
  ASSERT_TRUE(ApplyMemoryReserve(MemoryReserve{}, &cluster).ok());
  EXPECT_EQ(Reserves(cluster), (std::vector<int64_t>{0, 0, 0}));
  ASSERT_TRUE(ApplyMemoryReserve(MemoryReserve{.millionths = 25'000}, &cluster).ok());
  EXPECT_EQ(Reserves(cluster), (std::vector<int64_t>{25, 25, 0}));
}

TEST(MemoryReserve, SomethingMustBeLeft) {
  Cluster cluster = Machine();
  const Status all = ApplyMemoryReserve(MemoryReserve{.millionths = 1'000'000}, &cluster);
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().code, ErrorCode::kUsage);
  EXPECT_THAT(all.error().message, testing::HasSubstr("g0 has 1000 B of memory"));
}

TEST(MemoryReserve, NeedsAGpu) {
  ClusterBuilder builder("host");
  const int32_t cpu = builder.AddKind({.name = "cpu", .device_class = DeviceClass::kCpu}).Take();
  ASSERT_TRUE(builder.AddDevice({"c0", cpu, 0, Bytes(1000), Bytes(0)}).ok());
  Cluster cluster = std::move(builder).Build().Take();
  EXPECT_TRUE(ApplyMemoryReserve(std::nullopt, &cluster).ok());
  EXPECT_EQ(ApplyMemoryReserve(MemoryReserve{}, &cluster).error().code, ErrorCode::kUsage);
}

// Shares of the largest memory that can be stated do not overflow.
TEST(MemoryReserve, OfTheLargestMemory) {
  EXPECT_EQ(ReserveOf({.millionths = 1'000'000}, Bytes(kMaxQuantity)), Bytes(kMaxQuantity));
  EXPECT_EQ(ReserveOf({.millionths = 500'000}, Bytes(kMaxQuantity)), Bytes(kMaxQuantity / 2));
}

}  // namespace
}  // namespace placewright
