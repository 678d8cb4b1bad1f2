#include "sim/pipeline/max_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/pipeline/node_graph.h"

namespace placewright {
namespace {

Status CheckWorkload(const PipelineWorkload& workload) {
  for (const WorkloadEdge& edge : workload.edges) {
    const WorkloadNode& from = workload.nodes[edge.from];
    const WorkloadNode& to = workload.nodes[edge.to];
    if (!from.backward || to.backward) continue;
    return MakeError(ErrorCode::kWorkloadDirection,
                     fmt::format("the edge from the backward node {} leads to the forward node {}",
                                 from.id, to.id));
  }
  PW_RETURN_IF_ERROR(OrderOf(workload, RowsOf(workload, false)));
  return Ok();
}

std::string NameOfDevice(int32_t device) {
  return device == 0 ? "the CPUs" : fmt::format("accelerator {}", device);
}

Status CheckColocation(const PipelineWorkload& workload, const std::vector<int32_t>& devices) {
  std::unordered_map<int64_t, size_t> first;  // of each colour class
  for (size_t i = 0; i < workload.nodes.size(); ++i) {
    const WorkloadNode& node = workload.nodes[i];
    if (!node.color_class) continue;
    const size_t peer = first.emplace(*node.color_class, i).first->second;
    if (devices[peer] == devices[i]) continue;
    return MakeError(ErrorCode::kSplitColocation,
                     fmt::format("nodes {} and {} of colour class {} are on {} and {}",
                                 workload.nodes[peer].id, node.id, *node.color_class,
                                 NameOfDevice(devices[peer]), NameOfDevice(devices[i])));
  }
  return Ok();
}

void AddCommunication(const PipelineWorkload& workload, const std::vector<int32_t>& devices,
                      std::vector<DeviceLoad>& loads) {
  const NodeRows successors = RowsOf(workload, false);
  std::vector<int32_t> receivers;
  for (size_t i = 0; i < workload.nodes.size(); ++i) {
    receivers.clear();
    for (const int32_t next : successors[static_cast<int32_t>(i)]) {
      if (devices[next] != devices[i]) receivers.push_back(devices[next]);
    }
    if (receivers.empty()) continue;
    std::sort(receivers.begin(), receivers.end());
    receivers.erase(std::unique(receivers.begin(), receivers.end()), receivers.end());
    receivers.push_back(devices[i]);  // pays for sending
    for (const int32_t payer : receivers) {
      if (payer > 0) loads[payer].communication += workload.output_cost[i];
    }
  }
}

}  // namespace

Result<MaxLoadResult> MaxLoad(const PipelineWorkload& workload, const Split& split) {
  PW_RETURN_IF_ERROR(CheckWorkload(workload));
  PW_ASSIGN(const std::vector<SplitDevice> split_devices, DevicesOfNodes(workload, split));
  std::vector<int32_t> devices;  // 0: a CPU
  for (const SplitDevice& d : split_devices) devices.push_back(d.accelerator ? d.entry + 1 : 0);
  MaxLoadResult result;
  result.devices.resize(split.accelerators.size() + 1);
  for (size_t i = 0; i < devices.size(); ++i) {
    DeviceLoad& load = result.devices[devices[i]];
    const WorkloadNode& node = workload.nodes[i];
    ++load.nodes;
    load.compute += devices[i] == 0 ? node.cpu_time : node.accelerator_time;
    if (devices[i] > 0) load.size += node.size;
  }
  const auto used = std::count_if(result.devices.begin() + 1, result.devices.end(),
                                  [](const DeviceLoad& load) { return load.nodes > 0; });
  if (used > workload.accelerators) {
    return MakeError(ErrorCode::kSplitDevices,
                     fmt::format("the split uses {} accelerators, the workload has {}", used,
                                 workload.accelerators));
  }
  PW_RETURN_IF_ERROR(CheckColocation(workload, devices));
  AddCommunication(workload, devices, result.devices);
  for (const DeviceLoad& load : result.devices) {
    result.memory_ok = result.memory_ok && load.size <= workload.accelerator_memory;
    if (load.nodes > 0) result.value = std::max(result.value, load.Load());
  }
  return result;
}

}  // namespace placewright
