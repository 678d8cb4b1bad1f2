#include "sim/memory/device_memory.h"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "cost/communication/coalesced_types.h"
#include "cost/communication/collective_kind.h"
#include "sim/memory/caching_allocator.h"
#include "sim/memory/residents.h"

namespace placewright {
namespace {

// An op that only moves, joins or cuts tensors of a compiled step.
bool MovesPieces(const Op& op) { return op.type.starts_with("placewright."); }
bool IsPack(const Op& op) { return op.type == "placewright.pack.default"; }
// Of micro-batches, or of the places that one parameter is used in.
bool AddsUp(const Op& op) { return op.phase == Phase::kBackward && op.type == "aten.add.Tensor"; }

const Op* MakerOf(const Graph& graph, const Storage& storage) {
  const OpId maker = storage.versions[0].writer;
  return maker.valid() ? &graph.op(maker) : nullptr;
}

// Which storages hold parameters that ops which move pieces put together.
IdVector<StorageId, char> FindGathered(const Graph& graph) {
  IdVector<StorageId, char> gathered(graph.storage_count(), 0);
  for (const OpId id : graph.topological_order()) {
    const Op& op = graph.op(id);
    if (op.is_view || !MovesPieces(op) || op.inputs.empty()) continue;
    const bool of_parameters = std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
      const StorageId s = graph.tensor(input).storage;
      return graph.storage(s).kind == TensorKind::kParameter || gathered[s];
    });
    if (!of_parameters) continue;
    for (const TensorId output : op.outputs) gathered[graph.tensor(output).storage] = 1;
  }
  return gathered;
}

// Which storages hold gradients of parameters: those that the update reads, and what the backward
// pass made of which ops that move pieces or add up made these.
IdVector<StorageId, char> FindGradients(const Graph& graph) {
  IdVector<StorageId, char> gradients(graph.storage_count(), 0);
  for (const StorageId id : graph.storages()) {
    gradients[id] = graph.storage(id).kind == TensorKind::kGradient;
  }
  const std::span<const OpId> order = graph.topological_order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Op& op = graph.op(*it);
    if (!MovesPieces(op) && !AddsUp(op)) continue;
    const bool leads = std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId output) {
      return gradients[graph.tensor(output).storage];
    });
    if (!leads) continue;
    for (const TensorId input : op.inputs) {
      const StorageId s = graph.tensor(input).storage;
      const Op* const maker = MakerOf(graph, graph.storage(s));
      if (maker != nullptr && maker->phase == Phase::kBackward) gradients[s] = 1;
    }
  }
  return gradients;
}

// Of gradients of parameters one that stands for all that become one another by adding up, or as pieces; of other storages
// none.
IdVector<StorageId, StorageId> ChainsOfGradients(const Graph& graph) {
  const IdVector<StorageId, char> gradients = FindGradients(graph);
  IdVector<StorageId, StorageId> chains(graph.storage_count());
  for (const StorageId id : graph.storages()) {
    if (gradients[id]) chains[id] = id;
  }
  const auto first_of = [&](StorageId id) {
    while (chains[id] != id) id = chains[id] = chains[chains[id]];
    return id;
  };
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (!MovesPieces(op) && !AddsUp(op)) continue;
    StorageId first;
    const auto join = [&](TensorId tensor) {
      const StorageId storage = graph.tensor(tensor).storage;
      if (!chains[storage].valid()) return;
      if (first.valid()) chains[first_of(storage)] = first_of(first);
      first = storage;
    };
    const bool apart = IsCoalesced(op.type);  // what is made of each input
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      if (apart) first = StorageId();
      join(op.outputs[i]);
      if (apart) join(op.inputs[i]);
    }
    if (apart) continue;
    for (const TensorId input : op.inputs) join(input);
  }
  for (const StorageId id : graph.storages()) {
    if (chains[id].valid()) chains[id] = first_of(id);
  }
  return chains;
}

// What the update reads of an all-reduce.
bool IsSummedGradient(const Graph& graph, const Storage& storage) {
  const Op* const maker = MakerOf(graph, storage);
  return storage.kind == TensorKind::kGradient && maker != nullptr &&
         CollectiveKindOf(maker->type) == CollectiveKind::kAllReduce;
}

