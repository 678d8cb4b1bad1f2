#include "cluster/discovery/detect.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cluster/discovery/cpu_facts.h"
#include "cluster/discovery/describe.h"
#include "cluster/discovery/match_gpu.h"

namespace placewright {
namespace {

void AddNote(std::vector<std::string>& notes, std::string note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
}

int64_t ShareOf(int64_t amount, int64_t part, int64_t whole) {
  return std::max<int64_t>(1, amount / whole * part);
}

// The parts in order, each on the first socket that still has as many cores.
Result<std::vector<std::vector<int64_t>>> PartsBySocket(const HostTopology& host,
                                                        const std::vector<int64_t>& parts) {
  std::vector<std::vector<int64_t>> by_socket(host.sockets.size());
  std::vector<int64_t> left;
  for (const Socket& socket : host.sockets) left.push_back(socket.cores);
  for (const int64_t cores : parts) {
    const auto socket =
        std::find_if(left.begin(), left.end(), [&](int64_t free) { return free >= cores; });
    if (socket == left.end()) {
      return MakeError(
          ErrorCode::kUsage,
          fmt::format("no socket of this machine has {} cores left for a CPU device", cores), "",
          "Give --split-cpu fewer devices or fewer cores.");
    }
    *socket -= cores;
    by_socket[static_cast<size_t>(socket - left.begin())].push_back(cores);
  }
  // What has no device of its own is described as one.
  for (size_t s = 0; s < by_socket.size(); ++s) {
    if (by_socket[s].empty()) by_socket[s].push_back(host.sockets[s].cores);
  }
  return by_socket;
}

Result<std::vector<FoundSocket>> Sockets(const HostTopology& host,
                                         const std::vector<int64_t>& parts,
                                         std::vector<std::string>& notes) {
  const CpuFacts facts = ParseCpuInfo(host.cpuinfo);
  PW_ASSIGN(const auto by_socket, PartsBySocket(host, parts));
  std::vector<FoundSocket> sockets;
  for (size_t s = 0; s < host.sockets.size(); ++s) {
    const Socket& socket = host.sockets[s];
    FoundSocket found;
    found.numa = socket.numa;
    for (const int64_t cores : by_socket[s]) {
      CpuEstimate estimate = EstimateCpu(facts, cores, cores != socket.cores);
      if (!parts.empty()) estimate.kind.cores = cores;
      if (!estimate.note.empty()) AddNote(notes, estimate.note);
      found.memory_source = estimate.memory_source;
      FoundCpu cpu{std::move(estimate.kind), socket.memory};
      if (cores != socket.cores) {
        cpu.memory = Bytes(ShareOf(socket.memory.count, cores, socket.cores));
        cpu.kind.memory_bandwidth =
            BytesPerSecond(ShareOf(cpu.kind.memory_bandwidth.count, cores, socket.cores));
        found.memory_source += fmt::format("; a share of {} of {} cores", cores, socket.cores);
      }
      found.cpus.push_back(std::move(cpu));
    }
    sockets.push_back(std::move(found));
  }
  return sockets;
}

// A GPU that the driver described.
Result<FoundGpu> Known(const GpuFacts& facts, const DeviceKind* given,
                       std::vector<std::string>& notes) {
  FoundGpu gpu;
  if (given != nullptr) {
    gpu.kind = *given;
  } else {
    PW_ASSIGN(const GpuMatch match, MatchGpu(facts.name, facts.memory));
    gpu.kind = match.kind;
    if (!match.exact) {
      AddNote(notes, fmt::format("\"{}\" is not in the catalogue: {} is used for it",
                                 Printable(facts.name, 80), gpu.kind.name));
    }
  }
  gpu.memory = facts.memory;
  if (gpu.memory.count < 1) gpu.memory = gpu.kind.memory;
  gpu.pcie_generation = facts.pcie_generation;
  gpu.pcie_width = facts.pcie_width;
  return gpu;
}

}  // namespace

Result<ClusterBuilder> DetectMachine(const DetectInput& input, std::vector<std::string>& notes) {
  FoundMachine machine;
  machine.name = "detected";
  PW_ASSIGN(machine.sockets, Sockets(input.host, input.cpu_cores, notes));
  if (input.inventory) {
    for (size_t g = 0; g < input.inventory->gpus.size(); ++g) {
      PW_ASSIGN(FoundGpu gpu, Known(input.inventory->gpus[g], input.gpu, notes));
      if (g < input.host.pci_sockets.size()) gpu.socket = input.host.pci_sockets[g];
      machine.gpus.push_back(std::move(gpu));
    }
    machine.topology = input.inventory->topology;
  }
  if (input.table) {
    machine.topology = *input.table;
    if (machine.gpus.empty() && input.gpu == nullptr) {
      return MakeError(ErrorCode::kMissingRuntime,
                       fmt::format("the table has {} GPUs, and no driver here says what they are",
                                   input.table->GpuCount()),
                       "", "Give --gpu KIND (`placewright cluster show` lists the kinds).");
    }
    if (machine.gpus.empty()) {
      FoundGpu gpu;
      gpu.kind = *input.gpu;
      gpu.memory = gpu.kind.memory;
      machine.gpus.assign(input.table->GpuCount(), gpu);
    }
  }
  if (machine.gpus.empty() && input.gpu != nullptr) {
    return MakeError(ErrorCode::kUsage, "--gpu says what the GPUs are, and there are none", "",
                     "Leave it out, or give the table of another machine with --topo FILE.");
  }
  PW_ASSIGN(ClusterBuilder builder, DescribeMachine(machine, notes));
  // A table may be of another machine.
  if (input.inventory && !input.table) {
    PW_RETURN_IF_ERROR(ApplyPeerMatrix(input.inventory->peers, builder));
  }
  if (input.measured) PW_RETURN_IF_ERROR(ApplyPeerMatrix(*input.measured, builder));
  for (const std::string& note : builder.notes()) AddNote(notes, note);
  return builder;
}

}  // namespace placewright
