// What a simulated step takes of each device, as engines count it: three peaks, and what fills them.
//
//   allocated  tensors, and the workspace of the op that runs (torch.cuda.max_memory_allocated)
//   reserved   what the caching allocator holds for them (torch.cuda.max_memory_reserved)
//   device     that, the runtime context and the buffers of the communication library
//
// "Fits" means the last. On GPUs `reserved` is a replay of the step's allocations and frees
// (caching_allocator.h): two steps one after the other, in the order of the schedule; what persists
// comes first, the optimizer's state with the first update, as optimizers make it. Devices of other
// classes hold what is allocated.
#ifndef PLACEWRIGHT_SIM_MEMORY_DEVICE_MEMORY_H_
#define PLACEWRIGHT_SIM_MEMORY_DEVICE_MEMORY_H_

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/cluster.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "plan/step_lanes.h"
#include "sim/engine/sim_graph.h"
#include "sim/simulator.h"

namespace placewright {

// What allocated memory is used for.
enum class MemoryUse : uint8_t {
  kParameters,
  kGradients,  // of parameters
  kOptimizerState,
  kActivations,    // also gradients of activations
  kGathered,       // parameters of other devices, as long as they are needed here
  kCommunication,  // buckets, into which tensors are packed for collectives
  kWorkspace,      // of the op that runs; temporaries of the update
  kInputs          // buffers and constants, too
};
inline constexpr std::array kMemoryUses = {MemoryUse::kParameters,     MemoryUse::kGradients,
                                           MemoryUse::kOptimizerState, MemoryUse::kActivations,
                                           MemoryUse::kGathered,       MemoryUse::kCommunication,
                                           MemoryUse::kWorkspace,      MemoryUse::kInputs};
// "parameters", "gradients", "optimizer state", "activations", "gathered", "communication buffers",
// "workspace", "inputs"
std::string_view ToString(MemoryUse use);

// Of every storage on its home. A copy elsewhere is used as that, but of a parameter it is gathered.
IdVector<StorageId, MemoryUse> UsesOfStorages(const Graph& graph);

// Buffers of the communication library on one device.
struct LibraryUse {
  Bytes bytes;
  int64_t communicators = 0;  // device sets of collectives that it is a member of
  int64_t senders = 0;        // devices that it receives from in transfers
  friend bool operator==(const LibraryUse&, const LibraryUse&) = default;
};

struct DevicePeaks {
  std::array<Bytes, kMemoryUses.size()> uses{};  // at the first instant of the allocated peak
  Bytes allocated;                               // their sum
  Nanos peak_time;
  Bytes reserved;  // >= allocated
  LibraryUse library;
  Bytes context;
  Bytes offered;  // what there is for all of it
  bool fits = true;
  Bytes into_reserve;  // of tensors, workspace and context: where that is why it does not fit
  // It fits only because the allocator gives cached segments back, so often in two steps.
  int64_t retries = 0;

  Bytes Of(MemoryUse use) const { return uses[static_cast<size_t>(use)]; }
  Bytes Device() const { return reserved + library.bytes + context; }
  friend bool operator==(const DevicePeaks&, const DevicePeaks&) = default;
};

// A GPU whose kind states what its runtime takes: there what lies beside tensors is counted. All others
// offer what their descriptions say, as in the papers whose tables are reproduced.
inline bool HasContext(const Cluster& cluster, DeviceId id) {
  return cluster.device(id).kind >= 0 && cluster.kind(id).device_class == DeviceClass::kGpu &&
         cluster.kind(id).runtime_context > Bytes(0);
}

// NCCL's buffers on GPUs: 10 MiB for each channel of each connection (4 MiB for its simple protocol,
// 0.5 and 4.7 MiB for the others, in pages of 2 MiB: github.com/NVIDIA/nccl/issues/1685). A
// communicator has a connection of a ring and, where it sums to all, two of a tree, one between two
// devices; a device has one besides for every device that it receives from in transfers. Channels:
// one for each 12.5 GB/s of the fastest route among the devices, 2 to 24. Over the NVLink of an A100
// these are 72 connections, 720 MiB where 688 were measured (issues/964). Collectives of CPUs have
// none.
class LibraryBuffers {
 public:
  // `devices`: ascending. What is added twice is there once.
  void AddCommunicator(std::vector<DeviceId> devices, bool sums_to_all) {
    communicators_[std::move(devices)] |= sums_to_all;
  }
  void AddSender(DeviceId from, DeviceId to) { pairs_.insert({from, to}); }
  IdVector<DeviceId, LibraryUse> On(const Cluster& cluster) const;

 private:
  std::map<std::vector<DeviceId>, bool> communicators_;
  std::set<std::pair<DeviceId, DeviceId>> pairs_;
};

// A simulated step.
struct MemoryInputs {
  const SimGraph& sim_graph;
  const Graph& graph;
  const Cluster& cluster;
  const Placement& placement;
  const Schedule& schedule;
  // PyTorch's DDP as it is by default (gradient_as_bucket_view=False): buckets for all gradients that
  // it sums, beside these, for ever. What the step itself packs is in them.
  bool lasting_buckets = false;
  const StepLanes* lanes = nullptr;  // of a step in lanes
  // Gradients lie in buffers that are there for ever (transforms/precision.h): for each parameter as much as the largest of what
  // the update reads, and what is added up or exchanged for it.
  bool lasting_gradients = false;
};

// Of every device. Offered is all of its memory: the reserve stands for what is counted here.
// `fits` is of these three peaks alone.
// Complexity: O((ops + slices + transfers) log).
IdVector<DeviceId, DevicePeaks> MeasureMemory(const MemoryInputs& of);

// Whether what lies beside tensors counts: in steps that PyTorch runs, where a GPU has a context.
bool CountsPeaks(const Graph& recorded, const Cluster& cluster);
// The same with the one verdict, of all commands, on whether the step fits: tensors leave the reserve and the runtime
// context free, and on devices with a context, if peaks count, what the caching allocator and the communication library take
// beside tensors is there, too. `replay`: that the schedule is of.
IdVector<DeviceId, DevicePeaks> JudgeMemory(const MemoryInputs& of, const SimResult& replay,
                                            bool counts_peaks);
// The device that lacks the largest amount; none: all fit.
DeviceId FindCrowded(const IdVector<DeviceId, DevicePeaks>& peaks);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_MEMORY_DEVICE_MEMORY_H_
