#include "formats/cluster/nccl_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <map>
#include <set>

#include "base/text.h"
#include "cluster/catalogue.h"
#include "cluster/machine.h"
#include "formats/cluster/pci_kinds.h"
#include "formats/text/xml.h"

namespace placewright {
namespace {

Error BadTopology(const XmlElement& element, std::string message) {
  return MakeError(ErrorCode::kField, std::move(message), element.Place(),
                   "Give the file as NCCL wrote it (NCCL_TOPO_DUMP_FILE).");
}

std::string AttributeOf(const XmlElement& element, std::string_view attribute) {
  const std::string* value = element.Find(attribute);
  return value == nullptr ? "" : *value;
}

// A decimal or hexadecimal integer; `missing` where there is none.
Result<int64_t> AttributeNumber(const XmlElement& element, std::string_view attribute,
                                int64_t missing, int64_t max) {
  const std::string* value = element.Find(attribute);
  if (value == nullptr || value->empty()) return missing;
  std::string_view digits = *value;
  const bool hex = digits.starts_with("0x");
  if (hex) digits.remove_prefix(2);
  int64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number, hex ? 16 : 10);
  if (error != std::errc() || rest != end || number < 0 || number > max) {
    return BadTopology(element, fmt::format("{} is \"{}\", no number from 0 to {}", attribute,
                                            Printable(*value, 40), max));
  }
  return number;
}

// "16.0 GT/s PCIe" is generation 4; 0: not said.
int32_t LinkGeneration(const std::string& speed) {
  double rate = 0;
  const auto [rest, error] = std::from_chars(speed.data(), speed.data() + speed.size(), rate);
  if (error != std::errc() || rate <= 0) return 0;
  return rate < 10 ? 3 : rate < 20 ? 4 : 5;
}

struct NcclGpu {
  const XmlElement* element;
  const XmlElement* pci;  // that it is on
  std::string parent, bus;
  int32_t host;
  int64_t dev;
  DeviceKind kind;
};
struct NcclAdapter {
  Nic nic;
  int32_t host;
  bool rdma;  // reaches GPUs without host memory
};

class NcclReader {
 public:
  explicit NcclReader(const DeviceKind* gpu) : given_(gpu), builder_("nccl") {}

  Result<ClusterBuilder> Read(const XmlElement& system);

 private:
  Status ReadCpu(const XmlElement& cpu);
  Status ReadPci(const XmlElement& pci, const std::string& parent, int32_t host);
  Status ReadNic(const XmlElement& nic, const std::string& parent, int32_t host);
  Status AddGpu(const XmlElement& gpu, const XmlElement& pci, const std::string& parent,
                int32_t host);
  Status JoinGpus();
  Status WireGpu(size_t index, std::set<int32_t>& switched);
  Status JoinNics();
  LinkFigure SlotOf(const XmlElement& pci, int32_t generation) const;

