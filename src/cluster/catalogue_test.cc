#include "cluster/catalogue.h"

#include <gtest/gtest.h>

#include <set>

namespace placewright {
namespace {

TEST(Catalogue, HoldsTheNamedHardware) {
  for (const char* name :
       {"K80", "P100-12GB", "P100-16GB", "RTX-2080", "V100-16GB", "V100-32GB", "GTX-1080Ti", "T4",
        "A100-40GB", "A100-80GB", "H100", "Xeon-E5-2650v4"}) {
    ASSERT_NE(FindKind(name), nullptr) << name;
    EXPECT_EQ(FindKind(name)->name, name);
  }
}

TEST(Catalogue, EveryFigureIsStatedWithASource) {
  std::set<std::string> names;
  for (const DeviceKind& kind : Catalogue()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_NE(kind.device_class, DeviceClass::kOther) << kind.name;
    EXPECT_FALSE(kind.architecture.empty()) << kind.name;
    EXPECT_FALSE(kind.source.empty()) << kind.name;
    EXPECT_GT(kind.peak.f32, 0) << kind.name;
    EXPECT_GT(kind.peak.f64, 0) << kind.name;
    EXPECT_GT(kind.memory_bandwidth.count, 0) << kind.name;
    EXPECT_GT(kind.launch_overhead.count, 0) << kind.name;
    const bool gpu = kind.device_class == DeviceClass::kGpu;
    EXPECT_EQ(kind.memory.count > 0, gpu) << kind.name;
    EXPECT_EQ(kind.runtime_context.count > 0, gpu) << kind.name;
  }
}

TEST(Catalogue, ASpellingWithoutDashesIsTheSameName) {
  EXPECT_EQ(FindKind("gtx 1080ti"), FindKind("GTX-1080Ti"));
  EXPECT_EQ(FindKind("V100 32"), FindKind("V100-32GB"));
  EXPECT_NE(FindKind("V100-16GB"), FindKind("V100-32GB"));
  EXPECT_EQ(FindKind("V100"), nullptr);
  EXPECT_EQ(FindKind(""), nullptr);
}

TEST(Catalogue, KnownRatios) {
  // One die of the K80 has half of the board's 8.74 TFLOP/s and 480 GB/s.
  EXPECT_DOUBLE_EQ(FindKind("K80")->peak.f32 * 2, 8.74e12);
  EXPECT_EQ(FindKind("K80")->memory_bandwidth.count * 2, 480'000'000'000);
  // 12 cores * 2.2e9 Hz * 32 floating-point operations = 844.8 GFLOP/s.
  EXPECT_DOUBLE_EQ(FindKind("Xeon-E5-2650v4")->peak.f32, 12 * 2.2e9 * 32);
  // 64 cores * 2.25e9 Hz * 32 = 4.608 TFLOP/s.
  EXPECT_DOUBLE_EQ(FindKind("EPYC-7742")->peak.f32, 64 * 2.25e9 * 32);
}

}  // namespace
}  // namespace placewright
