#include "report/memory_curve.h"

#include <algorithm>

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
    IdVector<StorageId, Nanos> sent(p_.storage_class.size(), Nanos(0));
    for (const TransferSpan& transfer : schedule_.transfers) {
      AddCopy(transfer);
      Nanos& last = sent[transfer.storage];
      last = std::max(last, transfer.end);
    }
    for (StorageId s : p_.storage_ids()) AddStorage(s, sent[s]);
    std::vector<MemoryCurve> curves;
    for (std::vector<Change>& changes : changes_) curves.push_back(Accumulate(changes));
    return curves;
  }

 private:
  DeviceId DeviceOf(ExecOpId exec) const { return placement_[p_.op_of[exec]]; }
  const OpSpan& SpanOf(ExecOpId exec) const { return schedule_.ops[p_.op_of[exec]]; }

  void Record(DeviceId device, Nanos time, int64_t bytes) {
    changes_[device.index()].push_back({time, bytes});
  }

  // The last end among the readers of a slice on one device; `min` where there are none.
  Nanos LastReader(SliceId slice, DeviceId device, Nanos min) const {
    for (ExecOpId exec : p_.slice_readers[slice]) {
      if (DeviceOf(exec) == device) min = std::max(min, SpanOf(exec).end);
    }
    return min;
  }

  void AddCopy(const TransferSpan& transfer) {
    for (SliceId slice : p_.version_slices[p_.VersionOf(transfer.storage, transfer.version)]) {
      if (p_.slice_offset[slice] != transfer.offset.count) continue;
      if (p_.slice_length[slice] != transfer.length.count) continue;
      Record(transfer.to, transfer.start, p_.slice_bytes[slice]);
      Record(transfer.to, LastReader(slice, transfer.to, transfer.end), -p_.slice_bytes[slice]);
    }
  }

  void AddStorage(StorageId s, Nanos last_sent) {
    const int64_t bytes = p_.storage_bytes[s];
    switch (p_.storage_class[s]) {
      case StorageClass::kInput: AddInput(s, bytes); return;
      case StorageClass::kPersistent: {
        const DeviceId home = HomeOf(s);
        if (home.valid()) Record(home, Nanos(0), bytes);
        return;
      }
      case StorageClass::kTransient: AddTransient(s, bytes, last_sent); return;
    }
  }

  DeviceId HomeOf(StorageId s) const {
    if (p_.fixed_home[s].valid()) return p_.fixed_home[s];
    return p_.home_op[s].valid() ? placement_[p_.home_op[s]] : DeviceId();
  }

  // On every device that has a reader, for the whole step.
  void AddInput(StorageId storage, int64_t bytes) {
    std::vector<bool> present(static_cast<size_t>(p_.devices), false);
    ForEachSlice(storage, [&](SliceId slice) {
      for (ExecOpId exec : p_.slice_readers[slice]) present[DeviceOf(exec).index()] = true;
    });
    for (size_t d = 0; d < present.size(); ++d) {
      if (present[d]) Record(DeviceId(d), Nanos(0), bytes);
    }
  }

  // From the start of its first writer to the last use of any version at home.
  void AddTransient(StorageId storage, int64_t bytes, Nanos last_sent) {
    const DeviceId home = HomeOf(storage);
    const ExecOpId maker = p_.version_writer[p_.VersionOf(storage, 0)];
    if (!home.valid() || !maker.valid()) return;
    Nanos end = last_sent;
    for (VersionId version : p_.storage_versions[storage]) {
      const ExecOpId writer = p_.version_writer[version];
      if (writer.valid()) end = std::max(end, SpanOf(writer).end);
    }
    ForEachSlice(storage, [&](SliceId slice) { end = LastReader(slice, home, end); });
    Record(home, SpanOf(maker).start, bytes);
    Record(home, end, -bytes);
  }

  template <class Body>
  void ForEachSlice(StorageId storage, const Body& body) const {
    for (VersionId version : p_.storage_versions[storage]) {
      for (SliceId slice : p_.version_slices[version]) body(slice);
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

std::vector<Bytes> PeaksWithWorkspace(const SimGraph& sim_graph, const Placement& placement,
                                      const Schedule& schedule,
                                      std::span<const MemoryCurve> curves) {
  std::vector<Bytes> peaks;
  for (const MemoryCurve& curve : curves) {
    Bytes peak(0);
    for (const MemoryPoint& point : curve) peak = std::max(peak, point.bytes);
    peaks.push_back(peak);
  }
  for (const ExecOpId exec : sim_graph.exec_ops()) {
    if (sim_graph.workspace[exec] == 0) continue;
    const OpId op = sim_graph.op_of[exec];
    const size_t device = placement[op].index();
    const MemoryCurve& curve = curves[device];
    const OpSpan& span = schedule.ops[op];
    // From the last point that is not behind the op's start to its end.
    auto point =
        std::upper_bound(curve.begin(), curve.end(), span.start,
                         [](Nanos time, const MemoryPoint& one) { return time < one.time; });
    if (point != curve.begin()) --point;
    for (; point != curve.end() && (point->time < span.end || point->time <= span.start); ++point) {
      peaks[device] = std::max(peaks[device], point->bytes + Bytes(sim_graph.workspace[exec]));
    }
  }
  return peaks;
}

std::vector<MemoryCurve> MemoryCurves(const SimGraph& sim_graph, const Placement& placement,
                                      const Schedule& schedule) {
  return Sweep(sim_graph, placement, schedule).Run();
}

}  // namespace placewright
