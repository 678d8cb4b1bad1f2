#include "formats/cluster/cluster_writer.h"

#include <gmock/gmock.h>

#include "cluster/random_topology.h"
#include "formats/cluster/cluster_reader.h"

namespace placewright {
namespace {

using testing::HasSubstr;

ClusterBuilder SmallMachine() {
  ClusterBuilder builder("a \"small\" one");
  DeviceKind kind;
  kind.name = "yes";  // a word that YAML 1.1 takes for true
  kind.device_class = DeviceClass::kGpu;
  kind.architecture = "volta";
  kind.peak.f32 = 12.5e12;
  kind.memory_bandwidth = BytesPerSecond(900'000'000'001);
  kind.memory = Bytes(12 << 20);
  kind.launch_overhead = Nanos(5'000);
  kind.multiprocessors = 80;
  kind.channels = 8;
  kind.nvls = true;
  kind.source = "a: b # c";
  EXPECT_TRUE(builder.AddKind(kind).ok());
  EXPECT_TRUE(builder.AddDevice({"host0/gpu0", 0, 0, Bytes(1000), Bytes(24), true}).ok());
  EXPECT_TRUE(builder.AddDevice({"host3/gpu0", 0, 7, Bytes(4096), Bytes(0)}).ok());
  EXPECT_TRUE(builder.AddForwarder("0x10").ok());
  EXPECT_TRUE(builder
                  .Connect("host0/gpu0", "0x10", BytesPerSecond(12'000'000'000), Nanos(1'500),
                           Duplex::kHalf, "one\ntwo")
                  .ok());
  EXPECT_TRUE(
      builder.Connect("0x10", "host3/gpu0", BytesPerSecond(7), Nanos(2'000), Duplex::kFull, "")
          .ok());
  return builder;
}

TEST(ClusterWriter, WhatIsWrittenReadsBackToTheSameCluster) {
  ClusterBuilder builder = SmallMachine();
  ASSERT_TRUE(builder
                  .SetCollectives({.one_communicator = true,
                                   .lines = {{Nanos(1'500), BytesPerSecond(12'000'000'000)},
                                             {Nanos(0), BytesPerSecond(7)}},
                                   .measured_at = BytesPerSecond(5),
                                   .source = "a: b # c"})
                  .ok());
  const std::string text = ClusterToYaml(builder, {"made\nby hand"});
  EXPECT_THAT(text, HasSubstr("# made?by hand\n"));
  EXPECT_THAT(text, HasSubstr("memory: 1 KiB, reserve: 24 B, host: 0}"));  // 1000 + 24 bytes
  EXPECT_THAT(text, HasSubstr("bandwidth: 12 GB/s, latency: 1500 ns, duplex: half"));
  EXPECT_THAT(text, HasSubstr("latency: 2 us"));
  EXPECT_THAT(text, HasSubstr("    - {latency: 1500 ns, bandwidth: 12 GB/s}\n"));
  const Result<Cluster> read = ParseCluster(text);
  ASSERT_TRUE(read.ok()) << read.error().message << " at " << read.error().place << "\n" << text;
  const Result<Cluster> built = std::move(builder).Build();
  ASSERT_TRUE(built.ok());
  EXPECT_EQ(ClusterToJson(read.value()).dump(), ClusterToJson(built.value()).dump());
}

TEST(ClusterWriter, RandomTopologiesReadBackToTheSameCluster) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Result<ClusterBuilder> builder = DrawTopology({}, seed);
    ASSERT_TRUE(builder.ok());
    const Result<Cluster> read = ParseCluster(ClusterToYaml(builder.value(), {}));
    ASSERT_TRUE(read.ok()) << read.error().message;
    const Result<Cluster> built = std::move(builder.value()).Build();
    EXPECT_EQ(ClusterToJson(read.value()).dump(), ClusterToJson(built.value()).dump()) << seed;
  }
}

}  // namespace
}  // namespace placewright
