#include "cluster/catalogue.h"

#include <gtest/gtest.h>

#include <set>

namespace placewright {
namespace {

TEST(Catalogue, HoldsTheNamedHardware) {
  for (const char* name : {"K80",
                           "P100-12GB",
                           "P100-16GB",
                           "RTX-2080",
                           "V100-16GB",
                           "V100-32GB",
                           "GTX-1080Ti",
                           "T4",
                           "A100-40GB",
                           "A100-80GB",
                           "H100",
                           "H100-PCIe",
                           "H200",
                           "B200",
                           "RTX-3090",
                           "RTX-4090",
                           "A10",
                           "L4",
                           "MI250X",
                           "MI300X",
                           "TPU-v3",
                           "TPU-v4",
                           "EPYC-7742",
                           "EPYC-9654",
                           "EPYC-7763",
                           "Xeon-E5-2650v4",
                           "Xeon-Platinum-8480+"}) {
    ASSERT_NE(FindKind(name), nullptr) << name;
    EXPECT_EQ(FindKind(name)->name, name);
  }
  EXPECT_GE(Catalogue().size(), 25u);
}

TEST(Catalogue, EveryFigureIsStatedWithASource) {
  std::set<std::string> names;
  for (const DeviceKind& kind : Catalogue()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_FALSE(kind.architecture.empty()) << kind.name;
    EXPECT_FALSE(kind.source.empty()) << kind.name;
    EXPECT_GT(kind.peak.f32, 0) << kind.name;
    const bool tpu = kind.device_class == DeviceClass::kOther;
    EXPECT_EQ(kind.peak.f64 > 0, !tpu && !kind.name.starts_with("Arc-A")) << kind.name;
    const bool slow_half = kind.architecture == "pascal" && !kind.name.starts_with("P100");
    EXPECT_GE(kind.peak.f16, slow_half ? 0 : kind.peak.f32) << kind.name;
    EXPECT_GT(kind.memory_bandwidth.count, 0) << kind.name;
    EXPECT_GT(kind.launch_overhead.count, 0) << kind.name;
    const bool gpu = kind.device_class == DeviceClass::kGpu;
    EXPECT_EQ(kind.memory.count > 0, gpu || tpu) << kind.name;
    EXPECT_EQ(kind.runtime_context.count > 0, gpu) << kind.name;
  }
}

TEST(Catalogue, ASpellingWithoutDashesIsTheSameName) {
  EXPECT_EQ(FindKind("gtx 1080ti"), FindKind("GTX-1080Ti"));
  EXPECT_EQ(FindKind("V100 32"), FindKind("V100-32GB"));
  EXPECT_NE(FindKind("V100-16GB"), FindKind("V100-32GB"));
  EXPECT_EQ(FindKind("V100"), nullptr);
  EXPECT_EQ(FindKind("h100 sxm5"), FindKind("H100"));
  EXPECT_EQ(FindKind("A6000"), FindKind("RTX-A6000"));
  EXPECT_EQ(FindKind(""), nullptr);
}

TEST(Catalogue, WhatPeopleOwn) {
  for (const char* name : {"RTX-3060",
                           "RTX-3080-10GB",
                           "RTX-4060",
                           "RTX-4060Ti-16GB",
                           "RTX-4070-SUPER",
                           "RTX-4080",
                           "RTX-4090-Laptop",
                           "RTX-4050-Laptop",
                           "RTX-5070",
                           "RTX-5090",
                           "RTX-5080-Laptop",
                           "RTX-A4000",
                           "RTX-6000-Ada",
                           "RTX-PRO-6000",
                           "L40",
                           "H100-NVL",
                           "MI325X",
                           "Ryzen-9-7950X",
                           "Ryzen-9-9950X",
                           "Ryzen-7-9800X3D",
                           "Core-i9-14900K",
                           "Core-i5-13600K",
                           "Core-Ultra-9-285K",
                           "Threadripper-7980X"}) {
    ASSERT_NE(FindKind(name), nullptr) << name;
    EXPECT_EQ(FindKind(name)->name, name);
  }
  // 16,384 cores at 2.52 GHz: 82.6; of the RTX 5090 21,760 at 2.407 GHz and 512 bits at 28 Gb/s.
  EXPECT_NEAR(FindKind("RTX-5090")->peak.f32, 2 * 21'760 * 2.407e9, 1e11);
  EXPECT_EQ(FindKind("RTX-5090")->memory_bandwidth.count, 512 / 8 * 28'000'000'000);
  // GeForce: twice float on tensor cores with float accumulation, as of the RTX 4090 by its own
  // row.
  EXPECT_DOUBLE_EQ(FindKind("RTX-4080")->peak.f16 / FindKind("RTX-4080")->peak.f32,
                   FindKind("RTX-4090")->peak.f16 / FindKind("RTX-4090")->peak.f32);
  // 8 cores x 3.2 GHz x 32 + 16 x 2.4 GHz x 16.
  EXPECT_DOUBLE_EQ(FindKind("Core-i9-14900K")->peak.f32, 8 * 3.2e9 * 32 + 16 * 2.4e9 * 16);
}

TEST(Catalogue, WhatPeopleRentAndOwnIn2026) {
  for (const char* name : {"TITAN-RTX",   "A10G",
                           "H20",         "GB200",
                           "B300",        "GB300",
                           "MI350X",      "MI355X",
                           "RX-7900-XTX", "RX-9070-XT",
                           "Arc-B580",    "Arc-A770",
                           "RTX-4090D",   "RTX-PRO-6000-Server",
                           "H800",        "GH200",
                           "GTX-1080",    "RTX-2060",
                           "P40",         "Quadro-RTX-8000",
                           "EPYC-7R13",   "Xeon-Platinum-8570"}) {
    ASSERT_NE(FindKind(name), nullptr) << name;
    EXPECT_EQ(FindKind(name)->name, name);
  }
  // As people and drivers write them.
  EXPECT_EQ(FindKind("RTX TITAN"), FindKind("TITAN-RTX"));
  EXPECT_EQ(FindKind("TITAN RTX"), FindKind("TITAN-RTX"));
  EXPECT_EQ(FindKind("NVIDIA GeForce RTX 4090"), FindKind("RTX-4090"));
  EXPECT_EQ(FindKind("NVIDIA GeForce RTX 4070 Laptop GPU"), FindKind("RTX-4070-Laptop"));
  EXPECT_EQ(FindKind("AMD Radeon RX 7900 XTX"), FindKind("RX-7900-XTX"));
  EXPECT_EQ(FindKind("A100-SXM4-80GB"), FindKind("A100-80GB"));
  // Eight stacks of HBM3e: 8 TB/s.
  EXPECT_EQ(FindKind("B300")->memory_bandwidth, FindKind("MI355X")->memory_bandwidth);
}

// Without a size the smaller, and the older, and it is said.
TEST(Catalogue, NamesThatLeaveTheSizeOpen) {
  EXPECT_EQ(FindKind("RTX 3080"), FindKind("RTX-3080-10GB"));
  EXPECT_NE(NoteOfKindName("RTX 3080").find("10 GB"), std::string_view::npos);
  EXPECT_EQ(FindKind("rtx4060ti"), FindKind("RTX-4060Ti-8GB"));
  EXPECT_FALSE(NoteOfKindName("RTX-5060Ti").empty());
  EXPECT_TRUE(NoteOfKindName("RTX-3080-12GB").empty());
  EXPECT_TRUE(NoteOfKindName("H100-SXM").empty());
}

// GeForce and TITAN from Turing on have no peer to peer over PCIe; Pascal's and boards for
// workstations and servers do.
TEST(Catalogue, PeerToPeer) {
  for (const char* name : {"RTX-2080Ti", "RTX-2080", "RTX-2060", "TITAN-RTX", "RTX-3060",
                           "RTX-3090", "RTX-4090", "RTX-4090-Laptop", "RTX-5090", "Arc-B580"}) {
    EXPECT_FALSE(FindKind(name)->p2p) << name;
  }
  for (const char* name : {"GTX-1080Ti", "GTX-1080", "T4", "V100-16GB", "P100-12GB", "RTX-A6000",
                           "RTX-6000-Ada", "RTX-PRO-6000", "L40S", "A10G", "H100", "MI300X"}) {
    EXPECT_TRUE(FindKind(name)->p2p) << name;
  }
}

TEST(Catalogue, ApplesChipsAreLeftOutOnPurpose) {
  for (const char* name : {"apple-m3", "Apple M1 Pro", "M4 Max", "m2"}) {
    EXPECT_FALSE(WhyNotInCatalogue(name).empty()) << name;
    EXPECT_EQ(FindKind(name), nullptr);
  }
  for (const DeviceKind& kind : Catalogue()) {
    EXPECT_TRUE(WhyNotInCatalogue(kind.name).empty()) << kind.name;
  }
  EXPECT_TRUE(WhyNotInCatalogue("M60").empty());
}

TEST(Catalogue, KnownRatios) {
  // One die of the K80 has half of the board's 8.74 TFLOP/s and 480 GB/s.
  EXPECT_DOUBLE_EQ(FindKind("K80")->peak.f32 * 2, 8.74e12);
  EXPECT_EQ(FindKind("K80")->memory_bandwidth.count * 2, 480'000'000'000);
  // 12 cores * 2.2e9 Hz * 32 floating-point operations = 844.8 GFLOP/s.
  EXPECT_DOUBLE_EQ(FindKind("Xeon-E5-2650v4")->peak.f32, 12 * 2.2e9 * 32);
  // An L4's data sheet states 242 TFLOP/s with sparsity, which doubles.
  EXPECT_DOUBLE_EQ(FindKind("L4")->peak.f16 * 2, 242e12);
  // One die of the MI250X has half of the module's 383 TFLOP/s and 3276.8 GB/s.
  EXPECT_DOUBLE_EQ(FindKind("MI250X")->peak.f16 * 2, 383e12);
  EXPECT_EQ(FindKind("MI250X")->memory_bandwidth.count * 2, 3'276'800'000'000);
  // One core of a TPU v3 chip: half of 123 TFLOP/s, 900 GB/s and 32 GiB.
  EXPECT_DOUBLE_EQ(FindKind("TPU-v3")->peak.bf16 * 2, 123e12);
  EXPECT_EQ(FindKind("TPU-v3")->memory.count, int64_t{16} << 30);
  // What a step may have of 80 GiB: 79.6.
  EXPECT_EQ(FindKind("H100")->memory.count, int64_t{81'559} << 20);
  // 96 cores * 2.4e9 Hz * 32 = 7.3728 TFLOP/s.
  EXPECT_DOUBLE_EQ(FindKind("EPYC-9654")->peak.f32, 7.3728e12);
  // 64 cores * 2.25e9 Hz * 32 = 4.608 TFLOP/s.
  EXPECT_DOUBLE_EQ(FindKind("EPYC-7742")->peak.f32, 64 * 2.25e9 * 32);
}

}  // namespace
}  // namespace placewright
