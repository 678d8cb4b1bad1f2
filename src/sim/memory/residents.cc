#include "sim/memory/residents.h"

#include <algorithm>

namespace placewright {
namespace {

class Sweep {
 public:
  Sweep(const SimGraph& sim_graph, const Placement& placement, const Schedule& schedule)
      : p_(sim_graph), placement_(placement), schedule_(schedule) {}

  std::vector<Resident> Run() {
    IdVector<StorageId, Nanos> sent(p_.storage_class.size(), Nanos(0));
    for (const TransferSpan& transfer : schedule_.transfers) {
      AddCopy(transfer);
      Nanos& last = sent[transfer.storage];
      last = std::max(last, transfer.end);
    }
    for (StorageId s : p_.storage_ids()) AddStorage(s, sent[s]);
    return std::move(residents_);
  }

 private:
  DeviceId DeviceOf(ExecOpId exec) const { return placement_[p_.op_of[exec]]; }
  const OpSpan& SpanOf(ExecOpId exec) const { return schedule_.ops[p_.op_of[exec]]; }

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
      residents_.push_back({transfer.storage, transfer.to, Bytes(p_.slice_bytes[slice]), true,
                            transfer.start, LastReader(slice, transfer.to, transfer.end)});
    }
  }

  void AddStorage(StorageId s, Nanos last_sent) {
    switch (p_.storage_class[s]) {
      case StorageClass::kInput: AddInput(s); return;
      case StorageClass::kPersistent: {
        const DeviceId home = HomeOf(s);
        if (home.valid()) Add(s, home, Nanos(0), kWholeStep);
        return;
      }
      case StorageClass::kTransient: AddTransient(s, last_sent); return;
    }
  }

  void Add(StorageId s, DeviceId device, Nanos from, Nanos until) {
    residents_.push_back({s, device, Bytes(p_.storage_bytes[s]), false, from, until});
  }

  DeviceId HomeOf(StorageId s) const {
    if (p_.fixed_home[s].valid()) return p_.fixed_home[s];
    return p_.home_op[s].valid() ? placement_[p_.home_op[s]] : DeviceId();
  }

  // On every device that has a reader, for the whole step.
  void AddInput(StorageId storage) {
    std::vector<bool> present(static_cast<size_t>(p_.devices), false);
    ForEachSlice(storage, [&](SliceId slice) {
      for (ExecOpId exec : p_.slice_readers[slice]) present[DeviceOf(exec).index()] = true;
    });
    for (size_t d = 0; d < present.size(); ++d) {
      if (present[d]) Add(storage, DeviceId(d), Nanos(0), kWholeStep);
    }
  }

  // From the start of its first writer to the last use of any version at home.
  void AddTransient(StorageId storage, Nanos last_sent) {
    const DeviceId home = HomeOf(storage);
    const ExecOpId maker = p_.version_writer[p_.VersionOf(storage, 0)];
    if (!home.valid() || !maker.valid()) return;
    Nanos end = last_sent;
    for (VersionId version : p_.storage_versions[storage]) {
      const ExecOpId writer = p_.version_writer[version];
      if (writer.valid()) end = std::max(end, SpanOf(writer).end);
    }
    ForEachSlice(storage, [&](SliceId slice) { end = LastReader(slice, home, end); });
    Add(storage, home, SpanOf(maker).start, end);
  }

  template <class Body>
  void ForEachSlice(StorageId storage, const Body& body) const {
    for (VersionId version : p_.storage_versions[storage]) {
      for (SliceId slice : p_.version_slices[version]) body(slice);
    }
  }

  const SimGraph& p_;
  const Placement& placement_;
  const Schedule& schedule_;
  std::vector<Resident> residents_;
};

}  // namespace

std::vector<Resident> FindResidents(const SimGraph& sim_graph, const Placement& placement,
                                    const Schedule& schedule) {
  return Sweep(sim_graph, placement, schedule).Run();
}

}  // namespace placewright
