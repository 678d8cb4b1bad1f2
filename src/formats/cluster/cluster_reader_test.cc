#include "formats/cluster/cluster_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "cluster/catalogue.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kGiB = int64_t{1} << 30;

Cluster Good(std::string_view text) {
  auto result = ParseCluster(text);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString()) << "\n" << text;
  return result.ok() ? result.Take() : MakePreset("2xV100").Take();
}

Error Bad(std::string_view text) {
  auto result = ParseCluster(text);
  EXPECT_FALSE(result.ok()) << text;
  if (result.ok()) return Error();
  EXPECT_THAT(result.error().place, testing::MatchesRegex("line [0-9]+, column [0-9]+")) << text;
  return result.error();
}

// The same machine as the preset of that name, in the short form.
struct Twin {
  const char* preset;
  const char* text;
};
class ShortForm : public testing::TestWithParam<Twin> {};

TEST_P(ShortForm, EqualsThePreset) {
  Cluster c = Good(GetParam().text);
  const Cluster preset = MakePreset(GetParam().preset).Take();
  Json ours = ClusterToJson(c), theirs = ClusterToJson(preset);
  for (Json* document : {&ours, &theirs}) {
    for (Json& link : (*document)["links"]) link.erase("source");
  }
  EXPECT_EQ(ours.dump(1), theirs.dump(1));
}

INSTANTIATE_TEST_SUITE_P(
    Presets, ShortForm,
    testing::Values(Twin{"4xP100",
                         "name: 4xP100\n"
                         "gpus: 4 x P100-12GB\n"
                         "cpus: 2 x Xeon-E5-2650v4\n"
                         "memory: 125 GiB\n"},
                    Twin{"tag-cloud",
                         "name: tag-cloud\n"
                         "hosts:\n"
                         "  - {count: 2, gpus: 8 x V100-16GB, cpus: 2 x Xeon-E5-2650v4, memory: "
                         "128 GiB, interconnect: nvlink}\n"
                         "  - {count: 4, gpus: 4 x T4, cpus: 2 x Xeon-E5-2650v4, memory: 128 GiB}\n"
                         "network: 10 Gbps\n"},
                    Twin{"dgx-a100",
                         "{\"name\":\"dgx-a100\",\"gpus\":\"8 x A100-40GB\",\"cpus\":{\"kind\":"
                         "\"EPYC-7742\",\"count\":2},\"memory\":\"1 TiB\",\"interconnect\":"
                         "\"nvswitch\"}"}));

TEST(ClusterReader, EveryPresetSurvivesTheRoundTrip) {
  for (const Preset& preset : Presets()) {
    const Cluster c = MakePreset(preset.name).Take();
    const Json written = ClusterToJson(c);
    for (const int indent : {-1, 0, 2}) {
      const Cluster again = Good(written.dump(indent));
      EXPECT_EQ(ClusterToJson(again).dump(), written.dump()) << preset.name;
    }
    EXPECT_EQ(ClusterToJson(Good(written.dump(1, '\t'))).dump(), written.dump()) << preset.name;
  }
}

TEST(ClusterReader, WhatClusterShowPrints) {
  const Json cluster = ClusterToJson(MakePreset("2xV100").Take());
  const Json shown = {
      {"schema", "placewright.cluster-show/1"}, {"path", "x"}, {"cluster", cluster}};
  EXPECT_EQ(ClusterToJson(Good(shown.dump())).dump(), cluster.dump());
  Bad("{schema: placewright.cluster-show/1, path: x}");
  Bad("{schema: placewright.cluster-show/1, cluster: []}");
}

