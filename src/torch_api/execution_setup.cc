#include "torch_api/execution_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "sim/engine/sim_graph.h"
#include "sim/program_sequences.h"

namespace placewright {

Result<std::vector<ExecutionDevice>> ExecutionDevicesOf(const Cluster& cluster, bool simulate,
                                                        const std::vector<bool>& here) {
  std::vector<ExecutionDevice> devices;
  int cpus = 0;
  const auto elsewhere = [&](DeviceId id) { return !here.empty() && !here[id.index()]; };
  for (const DeviceId id : cluster.devices()) {
    if (elsewhere(id)) continue;
    const DeviceKind& kind = cluster.kind(id);
    cpus += kind.device_class == DeviceClass::kCpu ? 1 : 0;
    const bool gpu = kind.device_class == DeviceClass::kGpu &&
                     (!here.empty() || cluster.device(id).host == cluster.device(DeviceId(0)).host);
    if (simulate || gpu || kind.device_class == DeviceClass::kCpu) continue;
    return MakeError(ErrorCode::kMissingRuntime,
                     fmt::format("{} is a {}: plans are executed on CPUs and GPUs of one machine",
                                 cluster.device(id).name, kind.name),
                     "",
                     "`run --simulate-devices` lets this machine's cores stand for the plan's "
                     "devices; times are then those of this machine.");
  }
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  int64_t stated_cores = 0;
  for (const DeviceId id : cluster.devices()) {
    if (!elsewhere(id)) stated_cores += cluster.kind(id).cores;
  }
  if (!simulate && stated_cores > cores) {
    return MakeError(ErrorCode::kMissingRuntime,
                     fmt::format("the cluster's CPUs state {} cores, and this machine has {}",
                                 stated_cores, cores),
                     "", "`placewright cluster detect --split-cpu 2` describes this machine's.");
  }
  int gpus = 0, next_core = 0;
  for (const DeviceId id : cluster.devices()) {
    const bool gpu = cluster.kind(id).device_class == DeviceClass::kGpu;
    ExecutionDevice device;
    device.name = cluster.device(id).name;
    if (elsewhere(id)) {
      device.kind = ExecutionDevice::Kind::kElsewhere;
      devices.push_back(std::move(device));
      continue;
    }
    device.kind = simulate ? ExecutionDevice::Kind::kSimulated
                  : gpu    ? ExecutionDevice::Kind::kCuda
                           : ExecutionDevice::Kind::kCpu;
    if (gpu) device.cuda_index = gpus++;
    const int64_t stated = cluster.kind(id).cores;
    device.threads = simulate || gpu ? 1
                     : stated > 0    ? static_cast<int>(stated)
                                     : std::max(1, cores / std::max(1, cpus));
    device.memory_limit = cluster.device(id).capacity.count;
    // Stated, so that a device which is executed by itself has the cores that it has beside the others.
    if (device.kind == ExecutionDevice::Kind::kCpu) {
      device.first_core = next_core;
      next_core += device.threads;
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

Result<ExecutionRequest> MakeExecutionRequest(const Graph& graph, const Cluster& cluster,
                                              const CostTable& costs, const Placement& placement,
                                              SchedulingPolicy policy, bool simulate,
                                              const std::vector<bool>& here) {
  ExecutionRequest request;
  request.graph = &graph;
  request.placement = placement;
  request.policy = policy;
  PW_ASSIGN(request.devices, ExecutionDevicesOf(cluster, simulate, here));
  if (policy == SchedulingPolicy::kFifo) return request;
  const SimGraph sim_graph = BuildSimGraph(graph, cluster, costs);
  if (policy == SchedulingPolicy::kProgram) {
    PW_RETURN_IF_ERROR(CheckProgramOrder(sim_graph, graph));
    request.sequences = ProgramSequences(sim_graph, placement);
    return request;
  }
  request.paths = IdVector<OpId, int64_t>(graph.op_count(), 0);
  for (const OpId op : graph.ops()) {
    const ExecOpId exec = sim_graph.exec_of[op];
    if (exec.valid()) request.paths[op] = sim_graph.min_path[exec];
  }
  return request;
}

Status CheckExecutable(const Graph& graph) {
  if (graph.format() == "aten") return Ok();
  return MakeError(ErrorCode::kField,
                   fmt::format("a graph of format {} cannot be executed", graph.format()), "",
                   "Record the model's step (`placewright capture`) and take that.");
}

}  // namespace placewright