// The fastest route between two of them, as so many channels.
int64_t ChannelsOf(const Cluster& cluster, std::span<const DeviceId> devices) {
  constexpr int64_t kBytesPerChannel = 12'500'000'000, kMin = 2, kMax = 24;
  int64_t fastest = 0;
  for (const DeviceId from : devices) {
    for (const DeviceId to : devices) {
      if (from == to || !cluster.Connected(from, to)) continue;
      fastest = std::max(fastest, cluster.route(from, to).bandwidth.count);
    }
  }
  return std::clamp((fastest + kBytesPerChannel - 1) / kBytesPerChannel, kMin, kMax);
}

// Streams whose blocks the allocator keeps apart.
constexpr size_t kComputing = 0, kGathering = 1, kScattering = 2;

// The step copies parameters out of what it gathers, as FSDP2 does.
bool CopiesOutOfGathers(const Graph& graph) {
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.type != "placewright.concat.default" || op.inputs.size() != 1) continue;
    const OpId maker = graph.tensor(op.inputs.front()).producer;
    if (maker.valid() && CollectiveKindOf(graph.op(maker).type) == CollectiveKind::kAllGather) {
      return true;
    }
  }
  return false;
}

// Of each storage: FSDP2 gathers into buffers of one stream, and scatters into those of another.
IdVector<StorageId, size_t> StreamsOf(const Graph& graph,
                                      const IdVector<StorageId, MemoryUse>& uses) {
  IdVector<StorageId, size_t> streams(graph.storage_count(), kComputing);
  for (const StorageId id : graph.storages()) {
    const Op* const maker = MakerOf(graph, graph.storage(id));
    if (maker == nullptr) continue;
    const auto kind = CollectiveKindOf(maker->type);
    if (uses[id] == MemoryUse::kGathered && kind == CollectiveKind::kAllGather) {
      streams[id] = kGathering;
    } else if (uses[id] == MemoryUse::kGradients && kind == CollectiveKind::kReduceScatter) {
      streams[id] = kScattering;
    }
  }
  return streams;
}

// Of a parameter in another type, of which nothing but gathers are made, these; of other storages none.
std::span<const OpId> GathersOfCast(const Graph& graph, const Storage& storage) {
  const Op* const maker = MakerOf(graph, storage);
  if (maker == nullptr || maker->type != "aten._to_copy.default") return {};
  const StorageId read = graph.tensor(maker->inputs.front()).storage;
  if (graph.storage(read).kind != TensorKind::kParameter) return {};
  const std::span<const OpId> readers = graph.consumers(storage.versions[0].writer);
  const bool gathers = std::all_of(readers.begin(), readers.end(), [&](OpId reader) {
    return CollectiveKindOf(graph.op(reader).type) == CollectiveKind::kAllGather;
  });
  return gathers ? readers : std::span<const OpId>();
}

// What comes and goes on one device in one step, in order.
class DeviceTimeline {
 public:
  struct Stay {
    MemoryUse use = MemoryUse::kActivations;
    int64_t bytes = 0;
    Nanos from, until;
    bool made_by_update = false;  // the optimizer's state: not there before the first update
    size_t stream = kComputing;
  };

  void Add(const Stay& stay) {
    if (stay.bytes > 0) stays_.push_back(stay);
  }
  void UpdateAt(Nanos time) {
    if (!first_update_ || time < *first_update_) first_update_ = time;
  }

