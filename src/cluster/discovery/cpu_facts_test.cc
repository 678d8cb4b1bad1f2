#include "cluster/discovery/cpu_facts.h"

#include <gmock/gmock.h>

#include "cluster/catalogue.h"

namespace placewright {
namespace {

using testing::HasSubstr;

constexpr std::string_view kXeon =
    "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"
    "model name\t: Intel(R) Xeon(R) CPU E5-2650 v4 @ 2.20GHz\ncpu MHz\t\t: 1199.998\n"
    "flags\t\t: fpu sse2 avx f16c avx2 fma\n\n"
    "processor\t: 1\nmodel name\t: another\nflags\t: none\n";

TEST(CpuFacts, ReadsTheFirstProcessorAndTheClockOfItsName) {
  const CpuFacts facts = ParseCpuInfo(kXeon);
  EXPECT_EQ(facts.vendor, "GenuineIntel");
  EXPECT_EQ(facts.model, "Intel(R) Xeon(R) CPU E5-2650 v4 @ 2.20GHz");
  EXPECT_EQ(facts.family, 6);
  EXPECT_EQ(facts.mhz, 2200);
  EXPECT_TRUE(facts.Has("fma"));
  EXPECT_FALSE(facts.Has("avx512f"));
  EXPECT_EQ(ParseCpuInfo("cpu MHz : 2596.092\n").mhz, 2596);
  EXPECT_EQ(ParseCpuInfo("cpu MHz : 999999999999999999\n").mhz, 0);
  EXPECT_EQ(ParseCpuInfo("").flags.size(), 0u);
}

TEST(EstimateCpu, AKnownModelWithAllItsCoresIsTheCatalogues) {
  const CpuEstimate estimate = EstimateCpu(ParseCpuInfo(kXeon), 12);
  EXPECT_EQ(estimate.kind.name, "Xeon-E5-2650v4");
  EXPECT_EQ(estimate.note, "");
}

// Two of its cores: 2 * 2200 MHz * 32 = 140.8 GFLOP/s, below 3/4 of 844.8.
TEST(EstimateCpu, APartOfAKnownModelIsAnEstimate) {
  const CpuEstimate estimate = EstimateCpu(ParseCpuInfo(kXeon), 2);
  EXPECT_EQ(estimate.kind.name, "Xeon E5-2650 v4 (2 cores)");
  EXPECT_DOUBLE_EQ(estimate.kind.peak.f32, 140.8e9);
  EXPECT_DOUBLE_EQ(estimate.kind.peak.f64, 70.4e9);
  EXPECT_EQ(estimate.kind.architecture, "broadwell");
  EXPECT_EQ(estimate.kind.memory_bandwidth.count, 76'800'000'000);
  EXPECT_THAT(estimate.note, HasSubstr("an estimate: 2 cores x 2200 MHz x 32"));
  // The bandwidth is the catalogue's, though the peaks are not.
  EXPECT_EQ(estimate.memory_source, FindKind("Xeon-E5-2650v4")->source);
}

TEST(EstimateCpu, WidthsByFlags) {
  const auto f32 = [](const char* text) {
    return EstimateCpu(ParseCpuInfo(text), 1).kind.peak.f32;
  };
  // One core at 1000 MHz: 1e9 * operations a cycle.
  EXPECT_DOUBLE_EQ(f32("vendor_id: GenuineIntel\ncpu MHz: 1000\nflags: avx avx2 avx512f fma"),
                   64e9);
  EXPECT_DOUBLE_EQ(
      f32("vendor_id: AuthenticAMD\ncpu family: 25\ncpu MHz: 1000\nflags: avx512f avx2 fma"), 32e9);
  EXPECT_DOUBLE_EQ(f32("vendor_id: AuthenticAMD\ncpu family: 26\ncpu MHz: 1000\nflags: avx512f"),
                   64e9);
  EXPECT_DOUBLE_EQ(f32("cpu MHz: 1000\nflags: avx2 avx fma"), 32e9);
  EXPECT_DOUBLE_EQ(f32("cpu MHz: 1000\nflags: avx sse2"), 16e9);
  EXPECT_DOUBLE_EQ(f32("cpu MHz: 1000\nFeatures: fp asimd"), 16e9);
  EXPECT_DOUBLE_EQ(f32("cpu MHz: 1000\nflags: sse2"), 8e9);
  EXPECT_DOUBLE_EQ(f32(""), 4e9);  // 2 GHz assumed, 2 operations
}

TEST(EstimateCpu, AnEmptyTextIsStillACpu) {
  const CpuEstimate estimate = EstimateCpu(ParseCpuInfo(""), 4);
  EXPECT_EQ(estimate.kind.name, "CPU (4 cores)");
  EXPECT_EQ(estimate.kind.device_class, DeviceClass::kCpu);
  EXPECT_THAT(estimate.note, HasSubstr("(assumed)"));
}

// As /proc/cpuinfo calls the catalogue's processors for desktops and laptops.
TEST(CpuFacts, DesktopNamesAreOfTheCatalogue) {
  struct Case {
    const char *model, *kind;
    int64_t cores, mhz;
  };
  for (const Case& each :
       {Case{"AMD Ryzen 9 7950X 16-Core Processor", "Ryzen-9-7950X", 16, 4500},
        Case{"AMD Ryzen 7 7840HS w/ Radeon 780M Graphics", "Ryzen-7-7840HS", 8, 3800},
        Case{"AMD Ryzen AI 9 HX 370 w/ Radeon 890M", "Ryzen-AI-9-HX-370", 12, 2000},
        Case{"13th Gen Intel(R) Core(TM) i9-13900K", "Core-i9-13900K", 24, 3000},
        Case{"Intel(R) Core(TM) i9-14900K", "Core-i9-14900K", 24, 3200},
        Case{"Intel(R) Core(TM) Ultra 9 285K", "Core-Ultra-9-285K", 24, 3700}}) {
    CpuFacts facts;
    facts.model = each.model;
    facts.mhz = each.mhz;
    facts.flags = {"avx", "avx2", "fma", "sse2"};
    EXPECT_EQ(EstimateCpu(facts, each.cores).kind.name, each.kind) << each.model;
  }
}

}  // namespace
}  // namespace placewright