  const DeviceKind* given_;
  ClusterBuilder builder_;
  std::map<std::string, int32_t> hosts_;                                       // by host_hash
  std::map<int32_t, std::vector<std::pair<std::string, std::string>>> roots_;  // name, architecture
  std::map<int32_t, int32_t> switches_, nics_;
  std::vector<NcclGpu> gpus_;
  std::vector<NcclAdapter> adapters_;
};

// What joins its sockets: by vendor and family; "" stands for Broadwell's.
std::string SocketArchitecture(const XmlElement& cpu) {
  const std::string vendor = AttributeOf(cpu, "vendor"), family = AttributeOf(cpu, "familyid"),
                    model = AttributeOf(cpu, "modelid");
  // NCCL writes AMD's family with and without the extended part: 143 (8Fh) or 23 and up.
  if (vendor == "AuthenticAMD") {
    if (family == "175" || family == "25") {
      const int64_t number = model.empty() ? 0 : std::strtoll(model.c_str(), nullptr, 0);
      return number >= 16 ? "zen4" : "zen3";
    }
    return family == "191" || family == "26" ? "zen4" : "zen2";
  }
  if (vendor == "GenuineIntel") {
    const int64_t number = model.empty() ? 0 : std::strtoll(model.c_str(), nullptr, 0);
    if (number == 85) return "skylake";
    if (number == 106 || number == 108) return "icelake";
    if (number == 143 || number == 207 || number == 173) return "sapphirerapids";
  }
  return "";
}

Status NcclReader::ReadCpu(const XmlElement& cpu) {
  const auto [it, fresh] =
      hosts_.emplace(AttributeOf(cpu, "host_hash"), static_cast<int32_t>(hosts_.size()));
  const int32_t host = it->second;
  auto& roots = roots_[host];
  const std::string root = fmt::format("host{}/pcie{}", host, roots.size());
  PW_RETURN_IF_ERROR(builder_.AddForwarder(root, /*host_memory=*/true));
  const std::string architecture = SocketArchitecture(cpu);
  const LinkFigure between = SocketFigure(architecture);
  for (const auto& [other, unused] : roots) {
    PW_RETURN_IF_ERROR(builder_.Connect(other, root, between.bandwidth, between.latency,
                                        Duplex::kFull, std::string(between.source)));
  }
  roots.emplace_back(root, architecture);
  for (const XmlElement& child : cpu.children) {
    if (child.name == "pci") PW_RETURN_IF_ERROR(ReadPci(child, root, host));
    if (child.name == "nic") PW_RETURN_IF_ERROR(ReadNic(child, root, host));
  }
  return Ok();
}

LinkFigure NcclReader::SlotOf(const XmlElement& pci, int32_t generation) const {
  const int32_t stated = LinkGeneration(AttributeOf(pci, "link_speed"));
  LinkFigure slot = PcieFigure(stated > 0 ? stated : generation);
  const std::string width = AttributeOf(pci, "link_width");
  int64_t lanes = 16;
  std::from_chars(width.data(), width.data() + width.size(), lanes);
  if (lanes > 0 && lanes < 16) slot.bandwidth = BytesPerSecond(slot.bandwidth.count * lanes / 16);
  return slot;
}

Status NcclReader::ReadPci(const XmlElement& pci, const std::string& parent, int32_t host) {
  const auto below = [&](std::string_view name) {
    return std::any_of(pci.children.begin(), pci.children.end(),
                       [&](const XmlElement& child) { return child.name == name; });
  };
  std::string at = parent;
  if (below("pci")) {
    at = fmt::format("host{}/switch{}", host, switches_[host]++);
    PW_RETURN_IF_ERROR(builder_.AddForwarder(at));
    const LinkFigure uplink = SlotOf(pci, 4);
    PW_RETURN_IF_ERROR(builder_.Connect(parent, at, uplink.bandwidth, kPcieSwitchLatency,
                                        Duplex::kFull, std::string(uplink.source)));
  }
  for (const XmlElement& child : pci.children) {
    if (child.name == "pci") PW_RETURN_IF_ERROR(ReadPci(child, at, host));
    if (child.name == "nic") PW_RETURN_IF_ERROR(ReadNic(child, at, host));
    if (child.name == "gpu") PW_RETURN_IF_ERROR(AddGpu(child, pci, at, host));
  }
  return Ok();
}

Status NcclReader::ReadNic(const XmlElement& nic, const std::string& parent, int32_t host) {
  constexpr int64_t kBytesOfMbps = 125'000, kMaxMbps = 10'000'000;
  for (const XmlElement& net : nic.children) {
    if (net.name != "net") continue;
    PW_ASSIGN(const int64_t mbps, AttributeNumber(net, "speed", 10'000, kMaxMbps));
    PW_ASSIGN(const int64_t direct, AttributeNumber(net, "gdr", 0, 1'000'000));
    Nic found{fmt::format("host{}/nic{}", host, nics_[host]++), parent,
              BytesPerSecond(std::max<int64_t>(mbps, 1) * kBytesOfMbps)};
    adapters_.push_back({std::move(found), host, direct > 0});
  }
  return Ok();
}

Status NcclReader::AddGpu(const XmlElement& gpu, const XmlElement& pci, const std::string& parent,
                          int32_t host) {
  PW_ASSIGN(const int64_t dev,
            AttributeNumber(gpu, "dev", static_cast<int64_t>(gpus_.size()), 1'000'000));
  const DeviceKind* kind = given_;
  if (kind == nullptr) {
    PW_ASSIGN(const int64_t vendor, AttributeNumber(pci, "vendor", 0, 0xffff));
    PW_ASSIGN(const int64_t device, AttributeNumber(pci, "device", 0, 0xffff));
    kind = FindPciKind(static_cast<int32_t>(vendor), static_cast<int32_t>(device));
    if (kind == nullptr) {
      return MakeError(
          ErrorCode::kUnknownName,
          fmt::format("the GPU with PCI vendor {:#06x} and device {:#06x} is no kind of "
                      "the catalogue that is known by it",
                      vendor, device),
          pci.Place(),
          "Say what the GPUs are: `placewright cluster amend FILE --gpu KIND -o "
          "NEW.yaml`.");
    }
  }
  gpus_.push_back({&gpu, &pci, parent, AttributeOf(pci, "busid"), host, dev, *kind});
  return Ok();
}

Status NcclReader::JoinGpus() {
  std::stable_sort(gpus_.begin(), gpus_.end(), [](const NcclGpu& a, const NcclGpu& b) {
    return std::pair(a.host, a.dev) < std::pair(b.host, b.dev);
  });
  std::map<int32_t, int32_t> count;
  for (const NcclGpu& gpu : gpus_) {
    int32_t kind = builder_.FindKindIndex(gpu.kind.name);
    if (kind < 0) {
      PW_ASSIGN(kind, builder_.AddKind(gpu.kind));
    }
    const std::string name = fmt::format("host{}/gpu{}", gpu.host, count[gpu.host]++);
    PW_RETURN_IF_ERROR(builder_.AddDevice({name, kind, gpu.host, gpu.kind.memory, Bytes()}));
    const LinkFigure slot = SlotOf(*gpu.pci, PcieGenerationOf(gpu.kind));
    PW_RETURN_IF_ERROR(builder_.Connect(name, gpu.parent, slot.bandwidth, slot.latency,
                                        Duplex::kFull, std::string(slot.source)));
  }
  std::set<int32_t> switched;
  for (size_t g = 0; g < gpus_.size(); ++g) PW_RETURN_IF_ERROR(WireGpu(g, switched));
  return Ok();
}

// NVLink: to another GPU once for the pair, to anything else through the host's NVSwitch.
Status NcclReader::WireGpu(size_t index, std::set<int32_t>& switched) {
  constexpr Nvlink kUnknown{18, BytesPerSecond(25'000'000'000),
                            "NVLink: 25 GB/s a lane assumed (NVLink 2 and 3, nominal)"};
  const NcclGpu& gpu = gpus_[index];
  std::map<size_t, int64_t> lanes;  // by the other GPU; gpus_.size(): a switch
  bool xgmi = false;
  for (const XmlElement& link : gpu.element->children) {
    if (link.name != "nvlink" && link.name != "xgmi") continue;
    xgmi = link.name == "xgmi";
    PW_ASSIGN(const int64_t count, AttributeNumber(link, "count", 1, 256));
    const std::string target = AttributeOf(link, "target");
    size_t other = 0;
    while (other < gpus_.size() && (gpus_[other].bus != target || gpus_[other].host != gpu.host)) {
      ++other;
    }
    if (other == index) return BadTopology(link, "NVLink leads from a GPU to itself");
    lanes[other] += count;
  }
  const Nvlink* known = xgmi ? FindXgmi(gpu.kind) : FindNvlink(gpu.kind);
  if (known == nullptr && !lanes.empty()) {
    builder_.AddNote(
        fmt::format("the NVLink lanes of {} are taken as 25 GB/s each", gpu.kind.name));
    known = &kUnknown;
  }
  for (const auto& [other, count] : lanes) {
    const std::string& name = builder_.devices()[DeviceId(index)].name;
    const BytesPerSecond bandwidth(known->lane.count * std::max<int64_t>(count, 1));
    if (other < index) continue;
    if (other < gpus_.size()) {
      PW_RETURN_IF_ERROR(builder_.Connect(name, builder_.devices()[DeviceId(other)].name, bandwidth,
                                          kNvlinkLatency, Duplex::kFull,
                                          std::string(known->source)));
      continue;
    }
    const std::string center = fmt::format("host{}/nvswitch", gpu.host);
    if (switched.insert(gpu.host).second) PW_RETURN_IF_ERROR(builder_.AddForwarder(center));
    PW_RETURN_IF_ERROR(builder_.Connect(name, center, bandwidth, Nanos(kNvlinkLatency.count / 2),
                                        Duplex::kFull, std::string(known->source), true));
  }
  return Ok();
}

Status NcclReader::JoinNics() {
  const bool several = hosts_.size() > 1;
  if (several && !adapters_.empty()) PW_RETURN_IF_ERROR(builder_.AddForwarder("network"));
  for (const NcclAdapter& adapter : adapters_) {
    const Nic& nic = adapter.nic;
    const LinkFigure slot = NicSlot(nic.bandwidth);
    PW_RETURN_IF_ERROR(builder_.AddForwarder(nic.name));
    PW_RETURN_IF_ERROR(builder_.Connect(nic.parent, nic.name, slot.bandwidth, slot.latency,
                                        Duplex::kFull, std::string(slot.source),
                                        adapter.rdma ? std::nullopt : std::optional(false)));
    if (!several) continue;
    PW_RETURN_IF_ERROR(builder_.Connect(nic.name, "network", nic.bandwidth, kNetworkLatency,
                                        Duplex::kFull, "NCCL's topology, nominal"));
  }
  return Ok();
}

Result<ClusterBuilder> NcclReader::Read(const XmlElement& system) {
  if (system.name != "system") {
    return BadTopology(
        system, fmt::format("the root element is <{}>, not <system>", Printable(system.name, 40)));
  }
  for (const XmlElement& child : system.children) {
    if (child.name == "cpu") PW_RETURN_IF_ERROR(ReadCpu(child));
  }
  if (gpus_.empty()) return BadTopology(system, "there are no GPUs below a <cpu>");
  PW_RETURN_IF_ERROR(JoinGpus());
  PW_RETURN_IF_ERROR(JoinNics());
  builder_.AddNote("NCCL's topology does not say what memory the CPUs have: no CPU is a device");
  return std::move(builder_);
}

}  // namespace

bool LooksLikeXml(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '<';
}

Result<ClusterBuilder> DescribeNcclTopology(std::string_view text, const DeviceKind* gpu) {
  PW_ASSIGN(const XmlElement system, ParseXml(text));
  return NcclReader(gpu).Read(system);
}

}  // namespace placewright
