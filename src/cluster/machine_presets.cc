#include "cluster/machine_presets.h"

#include <array>
#include <charconv>
#include <utility>

#include "base/check.h"

namespace placewright {
namespace {

constexpr int64_t kBytesOfGiB = int64_t{1} << 30;
constexpr int64_t kBytesOfMbps = 125'000;  // one Mb/s in bytes per second

HostSpec MachineHost(std::string_view gpu, int32_t gpus, Interconnect interconnect,
                     std::string_view cpu, int64_t memory_gib, int32_t nics, int32_t sockets = 2) {
  HostSpec host;
  host.cpu = *FindKind(cpu);
  host.sockets = sockets;
  host.memory = Bytes(memory_gib * kBytesOfGiB);
  host.gpus = {GpuSlot{*FindKind(gpu), gpus, Bytes(), std::nullopt}};
  host.interconnect = interconnect;
  host.nics = nics;
  return host;
}

// NVIDIA DGX-1 user guide (DU-08033-001): four EDR adapters, each on a PCIe switch with two GPUs.
HostSpec Dgx1() {
  return MachineHost("V100-16GB", 8, Interconnect::kNvlink, "Xeon-E5-2698v4", 512, 4);
}
HostSpec Dgx1Of32() {
  return MachineHost("V100-32GB", 8, Interconnect::kNvlink, "Xeon-E5-2698v4", 512, 4);
}
HostSpec Dgx1OfP100() {
  return MachineHost("P100-SXM2-16GB", 8, Interconnect::kNvlink, "Xeon-E5-2698v4", 512, 4);
}
// NVIDIA DGX-2 data sheet: eight 100 Gb/s adapters, 1.5 TB.
HostSpec Dgx2() {
  return MachineHost("V100-32GB", 16, Interconnect::kNvswitch, "Xeon-Platinum-8168", 1536, 8);
}
// NVIDIA DGX A100 data sheet: eight 200 Gb/s adapters beside the GPUs, two on a PCIe switch, which
// are one of 400 Gb/s here.
HostSpec DgxA100() {
  return MachineHost("A100-40GB", 8, Interconnect::kNvswitch, "EPYC-7742", 1024, 4);
}
HostSpec DgxA100Of80() {
  return MachineHost("A100-80GB", 8, Interconnect::kNvswitch, "EPYC-7742", 2048, 4);
}
// Amazon EC2: "Accelerated computing instances" states GPUs, memory and network.
HostSpec P2() { return MachineHost("K80", 8, Interconnect::kPcie3, "Xeon-E5-2686v4", 488, 1, 1); }
HostSpec P3() {
  return MachineHost("V100-16GB", 8, Interconnect::kNvlink, "Xeon-E5-2686v4", 488, 1);
}
// `nvidia-smi topo` of its report shows the cube mesh and one adapter, on a switch of the first
// socket.
HostSpec Dlperf() {
  return MachineHost("V100-16GB", 8, Interconnect::kNvlink, "Xeon-Gold-5118", 384, 1);
}
// The paper names four Pascal GPUs and RoCE of 25 Gb/s; the rest is assumed.
HostSpec HorovodServer() {
  return MachineHost("P100-16GB", 4, Interconnect::kPcie3, "Xeon-E5-2650v4", 128, 1);
}

constexpr std::string_view kEdr = "Mellanox EDR InfiniBand, 100 Gb/s, nominal";

constexpr std::array kMachines = {
    MachinePreset{{"dgx-1", "NVIDIA DGX-1: 8 V100 16 GiB on an NVLink cube mesh, 4 x 100 Gb/s"},
                  Dgx1,
                  100'000,
                  kEdr},
    MachinePreset{{"dgx-1-32gb", "the same with V100 of 32 GiB"}, Dgx1Of32, 100'000, kEdr},
    MachinePreset{{"dgx-1-p100", "NVIDIA DGX-1 with 8 P100 16 GiB on NVLink, 4 x 100 Gb/s"},
                  Dgx1OfP100,
                  100'000,
                  kEdr},
    MachinePreset{{"dgx-2", "NVIDIA DGX-2: 16 V100 32 GiB on NVSwitch, 8 x 100 Gb/s, 1.5 TiB"},
                  Dgx2,
                  100'000,
                  kEdr},
    MachinePreset{{"dgx-a100", "NVIDIA DGX A100: 8 A100 40 GiB on NVSwitch, 2 EPYC 7742, 1 TiB"},
                  DgxA100,
                  400'000,
                  "two adapters of 200 Gb/s HDR InfiniBand, nominal"},
    MachinePreset{{"dgx-a100-80gb", "the same with A100 of 80 GiB and 2 TiB"},
                  DgxA100Of80,
                  400'000,
                  "two adapters of 200 Gb/s HDR InfiniBand, nominal"},
    MachinePreset{{"p2.8xlarge", "Amazon EC2: 8 GPUs of K80 boards on PCIe 3, 10 Gb/s"},
                  P2,
                  10'000,
                  "Amazon EC2 p2.8xlarge: 10 Gigabit, nominal"},
    MachinePreset{{"p3.16xlarge", "Amazon EC2: 8 V100 16 GiB on an NVLink cube mesh, 25 Gb/s"},
                  P3,
                  25'000,
                  "Amazon EC2 p3.16xlarge: 25 Gigabit, nominal"},
    MachinePreset{{"dlperf", "DLPerf: 8 V100 16 GiB on an NVLink cube mesh, one 100 Gb/s adapter"},
                  Dlperf,
                  100'000,
                  kEdr},
    MachinePreset{{"horovod", "Horovod's benchmark: 4 P100 16 GiB (PCIe 3 assumed), 25 Gb/s"},
                  HorovodServer,
                  25'000,
                  "Horovod (arXiv:1802.05799): RoCE, 25 Gb/s, nominal"},
};

}  // namespace

std::span<const MachinePreset> MachinePresets() { return kMachines; }

namespace {

NamedMachines FindMachine(std::string_view name) {
  for (const MachinePreset& machine : kMachines) {
    if (machine.preset.name != name) continue;
    return {{machine.host(), machine.nic_mbps, std::string(machine.network), ""}, 1, false};
  }
  std::optional<RentedMachine> rented = FindRentedMachine(name);
  if (!rented && !IsWholeCluster(name)) rented = UsualMachine(name);
  if (!rented) return {};
  const bool rails = rented->host.nics > 1;
  return {std::move(*rented), 1, rails};
}

}  // namespace

NamedMachines FindMachines(std::string_view name) {
  if (NamedMachines one = FindMachine(name); one.count > 0) return one;
  int32_t count = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), count);
  if (error != std::errc() || name[0] == '0' || count < 1 || count > kMaxMachines) return {};
  name.remove_prefix(static_cast<size_t>(end - name.data()));
  if (!name.starts_with('x')) return {};
  name.remove_prefix(name.starts_with("x ") ? 2 : 1);
  if (name.empty() || name[0] == ' ' || IsWholeCluster(name)) return {};
  NamedMachines several = FindMachine(name);
  several.count = several.count > 0 ? count : 0;
  return several;
}