  // Frees of an instant come before its allocations; what ends where it begins is gone at once.
  void Finish() {
    for (size_t i = 0; i < stays_.size(); ++i) {
      const Stay& stay = stays_[i];
      if (stay.until == kWholeStep) {
        lasting_.push_back(i);
        continue;
      }
      events_.push_back({stay.from, 1, i, true});
      events_.push_back({stay.until, stay.until == stay.from ? 1 : 0, i, false});
    }
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return std::tie(a.time, a.rank, a.stay) < std::tie(b.time, b.rank, b.stay);
    });
  }

  void FindPeak(DevicePeaks& memory) const {
    std::array<Bytes, kMemoryUses.size()> now{};
    Bytes sum;
    const auto add = [&](size_t stay, int64_t sign) {
      const Bytes bytes(sign * stays_[stay].bytes);
      now[static_cast<size_t>(stays_[stay].use)] += bytes;
      sum += bytes;
    };
    for (const size_t stay : lasting_) add(stay, 1);
    memory.allocated = sum;
    memory.uses = now;
    for (const Event& event : events_) {
      add(event.stay, event.begins ? 1 : -1);
      if (sum <= memory.allocated) continue;
      memory.allocated = sum;
      memory.peak_time = event.time;
      memory.uses = now;
    }
  }

  // Two steps under the allocator's rules; none: more than `limit` is needed.
  std::optional<CachingAllocator> Replay(Bytes limit) const {
    CachingAllocator allocator(limit);
    std::vector<CachingAllocator::Block> blocks(stays_.size());
    const auto allocate = [&](size_t stay) {
      const auto block = allocator.Allocate(Bytes(stays_[stay].bytes), stays_[stay].stream);
      if (block) blocks[stay] = *block;
      return block.has_value();
    };
    const auto allocate_lasting = [&](bool made_by_update) {
      return std::all_of(lasting_.begin(), lasting_.end(), [&](size_t stay) {
        return stays_[stay].made_by_update != made_by_update || allocate(stay);
      });
    };
    if (!allocate_lasting(false)) return std::nullopt;
    bool updated = false;
    for (int step = 0; step < 2; ++step) {
      for (const Event& event : events_) {
        if (!updated && first_update_ && event.time >= *first_update_) {
          if (!allocate_lasting(true)) return std::nullopt;
          updated = true;
        }
        if (!event.begins) {
          allocator.Free(blocks[event.stay]);
        } else if (!allocate(event.stay)) {
          return std::nullopt;
        }
      }
      if (!updated && !allocate_lasting(true)) return std::nullopt;
      updated = true;
    }
    return allocator;
  }

 private:
  struct Event {
    Nanos time;
    int rank;
    size_t stay;
    bool begins;
  };

  std::vector<Stay> stays_;
  std::vector<size_t> lasting_;
  std::vector<Event> events_;
  std::optional<Nanos> first_update_;
};

std::vector<DeviceTimeline> MakeTimelines(const MemoryInputs& of) {
  std::vector<DeviceTimeline> timelines(static_cast<size_t>(of.sim_graph.devices));
  const IdVector<StorageId, MemoryUse> uses = UsesOfStorages(of.graph);
  const IdVector<StorageId, StorageId> chains =
      of.lasting_gradients ? ChainsOfGradients(of.graph) : IdVector<StorageId, StorageId>();
  const bool copies_out = CopiesOutOfGathers(of.graph);
  const IdVector<StorageId, size_t> streams =
      copies_out ? StreamsOf(of.graph, uses)
                 : IdVector<StorageId, size_t>(of.graph.storage_count(), kComputing);
  std::map<std::pair<DeviceId, StorageId>, int64_t> lasting;  // bytes of each chain's buffer
  for (const Resident& one : FindResidents(of.sim_graph, of.placement, of.schedule)) {
    DeviceTimeline& timeline = timelines[one.device.index()];
    MemoryUse use = uses[one.storage];
    if (one.copy && use == MemoryUse::kParameters) use = MemoryUse::kGathered;
    if (of.lasting_buckets && use == MemoryUse::kCommunication) continue;
    if (of.lasting_gradients && chains[one.storage].valid()) {
      int64_t& bytes = lasting[{one.device, chains[one.storage]}];
      bytes = std::max(bytes, one.bytes.count);
      continue;
    }
    if (copies_out) {  // FSDP2 casts a shard anew for each gather
      const auto gathers = GathersOfCast(of.graph, of.graph.storage(one.storage));
      for (const OpId gather : gathers) {
        const OpSpan& span = of.schedule.ops[gather];
        timeline.Add(
            {MemoryUse::kCommunication, one.bytes.count, span.start, span.end, false, kGathering});
      }
      if (!gathers.empty()) continue;
    }
    timeline.Add({use, one.bytes.count, one.from, one.until, use == MemoryUse::kOptimizerState,
                  streams[one.storage]});
    if (of.lasting_buckets && IsSummedGradient(of.graph, of.graph.storage(one.storage))) {
      timeline.Add({MemoryUse::kCommunication, one.bytes.count, Nanos(0), kWholeStep, false});
    }
  }
  for (const auto& [buffer, bytes] : lasting) {
    timelines[buffer.first.index()].Add(
        {MemoryUse::kGradients, bytes, Nanos(0), kWholeStep, false});
  }
  for (const ExecOpId exec : of.sim_graph.exec_ops()) {
    const OpId op = of.sim_graph.op_of[exec];
    DeviceTimeline& timeline = timelines[of.placement[op].index()];
    const OpSpan& span = of.schedule.ops[op];
    timeline.Add(
        {MemoryUse::kWorkspace, of.sim_graph.workspace[exec], span.start, span.end, false});
    if (of.graph.op(op).phase == Phase::kOptimizer) timeline.UpdateAt(span.start);
  }
  for (DeviceTimeline& timeline : timelines) timeline.Finish();
  return timelines;
}

