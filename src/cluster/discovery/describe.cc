#include "cluster/discovery/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cluster/discovery/nvlink_topology.h"
#include "cluster/machine.h"

namespace placewright {
namespace {

using Members = std::vector<size_t>;

class Describer {
 public:
  Describer(const FoundMachine& machine, std::vector<std::string>& notes)
      : machine_(machine), notes_(notes), builder_(machine.name) {}

  Result<ClusterBuilder> Describe();

 private:
  Status AddSockets();
  Status AddGpus();
  Status AddTrees();
  Status AddNode(const Members& members, const std::string& parent);
  Status AddBridge(const Members& members, const std::string& parent);
  Status AddSwitches(const Members& members, const std::string& parent);
  Status AttachAll(const Members& members, const std::string& parent);
  Status AddForwarder(const std::string& name, const std::string& parent, const Members& below);
  std::vector<Members> Classes(const Members& members, TopoPath limit) const;
  int32_t SocketOf(size_t gpu) const;
  LinkFigure SlotOf(size_t gpu) const;
  Result<int32_t> KindIndex(const DeviceKind& kind);
  Status Join(const std::string& a, const std::string& b, const LinkFigure& figure);

  const FoundMachine& machine_;
  std::vector<std::string>& notes_;
  ClusterBuilder builder_;
  int32_t cpus_ = 0, bridges_ = 0, switches_ = 0;
};

std::string GpuName(size_t gpu) { return fmt::format("host0/gpu{}", gpu); }

Status Describer::Join(const std::string& a, const std::string& b, const LinkFigure& figure) {
  return builder_.Connect(a, b, figure.bandwidth, figure.latency, Duplex::kFull,
                          std::string(figure.source));
}

Result<int32_t> Describer::KindIndex(const DeviceKind& kind) {
  const int32_t known = builder_.FindKindIndex(kind.name);
  if (known >= 0) return known;
  return builder_.AddKind(kind);
}

Status Describer::AddGpus() {
  for (size_t g = 0; g < machine_.gpus.size(); ++g) {
    PW_ASSIGN(const int32_t kind, KindIndex(machine_.gpus[g].kind));
    PW_RETURN_IF_ERROR(builder_.AddDevice({GpuName(g), kind, 0, machine_.gpus[g].memory, Bytes()}));
  }
  return Ok();
}

Status Describer::AddSockets() {
  for (size_t s = 0; s < machine_.sockets.size(); ++s) {
    const FoundSocket& socket = machine_.sockets[s];
    const std::string pcie = fmt::format("host0/pcie{}", s);
    PW_RETURN_IF_ERROR(builder_.AddForwarder(pcie));
    const int32_t first = cpus_;
    for (const FoundCpu& found : socket.cpus) {
      PW_ASSIGN(const int32_t kind, KindIndex(found.kind));
      const std::string cpu = fmt::format("host0/cpu{}", cpus_);
      PW_RETURN_IF_ERROR(builder_.AddDevice({cpu, kind, 0, found.memory, Bytes()}));
      const BytesPerSecond bandwidth = found.kind.memory_bandwidth;
      PW_RETURN_IF_ERROR(Join(cpu, pcie, {bandwidth, kDramLatency, socket.memory_source}));
      // A copy from memory to memory reads and writes it.
      const BytesPerSecond copying(std::max<int64_t>(1, bandwidth.count / 2));
      for (int32_t other = first; other < cpus_; ++other) {
        PW_RETURN_IF_ERROR(
            Join(fmt::format("host0/cpu{}", other), cpu,
                 {copying, kDramLatency, "half of the memory's: a copy reads and writes"}));
      }
      ++cpus_;
    }
    for (size_t other = 0; other < s; ++other) {
      PW_RETURN_IF_ERROR(Join(fmt::format("host0/pcie{}", other), pcie,
                              SocketFigure(socket.cpus.front().kind.architecture)));
    }
  }
  return Ok();
}

int32_t Describer::SocketOf(size_t gpu) const {
  const auto sockets = static_cast<int32_t>(machine_.sockets.size());
  if (machine_.gpus[gpu].socket >= 0 && machine_.gpus[gpu].socket < sockets) {
    return machine_.gpus[gpu].socket;
  }
  const int32_t numa = machine_.topology.nodes[gpu].numa;
  for (int32_t s = 0; s < sockets && numa >= 0; ++s) {
    const std::vector<int32_t>& known = machine_.sockets[static_cast<size_t>(s)].numa;
    if (std::find(known.begin(), known.end(), numa) != known.end()) return s;
  }
  return static_cast<int32_t>(gpu) * sockets / static_cast<int32_t>(machine_.gpus.size());
}

// Of x16 in its generation, less where the slot is narrower.
LinkFigure Describer::SlotOf(size_t gpu) const {
  const FoundGpu& found = machine_.gpus[gpu];
  LinkFigure slot =
      PcieFigure(found.pcie_generation > 0 ? found.pcie_generation : PcieGenerationOf(found.kind));
  if (found.pcie_width > 0 && found.pcie_width < 16) {
    slot.bandwidth = BytesPerSecond(slot.bandwidth.count * found.pcie_width / 16);
  }
  return slot;
}

// The members in classes that are joined by paths of at most `limit`, each ascending, by the first.
std::vector<Members> Describer::Classes(const Members& members, TopoPath limit) const {
  std::vector<Members> classes;
  std::vector<char> taken(machine_.gpus.size(), 0);
  for (const size_t first : members) {
    if (taken[first]) continue;
    Members group = {first};
    taken[first] = 1;
    for (size_t i = 0; i < group.size(); ++i) {
      for (const size_t other : members) {
        if (taken[other] || machine_.topology.cell(group[i], other).path > limit) continue;
        taken[other] = 1;
        group.push_back(other);
      }
    }
    std::sort(group.begin(), group.end());
    classes.push_back(std::move(group));
  }
  return classes;
}

// A forwarder below `parent`, joined at the width of the fastest slot below it.
Status Describer::AddForwarder(const std::string& name, const std::string& parent,
                               const Members& below) {
  LinkFigure uplink = SlotOf(below[0]);
  for (const size_t gpu : below) {
    if (SlotOf(gpu).bandwidth > uplink.bandwidth) uplink = SlotOf(gpu);
  }
  uplink.latency = kPcieSwitchLatency;
  PW_RETURN_IF_ERROR(builder_.AddForwarder(name));
  return Join(parent, name, uplink);
}

Status Describer::AttachAll(const Members& members, const std::string& parent) {
  for (const size_t gpu : members) PW_RETURN_IF_ERROR(Join(GpuName(gpu), parent, SlotOf(gpu)));
  return Ok();
}

// GPUs that reach each other over PCIe switches alone.
Status Describer::AddSwitches(const Members& members, const std::string& parent) {
  if (members.size() == 1) return AttachAll(members, parent);
  const std::string root = fmt::format("host0/switch{}", switches_++);
  PW_RETURN_IF_ERROR(AddForwarder(root, parent, members));
  const std::vector<Members> near = Classes(members, TopoPath::kPix);
  int32_t index = 0;
  for (const Members& group : near) {
    if (near.size() == 1 || group.size() == 1) {
      PW_RETURN_IF_ERROR(AttachAll(group, root));
      continue;
    }
    const std::string name = fmt::format("{}.{}", root, index++);
    PW_RETURN_IF_ERROR(AddForwarder(name, root, group));
    PW_RETURN_IF_ERROR(AttachAll(group, name));
  }
  return Ok();
}

Status Describer::AddBridge(const Members& members, const std::string& parent) {
  for (const Members& group : Classes(members, TopoPath::kPxb)) {
    PW_RETURN_IF_ERROR(AddSwitches(group, parent));
  }
  return Ok();
}

Status Describer::AddNode(const Members& members, const std::string& parent) {
  const std::vector<Members> bridges = Classes(members, TopoPath::kPhb);
  for (const Members& group : bridges) {
    std::string below = parent;
    if (bridges.size() > 1) {
      below = fmt::format("host0/bridge{}", bridges_++);
      PW_RETURN_IF_ERROR(AddForwarder(below, parent, group));
    }
    PW_RETURN_IF_ERROR(AddBridge(group, below));
  }
  return Ok();
}

Status Describer::AddTrees() {
  const auto sockets = static_cast<int32_t>(machine_.sockets.size());
  for (int32_t s = 0; s < sockets; ++s) {
    Members members;
    for (size_t g = 0; g < machine_.gpus.size(); ++g) {
      if (SocketOf(g) == s) members.push_back(g);
    }
    const std::string root = fmt::format("host0/pcie{}", s);
    const std::vector<Members> nodes = Classes(members, TopoPath::kNode);
    for (size_t k = 0; k < nodes.size(); ++k) {
      std::string parent = root;
      if (nodes.size() > 1) {
        parent = fmt::format("{}.node{}", root, k);
        PW_RETURN_IF_ERROR(AddForwarder(parent, root, nodes[k]));
      }
      PW_RETURN_IF_ERROR(AddNode(nodes[k], parent));
    }
  }
  return Ok();
}

Result<ClusterBuilder> Describer::Describe() {
  if (machine_.topology.GpuCount() != machine_.gpus.size()) {
    return MakeError(ErrorCode::kField,
                     fmt::format("the table of paths has {} GPUs, the machine {}",
                                 machine_.topology.GpuCount(), machine_.gpus.size()),
                     "", "Take the table on this machine, or give --gpu KIND to describe another.");
  }
  if (machine_.topology.nodes.size() > machine_.gpus.size()) {
    notes_.push_back("NICs of the table are left out: it does not say what they lead to");
  }
  PW_RETURN_IF_ERROR(AddGpus());
  PW_RETURN_IF_ERROR(AddSockets());
  PW_RETURN_IF_ERROR(AddTrees());
  PW_RETURN_IF_ERROR(WireNvlink(machine_, builder_, notes_));
  return std::move(builder_);
}

}  // namespace

Result<ClusterBuilder> DescribeMachine(const FoundMachine& machine,
                                       std::vector<std::string>& notes) {
  return Describer(machine, notes).Describe();
}

}  // namespace placewright
