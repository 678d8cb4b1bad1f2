#include "sim/peak_items.h"

#include <algorithm>
#include <tuple>

#include "sim/engine/engine.h"

namespace placewright {

namespace {

class Inventory {
 public:
  Inventory(const SimGraph& sim_graph, const Graph& graph, const Engine& engine,
            const Placement& placement, int32_t device)
      : p_(sim_graph), graph_(graph), engine_(engine), placement_(placement), device_(device) {}

  std::vector<PeakItem> Take() && {
    for (int32_t s = 0; s < static_cast<int32_t>(p_.storage_class.size()); ++s) {
      if (LiesHere(s)) Add(s, p_.storage_bytes[s]);
    }
    for (size_t id = 0; id < engine_.transfers().size(); ++id) {
      const Transfer& transfer = engine_.transfers()[id];
      if (transfer.to != device_ || engine_.transfer_times()[id].start < 0) continue;
      if (engine_.CopyUsesLeft(static_cast<int32_t>(id)) == 0) continue;
      const int32_t storage = p_.slice_storage[transfer.slice];
      if (p_.slice_bytes[transfer.slice] == 0) continue;
      Add(storage, p_.slice_bytes[transfer.slice]);
      PeakItem& item = items_.back();
      item.copy = true;
      item.version = p_.slice_version[transfer.slice] - p_.storage_versions.offsets[storage];
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
  bool LiesHere(int32_t storage) const {
    switch (p_.storage_class[storage]) {
      case StorageClass::kPersistent: return engine_.HomeOf(storage, placement_) == device_;
      case StorageClass::kInput: return IsReadHere(storage);
      case StorageClass::kTransient: break;
    }
    const int32_t maker = p_.version_writer[p_.storage_versions.offsets[storage]];
    if (engine_.DeviceOf(maker) != device_ || engine_.op_start()[maker] < 0) return false;
    return engine_.IsRunning(maker) || engine_.UsesLeft(storage) > 0;
  }

  bool IsReadHere(int32_t storage) const {
    const int32_t version = p_.storage_versions.offsets[storage];
    for (int32_t u = p_.version_slices_offset[version]; u < p_.version_slices_offset[version + 1];
         ++u) {
      const int32_t slice = p_.version_slices[u];
      for (int32_t r = p_.slice_readers_offset[slice]; r < p_.slice_readers_offset[slice + 1];
           ++r) {
        if (engine_.DeviceOf(p_.slice_readers[r]) == device_) return true;
      }
    }
    return false;
  }

  void Add(int32_t storage, int64_t bytes) {
    if (bytes == 0) return;
    const Storage& s = graph_.storage(StorageId(storage));
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
  int32_t device_;
  std::vector<PeakItem> items_;
};

}  // namespace

std::vector<PeakItem> ItemisePeak(const SimGraph& sim_graph, const Graph& graph,
                                  const Placement& placement, SchedulingPolicy policy,
                                  DeviceId device) {
  Engine engine(sim_graph);
  EngineOptions options;
  options.policy = policy;
  options.record = true;
  engine.Run(placement, options);
  options.stop_device = device.value();
  options.stop_bytes = engine.memory()[device.index()].peak;
  // A peak from before the step is never reached again; the run then ends with nothing but that.
  engine.Run(placement, options);
  return Inventory(sim_graph, graph, engine, placement, device.value()).Take();
}

}  // namespace placewright