Result<ClusterBuilder> AssembleMachines(std::string_view name, const NamedMachines& machines) {
  PW_CHECK(machines.count > 0);
  ClusterBuilder builder{std::string(name)};
  std::vector<std::vector<Nic>> nics;
  const RentedMachine& machine = machines.machine;
  if (!machine.assumed.empty()) builder.AddNote(machine.assumed);
  HostSpec host = machine.host;
  for (host.index = 0; host.index < machines.count; ++host.index) {
    PW_RETURN_IF_ERROR(AddHost(builder, host));
    nics.emplace_back();
    for (int32_t n = 0; n < host.nics; ++n) {
      Nic nic = NicOf(host, n);
      nic.bandwidth = BytesPerSecond(machine.nic_mbps * kBytesOfMbps);
      nics.back().push_back(std::move(nic));
    }
  }
  if (machines.count == 1) return builder;
  if (machines.rails) {
    PW_RETURN_IF_ERROR(AddRails(builder, nics, kNetworkLatency, machine.network));
    return builder;
  }
  std::vector<Nic> all;
  for (const std::vector<Nic>& of_host : nics)
    all.insert(all.end(), of_host.begin(), of_host.end());
  PW_RETURN_IF_ERROR(AddNetwork(builder, all, kNetworkLatency, machine.network));
  return builder;
}

}  // namespace placewright
