// What every op costs on every device: times, workspaces, and where each figure comes from.
// Built by the cost model (modelled), an override file or a profiler (measured), or a cost graph
// (given); then const. Transfer times follow from the cluster's routes.
// Devices that are alike share a column of times and sources until one of them is set apart: a table of a thousand GPUs
// is as large as one of a single GPU.
#ifndef PLACEWRIGHT_COST_COST_TABLE_H_
#define PLACEWRIGHT_COST_COST_TABLE_H_

#include <placewright/base/ids.h>
#include <placewright/base/units.h>
#include <placewright/cluster/cluster.h>
#include <placewright/cost/communication/collective_kind.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace placewright {

enum class CostSource : uint8_t { kGiven, kMeasured, kModelled };
std::string_view ToString(CostSource source);  // "given", "measured", "modelled"

class CostTable {
 public:
  static constexpr Nanos kUnsupported = Nanos(-1);

  CostTable() = default;
  // All times start unsupported, all workspaces 0, all sources modelled. Of all devices one column, or as many
  // as the largest of `sorts`, one for each device, says; those that no device has count for nothing.
  CostTable(size_t ops, size_t devices)
      : CostTable(ops, IdVector<DeviceId, size_t>(devices, size_t{0})) {}
  CostTable(size_t ops, IdVector<DeviceId, size_t> sorts);
  // The same for ops each of which gets a time on one device alone: as large as there are ops. An op that gets
  // one on a second device makes the table as large as any other.
  static CostTable OfOneDeviceEach(size_t ops, size_t devices);

  size_t op_count() const { return ops_; }
  size_t device_count() const { return column_.size(); }
  // Devices of one column have the same times and sources, those of different ones may. Not of a table of one device an
  // op (OfOneDeviceEach), whose only column is of all.
  size_t column_count() const { return users_.size(); }
  size_t column(DeviceId device) const { return column_[device]; }

  // kUnsupported: infeasible there, never slow. Views cost 0 everywhere.
  Nanos time(OpId op, DeviceId device) const {
    if (!only_.empty()) return only_[op] == device ? times_[op.index()] : kUnsupported;
    return times_[At(op, column_[device])];
  }
  bool Supports(OpId op, DeviceId device) const { return time(op, device) != kUnsupported; }
  // Minimum time over all devices that support it; kUnsupported if none does.
  Nanos MinTime(OpId op) const;
  // Scratch memory while the op runs (cuDNN workspaces, ...); counted per device as the largest.
  Bytes workspace(OpId op) const { return workspace_[op]; }
  CostSource source(OpId op, DeviceId device) const { return sources_[At(op, column_[device])]; }
  // The weakest source of any device that supports the op: given only if all are given.
  CostSource source(OpId op) const;

  // How long each of the graph's collectives holds which links (simulator rule 15).
  struct CollectiveCost {
    Nanos time;
    std::vector<LinkId> links;  // distinct; may be none
    CollectiveAlgorithm algorithm =
        CollectiveAlgorithm::kNone;  // kNone: not known, or nothing moves
    CostSource source = CostSource::kGiven;
  };
  const IdVector<CollectiveId, CollectiveCost>& collectives() const { return collectives_; }

  // The only device that an op has a time on, where that is kept so (OfOneDeviceEach); else empty.
  const IdVector<OpId, DeviceId>& only() const { return only_; }

  // Of a compiled step: every op has a time on its own device alone.
  bool compiled() const { return compiled_; }
  void SetCompiled() { compiled_ = true; }

  void SetCollectives(IdVector<CollectiveId, CollectiveCost> costs) {
    collectives_ = std::move(costs);
  }
  void SetTime(OpId op, DeviceId device, Nanos time) {
    if (!only_.empty() && !only_[op].valid()) only_[op] = device;
    if (!only_.empty() && only_[op] != device) Widen();
    Nanos& known = times_[At(op, column_[device])];
    if (known == time) return;
    if (!only_.empty() || users_[column_[device]] == 1) {
      known = time;
    } else {
      times_[At(op, SetApart(device))] = time;
    }
  }
  // On every device of the column.
  void SetColumnTime(OpId op, size_t column, Nanos time) { times_[At(op, column)] = time; }
  void SetWorkspace(OpId op, Bytes bytes) { workspace_[op] = bytes; }
  void SetSource(OpId op, DeviceId device, CostSource source) {
    if (!only_.empty() && only_[op] != device) Widen();
    CostSource& known = sources_[At(op, column_[device])];
    if (known == source) return;
    if (!only_.empty() || users_[column_[device]] == 1) {
      known = source;
    } else {
      sources_[At(op, SetApart(device))] = source;
    }
  }
  void SetSource(OpId op, CostSource source);  // on every device

 private:
  size_t At(OpId op, size_t column) const { return column * ops_ + op.index(); }
  size_t SetApart(DeviceId device);  // from the others of its column: its own
  void Widen();

  size_t ops_ = 0;
  IdVector<OpId, DeviceId> only_;  // there is one column for all; or empty
  IdVector<DeviceId, size_t> column_;
  std::vector<size_t> users_;  // of each column
  std::vector<Nanos> times_;   // column-major
  IdVector<OpId, Bytes> workspace_;
  std::vector<CostSource> sources_;  // column-major
  IdVector<CollectiveId, CollectiveCost> collectives_;
  bool compiled_ = false;
};

// Times that a file gives for its ops whatever the device: on every device that is no CPU, or on
// CPUs where the cluster has nothing else.
CostTable GivenTimes(const IdVector<OpId, Nanos>& times, const Cluster& cluster);

// Shares of the ops' summed time by source, where every op runs on the device that `device_of`
// names; of the ops' number if none takes time. They add up to 1, or are all 0 without ops.
// Unsupported pairs count nothing.
struct CostShares {
  double given = 0, measured = 0, modelled = 0;
};
CostShares SharesOf(const CostTable& costs, const IdVector<OpId, DeviceId>& device_of);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_COST_TABLE_H_