TEST(ClusterReader, LongForm) {
  const Cluster c = Good(R"(
kinds:
  Toy:
    class: gpu
    architecture: volta
    peak: {f32: 10 TFLOP/s}
    memory_bandwidth: 500 GB/s
    memory: 8 GiB
    launch_overhead: 4 us
    runtime_context: 100 MiB
devices:
  - {name: host0/gpu, kind: Toy, count: 2, reserve: 1 GiB}
  - {name: host1/cpu0, kind: Xeon-E5-2650v4, memory: 64 GiB}
switches: [s]
links:
  - {between: ["host0/gpu*", s], bandwidth: 12 GB/s, latency: 3 us}
  - {between: [host1/cpu0, s], bandwidth: 10 Gbps, latency: 5us, duplex: half}
)");
  EXPECT_THAT(c.DeviceNames(), ElementsAre("host0/gpu0", "host0/gpu1", "host1/cpu0"));
  EXPECT_EQ(c.device(DeviceId(0)).capacity, Bytes(7 * kGiB));
  EXPECT_EQ(c.device(DeviceId(0)).reserve, Bytes(kGiB));
  EXPECT_EQ(c.device(DeviceId(2)).host, 1);
  EXPECT_DOUBLE_EQ(c.kind(DeviceId(0)).peak.f32, 1e13);
  EXPECT_EQ(c.kind(DeviceId(0)).launch_overhead, Nanos(4'000));
  EXPECT_EQ(c.link_count(), 5u);  // two full-duplex links of two and one half-duplex
  EXPECT_EQ(c.route(DeviceId(0), DeviceId(2)).latency, Nanos(8'000));
  EXPECT_EQ(c.route(DeviceId(0), DeviceId(2)).bandwidth, BytesPerSecond(1'250'000'000));
  EXPECT_EQ(ClusterToJson(Good(ClusterToJson(c).dump())).dump(), ClusterToJson(c).dump());
}

// The nearest statement counts: device, host, kind, file.
TEST(ClusterReader, Reserves) {
  const auto reserves = [](const Cluster& c) {
    std::vector<std::pair<int64_t, bool>> list;
    for (const DeviceId id : c.devices()) {
      list.emplace_back(c.device(id).reserve.count, c.device(id).reserve_stated);
      EXPECT_EQ((c.device(id).capacity + c.device(id).reserve).count, 1000);
    }
    return list;
  };
  using List = std::vector<std::pair<int64_t, bool>>;
  EXPECT_EQ(reserves(Good("gpus: {kind: T4, memory: 1000 B}\n")), (List{{0, false}}));
  EXPECT_EQ(reserves(Good("gpus: {kind: T4, memory: 1000 B, reserve: 0}\n")), (List{{0, true}}));
  EXPECT_EQ(reserves(Good(R"(
kinds:
  K: {like: T4, memory: 1000 B, reserve: 12.5%}
  L: {like: T4, memory: 1000 B}
  C: {like: EPYC-7742, reserve: 30 B}
reserve: 5%
hosts:
  - {gpus: [K, L, {kind: K, reserve: 500 B}], cpus: {kind: C, memory: 1000 B}}
  - {gpus: [K, {kind: L, reserve: 0}], reserve: 0.1 kB}
devices:
  - {name: d, kind: L}
  - {name: e, kind: K, reserve_bytes: 3}
  - {name: f, kind: EPYC-7742, memory: 1000 B}
partial: true
)")),
            (List{{125, true},
                  {50, true},
                  {500, true},
                  {30, true},
                  {100, true},
                  {0, true},
                  {50, true},
                  {3, true},
                  {0, false}}));
  EXPECT_EQ(reserves(Good("gpus: {kind: T4, memory: 1000 B}\nreserve: 20 B\n")),
            (List{{20, true}}));
  for (const char* text :
       {"gpus: {kind: T4, reserve: 101%}\n", "gpus: {kind: T4, reserve: 5 percent}\n",
        "gpus: {kind: T4, reserve: 5%, reserve_bytes: 5}\n", "gpus: T4\nreserve: 100%\n",
        "cpus: {kind: EPYC-7742, memory: 1 GiB}\nreserve: 5%\n",
        "hosts: [{cpus: {kind: EPYC-7742, memory: 1 GiB}, reserve: 5%}]\n"}) {
    EXPECT_EQ(Bad(text).code, ErrorCode::kField) << text;
  }
}

// GPU g and NIC m of a socket with two of each share a PCIe switch: the shortest way out.
TEST(ClusterReader, SeveralNics) {
  const Cluster c = Good(R"(
hosts:
  - {gpus: 4 x T4, nics: 4 x 100 Gb/s, cpus: {kind: EPYC-7742, count: 2, memory: 1 GiB}}
  - {gpus: 2 x T4, nics: [10 Gbps, 20 Gbps]}
)");
  const auto route = [&](const char* from, const char* to) {
    const Route& r = c.route(c.FindDevice(from), c.FindDevice(to));
    std::vector<std::string> names;
    for (const LinkId link : r.links) names.push_back(c.link(link).name);
    return std::pair(names, r.bandwidth);
  };
  // GPU 2 is the first of socket 1; on host 1 the NIC beside GPU 1 is the one of 20 Gb/s.
  const auto [links, bandwidth] = route("host0/gpu2", "host1/gpu1");
  EXPECT_THAT(links, ElementsAre("host0/gpu2>host0/pcie1.0", "host0/pcie1.0>host0/nic2",
                                 "host0/nic2>network", "network>host1/nic1",
                                 "host1/nic1>host1/pcie0.1", "host1/pcie0.1>host1/gpu1"));
  EXPECT_EQ(bandwidth, BytesPerSecond(2'500'000'000));
  EXPECT_EQ(route("host0/gpu0", "host1/gpu0").first[1], "host0/pcie0.0>host0/nic0");
  EXPECT_EQ(route("host0/gpu1", "host1/gpu0").first[1], "host0/pcie0.1>host0/nic1");
  EXPECT_EQ(route("host0/gpu3", "host1/gpu0").first[1], "host0/pcie1.1>host0/nic3");
  // 100 Gb/s for each of two, and the network's for those that state none.
  const Cluster mixed = Good(
      "hosts: [{gpus: T4, nics: 2}, {gpus: T4, nics: 50 Gbps}, {gpus: T4}]\nnetwork: 25 Gbps\n");
  const auto of = [&](const char* name) {
    for (const LinkId id : mixed.links()) {
      if (mixed.link(id).name == name) return mixed.link(id).bandwidth.count;
    }
    return int64_t{-1};
  };
  EXPECT_EQ(of("host0/nic1>network"), 3'125'000'000);
  EXPECT_EQ(of("host1/nic>network"), 6'250'000'000);
  EXPECT_EQ(of("host2/nic>network"), 3'125'000'000);
  for (const char* text :
       {"hosts: [{gpus: T4, nics: 0}]\nnetwork: 1 Gbps\n", "hosts: [{gpus: T4, nics: 65}]\n",
        "hosts: [{gpus: T4, nics: 2}, {gpus: T4}]\n", "hosts: [{gpus: T4, nics: []}]\n",
        "hosts: [{gpus: T4, nics: 2 x fast}]\n", "hosts: [{gpus: T4, nics: 2 x 0 Gbps}]\n"}) {
    EXPECT_EQ(Bad(text).code, ErrorCode::kField) << text;
  }
}

TEST(ClusterReader, SaysEverythingThatIsMissingAtOnce) {
  const Error kind = Bad("kinds: {A: {class: gpu, peak: {f32: 1 TFLOP/s}}}\ngpus: 1 x A\n");
  EXPECT_THAT(kind.message, HasSubstr("the keys \"architecture\", \"memory_bandwidth\", "
                                      "\"launch_overhead\" and \"runtime_context\" are missing"));
  EXPECT_THAT(kind.message, HasSubstr("launch_overhead: 5 us"));
  EXPECT_THAT(Bad("devices: [{count: 2}]\n").message,
              HasSubstr("the keys \"name\" and \"kind\" are missing"));
  EXPECT_THAT(Bad("gpus: 2 x T4\nlinks: [{between: [a, b]}]\n").message,
              HasSubstr("the keys \"bandwidth\" and \"latency\" are missing"));
  EXPECT_THAT(Bad("gpus: 2 x T4\nroutes: [{links: []}]\n").message,
              HasSubstr("the keys \"from\" and \"to\" are missing"));
}

TEST(ClusterReader, ArchitecturesAreThoseOfTheEfficiencyTable) {
  const auto kind = [](const std::string& device_class, const std::string& architecture) {
    return "kinds: {A: {class: " + device_class + ", architecture: " + architecture +
           ", peak: {f32: 1 TFLOP/s}, memory_bandwidth: 1 GB/s, launch_overhead: 0, "
           "runtime_context: 0, memory: 1 GiB}}\ndevices: [{name: a, kind: A}]\n";
  };
  for (const char* good : {"hopper", "ada-laptop", "other-gpu"}) Good(kind("gpu", good));
  for (const char* good : {"zen5", "raptorlake", "other-cpu"}) Good(kind("cpu", good));
  Good(kind("other", "anything"));
  const Error misspelt = Bad(kind("gpu", "hoper"));
  EXPECT_EQ(misspelt.code, ErrorCode::kUnknownName);
  EXPECT_THAT(misspelt.message, HasSubstr("did you mean hopper"));
  EXPECT_THAT(misspelt.remedy, HasSubstr("other-gpu"));
  EXPECT_EQ(Bad(kind("cpu", "hopper")).code, ErrorCode::kUnknownName);
  EXPECT_EQ(Bad("kinds: {A: {like: T4, architecture: turin}}\ngpus: A\n").code,
            ErrorCode::kUnknownName);
  EXPECT_THAT(Bad(kind("gpus", "hopper")).message, HasSubstr("did you mean gpu"));
}

// As drivers and shops write them.
TEST(ClusterReader, KindsNearAName) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"gpus: V100\n", "(did you mean V100-16GB, V100-32GB, V100-PCIe-16GB, V100-PCIe-32GB?)"},
      {"gpus: H1000\n", "(did you mean H100?)"},
      {"gpus: T4\ncpus: i7-13700K\n", "(did you mean Core-i7-13700K?)"}};
  for (const auto& [text, near] : cases) {
    const Error error = Bad(text);
    EXPECT_EQ(error.code, ErrorCode::kUnknownName) << text;
    EXPECT_THAT(error.message, HasSubstr(near)) << text;
  }
  const Error far = Bad("gpus: abacus\n");
  EXPECT_THAT(far.message, testing::EndsWith("no device kind is called \"abacus\""));
  EXPECT_THAT(far.remedy, HasSubstr("cluster show"));
}

TEST(ClusterReader, AllMistakesOfAKindAtOnce) {
  const Error keys = Bad("kinds: {L: {like: T4, peek: 3, memry: 2}}\ngpus: L\n");
  EXPECT_THAT(keys.message,
              HasSubstr("no key \"peek\" (did you mean peak?), nor \"memry\" (did you "
                        "mean memory?)"));
  const Error kind = Bad("kinds: {K: {class: gpu, architecture: hoper}}\ngpus: K\n");
  EXPECT_THAT(kind.message, HasSubstr("\"runtime_context\" are missing"));
  EXPECT_THAT(kind.message, HasSubstr("called \"hoper\" (did you mean hopper?)"));
  EXPECT_THAT(Bad("gpus: T4\ncpus: [EPYC-7763]\n").message, HasSubstr("\"2 x Xeon-E5-2650v4\""));
}

TEST(ClusterReader, AppleIsLeftOutWithAReason) {
  for (const char* name : {"apple-m3", "M2 Ultra", "Apple M4 Max", "m1"}) {
    const Error error = Bad(std::string("gpus: [") + name + "]\n");
    EXPECT_EQ(error.code, ErrorCode::kUnknownName);
    EXPECT_THAT(error.message, HasSubstr("Metal")) << name;
    EXPECT_FALSE(error.remedy.empty());
  }
  EXPECT_THAT(Bad("gpus: MI30X\n").message, testing::Not(HasSubstr("Metal")));
}

TEST(ClusterReader, ShortAndLongFormsMix) {
  const Cluster c = Good(R"(
gpus:
  - 1 x V100-32GB
  - {kind: T4, memory: 15 GiB, reserve: 512 MiB}
links:
  - {between: [host0/gpu0, host0/gpu1], bandwidth: 20 GB/s, latency: 1 us}
)");
  EXPECT_THAT(c.DeviceNames(), ElementsAre("host0/gpu0", "host0/gpu1"));
  EXPECT_EQ(c.route(DeviceId(0), DeviceId(1)).links.size(), 1u);
  EXPECT_EQ(c.device(DeviceId(1)).capacity, Bytes(15 * kGiB - kGiB / 2));
}

TEST(ClusterReader, AMeshByOnePattern) {
  const Cluster c = Good(
      "devices: [{name: d, kind: T4, count: 4}]\n"
      "links: [{between: [d*, d*], bandwidth: 1 GB/s, latency: 0}]\n");
  EXPECT_EQ(c.link_count(), 12u);  // 4 * 3 / 2 pairs of two directions
}

TEST(ClusterReader, AKindLikeAnother) {
  const Cluster c = Good(
      "kinds: {Slow: {like: T4, peak: {f32: 4 TFLOP/s}}}\n"
      "gpus: 1 x Slow\n");
  EXPECT_DOUBLE_EQ(c.kind(DeviceId(0)).peak.f32, 4e12);
  EXPECT_DOUBLE_EQ(c.kind(DeviceId(0)).peak.f16, FindKind("T4")->peak.f16);
  EXPECT_THAT(c.kind(DeviceId(0)).source, HasSubstr("T4"));
}

// Each takes from the next, whichever stands first; a namesake of the catalogue may be refined.
TEST(ClusterReader, KindsLikeKindsOfTheFileInAnyOrder) {
  const Cluster c = Good(
      "kinds:\n"
      "  A: {like: B, memory: 3 GiB}\n"
      "  B: {like: T4, peak: {f32: 4 TFLOP/s}}\n"
      "  T4: {like: T4, launch_overhead: 77 us}\n"
      "gpus: 1 x A\n");
  const DeviceKind& kind = c.kind(DeviceId(0));
  EXPECT_EQ(kind.name, "A");
  EXPECT_DOUBLE_EQ(kind.peak.f32, 4e12);
  EXPECT_EQ(kind.launch_overhead, Nanos(77'000));
  EXPECT_EQ(c.device(DeviceId(0)).capacity, Bytes(3 * kGiB));
}

struct Case {
  const char* text;
  ErrorCode code;
  const char* place;
  const char* message;
};

TEST(ClusterReader, Collectives) {
  const std::string two = "gpus: 2 x T4\n";
  EXPECT_FALSE(Good(two + "collectives: {}\n").communicator().valid());
  const Cluster one = Good(two + "collectives: {one_communicator: true}\n");
  EXPECT_EQ(one.link(one.communicator()).name, "communicator");
  const StatedCollectives stated =
      Good(two +
           "collectives:\n  one_communicator: true\n  measured_at: 2.81 GB/s\n  lines:\n"
           "    - {latency: 368 us, bandwidth: 20 GB/s}\n"
           "    - {latency_ns: 5, bandwidth_bytes_per_s: 3}\n  source: mine\n")
          .collectives();
  EXPECT_EQ(stated, (StatedCollectives{.one_communicator = true,
                                       .lines = {{Nanos(368'000), BytesPerSecond(20'000'000'000)},
                                                 {Nanos(5), BytesPerSecond(3)}},
                                       .measured_at = BytesPerSecond(2'810'000'000),
                                       .source = "mine"}));
}

// 400 Gb/s are 50 GB/s, 94% of them 47; an uplink has half of the ports'.
TEST(ClusterReader, NetworksStateWhatIsLeftOfThem) {
  const auto bandwidth = [](const Cluster& cluster, std::string_view link) {
    return cluster.link(cluster.FindLink(link)).bandwidth;
  };
  const std::string hosts =
      "hosts: [{count: 4, gpus: 2 x V100-32GB, interconnect: pcie, nics: 2}]\n"
      "network: {bandwidth: 400 Gb/s, efficiency: 94%";
  const Cluster one = Good(hosts + "}\n");
  EXPECT_EQ(bandwidth(one, "host0/nic0>network"), BytesPerSecond(47'000'000'000));
  EXPECT_EQ(one.link(one.FindLink("host0/nic0>network")).source, "given; 94% of it");
  const Cluster rails = Good(hosts + ", rails: true, oversubscription: 2}\n");
  EXPECT_EQ(bandwidth(rails, "host0/nic0>host0/nic0.port"), BytesPerSecond(47'000'000'000));
  EXPECT_EQ(bandwidth(rails, "host0/nic0.port>rail0"), BytesPerSecond(50'000'000'000));
  EXPECT_EQ(bandwidth(rails, "host0/nic0.port>spine"), BytesPerSecond(25'000'000'000));
  // Two hosts of two NICs on a leaf: 200 GB/s of ports, a fourth of them up.
  const Cluster leaves = Good(hosts + ", hosts_per_leaf: 2, oversubscription: 4}\n");
  EXPECT_EQ(bandwidth(leaves, "leaf1>network"), BytesPerSecond(50'000'000'000));
  const auto links = [&](const char* from, const char* to) {
    return leaves.route(leaves.FindDevice(from), leaves.FindDevice(to)).links.size();
  };
  EXPECT_EQ(links("host0/gpu0", "host2/gpu0"), links("host0/gpu0", "host1/gpu0") + 2);
}

// What is stated of NCCL reads back, and a kind like another has it, too.
TEST(ClusterReader, KindsStateChannels) {
  const Cluster cluster = Good(
      "kinds: {Fewer: {like: H100, channels: 8, nvls: false}, Plain: {like: H100, channels: 0}}\n"
      "gpus: [4 x Fewer, 2 x H100]\ninterconnect: pcie\n");
  EXPECT_EQ(cluster.kind(DeviceId(0)).channels, 8);
  EXPECT_EQ(cluster.kind(DeviceId(0)).multiprocessors, 132);
  EXPECT_FALSE(cluster.kind(DeviceId(0)).nvls);
  EXPECT_TRUE(cluster.kind(DeviceId(4)).nvls);
  EXPECT_TRUE(cluster.collectives_share());
  const Cluster again = Good(ClusterToJson(cluster).dump());
  EXPECT_EQ(ClusterToJson(again).dump(), ClusterToJson(cluster).dump());
  EXPECT_TRUE(again.collectives_share());
  const Cluster plain = Good(
      "kinds: {Plain: {like: H100, channels: 0}}\ngpus: [4 x Plain, 2 x H100]\ninterconnect: "
      "pcie\n");
  EXPECT_FALSE(plain.kind(DeviceId(0)).nvls);
  EXPECT_FALSE(plain.collectives_share());
  EXPECT_FALSE(Good("gpus: 4 x V100-32GB\n").collectives_share());
  EXPECT_FALSE(Good("gpus: 4 x H100\ncollectives: {one_communicator: true}\n").collectives_share());
}

TEST(ClusterReader, WhatNetworksAndChannelsCannotBe) {
  const std::string hosts = "hosts: [{count: 2, gpus: V100-32GB}]\nnetwork: {bandwidth: 10 Gbps, ";
  EXPECT_THAT(Bad(hosts + "efficiency: 0%}\n").message, HasSubstr("efficiency"));
  EXPECT_THAT(Bad(hosts + "efficiency: 101%}\n").message, HasSubstr("above 100%"));
  EXPECT_THAT(Bad(hosts + "oversubscription: 2}\n").message, HasSubstr("hosts_per_leaf"));
  EXPECT_THAT(Bad(hosts + "rails: true, oversubscription: 0.5}\n").message, HasSubstr("outside"));
  EXPECT_THAT(Bad(hosts + "rails: true, hosts_per_leaf: 2}\n").message, HasSubstr("rail"));
  EXPECT_THAT(Bad("kinds: {A: {like: H100, channels: 132}}\ngpus: 2 x A\n").message,
              HasSubstr("multiprocessors"));
  EXPECT_THAT(Bad("kinds: {A: {like: V100-32GB, nvls: true}}\ngpus: 2 x A\n").message,
              HasSubstr("channels"));
  EXPECT_THAT(Bad("kinds: {A: {like: EPYC-7763, channels: 2}}\ngpus: V100-32GB\n").message,
              HasSubstr("only GPUs"));
}

TEST(ClusterReader, ErrorsNameLineColumnAndRemedy) {
  const Case cases[] = {
      {"gpus: 2 x T4\ncollectives: {serial: true}\n", ErrorCode::kField, "line 2, column 15",
       "one_communicator"},
      {"gpus: 2 x T4\ncollectives: {one_communicator: 1}\n", ErrorCode::kField, "line 2, column 33",
       "one_communicator"},
      {"gpus: 2 x T4\ncollectives: {one_communicator: true, lines: []}\n", ErrorCode::kField,
       "line 2, column 46", "one line or more"},
      {"gpus: 2 x T4\ncollectives: {lines: [{latency: 1 us, bandwidth: 1 GB/s}]}\n",
       ErrorCode::kField, "line 2, column 22", "one_communicator: true"},
      {"gpus: 2 x T4\ncollectives:\n  one_communicator: true\n  lines: [{latency: 1 us, "
       "bandwidth: 1 GB/s}]\n",
       ErrorCode::kField, "line 3, column 3", "measured_at"},
      {"gpus: 2 x T4\ncollectives: {one_communicator: true, measured_at: 1 GB/s}\n",
       ErrorCode::kField, "line 2, column 14", "lines"},
      {"gpus: 2 x T4\ncollectives: {one_communicator: true, measured_at: 1 GB/s, lines: [{latency: "
       "1 us, bandwidth: 0}]}\n",
       ErrorCode::kField, "line 2, column 14", "zero"},
      {"gpus: [", ErrorCode::kSyntax, "line 1", ""},
      {"gpus: 4 x P100-12GB\ngpus: 2 x T4\n", ErrorCode::kDuplicateName, "line 2, column 1",
       "gpus"},
      {"gpu: 4 x T4\n", ErrorCode::kField, "line 1, column 1", "did you mean gpus"},
      {"gpus: 4 x P100\n", ErrorCode::kUnknownName, "line 1, column 7", "P100-12GB"},
      {"gpus: 0 x T4\n", ErrorCode::kField, "line 1, column 7", "outside [1, 1024]"},
      {"gpus: 99999999999999999999 x T4\n", ErrorCode::kField, "line 1, column 7", "outside"},
      {"gpus: 2 x\n", ErrorCode::kField, "line 1, column 7", "missing"},
      {"gpus: 1 x Xeon-E5-2650v4\n", ErrorCode::kField, "line 1, column 7", "kind of cpu"},
      {"gpus: [{kind: T4, count: -1}]\n", ErrorCode::kField, "line 1, column 26", "-1"},
      {"gpus: [{kind: T4, memory: -1 GiB}]\n", ErrorCode::kField, "line 1, column 27", "negative"},
      {"gpus: [{kind: T4, memory: 16}]\n", ErrorCode::kField, "line 1, column 27", "unit"},
      {"gpus: [{kind: T4, memory: 0}]\n", ErrorCode::kField, "line 1, column 27", "memory is 0"},
      {"gpus: {kind: T4,\n  memory_bytes: 0}\n", ErrorCode::kField, "line 2, column 17",
       "memory is 0"},
      {"cpus: {kind: Xeon-E5-2650v4, memory: 0}\nmemory: 1 GiB\n", ErrorCode::kField,
       "line 1, column 38", "memory is 0"},
      {"cpus: 2 x Xeon-E5-2650v4\nmemory: 0 GiB\n", ErrorCode::kField, "line 2, column 9",
       "memory is 0"},
      {"gpus: [{kind: T4, reserve: 16 GiB}]\n", ErrorCode::kField, "line 1, column 8", "nothing"},
      {"gpus: {count: 2}\n", ErrorCode::kField, "line 1", "\"kind\" is missing"},
      {"gpus: 2 x T4\ninterconnect: nvlinks\n", ErrorCode::kField, "line 2, column 15", "nvlink"},
      {"gpus: 2 x T4\ninterconnect: nvlink\n", ErrorCode::kField, "line 1", "NVLink"},
      {"gpus: 8 x A100-40GB\ninterconnect: nvlink\n", ErrorCode::kField, "line 1", "nvswitch"},
      {"gpus: 5 x V100-16GB\ninterconnect: nvlink\n", ErrorCode::kField, "line 1", "2 to 4 or 8"},
      {"gpus: 2 x T4\nmemory: 8 GiB\n", ErrorCode::kField, "line 1", "cpus"},
      {"cpus: 2 x Xeon-E5-2650v4\n", ErrorCode::kField, "line 1", "\"memory\""},
      {"memory: 8 GiB\n", ErrorCode::kField, "line 1, column 9", "needs"},
      {"hosts: []\n", ErrorCode::kClusterInvalid, "line 1", "no devices"},
      {"name: x\n", ErrorCode::kClusterInvalid, "line 1", "no devices"},
      {"hosts: [{count: 2}]\n", ErrorCode::kField, "line 1", "no devices"},
      {"hosts:\n  - gpus: 1 x T4\n  - gpus: 1 x T4\n", ErrorCode::kUnreachable, "line 3, column 5",
       "host1/gpu0"},
      {"hosts: [{gpus: 1 x T4, count: 2}]\nnetwork: 10 Gb\n", ErrorCode::kField,
       "line 2, column 10", "Gbps"},
      {"hosts: [{gpus: 1 x T4, count: 2}]\nnetwork: 0 Gbps\n", ErrorCode::kField,
       "line 2, column 10", "bandwidth"},
      {"hosts: [{gpus: 1 x T4}]\ngpus: 1 x T4\n", ErrorCode::kField, "line 1", "single host"},
      {"devices:\n  - {name: a, kind: T4}\n  - {name: a, kind: T4}\n", ErrorCode::kDuplicateName,
       "line 3, column 5", "\"a\""},
      {"devices:\n  - {name: a, kind: T4}\n  - {name: b, kind: T4}\n", ErrorCode::kUnreachable,
       "line 3, column 5", "\"b\""},
      {"devices: [{name: a, kind: T5}]\n", ErrorCode::kUnknownName, "line 1, column 27", "T4"},
      {"devices: [{name: a}]\n", ErrorCode::kField, "line 1, column 11", "\"kind\""},
      {"devices: [{kind: T4}]\n", ErrorCode::kField, "line 1, column 11", "\"name\""},
      {"devices: [{name: a, kind: Xeon-E5-2650v4}]\n", ErrorCode::kField, "line 1", "memory"},
      {"devices: [{name: a, kind: T4, memory: 0}]\n", ErrorCode::kField, "line 1, column 39",
       "memory is 0"},
      {"devices: {a: b}\n", ErrorCode::kField, "line 1, column 10", "a list"},
      {"devices: [{name: a, kind: T4, host: -1}]\n", ErrorCode::kField, "line 1", "host"},
      {"devices: [{name: a, kind: T4, count: 2000}]\n", ErrorCode::kField, "line 1", "2000"},
      {"devices: [{name: a, kind: T4, count: 1000}, {name: b, kind: T4, count: 1000}]\n",
       ErrorCode::kClusterInvalid, "line 1", "1024"},
      {"devices: [{name: a, kind: T4, memory: 1 GiB, memory_bytes: 5}]\n", ErrorCode::kField,
       "line 1", "same thing"},
      {"gpus: 2 x T4\nlinks:\n  - {between: [host0/gpu0, host0/gpu9], bandwidth: 1 GB/s, latency: "
       "1us}\n",
       ErrorCode::kUnknownName, "line 3, column 15", "host0/gpu"},
      {"gpus: 2 x T4\nlinks:\n  - {between: [host0/gpu0, host0/gpu0], bandwidth: 1 GB/s, latency: "
       "1us}\n",
       ErrorCode::kField, "line 3, column 15", "itself"},
      {"gpus: 2 x T4\nlinks:\n  - {between: [host0/gpu0, zz*], bandwidth: 1 GB/s, latency: 1us}\n",
       ErrorCode::kUnknownName, "line 3", "matches no"},
      {"gpus: 2 x T4\nlinks:\n  - {between: [host0/gpu0], bandwidth: 1 GB/s, latency: 1us}\n",
       ErrorCode::kField, "line 3, column 15", "two nodes"},
      {"gpus: 2 x T4\nlinks:\n  - {between: [host0/gpu0, host0/gpu1], bandwith: 1 GB/s}\n",
       ErrorCode::kField, "line 3, column 41", "did you mean bandwidth"},
      {"gpus: 2 x T4\nlinks:\n  - {between: [host0/gpu0, host0/gpu1], bandwidth: 0 GB/s, latency: "
       "1us}\n",
       ErrorCode::kField, "line 3", "outside [1"},
      {"gpus: 2 x T4\nlinks:\n  - {between: [host0/gpu0, host0/gpu1], bandwidth: 1 GB/s}\n",
       ErrorCode::kField, "line 3", "\"latency\" is missing"},
      {"gpus: 2 x T4\nlinks:\n  - {between: [host0/gpu0, host0/gpu1], bandwidth: 1 GB/s, latency: "
       "1us, duplex: both}\n",
       ErrorCode::kField, "line 3, column 82", "full or half"},
      {"gpus: 2 x T4\nlinks:\n  - {bandwidth: 1 GB/s, latency: 1us}\n", ErrorCode::kField, "line 3",
       "between"},
      {"gpus: 2 x T4\nswitches: [host0/gpu0]\n", ErrorCode::kDuplicateName, "line 2, column 12",
       "host0/gpu0"},
      {"gpus: 2 x T4\nroutes: [{from: host0/gpu0, to: x, links: []}]\n", ErrorCode::kUnknownName,
       "line 2", "\"x\""},
      {"gpus: 2 x T4\nroutes: [{from: host0/gpu0, to: host0/gpu1, links: []}]\n",
       ErrorCode::kClusterInvalid, "line 2", "no links"},
      {"gpus: 2 x T4\nroutes: [{from: host0/gpu0, to: host0/gpu1, links: [q]}]\n",
       ErrorCode::kUnknownName, "line 2", "\"q\""},
      {"gpus: 2 x T4\nroutes: [{from: host0/gpu0, to: host0/gpu1, links: "
       "[host0/gpu0>host0/pcie0, host0/pcie0>host0/gpu1], latency_ns: 7}]\n",
       ErrorCode::kField, "line 2", "give 6000"},
      {"kinds: {A: {class: gpu}}\ngpus: 1 x A\n", ErrorCode::kField, "line 1, column 12",
       "are missing"},
      {"kinds: {A: {like: T4, peak: {f32: 0}}}\ngpus: 1 x A\n", ErrorCode::kField, "line 1",
       "peak rate"},
      {"kinds: {A: {like: T4, peak: {f32: -3 TFLOP/s}}}\ngpus: 1 x A\n", ErrorCode::kField,
       "line 1, column 35", "rate"},
      {"kinds: {A: {like: T9}}\ngpus: 1 x A\n", ErrorCode::kUnknownName, "line 1, column 19", "T4"},
      {"kinds: {A: {like: A}}\ngpus: 1 x A\n", ErrorCode::kField, "line 1, column 19",
       "\"A\" is like itself"},
      {"kinds: {A: {like: B}, B: {like: C}, C: {like: B}}\ngpus: 1 x A\n", ErrorCode::kField,
       "line 1", "which is like it in turn"},
      {"schema: placewright.cluster/2\ngpus: 1 x T4\n", ErrorCode::kField, "line 1, column 9",
       "placewright.cluster/1"},
      {"partial: maybe\ngpus: 2 x T4\n", ErrorCode::kField, "line 1, column 10", "true or false"},
      {"[1, 2]\n", ErrorCode::kField, "line 1", "mapping"},
      {"", ErrorCode::kSyntax, "line 1", "empty"},
  };
  for (const Case& c : cases) {
    const Error error = Bad(c.text);
    EXPECT_EQ(InfoOf(error.code).name, InfoOf(c.code).name) << c.text << error.ToString();
    EXPECT_THAT(error.place, HasSubstr(c.place)) << c.text << error.ToString();
    EXPECT_THAT(error.message, HasSubstr(c.message)) << c.text << error.ToString();
  }
}

TEST(ClusterReader, PartialClustersMustSaySo) {
  const Cluster c = Good("devices: [{name: a, kind: T4}, {name: b, kind: T4}]\npartial: true\n");
  EXPECT_FALSE(c.Connected(DeviceId(0), DeviceId(1)));
  EXPECT_EQ(ClusterToJson(c)["partial"], true);
  Good(ClusterToJson(c).dump());
}

// Every prefix and many one-bit changes of a file end in a cluster or in an error with a place.
TEST(ClusterReader, DamagedFiles) {
  const std::string texts[] = {
      "hosts:\n  - {count: 2, gpus: [2 x V100-16GB], cpus: 2 x Xeon-E5-2650v4, memory: 128 GiB, "
      "interconnect: nvlink}\n  - gpus: &g 2 x T4\n  - gpus: *g\nnetwork: {bandwidth: 10 Gbps, "
      "latency: 5us}\nlinks:\n  - {between: [host1/gpu0, host1/gpu1], bandwidth: 9GB/s, latency: "
      "2 us, duplex: half}\n",
      ClusterToJson(MakePreset("2xV100").Take()).dump(1)};
  for (const std::string& text : texts) {
    const auto check = [](const std::string& damaged) {
      const auto result = ParseCluster(damaged);
      if (result.ok()) return;
      EXPECT_FALSE(result.error().place.empty()) << result.error().ToString();
      EXPECT_NE(result.error().code, ErrorCode::kInternal);
    };
    const size_t step = 1 + text.size() / 400;
    for (size_t n = 0; n < text.size(); n += step) check(text.substr(0, n));
    Random random(11);
    for (int i = 0; i < 500; ++i) {
      std::string damaged = text;
      damaged[random.Below(text.size())] ^= static_cast<char>(1u << random.Below(8));
      check(damaged);
    }
  }
}

TEST(ClusterReader, AbsurdTopologiesEndInAnError) {
  // 1,024 devices in a mesh would be a million links.
  EXPECT_EQ(Bad("devices: [{name: d, kind: T4, count: 1024}]\n"
                "links: [{between: [d*, d*], bandwidth: 1 GB/s, latency: 1us}]\n")
                .code,
            ErrorCode::kClusterInvalid);
  // 1,000 devices on one switch, no two with the same bandwidth: a million rankings.
  std::string star = "devices: [{name: d, kind: T4, count: 1000}]\nswitches: [s]\nlinks:\n";
  for (int i = 0; i < 1000; ++i) {
    star += "  - {between: [d" + std::to_string(i) + ", s], bandwidth: " + std::to_string(i + 1) +
            " MB/s, latency: 1us}\n";
  }
  EXPECT_EQ(Bad(star).code, ErrorCode::kClusterInvalid);
}

TEST(ClusterReader, AThousandDevicesOnOneSwitch) {
  const Cluster c = Good(
      "devices: [{name: d, kind: T4, count: 1000}]\nswitches: [s]\n"
      "links: [{between: [d*, s], bandwidth: 1 GB/s, latency: 1us}]\n");
  EXPECT_EQ(c.route(DeviceId(0), DeviceId(999)).links.size(), 2u);
}

// The examples of the repository are what they say.
TEST(ClusterReader, Examples) {
  const std::string folder = std::string(PLACEWRIGHT_SOURCE_DIR) + "/examples/clusters/";
  const auto read = [&](const char* name) { return Good(ReadFile(folder + name).Take()); };
  EXPECT_EQ(read("two-gpu-workstation.yaml").device_count(), 3u);
  EXPECT_EQ(read("small-lab.yaml").device_count(), 10u);
  const Cluster bridge = read("bridged-pairs.yaml");
  EXPECT_EQ(bridge.route(DeviceId(0), DeviceId(1)).links.size(), 1u);  // the bridge
  EXPECT_EQ(bridge.route(DeviceId(1), DeviceId(2)).links.size(), 2u);  // over the root complex
}

}  // namespace
}  // namespace placewright
