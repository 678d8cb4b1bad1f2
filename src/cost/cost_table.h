// What every op costs on every device: times, workspaces, and where each figure comes from.
// Built by the cost model (modelled), an override file or a profiler (measured), or a cost graph
// (given); then const. Transfer times follow from the cluster's routes.
#ifndef PLACEWRIGHT_COST_COST_TABLE_H_
#define PLACEWRIGHT_COST_COST_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace placewright {

enum class CostSource : uint8_t { kGiven, kMeasured, kModelled };
std::string_view ToString(CostSource source);  // "given", "measured", "modelled"

class CostTable {
 public:
  static constexpr Nanos kUnsupported = Nanos(-1);

  CostTable() = default;
  // All times start unsupported, all workspaces 0, all sources modelled.
  CostTable(size_t ops, size_t devices)
      : ops_(ops),
        devices_(devices),
        times_(ops * devices, kUnsupported),
        workspace_(ops),
        source_(ops, CostSource::kModelled) {}

  size_t op_count() const { return ops_; }
  size_t device_count() const { return devices_; }

  // kUnsupported: infeasible there, never slow. Views cost 0 everywhere.
  Nanos time(OpId op, DeviceId device) const {
    return times_[op.index() * devices_ + device.index()];
  }
  bool Supports(OpId op, DeviceId device) const { return time(op, device) != kUnsupported; }
  // Least time over all devices that support it; kUnsupported if none does.
  Nanos LeastTime(OpId op) const;
  // Scratch memory while the op runs (cuDNN workspaces, ...); counted per device as the largest.
  Bytes workspace(OpId op) const { return workspace_[op]; }
  CostSource source(OpId op) const { return source_[op]; }

  void SetTime(OpId op, DeviceId device, Nanos time) {
    times_[op.index() * devices_ + device.index()] = time;
  }
  void SetWorkspace(OpId op, Bytes bytes) { workspace_[op] = bytes; }
  void SetSource(OpId op, CostSource source) { source_[op] = source; }

 private:
  size_t ops_ = 0, devices_ = 0;
  std::vector<Nanos> times_;  // op-major
  IdVector<OpId, Bytes> workspace_;
  IdVector<OpId, CostSource> source_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_COST_TABLE_H_
