#include "sim/peak_items.h"

#include <algorithm>
#include <tuple>

#include "sim/engine/engine.h"

namespace placewright {

namespace {

class Inventory {
 public:
  Inventory(const SimGraph& sim_graph, const Graph& graph, const Engine& engine,
            const Placement& placement, DeviceId device)
      : p_(sim_graph), graph_(graph), engine_(engine), placement_(placement), device_(device) {}

  std::vector<PeakItem> Take() && {
    for (StorageId s : p_.storage_ids()) {
      if (LiesHere(s)) Add(s, p_.storage_bytes[s]);
    }
    for (TransferId id : IdRange<TransferId>(engine_.transfers().size())) {
      const Transfer& transfer = engine_.transfers()[id.index()];
      if (transfer.to() != device_ || engine_.transfer_times()[id].start < 0) continue;
      if (engine_.CopyUsesLeft(id) == 0) continue;
      if (p_.slice_bytes[transfer.slice] == 0) continue;
      Add(transfer.storage, p_.slice_bytes[transfer.slice]);
      PeakItem& item = items_.back();
      item.copy = true;
      item.version = p_.NumberOf(p_.slice_version[transfer.slice]);
      item.offset = Bytes(p_.slice_offset[transfer.slice]);
      item.length = Bytes(p_.slice_length[transfer.slice]);
    }
    std::sort(items_.begin(), items_.end(), [](const PeakItem& a, const PeakItem& b) {
      return std::tie(b.bytes, a.name, a.copy, a.version, a.offset, a.length) <
             std::tie(a.bytes, b.name, b.copy, b.version, b.offset, b.length);
    });
    return std::move(items_);
  }

 private:
  bool LiesHere(StorageId storage) const {
    switch (p_.storage_class[storage]) {
      case StorageClass::kPersistent: return engine_.HomeOf(storage, placement_) == device_;
      case StorageClass::kInput: return IsReadHere(storage);
      case StorageClass::kTransient: break;
    }
    const ExecOpId maker = p_.version_writer[p_.VersionOf(storage, 0)];
    if (engine_.DeviceOf(maker) != device_ || engine_.op_start()[maker] < 0) return false;
    return engine_.IsRunning(maker) || engine_.UsesLeft(storage) > 0;
  }

  bool IsReadHere(StorageId storage) const {
    for (SliceId slice : p_.version_slices[p_.VersionOf(storage, 0)]) {
      for (ExecOpId reader : p_.slice_readers[slice]) {
        if (engine_.DeviceOf(reader) == device_) return true;
      }
    }
    return false;
  }

  void Add(StorageId storage, int64_t bytes) {
    if (bytes == 0) return;
    const Storage& s = graph_.storage(storage);
    PeakItem item;
    item.name = graph_.tensor(s.first).name;
    item.kind = s.kind;
    item.bytes = Bytes(bytes);
    items_.push_back(std::move(item));
  }

  const SimGraph& p_;
  const Graph& graph_;
  const Engine& engine_;
  const Placement& placement_;
  DeviceId device_;
  std::vector<PeakItem> items_;
};

}  // namespace

std::vector<PeakItem> ItemisePeak(const SimGraph& sim_graph, const Graph& graph,
                                  const Placement& placement, SchedulingPolicy policy,
                                  DeviceId device, const Sequences* sequences) {
  Engine engine(sim_graph);
  EngineOptions options;
  options.policy = policy;
  options.record = true;
  options.sequences = sequences;
  engine.Run(placement, options);
  options.stop_device = device;
  options.stop_bytes = engine.memory()[device].peak;
  // A peak from before the step is never reached again; the run then ends with nothing but that.
  engine.Run(placement, options);
  return Inventory(sim_graph, graph, engine, placement, device).Take();
}

}  // namespace placewright
