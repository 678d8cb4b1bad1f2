#include "cluster/discovery/match_gpu.h"

#include <gmock/gmock.h>

namespace placewright {
namespace {

struct Case {
  const char* driver;
  int64_t gib;
  const char* kind;
  bool exact;
};

TEST(MatchGpu, DriverNamesFindTheirKinds) {
  const Case cases[] = {
      {"NVIDIA A100-SXM4-80GB", 80, "A100-80GB", true},
      {"NVIDIA A100-SXM4-40GB", 40, "A100-40GB", true},
      {"A100-PCIE-40GB", 40, "A100-PCIe-40GB", true},
      {"NVIDIA A100 80GB PCIe", 80, "A100-PCIe-80GB", true},
      {"Tesla V100-SXM2-16GB", 16, "V100-16GB", true},
      {"Tesla V100-SXM2-32GB", 32, "V100-32GB", true},
      {"Tesla V100-PCIE-32GB", 32, "V100-PCIe-32GB", true},
      {"Tesla P100-PCIE-12GB", 12, "P100-12GB", true},
      {"Tesla P100-SXM2-16GB", 16, "P100-SXM2-16GB", true},
      {"Tesla K80", 11, "K80", true},
      {"Tesla T4", 15, "T4", true},
      {"NVIDIA H100 80GB HBM3", 80, "H100", true},
      {"NVIDIA H100 PCIe", 80, "H100-PCIe", true},
      {"NVIDIA H200", 140, "H200", true},
      {"NVIDIA B200", 179, "B200", true},
      {"NVIDIA L4", 22, "L4", true},
      {"NVIDIA GeForce RTX 3090", 24, "RTX-3090", true},
      {"NVIDIA GeForce GTX 1080 Ti", 11, "GTX-1080Ti", true},
      {"NVIDIA GeForce RTX 2080 Ti", 11, "RTX-2080Ti", true},
      {"NVIDIA RTX A6000", 48, "RTX-A6000", true},
      {"AMD Instinct MI300X", 192, "MI300X", true},
      {"NVIDIA H100 NVL", 94, "H100-NVL", true},
      {"NVIDIA GeForce RTX 3090 Ti", 24, "RTX-3090Ti", true},
      {"NVIDIA GeForce RTX 3080", 12, "RTX-3080-12GB", true},
      {"NVIDIA GeForce RTX 4070 Ti SUPER", 16, "RTX-4070Ti-SUPER", true},
      {"NVIDIA GeForce RTX 4060 Ti", 16, "RTX-4060Ti-16GB", true},
      {"NVIDIA GeForce RTX 4090 Laptop GPU", 16, "RTX-4090-Laptop", true},
      {"NVIDIA GeForce RTX 5070 Ti Laptop GPU", 12, "RTX-5070Ti-Laptop", true},
      {"NVIDIA GeForce RTX 5090", 32, "RTX-5090", true},
      {"NVIDIA L40", 48, "L40", true},
      {"NVIDIA L40S", 48, "L40S", true},
      {"AMD Instinct MI325X", 256, "MI325X", true},
      {"NVIDIA GeForce RTX 4090 D", 24, "RTX-4090D", true},
      {"NVIDIA A10G", 22, "A10G", true},
      {"NVIDIA TITAN RTX", 24, "TITAN-RTX", true},
      {"NVIDIA H20", 95, "H20", true},
      {"NVIDIA GB200", 185, "GB200", true},
      {"AMD Radeon RX 7900 XTX", 24, "RX-7900-XTX", true},
      {"Intel(R) Arc(TM) B580 Graphics", 12, "Arc-B580", true},
      // Variants.
      {"NVIDIA RTX 6000 Ada Generation", 48, "RTX-6000-Ada", false},
      {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 96, "RTX-PRO-6000", false},
      {"NVIDIA A10M", 22, "A10", false},
      {"Tesla V100S-PCIE-32GB", 32, "V100-PCIe-32GB", false},
  };
  for (const Case& each : cases) {
    const Result<GpuMatch> match = MatchGpu(each.driver, Bytes(each.gib << 30));
    ASSERT_TRUE(match.ok()) << each.driver << ": " << match.error().message;
    EXPECT_EQ(match.value().kind.name, each.kind) << each.driver;
    EXPECT_EQ(match.value().exact, each.exact) << each.driver;
  }
}

// A1000 is no A100, L400 no L40, T400 no T4.
TEST(MatchGpu, OtherNumbersAreOtherGpus) {
  for (const char* name : {"NVIDIA RTX A1000", "NVIDIA A1000", "NVIDIA L400", "NVIDIA T400 4GB",
                           "Graphics Device", "", "NVIDIA", "\x01\xff"}) {
    const Result<GpuMatch> match = MatchGpu(name, Bytes(int64_t{8} << 30));
    ASSERT_FALSE(match.ok()) << name << " " << match.value().kind.name;
    EXPECT_EQ(match.error().code, ErrorCode::kUnknownName);
    EXPECT_THAT(std::string(match.error().Remedy()), testing::HasSubstr("--gpu"));
  }
}

}  // namespace
}  // namespace placewright
