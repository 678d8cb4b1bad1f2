#include "report/memory_curve.h"

#include <algorithm>
#include <span>

namespace placewright {
namespace {

struct Change {
  Nanos time;
  int64_t bytes;  // negative: freed
};

class Sweep {
 public:
  Sweep(const SimGraph& sim_graph, const Placement& placement, const Schedule& schedule)
      : p_(sim_graph), placement_(placement), schedule_(schedule), changes_(sim_graph.devices) {}

  std::vector<MemoryCurve> Run() {
    std::vector<Nanos> sent(p_.storage_class.size(), Nanos(0));
    for (const TransferSpan& transfer : schedule_.transfers) {
      AddCopy(transfer);
      Nanos& last = sent[transfer.storage.index()];
      last = std::max(last, transfer.end);
    }
    for (size_t s = 0; s < p_.storage_class.size(); ++s) AddStorage(s, sent[s]);
    std::vector<MemoryCurve> curves;
    for (std::vector<Change>& changes : changes_) curves.push_back(Accumulate(changes));
    return curves;
  }

 private:
  static std::span<const int32_t> Row(const std::vector<int32_t>& offsets,
                                      const std::vector<int32_t>& items, size_t row) {
    return {items.data() + offsets[row], static_cast<size_t>(offsets[row + 1] - offsets[row])};
  }
  std::span<const int32_t> ReadersOf(int32_t slice) const {
    return Row(p_.slice_readers_offset, p_.slice_readers, static_cast<size_t>(slice));
  }
  DeviceId DeviceOf(int32_t exec) const { return placement_[p_.op_of[exec]]; }
  const OpSpan& SpanOf(int32_t exec) const { return schedule_.ops[p_.op_of[exec]]; }

  void Record(DeviceId device, Nanos time, int64_t bytes) {
    changes_[device.index()].push_back({time, bytes});
  }

  // The last end among the readers of a slice on one device; `least` where there are none.
  Nanos LastReader(int32_t slice, DeviceId device, Nanos min) const {
    for (int32_t exec : ReadersOf(slice)) {
      if (DeviceOf(exec) == device) min = std::max(min, SpanOf(exec).end);
    }
    return min;
  }

  void AddCopy(const TransferSpan& transfer) {
    const int32_t version =
        p_.storage_versions[transfer.storage][static_cast<size_t>(transfer.version)];
    for (int32_t slice :
         Row(p_.version_slices_offset, p_.version_slices, static_cast<size_t>(version))) {
      if (p_.slice_offset[slice] != transfer.offset.count) continue;
      if (p_.slice_length[slice] != transfer.length.count) continue;
      Record(transfer.to, transfer.start, p_.slice_bytes[slice]);
      Record(transfer.to, LastReader(slice, transfer.to, transfer.end), -p_.slice_bytes[slice]);
    }
  }

  void AddStorage(size_t s, Nanos last_sent) {
    const int64_t bytes = p_.storage_bytes[s];
    switch (p_.storage_class[s]) {
      case StorageClass::kInput: AddInput(StorageId(s), bytes); return;
      case StorageClass::kPersistent: {
        const DeviceId home = HomeOf(s);
        if (home.valid()) Record(home, Nanos(0), bytes);
        return;
      }
      case StorageClass::kTransient: AddTransient(StorageId(s), bytes, last_sent); return;
    }
  }

  DeviceId HomeOf(size_t s) const {
    if (p_.fixed_home[s] >= 0) return DeviceId(p_.fixed_home[s]);
    return p_.home_op[s] >= 0 ? placement_[OpId(p_.home_op[s])] : DeviceId();
  }

  // On every device that has a reader, for the whole step.
  void AddInput(StorageId storage, int64_t bytes) {
    std::vector<bool> present(static_cast<size_t>(p_.devices), false);
    ForEachSlice(storage, [&](int32_t slice) {
      for (int32_t exec : ReadersOf(slice)) present[DeviceOf(exec).index()] = true;
    });
    for (size_t d = 0; d < present.size(); ++d) {
      if (present[d]) Record(DeviceId(d), Nanos(0), bytes);
    }
  }

  // From the start of its first writer to the last use of any version at home.
  void AddTransient(StorageId storage, int64_t bytes, Nanos last_sent) {
    const DeviceId home = HomeOf(storage.index());
    const int32_t first = p_.storage_versions[storage].front();
    if (!home.valid() || p_.version_writer[first] < 0) return;
    Nanos end = last_sent;
    for (int32_t version : p_.storage_versions[storage]) {
      if (p_.version_writer[version] >= 0) {
        end = std::max(end, SpanOf(p_.version_writer[version]).end);
      }
    }
    ForEachSlice(storage, [&](int32_t slice) { end = LastReader(slice, home, end); });
    Record(home, SpanOf(p_.version_writer[first]).start, bytes);
    Record(home, end, -bytes);
  }

  template <class Body>
  void ForEachSlice(StorageId storage, const Body& body) const {
    for (int32_t version : p_.storage_versions[storage]) {
      for (int32_t slice :
           Row(p_.version_slices_offset, p_.version_slices, static_cast<size_t>(version))) {
        body(slice);
      }
    }
  }

  // Frees of an instant come before its allocations (rule 12).
  static MemoryCurve Accumulate(std::vector<Change>& changes) {
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;
    });
    MemoryCurve curve = {{Nanos(0), Bytes(0)}};
    int64_t now = 0;
    for (const Change& change : changes) {
      now = change.bytes > 0 ? SaturatingAdd(now, change.bytes) : now + change.bytes;
      if (curve.back().time == change.time) {
        curve.back().bytes = Bytes(now);
      } else {
        curve.push_back({change.time, Bytes(now)});
      }
    }
    return curve;
  }

  const SimGraph& p_;
  const Placement& placement_;
  const Schedule& schedule_;
  std::vector<std::vector<Change>> changes_;
};

}  // namespace

std::vector<MemoryCurve> MemoryCurves(const SimGraph& sim_graph, const Placement& placement,
                                      const Schedule& schedule) {
  return Sweep(sim_graph, placement, schedule).Run();
}

}  // namespace placewright
