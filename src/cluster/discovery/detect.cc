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

std::vector<FoundSocket> Sockets(const HostTopology& host, std::vector<std::string>& notes) {
  const CpuFacts facts = ParseCpuInfo(host.cpuinfo);
  std::vector<FoundSocket> sockets;
  for (const Socket& socket : host.sockets) {
    CpuEstimate estimate = EstimateCpu(facts, socket.cores);
    if (!estimate.note.empty()) AddNote(notes, estimate.note);
    sockets.push_back(
        {std::move(estimate.kind), socket.memory, socket.numa, std::move(estimate.memory_source)});
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
  machine.sockets = Sockets(input.host, notes);
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
  return DescribeMachine(machine, notes);
}

}  // namespace placewright
