#include "cluster/discovery/host_topology.h"

#include <hwloc.h>

#include <algorithm>
#include <fstream>
#include <memory>

namespace placewright {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

Error Silent() {
  return MakeError(ErrorCode::kMissingRuntime,
                   "the system does not say what processors and memory it has", "",
                   "Describe the machine in a file instead (docs/formats/cluster.md).");
}

Result<Topology> Load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return Silent();
  Topology topology(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(raw) != 0) return Silent();
  return topology;
}

int64_t Clamped(uint64_t bytes) {
  return static_cast<int64_t>(std::min(bytes, static_cast<uint64_t>(kMaxQuantity)));
}

// Packages, or the whole machine where the system shows none.
std::vector<hwloc_obj_t> Packages(hwloc_topology_t topology) {
  std::vector<hwloc_obj_t> packages;
  hwloc_obj_t next = nullptr;
  while ((next = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, next)) != nullptr) {
    packages.push_back(next);
  }
  if (packages.empty()) packages.push_back(hwloc_get_root_obj(topology));
  return packages;
}

int32_t SocketOf(const std::vector<hwloc_obj_t>& packages, hwloc_const_cpuset_t cpus) {
  for (size_t s = 0; s < packages.size(); ++s) {
    if (cpus != nullptr && !hwloc_bitmap_iszero(cpus) &&
        hwloc_bitmap_isincluded(cpus, packages[s]->cpuset)) {
      return static_cast<int32_t>(s);
    }
  }
  return -1;
}

Socket DescribeSocket(hwloc_topology_t topology, hwloc_obj_t package) {
  Socket socket;
  const int cores =
      hwloc_get_nbobjs_inside_cpuset_by_type(topology, package->cpuset, HWLOC_OBJ_CORE);
  socket.cores = cores > 0 ? cores : std::max(1, hwloc_bitmap_weight(package->cpuset));
  return socket;
}

// Each NUMA node's memory goes to its socket, or is shared by all where it belongs to several.
void AddMemory(hwloc_topology_t topology, const std::vector<hwloc_obj_t>& packages,
               std::vector<Socket>& sockets) {
  int64_t shared = 0;
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    const int64_t memory = Clamped(node->attr->numanode.local_memory);
    const int32_t owner = SocketOf(packages, node->cpuset);
    if (owner < 0) {
      shared = SaturatingAdd(shared, memory);
      continue;
    }
    Socket& socket = sockets[static_cast<size_t>(owner)];
    socket.memory = Bytes(SaturatingAdd(socket.memory.count, memory));
    socket.numa.push_back(static_cast<int32_t>(node->os_index));
  }
  for (Socket& socket : sockets) {
    const auto share = shared / static_cast<int64_t>(sockets.size());
    socket.memory = Bytes(SaturatingAdd(socket.memory.count, share));
    std::sort(socket.numa.begin(), socket.numa.end());
  }
}

std::string ReadCpuInfo() {
  std::string text(size_t{64} << 10, '\0');  // of the first processors
  std::ifstream file("/proc/cpuinfo", std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

}  // namespace

Result<HostTopology> ReadHostTopology(const std::vector<std::string>& pci) {
  PW_ASSIGN(const Topology topology, Load());
  const std::vector<hwloc_obj_t> packages = Packages(topology.get());
  HostTopology host;
  host.cpuinfo = ReadCpuInfo();
  for (const hwloc_obj_t package : packages) {
    host.sockets.push_back(DescribeSocket(topology.get(), package));
  }
  AddMemory(topology.get(), packages, host.sockets);
  for (const Socket& socket : host.sockets) {
    if (socket.memory.count < 1) return Silent();
  }
  for (const std::string& address : pci) {
    hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology.get(), address.c_str());
    hwloc_obj_t near =
        device == nullptr ? nullptr : hwloc_get_non_io_ancestor_obj(topology.get(), device);
    host.pci_sockets.push_back(near == nullptr ? -1 : SocketOf(packages, near->cpuset));
  }
  return host;
}

}  // namespace placewright
