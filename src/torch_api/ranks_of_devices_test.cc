// Which rank has which devices.
#include <gtest/gtest.h>

#include "cluster/cluster_builder.h"
#include "torch_api/process_service.h"

namespace placewright {
namespace {

Cluster WithHosts(const std::vector<int32_t>& host_of) {
  ClusterBuilder builder("c");
  DeviceKind kind;
  kind.name = "k";
  kind.device_class = DeviceClass::kGpu;
  EXPECT_TRUE(builder.AddKind(std::move(kind)).ok());
  for (size_t i = 0; i < host_of.size(); ++i) {
    const std::string name = "d" + std::to_string(i);
    EXPECT_TRUE(builder.AddDevice({name, 0, host_of[i], Bytes(100), Bytes(0)}).ok());
    if (i > 0) {
      EXPECT_TRUE(
          builder.Connect("d0", name, BytesPerSecond(1), Nanos(0), Duplex::kFull, "t").ok());
    }
  }
  return std::move(builder).Build().Take();
}

std::vector<int32_t> RanksOf(const std::vector<int32_t>& host_of, int32_t ranks) {
  return RanksOfDevices(WithHosts(host_of), ranks).Take().raw();
}

using Ranks = std::vector<int32_t>;

TEST(RanksOfDevices, AreRunsOfOneMachine) {
  EXPECT_EQ(RanksOf({0, 0, 0, 0}, 2), (Ranks{0, 0, 1, 1}));
  EXPECT_EQ(RanksOf({0, 0, 0, 0, 0}, 2), (Ranks{0, 0, 0, 1, 1}));
  EXPECT_EQ(RanksOf({0, 0, 0}, 3), (Ranks{0, 1, 2}));
}

// Machines of two and of six devices: one rank each, two ranks each.
TEST(RanksOfDevices, KeepMachinesApartWhereTheyCan) {
  EXPECT_EQ(RanksOf({0, 0, 1, 1, 1, 1, 1, 1}, 2), (Ranks{0, 0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(RanksOf({0, 0, 1, 1, 1, 1, 1, 1}, 4), (Ranks{0, 1, 2, 2, 2, 3, 3, 3}));
  EXPECT_EQ(RanksOf({0, 1, 0, 1}, 2), (Ranks{0, 1, 0, 1}));  // in turn in the file
}

TEST(RanksOfDevices, AreRunsOfAllWhereTheyCannot) {
  EXPECT_EQ(RanksOf({0, 1, 2}, 2), (Ranks{0, 0, 1}));
  EXPECT_EQ(RanksOf({0, 1, 1, 1}, 4), (Ranks{0, 1, 2, 3}));
}

TEST(RanksOfDevices, AreNoMoreThanDevices) {
  const auto ranks = RanksOfDevices(WithHosts({0, 0}), 3);
  ASSERT_FALSE(ranks.ok());
  EXPECT_EQ(ranks.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace placewright
