#include "cluster/machine_presets.h"

#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "base/check.h"

namespace placewright {
namespace {

constexpr int64_t kBytesOfGiB = int64_t{1} << 30;
constexpr int64_t kBytesOfMbps = 125'000;  // one Mb/s in bytes per second

constexpr std::string_view kEdr = "Mellanox EDR InfiniBand, 100 Gb/s, nominal";
constexpr std::string_view kTwoHdr = "two adapters of 200 Gb/s HDR InfiniBand, nominal";

struct MachineRow {
  std::string_view name, description, gpu;
  int32_t gpus;
  Interconnect interconnect;
  std::string_view cpu;
  int32_t sockets;
  int64_t memory_gib;
  int32_t nics;
  int64_t nic_mbps;          // of each NIC, Mb/s
  std::string_view network;  // source of that figure
};
constexpr std::array kMachines = {
    // NVIDIA DGX-1 user guide (DU-08033-001): four EDR adapters, each on a PCIe switch with two GPUs.
    MachineRow{"dgx-1", "NVIDIA DGX-1: 8 V100 16 GiB on an NVLink cube mesh, 4 x 100 Gb/s",
               "V100-16GB", 8, Interconnect::kNvlink, "Xeon-E5-2698v4", 2, 512, 4, 100'000, kEdr},
    MachineRow{"dgx-1-32gb", "the same with V100 of 32 GiB", "V100-32GB", 8, Interconnect::kNvlink,
               "Xeon-E5-2698v4", 2, 512, 4, 100'000, kEdr},
    MachineRow{"dgx-1-p100", "NVIDIA DGX-1 with 8 P100 16 GiB on NVLink, 4 x 100 Gb/s",
               "P100-SXM2-16GB", 8, Interconnect::kNvlink, "Xeon-E5-2698v4", 2, 512, 4, 100'000,
               kEdr},
    // NVIDIA DGX-2 data sheet: eight 100 Gb/s adapters, 1.5 TB.
    MachineRow{"dgx-2", "NVIDIA DGX-2: 16 V100 32 GiB on NVSwitch, 8 x 100 Gb/s, 1.5 TiB",
               "V100-32GB", 16, Interconnect::kNvswitch, "Xeon-Platinum-8168", 2, 1536, 8, 100'000,
               kEdr},
    // NVIDIA DGX A100 data sheet: eight 200 Gb/s adapters beside the GPUs, two on a PCIe switch, which
    // are one of 400 Gb/s here.
    MachineRow{"dgx-a100", "NVIDIA DGX A100: 8 A100 40 GiB on NVSwitch, 2 EPYC 7742, 1 TiB",
               "A100-40GB", 8, Interconnect::kNvswitch, "EPYC-7742", 2, 1024, 4, 400'000, kTwoHdr},
    MachineRow{"dgx-a100-80gb", "the same with A100 of 80 GiB and 2 TiB", "A100-80GB", 8,
               Interconnect::kNvswitch, "EPYC-7742", 2, 2048, 4, 400'000, kTwoHdr},
    // Amazon EC2: "Accelerated computing instances" states GPUs, memory and network.
    MachineRow{"p2.8xlarge", "Amazon EC2: 8 GPUs of K80 boards on PCIe 3, 10 Gb/s", "K80", 8,
               Interconnect::kPcie3, "Xeon-E5-2686v4", 1, 488, 1, 10'000,
               "Amazon EC2 p2.8xlarge: 10 Gigabit, nominal"},
    MachineRow{"p3.16xlarge", "Amazon EC2: 8 V100 16 GiB on an NVLink cube mesh, 25 Gb/s",
               "V100-16GB", 8, Interconnect::kNvlink, "Xeon-E5-2686v4", 2, 488, 1, 25'000,
               "Amazon EC2 p3.16xlarge: 25 Gigabit, nominal"},
    // `nvidia-smi topo` of its report shows the cube mesh and one adapter, on a switch of the first
    // socket.
    MachineRow{"dlperf", "DLPerf: 8 V100 16 GiB on an NVLink cube mesh, one 100 Gb/s adapter",
               "V100-16GB", 8, Interconnect::kNvlink, "Xeon-Gold-5118", 2, 384, 1, 100'000, kEdr},
    // The paper names four Pascal GPUs and RoCE of 25 Gb/s; the rest is assumed.
    MachineRow{"horovod", "Horovod's benchmark: 4 P100 16 GiB (PCIe 3 assumed), 25 Gb/s",
               "P100-16GB", 4, Interconnect::kPcie3, "Xeon-E5-2650v4", 2, 128, 1, 25'000,
               "Horovod (arXiv:1802.05799): RoCE, 25 Gb/s, nominal"},
};

HostSpec HostOf(const MachineRow& machine) {
  HostSpec host;
  host.cpu = *FindKind(machine.cpu);
  host.sockets = machine.sockets;
  host.memory = Bytes(machine.memory_gib * kBytesOfGiB);
  host.gpus = {GpuSlot{*FindKind(machine.gpu), machine.gpus, Bytes(), std::nullopt}};
  host.interconnect = machine.interconnect;
  host.nics = machine.nics;
  return host;
}

}  // namespace

std::vector<Preset> MachinePresets() {
  std::vector<Preset> presets;
  for (const MachineRow& machine : kMachines) {
    presets.push_back({machine.name, machine.description});
  }
  return presets;
}

namespace {

NamedMachines FindMachine(std::string_view name) {
  for (const MachineRow& machine : kMachines) {
    if (machine.name != name) continue;
    return {{HostOf(machine), machine.nic_mbps, 1, std::string(machine.network), ""}, 1, false};
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
  const NetworkSpec network{kNetworkLatency, machine.network, machine.nic_efficiency};
  if (machines.rails) {
    PW_RETURN_IF_ERROR(AddRails(builder, nics, network));
    return builder;
  }
  std::vector<Nic> all;
  for (const std::vector<Nic>& of_host : nics)
    all.insert(all.end(), of_host.begin(), of_host.end());
  PW_RETURN_IF_ERROR(AddNetwork(builder, all, network));
  return builder;
}

}  // namespace placewright