LibraryBuffers BuffersOf(const MemoryInputs& of) {
  LibraryBuffers buffers;
  for (const CollectiveId id : of.graph.collectives()) {
    const std::span<const OpId> members = of.graph.collective(id).members;
    std::vector<std::vector<DeviceId>> sets(1);
    for (const OpId member : members) sets.front().push_back(of.placement[member]);
    if (of.lanes != nullptr) {
      sets = of.lanes->sets[static_cast<size_t>(of.lanes->communicator[id])];
    }
    const auto kind = CollectiveKindOf(of.graph.op(members.front()).type);
    for (std::vector<DeviceId>& devices : sets) {
      std::sort(devices.begin(), devices.end());
      buffers.AddCommunicator(std::move(devices), kind == CollectiveKind::kAllReduce);
    }
  }
  for (const TransferSpan& span : of.schedule.transfers) buffers.AddSender(span.from, span.to);
  return buffers;
}

void FillReserved(const DeviceTimeline& timeline, DevicePeaks& memory) {
  const Bytes limit = memory.offered - memory.library.bytes - memory.context;
  const std::optional<CachingAllocator> free = timeline.Replay(Bytes(kMaxQuantity));
  memory.reserved = free->max_reserved();
  memory.fits = memory.reserved <= limit;
  if (memory.fits || memory.allocated > limit) return;
  const std::optional<CachingAllocator> within = timeline.Replay(limit);
  if (!within) return;
  memory.fits = true;
  memory.reserved = within->max_reserved();
  memory.retries = within->retries();
}

}  // namespace

std::string_view ToString(MemoryUse use) {
  switch (use) {
    case MemoryUse::kParameters: return "parameters";
    case MemoryUse::kGradients: return "gradients";
    case MemoryUse::kOptimizerState: return "optimizer state";
    case MemoryUse::kActivations: return "activations";
    case MemoryUse::kGathered: return "gathered";
    case MemoryUse::kCommunication: return "communication buffers";
    case MemoryUse::kWorkspace: return "workspace";
    case MemoryUse::kInputs: break;
  }
  return "inputs";
}

IdVector<StorageId, MemoryUse> UsesOfStorages(const Graph& graph) {
  const IdVector<StorageId, char> gathered = FindGathered(graph), gradients = FindGradients(graph);
  IdVector<StorageId, MemoryUse> uses(graph.storage_count(), MemoryUse::kActivations);
  for (const StorageId id : graph.storages()) {
    const Storage& storage = graph.storage(id);
    const Op* const maker = MakerOf(graph, storage);
    MemoryUse& use = uses[id];
    switch (storage.kind) {
      case TensorKind::kParameter: use = MemoryUse::kParameters; continue;
      case TensorKind::kOptimizerState: use = MemoryUse::kOptimizerState; continue;
      case TensorKind::kGradient: use = MemoryUse::kGradients; continue;
      case TensorKind::kBuffer:
      case TensorKind::kInput:
      case TensorKind::kConstant: use = MemoryUse::kInputs; continue;
      case TensorKind::kActivation: break;
    }
    if (maker == nullptr) continue;
    if (gathered[id]) {
      use = MemoryUse::kGathered;
    } else if (IsPack(*maker)) {
      use = MemoryUse::kCommunication;
    } else if (gradients[id]) {
      use = MemoryUse::kGradients;
    } else if (maker->phase == Phase::kOptimizer) {
      use = MemoryUse::kWorkspace;
    }
  }
  return uses;
}

