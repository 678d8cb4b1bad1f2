#include "plan/split.h"

#include <fmt/format.h>

#include <unordered_map>

namespace placewright {
namespace {

std::vector<SplitDevice> ListedDevices(const PipelineWorkload& workload, const Split& split) {
  std::unordered_map<int64_t, size_t> positions;
  for (size_t i = 0; i < workload.nodes.size(); ++i) positions.emplace(workload.nodes[i].id, i);
  std::vector<SplitDevice> devices(workload.nodes.size());
  const auto assign = [&](const std::vector<std::vector<int64_t>>& entries, bool accelerator) {
    for (size_t entry = 0; entry < entries.size(); ++entry) {
      for (const int64_t id : entries[entry]) {
        const auto it = positions.find(id);
        if (it == positions.end()) continue;
        devices[it->second] = {accelerator, static_cast<int32_t>(entry)};
      }
    }
  };
  assign(split.cpus, false);
  assign(split.accelerators, true);
  return devices;
}

// The listed nodes of a colour class.
struct Peers {
  SplitDevice device;
  bool several = false;
};

bool SameDevice(SplitDevice a, SplitDevice b) {
  return a.accelerator == b.accelerator && (!a.accelerator || a.entry == b.entry);
}

}  // namespace

Result<std::vector<SplitDevice>> DevicesOfNodes(const PipelineWorkload& workload,
                                                const Split& split) {
  const std::vector<SplitDevice> listed = ListedDevices(workload, split);
  std::unordered_map<int64_t, Peers> classes;
  for (size_t i = 0; i < listed.size(); ++i) {
    const auto& color = workload.nodes[i].color_class;
    if (!color || !listed[i].listed()) continue;
    Peers& peers = classes[*color];
    const bool first = !peers.device.listed();
    peers.several = peers.several || (!first && !SameDevice(peers.device, listed[i]));
    peers.device = listed[i];
  }
  std::vector<SplitDevice> devices = listed;
  for (size_t i = 0; i < listed.size(); ++i) {
    if (listed[i].listed()) continue;
    const WorkloadNode& node = workload.nodes[i];
    const auto peers = node.color_class ? classes.find(*node.color_class) : classes.end();
    if (peers == classes.end()) {
      return MakeError(
          ErrorCode::kSplitIncomplete,
          fmt::format("node {} is on no device, nor is any other node of its colour class",
                      node.id));
    }
    if (peers->second.several) {
      return MakeError(
          ErrorCode::kSplitAmbiguous,
          fmt::format("node {} is not listed, and its colour class {} is on several devices",
                      node.id, *node.color_class));
    }
    devices[i] = peers->second.device;
  }
  return devices;
}

}  // namespace placewright
