#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "cluster/catalogue.h"
#include "cluster/machine.h"
#include "cluster/machine_presets.h"
#include "cluster/random_topology.h"

namespace placewright {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr int64_t kMB = 1'000'000;
constexpr int64_t kMbps = 125'000;  // one Mb/s in bytes per second

// What the papers and products leave open is decided here and said in the description: two sockets
// of the catalogue's Xeon per host, 128 GiB of host memory, PCIe 3.
HostSpec Host(int32_t index, std::string_view gpu, int32_t count,
              Interconnect interconnect = Interconnect::kPcie3) {
  HostSpec host;
  host.index = index;
  host.cpu = *FindKind("Xeon-E5-2650v4");
  host.memory = Bytes(128 * kGiB);
  host.gpus = {GpuSlot{*FindKind(gpu), count, Bytes(), std::nullopt}};
  host.interconnect = interconnect;
  return host;
}

struct Network {
  int64_t mbps = 0;  // 0: a single host
  std::string source;
};

Result<ClusterBuilder> Assemble(std::string_view name, const std::vector<HostSpec>& hosts,
                                const Network& network) {
  ClusterBuilder builder{std::string(name)};
  for (const HostSpec& host : hosts) PW_RETURN_IF_ERROR(AddHost(builder, host));
  if (network.mbps > 0) {
    PW_RETURN_IF_ERROR(AddNetwork(builder, static_cast<int32_t>(hosts.size()),
                                  BytesPerSecond(network.mbps * kMbps), kNetworkLatency,
                                  network.source));
  }
  return builder;
}

Result<ClusterBuilder> FourP100(std::string_view name) {
  HostSpec host = Host(0, "P100-12GB", 4);
  host.memory = Bytes(125 * kGiB);
  return Assemble(name, {host}, {});
}

// TensorFlow shows all cores of a host as one device. Its GPUs are then behind one socket: that two
// pairs of them are a QPI hop of 0.5 us apart is lost.
Result<ClusterBuilder> FourP100OneCpu(std::string_view name) {
  HostSpec host = Host(0, "P100-12GB", 4);
  host.memory = Bytes(125 * kGiB);
  host.sockets = 1;
  host.cpu.name = "2x-" + host.cpu.name;
  PeakRates& peak = host.cpu.peak;
  for (double* rate : {&peak.f64, &peak.f32, &peak.f16, &peak.bf16, &peak.i8}) *rate *= 2;
  host.cpu.memory_bandwidth = BytesPerSecond(host.cpu.memory_bandwidth.count * 2);
  return Assemble(name, {host}, {});
}

template <int32_t kGpus>
Result<ClusterBuilder> P100OneSocket(std::string_view name) {
  HostSpec host = Host(0, "P100-16GB", kGpus);
  host.sockets = 1;
  return Assemble(name, {host}, {});
}

Result<ClusterBuilder> TagTestbed(std::string_view name) {
  std::vector<HostSpec> hosts = {Host(0, "V100-32GB", 4, Interconnect::kNvlink)};
  for (int32_t i = 1; i <= 4; ++i) hosts.push_back(Host(i, "GTX-1080Ti", 2));
  for (int32_t i = 5; i <= 6; ++i) hosts.push_back(Host(i, "P100-12GB", 2));
  return Assemble(name, hosts, {100'000, "TAG sec. 5: 100 Gbps switch, nominal"});
}

// TAG's machines as its public code has them (search/exp/physical_gen.py, src/simulator.rs): 2,810 MB/s between
// machines, 3,000 to 8,000 inside. us per KiB are 1024 / 0.0434 and 1024 / 0.2777 bytes per us.
Status ConnectAsMeasured(int32_t hosts, ClusterBuilder& builder) {
  PW_RETURN_IF_ERROR(AddNetwork(builder, hosts, BytesPerSecond(2'810 * kMB), kNetworkLatency,
                                "TAG's public code: 2,810 MB/s between machines, measured"));
  StatedCollectives collectives;
  collectives.one_communicator = true;
  collectives.lines = {{Nanos(368'000), BytesPerSecond(23'594'470'046)},
                       {Nanos(212'000), BytesPerSecond(3'687'432'481)}};
  collectives.measured_at = BytesPerSecond(2'810 * kMB);
  collectives.source = "TAG's public code: max(0.0434 us/KiB + 368 us, 0.2777 us/KiB + 212 us)";
  return builder.SetCollectives(std::move(collectives));
}

// Which machine has which bandwidth inside they do not say for the hardware of the paper: NVLink is taken to have the
// maximum, PCIe the minimum.
Result<ClusterBuilder> TagTestbedMeasured(std::string_view name) {
  constexpr std::string_view kInside = "TAG's public code: 3 to 8 GB/s inside machines, measured";
  std::vector<HostSpec> hosts = {Host(0, "V100-32GB", 4, Interconnect::kNvlink)};
  for (int32_t i = 1; i <= 4; ++i) hosts.push_back(Host(i, "GTX-1080Ti", 2));
  for (int32_t i = 5; i <= 6; ++i) hosts.push_back(Host(i, "P100-12GB", 2));
  ClusterBuilder builder{std::string(name)};
  for (HostSpec& host : hosts) {
    if (host.interconnect == Interconnect::kPcie3) {
      host.bandwidth = BytesPerSecond(3'000 * kMB);
      host.link_source = kInside;
    }
    PW_RETURN_IF_ERROR(AddHost(builder, host));
  }
  for (int32_t a = 0; a < 4; ++a) {
    for (int32_t b = a + 1; b < 4; ++b) {
      builder.Amend(builder.FindLink(fmt::format("host0/gpu{}>host0/gpu{}", a, b)),
                    {BytesPerSecond(8'000 * kMB), std::nullopt, std::string(kInside)});
    }
  }
  PW_RETURN_IF_ERROR(ConnectAsMeasured(static_cast<int32_t>(hosts.size()), builder));
  return builder;
}

// Sec. 5.6.
Result<ClusterBuilder> TagTwo1080TiMeasured(std::string_view name) {
  ClusterBuilder builder{std::string(name)};
  for (int32_t i = 0; i < 2; ++i) PW_RETURN_IF_ERROR(AddHost(builder, Host(i, "GTX-1080Ti", 1)));
  PW_RETURN_IF_ERROR(ConnectAsMeasured(2, builder));
  return builder;
}

Result<ClusterBuilder> TagCloud(std::string_view name) {
  std::vector<HostSpec> hosts;
  for (int32_t i = 0; i < 2; ++i) hosts.push_back(Host(i, "V100-16GB", 8, Interconnect::kNvlink));
  for (int32_t i = 2; i < 6; ++i) hosts.push_back(Host(i, "T4", 4));
  return Assemble(name, hosts, {10'000, "TAG sec. 5: 10 Gbps, nominal"});
}

Result<ClusterBuilder> TwoV100(std::string_view name) {
  return Assemble(name, {Host(0, "V100-16GB", 2, Interconnect::kNvlink)}, {});
}

Result<ClusterBuilder> MixedLab(std::string_view name) {
  return Assemble(name, {Host(0, "V100-32GB", 1), Host(1, "GTX-1080Ti", 2), Host(2, "T4", 1)},
                  {10'000, "10 Gigabit Ethernet, nominal"});
}

struct Entry {
  Preset preset;
  Result<ClusterBuilder> (*make)(std::string_view name);
};

constexpr std::array kEntries = {
    Entry{{"4xP100",
           "Mars and EAGLE: 4 P100 12 GiB on PCIe 3, two on each of 2 Xeon E5-2650 v4, 125 GiB"},
          FourP100},
    Entry{{"4xP100-tf", "the same as TensorFlow shows it: both sockets one CPU device of 125 GiB"},
          FourP100OneCpu},
    Entry{{"8xP100",
           "GDP: 8 P100 16 GiB behind two PCIe 3 switches of one Broadwell socket (memory of 128 "
           "GiB assumed)"},
          P100OneSocket<8>},
    Entry{{"4xP100-16GB", "the same with 4 of the P100"}, P100OneSocket<4>},
    Entry{{"2xP100-16GB", "the same with 2 of the P100"}, P100OneSocket<2>},
    Entry{{"tag-testbed",
           "TAG: host0 4 V100 32 GiB with NVLink, host1-4 2 GTX 1080Ti, host5-6 2 P100 (12 GiB "
           "assumed), 100 Gb/s"},
          TagTestbed},
    Entry{{"tag-testbed-measured",
           "the same as TAG measured it: 2.81 GB/s between machines, 8 GB/s (NVLink) and 3 GB/s "
           "(PCIe) inside assumed of its 3 to 8, collectives by its line, one after another"},
          TagTestbedMeasured},
    Entry{
        {"tag-two-1080ti-measured",
         "TAG sec. 5.6: two machines with a GTX 1080Ti each, network and collectives as measured"},
        TagTwo1080TiMeasured},
    Entry{{"tag-cloud",
           "TAG: host0-1 8 V100 16 GiB (NVLink cube mesh assumed), host2-5 4 T4, 10 Gb/s"},
          TagCloud},
    Entry{{"2xV100", "2 V100 16 GiB joined by two NVLink lanes, as on a board of four"}, TwoV100},
    Entry{{"mixed-lab",
           "host0 1 V100 32 GiB, host1 2 GTX 1080Ti, host2 1 T4, PCIe 3, 10 Gb/s Ethernet"},
          MixedLab},
};

std::vector<Preset> AllPresets() {
  std::vector<Preset> presets;
  for (const Entry& entry : kEntries) presets.push_back(entry.preset);
  for (const Preset& machine : MachinePresets()) presets.push_back(machine);
  for (const Preset& machine : RentedMachines()) presets.push_back(machine);
  return presets;
}

}  // namespace

std::span<const Preset> Presets() {
  static const std::vector<Preset> presets = AllPresets();
  return presets;
}

std::string_view WithoutCommunicator(std::string_view name) {
  constexpr std::string_view kOneCommunicator = "+one-communicator";
  if (name.ends_with(kOneCommunicator)) name.remove_suffix(kOneCommunicator.size());
  return name;
}

bool IsWholeCluster(std::string_view name) {
  return RandomTopologySeed(name).has_value() ||
         std::any_of(kEntries.begin(), kEntries.end(),
                     [&](const Entry& entry) { return entry.preset.name == name; });
}

Result<ClusterBuilder> DescribePreset(std::string_view name) {
  const std::string_view stem = WithoutCommunicator(name);
  std::optional<Result<ClusterBuilder>> described;
  for (const Entry& entry : kEntries) {
    if (entry.preset.name == stem) described = entry.make(name);
  }
  const NamedMachines machines = FindMachines(stem);
  if (const auto seed = RandomTopologySeed(stem)) {
    described = DrawTopology({}, *seed, std::string(name));
  }
  if (!described && machines.count > 0) described = AssembleMachines(name, machines);
  if (described && described->ok() && stem != name) {
    StatedCollectives collectives = described->value().collectives();
    collectives.one_communicator = true;
    PW_RETURN_IF_ERROR(described->value().SetCollectives(std::move(collectives)));
  }
  if (described) return *std::move(described);
  std::vector<std::string> names;
  std::string all;
  for (const Preset& preset : Presets()) names.emplace_back(preset.name);
  for (const Entry& entry : kEntries) {
    all += (all.empty() ? "" : ", ") + std::string(entry.preset.name);
  }
  for (const Preset& machine : MachinePresets()) {
    all += ", " + std::string(machine.name);
  }
  return MakeError(
      ErrorCode::kUnknownName,
      fmt::format("no preset cluster is called \"{}\"{}", Printable(name, 80),
                  DidYouMean(name, names)),
      "",
      fmt::format(
          "Give a cluster file, or one of {}; machines as clouds call them (p5.48xlarge, "
          "a3-highgpu-8g, ND96isr_H100_v5); N GPUs of a kind (8xH100, 2x4090); or several "
          "machines, up to {}: \"4x dgx-1\", \"4x8xH100\". `placewright cluster show` lists "
          "them.",
          all, kMaxMachines));
}

Result<Cluster> MakePreset(std::string_view name) {
  PW_ASSIGN(ClusterBuilder builder, DescribePreset(name));
  return std::move(builder).Build();
}

}  // namespace placewright
