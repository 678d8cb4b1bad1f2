#include "cluster/rented_machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "cluster/catalogue/rows.h"

namespace placewright {
namespace {

struct RentedRow {
  std::string_view name, gpu;
  int32_t gpus;
  std::string_view cpu;
  int32_t
      vcpus;  // two are a core, of Azure one; 0: all cores of two sockets, or of one for up to four GPUs
  int32_t gib;  // of host memory
  int32_t nics;
  int64_t nic_mbps;
  std::string_view maker;  // whose page states GPUs, vCPUs, memory and network
};

constexpr std::string_view kAmazonEc2 = "Amazon EC2";
constexpr std::string_view kGoogle = "Google Cloud";
constexpr std::string_view kAzure = "Azure";
constexpr std::string_view kBoard = "NVIDIA HGX or DGX";
constexpr std::string_view kAmdBoard = "AMD Instinct platform";
constexpr std::string_view kSlots = "cards in x16 slots";

// Amazon: "Accelerated computing instances"; processors by lscpu. 3,200 Gb/s of EFA in 16 or 32
// adapters are eight here, one beside each GPU. Google: "GPU machine types", its network bandwidth of
// the GPUs' NICs. Azure: "ND family", "NC family"; InfiniBand beside each GPU.
constexpr std::array kRentedRows = {
    // Boards of eight, as HGX and DGX servers have them.
    RentedRow{"8xA100-40GB", "A100-40GB", 8, "EPYC-7742", 0, 1024, 8, 200'000, kBoard},
    RentedRow{"8xA100-80GB", "A100-80GB", 8, "EPYC-7742", 0, 2048, 8, 200'000, kBoard},
    RentedRow{"8xH100", "H100", 8, "Xeon-Platinum-8480+", 0, 2048, 8, 400'000, kBoard},
    RentedRow{"8xH200", "H200", 8, "Xeon-Platinum-8480+", 0, 2048, 8, 400'000, kBoard},
    RentedRow{"8xH20", "H20", 8, "Xeon-Platinum-8480+", 0, 2048, 8, 400'000, kBoard},
    RentedRow{"8xB200", "B200", 8, "Xeon-Platinum-8570", 0, 2048, 8, 400'000, kBoard},
    RentedRow{"8xB300", "B300", 8, "Xeon-Platinum-8570", 0, 2048, 8, 800'000, kBoard},
    RentedRow{"8xMI300X", "MI300X", 8, "EPYC-9654", 0, 2304, 8, 400'000, kAmdBoard},
    RentedRow{"8xMI325X", "MI325X", 8, "EPYC-9654", 0, 2304, 8, 400'000, kAmdBoard},
    RentedRow{"8xMI355X", "MI355X", 8, "EPYC-9654", 0, 2304, 8, 400'000, kAmdBoard},
    RentedRow{"2x3090", "RTX-3090", 2, "EPYC-7763", 0, 128, 1, 10'000, kSlots},
    RentedRow{"4x3090", "RTX-3090", 4, "EPYC-7763", 0, 256, 1, 10'000, kSlots},
    RentedRow{"2x4090", "RTX-4090", 2, "EPYC-7763", 0, 128, 1, 10'000, kSlots},
    RentedRow{"4x4090", "RTX-4090", 4, "EPYC-7763", 0, 256, 1, 10'000, kSlots},
    RentedRow{"8x4090", "RTX-4090", 8, "EPYC-7763", 0, 512, 1, 25'000, kSlots},
    RentedRow{"2x5090", "RTX-5090", 2, "EPYC-9654", 0, 256, 1, 10'000, kSlots},
    RentedRow{"8x5090", "RTX-5090", 8, "EPYC-9654", 0, 768, 1, 100'000, kSlots},
    // Amazon.
    RentedRow{"g4dn.xlarge", "T4", 1, "Xeon-Platinum-8259CL", 4, 16, 1, 25'000, kAmazonEc2},
    RentedRow{"g4dn.2xlarge", "T4", 1, "Xeon-Platinum-8259CL", 8, 32, 1, 25'000, kAmazonEc2},
    RentedRow{"g4dn.4xlarge", "T4", 1, "Xeon-Platinum-8259CL", 16, 64, 1, 25'000, kAmazonEc2},
    RentedRow{"g4dn.8xlarge", "T4", 1, "Xeon-Platinum-8259CL", 32, 128, 1, 50'000, kAmazonEc2},
    RentedRow{"g4dn.12xlarge", "T4", 4, "Xeon-Platinum-8259CL", 48, 192, 1, 50'000, kAmazonEc2},
    RentedRow{"g4dn.16xlarge", "T4", 1, "Xeon-Platinum-8259CL", 64, 256, 1, 50'000, kAmazonEc2},
    RentedRow{"g4dn.metal", "T4", 8, "Xeon-Platinum-8259CL", 96, 384, 1, 100'000, kAmazonEc2},
    RentedRow{"g5.xlarge", "A10G", 1, "EPYC-7R32", 4, 16, 1, 10'000, kAmazonEc2},
    RentedRow{"g5.2xlarge", "A10G", 1, "EPYC-7R32", 8, 32, 1, 10'000, kAmazonEc2},
    RentedRow{"g5.4xlarge", "A10G", 1, "EPYC-7R32", 16, 64, 1, 25'000, kAmazonEc2},
    RentedRow{"g5.8xlarge", "A10G", 1, "EPYC-7R32", 32, 128, 1, 25'000, kAmazonEc2},
    RentedRow{"g5.12xlarge", "A10G", 4, "EPYC-7R32", 48, 192, 1, 40'000, kAmazonEc2},
    RentedRow{"g5.16xlarge", "A10G", 1, "EPYC-7R32", 64, 256, 1, 25'000, kAmazonEc2},
    RentedRow{"g5.24xlarge", "A10G", 4, "EPYC-7R32", 96, 384, 1, 50'000, kAmazonEc2},
    RentedRow{"g5.48xlarge", "A10G", 8, "EPYC-7R32", 192, 768, 1, 100'000, kAmazonEc2},
    RentedRow{"g6.xlarge", "L4", 1, "EPYC-7R13", 4, 16, 1, 10'000, kAmazonEc2},
    RentedRow{"g6.2xlarge", "L4", 1, "EPYC-7R13", 8, 32, 1, 10'000, kAmazonEc2},
    RentedRow{"g6.4xlarge", "L4", 1, "EPYC-7R13", 16, 64, 1, 25'000, kAmazonEc2},
    RentedRow{"g6.8xlarge", "L4", 1, "EPYC-7R13", 32, 128, 1, 25'000, kAmazonEc2},
    RentedRow{"g6.12xlarge", "L4", 4, "EPYC-7R13", 48, 192, 1, 40'000, kAmazonEc2},
    RentedRow{"g6.16xlarge", "L4", 1, "EPYC-7R13", 64, 256, 1, 25'000, kAmazonEc2},
    RentedRow{"g6.24xlarge", "L4", 4, "EPYC-7R13", 96, 384, 1, 50'000, kAmazonEc2},
    RentedRow{"g6.48xlarge", "L4", 8, "EPYC-7R13", 192, 768, 1, 100'000, kAmazonEc2},
    RentedRow{"g6e.xlarge", "L40S", 1, "EPYC-7R13", 4, 32, 1, 20'000, kAmazonEc2},
    RentedRow{"g6e.2xlarge", "L40S", 1, "EPYC-7R13", 8, 64, 1, 20'000, kAmazonEc2},
    RentedRow{"g6e.4xlarge", "L40S", 1, "EPYC-7R13", 16, 128, 1, 20'000, kAmazonEc2},
    RentedRow{"g6e.8xlarge", "L40S", 1, "EPYC-7R13", 32, 256, 1, 25'000, kAmazonEc2},
    RentedRow{"g6e.12xlarge", "L40S", 4, "EPYC-7R13", 48, 384, 1, 100'000, kAmazonEc2},
    RentedRow{"g6e.16xlarge", "L40S", 1, "EPYC-7R13", 64, 512, 1, 35'000, kAmazonEc2},
    RentedRow{"g6e.24xlarge", "L40S", 4, "EPYC-7R13", 96, 768, 2, 100'000, kAmazonEc2},
    RentedRow{"g6e.48xlarge", "L40S", 8, "EPYC-7R13", 192, 1536, 4, 100'000, kAmazonEc2},
    RentedRow{"p4d.24xlarge", "A100-40GB", 8, "Xeon-Platinum-8275CL", 96, 1152, 4, 100'000,
              kAmazonEc2},
    RentedRow{"p4de.24xlarge", "A100-80GB", 8, "Xeon-Platinum-8275CL", 96, 1152, 4, 100'000,
              kAmazonEc2},
    RentedRow{"p5.4xlarge", "H100", 1, "EPYC-7R13", 16, 256, 1, 100'000, kAmazonEc2},
    RentedRow{"p5.48xlarge", "H100", 8, "EPYC-7R13", 192, 2048, 8, 400'000, kAmazonEc2},
    RentedRow{"p5e.48xlarge", "H200", 8, "EPYC-7R13", 192, 2048, 8, 400'000, kAmazonEc2},
    RentedRow{"p5en.48xlarge", "H200", 8, "Xeon-Platinum-8488C", 192, 2048, 8, 400'000, kAmazonEc2},
    RentedRow{"p6-b200.48xlarge", "B200", 8, "Xeon-Platinum-8559C", 192, 2048, 8, 400'000,
              kAmazonEc2},
    RentedRow{"p6-b300.48xlarge", "B300", 8, "Xeon-Platinum-8559C", 192, 4096, 8, 800'000,
              kAmazonEc2},
    // Google.
    RentedRow{"g2-standard-4", "L4", 1, "Xeon-Platinum-8273CL", 4, 16, 1, 10'000, kGoogle},
    RentedRow{"g2-standard-8", "L4", 1, "Xeon-Platinum-8273CL", 8, 32, 1, 16'000, kGoogle},
    RentedRow{"g2-standard-12", "L4", 1, "Xeon-Platinum-8273CL", 12, 48, 1, 16'000, kGoogle},
    RentedRow{"g2-standard-16", "L4", 1, "Xeon-Platinum-8273CL", 16, 64, 1, 32'000, kGoogle},
    RentedRow{"g2-standard-24", "L4", 2, "Xeon-Platinum-8273CL", 24, 96, 1, 32'000, kGoogle},
    RentedRow{"g2-standard-32", "L4", 1, "Xeon-Platinum-8273CL", 32, 128, 1, 32'000, kGoogle},
    RentedRow{"g2-standard-48", "L4", 4, "Xeon-Platinum-8273CL", 48, 192, 1, 50'000, kGoogle},
    RentedRow{"g2-standard-96", "L4", 8, "Xeon-Platinum-8273CL", 96, 384, 1, 100'000, kGoogle},
    RentedRow{"a2-highgpu-1g", "A100-40GB", 1, "Xeon-Platinum-8273CL", 12, 85, 1, 24'000, kGoogle},
    RentedRow{"a2-highgpu-2g", "A100-40GB", 2, "Xeon-Platinum-8273CL", 24, 170, 1, 32'000, kGoogle},
    RentedRow{"a2-highgpu-4g", "A100-40GB", 4, "Xeon-Platinum-8273CL", 48, 340, 1, 50'000, kGoogle},
    RentedRow{"a2-highgpu-8g", "A100-40GB", 8, "Xeon-Platinum-8273CL", 96, 680, 1, 100'000,
              kGoogle},
    RentedRow{"a2-megagpu-16g", "A100-40GB", 16, "Xeon-Platinum-8273CL", 96, 1360, 1, 100'000,
              kGoogle},
    RentedRow{"a2-ultragpu-1g", "A100-80GB", 1, "Xeon-Platinum-8273CL", 12, 170, 1, 24'000,
              kGoogle},
    RentedRow{"a2-ultragpu-2g", "A100-80GB", 2, "Xeon-Platinum-8273CL", 24, 340, 1, 32'000,
              kGoogle},
    RentedRow{"a2-ultragpu-4g", "A100-80GB", 4, "Xeon-Platinum-8273CL", 48, 680, 1, 50'000,
              kGoogle},
    RentedRow{"a2-ultragpu-8g", "A100-80GB", 8, "Xeon-Platinum-8273CL", 96, 1360, 1, 100'000,
              kGoogle},
    RentedRow{"a3-highgpu-1g", "H100", 1, "Xeon-Platinum-8481C", 26, 234, 1, 25'000, kGoogle},
    RentedRow{"a3-highgpu-2g", "H100", 2, "Xeon-Platinum-8481C", 52, 468, 1, 50'000, kGoogle},
    RentedRow{"a3-highgpu-4g", "H100", 4, "Xeon-Platinum-8481C", 104, 936, 1, 100'000, kGoogle},
    RentedRow{"a3-highgpu-8g", "H100", 8, "Xeon-Platinum-8481C", 208, 1872, 4, 200'000, kGoogle},
    RentedRow{"a3-edgegpu-8g", "H100", 8, "Xeon-Platinum-8481C", 208, 1872, 4, 100'000, kGoogle},
    RentedRow{"a3-megagpu-8g", "H100", 8, "Xeon-Platinum-8481C", 208, 1872, 8, 200'000, kGoogle},
    RentedRow{"a3-ultragpu-8g", "H200", 8, "Xeon-Platinum-8559C", 224, 2952, 8, 400'000, kGoogle},
    RentedRow{"a4-highgpu-8g", "B200", 8, "Xeon-Platinum-8559C", 224, 3968, 8, 400'000, kGoogle},
    // Microsoft.
    RentedRow{"ND96asr_v4", "A100-40GB", 8, "EPYC-7V12", 96, 900, 8, 200'000, kAzure},
    RentedRow{"ND96amsr_A100_v4", "A100-80GB", 8, "EPYC-7V12", 96, 1900, 8, 200'000, kAzure},
    RentedRow{"ND96isr_H100_v5", "H100", 8, "Xeon-Platinum-8480C", 96, 1900, 8, 400'000, kAzure},
    RentedRow{"ND96isr_H200_v5", "H200", 8, "Xeon-Platinum-8480C", 96, 1850, 8, 400'000, kAzure},
    RentedRow{"ND96isr_MI300X_v5", "MI300X", 8, "Xeon-Platinum-8480C", 96, 1850, 8, 400'000,
              kAzure},
    RentedRow{"NC4as_T4_v3", "T4", 1, "EPYC-7V12", 4, 28, 1, 8'000, kAzure},
    RentedRow{"NC8as_T4_v3", "T4", 1, "EPYC-7V12", 8, 56, 1, 8'000, kAzure},
    RentedRow{"NC16as_T4_v3", "T4", 1, "EPYC-7V12", 16, 110, 1, 8'000, kAzure},
    RentedRow{"NC64as_T4_v3", "T4", 4, "EPYC-7V12", 64, 440, 1, 32'000, kAzure},
    RentedRow{"NC24ads_A100_v4", "A100-PCIe-80GB", 1, "EPYC-7V13", 24, 220, 1, 20'000, kAzure},
    RentedRow{"NC48ads_A100_v4", "A100-PCIe-80GB", 2, "EPYC-7V13", 48, 440, 1, 40'000, kAzure},
    RentedRow{"NC96ads_A100_v4", "A100-PCIe-80GB", 4, "EPYC-7V13", 96, 880, 1, 80'000, kAzure},
    RentedRow{"NC40ads_H100_v5", "H100-NVL", 1, "EPYC-9V84", 40, 320, 1, 40'000, kAzure},
    RentedRow{"NC80adis_H100_v5", "H100-NVL", 2, "EPYC-9V84", 80, 640, 1, 80'000, kAzure},
};

// Of a nominal rate, what NCCL's collectives get of a NIC beside GPUs of which it is the bottleneck: 0.92 to 0.96
// on 2 to 32 machines with one to four H100 and 400 Gb/s each (meta-pytorch/autoparallel,
// "h100_nvswitch_roce_400g.py": all-reduces and reduce-scatters).
constexpr double kNicEfficiency = 0.94;

// `cores` of a socket's, with their share of its arithmetic and of its memory's bandwidth.
DeviceKind SomeCoresOf(const DeviceKind& cpu, int32_t cores, int32_t all) {
  if (cores >= all) return cpu;
  DeviceKind some = cpu;
  some.name = fmt::format("{}-{}-cores", cpu.name, cores);
  PeakRates& peak = some.peak;
  for (double* rate : {&peak.f64, &peak.f32, &peak.f16, &peak.bf16, &peak.i8}) {
    *rate = *rate * cores / all;
  }
  some.memory_bandwidth = BytesPerSecond(cpu.memory_bandwidth.count / all * cores);
  some.source = fmt::format("{} of {} cores; {}", cores, all, cpu.source);
  return some;
}

RentedMachine RentedMachineOf(const RentedRow& row) {
  RentedMachine machine;
  HostSpec& host = machine.host;
  const int32_t all = CoresOfCpu(row.cpu);
  // Azure's machines with GPUs have a core for each vCPU.
  const int32_t threads = row.maker == kAzure ? 1 : 2;
  const int32_t cores = row.vcpus > 0 ? row.vcpus / threads : (row.gpus > 4 ? 2 : 1) * all;
  host.sockets = cores > all ? 2 : 1;
  host.cpu = SomeCoresOf(*FindKind(row.cpu), cores / host.sockets, all);
  host.memory = Bytes(int64_t{row.gib} << 30);
  host.gpus = {GpuSlot{*FindKind(row.gpu), row.gpus, Bytes(), std::nullopt}};
  host.interconnect = UsualInterconnectOf(host).interconnect;
  // H100 NVL are sold as bridged pairs.
  if (host.gpus.front().kind.name == "H100-NVL" && row.gpus == 2) {
    host.interconnect = Interconnect::kNvlink;
  }
  host.nics = row.nics;
  // Cards in slots hang on their CPU, which has lanes enough.
  if (row.maker == kSlots) host.switches = 0;
  machine.nic_mbps = row.nic_mbps;
  if (host.gpus.front().kind.channels > 0) machine.nic_efficiency = kNicEfficiency;
  machine.network = fmt::format("{} {}: {} x {} Gb/s, nominal", row.maker, row.name, row.nics,
                                row.nic_mbps / 1000);
  return machine;
}

std::string NormalizedMachine(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == ' ') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (out.starts_with("standard")) out.erase(0, 8);
  return out;
}

std::string JoinedBy(const HostSpec& host) {
  switch (host.interconnect) {
    case Interconnect::kNvlink: return " on NVLink";
    case Interconnect::kNvswitch: return " on NVSwitch";
    case Interconnect::kXgmi: return " on xGMI";
    default: return host.gpus.front().count > 1 ? " on PCIe" : "";
  }
}

struct RentedPresets {
  std::vector<std::string> texts;
  std::vector<Preset> presets;
};

RentedPresets DescribeAll() {
  RentedPresets all;
  all.texts.reserve(kRentedRows.size());
  for (const RentedRow& row : kRentedRows) {
    const HostSpec host = RentedMachineOf(row).host;
    all.texts.push_back(fmt::format("{}: {} {}{}, {} x {}, {} GiB, {} x {} Gb/s", row.maker,
                                    row.gpus, row.gpu, JoinedBy(host), host.sockets, host.cpu.name,
                                    row.gib, row.nics, row.nic_mbps / 1000));
    all.presets.push_back({row.name, all.texts.back()});
  }
  return all;
}

// A kind of GPU, or the number of a GeForce: "4090".
const DeviceKind* FindGpuByNumber(std::string_view name) {
  const DeviceKind* kind = FindKind(name);
  if (kind == nullptr) kind = FindKind(fmt::format("RTX-{}", name));
  if (kind == nullptr) kind = FindKind(fmt::format("GTX-{}", name));
  return kind != nullptr && kind->device_class == DeviceClass::kGpu ? kind : nullptr;
}

}  // namespace

std::optional<RentedMachine> FindRentedMachine(std::string_view name) {
  const std::string wanted = NormalizedMachine(name);
  for (const RentedRow& row : kRentedRows) {
    if (NormalizedMachine(row.name) == wanted) return RentedMachineOf(row);
  }
  return std::nullopt;
}

std::optional<RentedMachine> UsualMachine(std::string_view name) {
  constexpr int32_t kMaxGpus = 16;
  int32_t count = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), count);
  if (error != std::errc() || name[0] == '0' || count < 1 || count > kMaxGpus) return std::nullopt;
  name.remove_prefix(static_cast<size_t>(end - name.data()));
  while (name.starts_with(' ')) name.remove_prefix(1);
  if (!name.starts_with('x')) return std::nullopt;
  name.remove_prefix(1);
  while (name.starts_with(' ')) name.remove_prefix(1);
  const DeviceKind* kind = name.empty() ? nullptr : FindGpuByNumber(name);
  if (kind == nullptr) return std::nullopt;
  HostSpec like;
  like.sockets = 0;
  like.gpus = {GpuSlot{*kind, count, Bytes(), std::nullopt}};
  const bool board = UsualInterconnectOf(like).interconnect != Interconnect::kPcie;
  const int32_t generation = PcieGenerationOf(*kind);
  const std::string_view cpu = generation <= 3   ? "Xeon-Gold-6148"
                               : generation == 4 ? "EPYC-7763"
                               : board           ? "Xeon-Platinum-8480+"
                                                 : "EPYC-9654";
  const int32_t gib = std::max(128, count * (board ? 256 : 64));
  const int64_t mbps = !board            ? 25'000
                       : generation <= 3 ? 100'000
                       : generation == 4 ? 200'000
                                         : 400'000;
  const RentedRow row{
      "", kind->name, count, cpu, 0, gib, board ? count : 1, mbps, board ? kBoard : kSlots};
  RentedMachine machine = RentedMachineOf(row);
  machine.network = fmt::format("{} Gb/s assumed", mbps / 1000);
  std::string_view note = NoteOfKindName(name);
  if (note.empty()) note = NoteOfKindName(fmt::format("RTX-{}", name));
  machine.assumed =
      fmt::format("{} x {}{}: assumed are {} x {}, {} GiB of memory and {} x {} Gb/s{}{}", count,
                  kind->name, JoinedBy(machine.host), machine.host.sockets, cpu, gib, row.nics,
                  mbps / 1000, note.empty() ? "" : "; ", note);
  return machine;
}

std::span<const Preset> RentedMachines() {
  static const RentedPresets all = DescribeAll();
  return all.presets;
}

}  // namespace placewright
