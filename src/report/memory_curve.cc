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
  Sweep(const StepProgram& program, const Placement& placement, const Schedule& schedule)
      : p_(program), placement_(placement), schedule_(schedule), changes_(program.devices) {}

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
  std::span<const int32_t> ReadersOf(int32_t unit) const {
    return Row(p_.unit_readers_offset, p_.unit_readers, static_cast<size_t>(unit));
  }
  DeviceId DeviceOf(int32_t exec) const { return placement_[p_.op_of[exec]]; }
  const OpSpan& SpanOf(int32_t exec) const { return schedule_.ops[p_.op_of[exec]]; }

  void Record(DeviceId device, Nanos time, int64_t bytes) {
    changes_[device.index()].push_back({time, bytes});
  }

  // The last end among the readers of a unit on one device; `least` where there are none.
  Nanos LastReader(int32_t unit, DeviceId device, Nanos least) const {
    for (int32_t exec : ReadersOf(unit)) {
      if (DeviceOf(exec) == device) least = std::max(least, SpanOf(exec).end);
    }
    return least;
  }

  void AddCopy(const TransferSpan& transfer) {
    const int32_t version =
        p_.storage_versions[transfer.storage][static_cast<size_t>(transfer.version)];
    for (int32_t unit :
         Row(p_.version_units_offset, p_.version_units, static_cast<size_t>(version))) {
      if (p_.unit_offset[unit] != transfer.offset.count) continue;
      if (p_.unit_length[unit] != transfer.length.count) continue;
      Record(transfer.to, transfer.start, p_.unit_bytes[unit]);
      Record(transfer.to, LastReader(unit, transfer.to, transfer.end), -p_.unit_bytes[unit]);
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
    ForEachUnit(storage, [&](int32_t unit) {
      for (int32_t exec : ReadersOf(unit)) present[DeviceOf(exec).index()] = true;
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
    ForEachUnit(storage, [&](int32_t unit) { end = LastReader(unit, home, end); });
    Record(home, SpanOf(p_.version_writer[first]).start, bytes);
    Record(home, end, -bytes);
  }

  template <class Body>
  void ForEachUnit(StorageId storage, const Body& body) const {
    for (int32_t version : p_.storage_versions[storage]) {
      for (int32_t unit :
           Row(p_.version_units_offset, p_.version_units, static_cast<size_t>(version))) {
        body(unit);
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

  const StepProgram& p_;
  const Placement& placement_;
  const Schedule& schedule_;
  std::vector<std::vector<Change>> changes_;
};

}  // namespace

std::vector<MemoryCurve> MemoryCurves(const StepProgram& program, const Placement& placement,
                                      const Schedule& schedule) {
  return Sweep(program, placement, schedule).Run();
}

}  // namespace placewright