IdVector<DeviceId, LibraryUse> LibraryBuffers::On(const Cluster& cluster) const {
  constexpr int64_t kConnection = int64_t{10} << 20;
  const auto is_gpu = [&](DeviceId id) {
    return cluster.device(id).kind >= 0 && cluster.kind(id).device_class == DeviceClass::kGpu;
  };
  IdVector<DeviceId, LibraryUse> uses(cluster.device_count());
  for (const auto& [devices, sums] : communicators_) {
    if (devices.size() < 2 || !std::all_of(devices.begin(), devices.end(), is_gpu)) continue;
    const int64_t trees = !sums ? 0 : devices.size() == 2 ? 1 : 2;
    const int64_t bytes = (1 + trees) * ChannelsOf(cluster, devices) * kConnection;
    for (const DeviceId id : devices) {
      ++uses[id].communicators;
      uses[id].bytes += Bytes(bytes);
    }
  }
  for (const auto& [from, to] : pairs_) {
    if (!is_gpu(from) || !is_gpu(to)) continue;
    ++uses[to].senders;
    uses[to].bytes += Bytes(ChannelsOf(cluster, std::array{from, to}) * kConnection);
  }
  return uses;
}

IdVector<DeviceId, DevicePeaks> MeasureMemory(const MemoryInputs& of) {
  const Cluster& cluster = of.cluster;
  const std::vector<DeviceTimeline> timelines = MakeTimelines(of);
  const IdVector<DeviceId, LibraryUse> library = BuffersOf(of).On(cluster);
  IdVector<DeviceId, DevicePeaks> memories(cluster.device_count());
  for (const DeviceId id : cluster.devices()) {
    if (of.lanes != nullptr && of.lanes->first[id] != id) continue;
    DevicePeaks& memory = memories[id];
    memory.library = library[id];
    memory.context = Bytes(of.sim_graph.runtime_context[id]);
    memory.offered = cluster.device(id).capacity + cluster.device(id).reserve;
    timelines[id.index()].FindPeak(memory);
    if (cluster.kind(id).device_class == DeviceClass::kGpu) {
      FillReserved(timelines[id.index()], memory);
    } else {
      memory.reserved = memory.allocated;
      memory.fits = memory.Device() <= memory.offered;
    }
  }
  if (of.lanes == nullptr) return memories;
  for (const DeviceId id : cluster.devices()) memories[id] = memories[of.lanes->first[id]];
  return memories;
}

bool CountsPeaks(const Graph& recorded, const Cluster& cluster) {
  if (recorded.format() != "aten") return false;
  for (const DeviceId id : cluster.devices()) {
    if (HasContext(cluster, id)) return true;
  }
  return false;
}

IdVector<DeviceId, DevicePeaks> JudgeMemory(const MemoryInputs& of, const SimResult& replay,
                                            bool counts_peaks) {
  IdVector<DeviceId, DevicePeaks> peaks = MeasureMemory(of);
  for (const DeviceId id : of.cluster.devices()) {
    DevicePeaks& device = peaks[id];
    const bool counts = counts_peaks && HasContext(of.cluster, id);
    device.into_reserve = replay.devices[id.index()].over;
    device.fits = device.into_reserve == Bytes(0) && (device.fits || !counts);
  }
  return peaks;
}

DeviceId FindCrowded(const IdVector<DeviceId, DevicePeaks>& peaks) {
  DeviceId worst;
  const auto lack = [&](DeviceId id) { return peaks[id].Device() - peaks[id].offered; };
  for (const DeviceId id : IdRange<DeviceId>(peaks.size())) {
    if (peaks[id].fits) continue;
    if (!worst.valid() || lack(id) > lack(worst)) worst = id;
  }
  return worst;
}

}  // namespace placewright
