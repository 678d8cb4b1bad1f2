#include "cost/cost_table.h"

#include <algorithm>

namespace placewright {

std::string_view ToString(CostSource source) {
  switch (source) {
    case CostSource::kGiven: return "given";
    case CostSource::kMeasured: return "measured";
    case CostSource::kModelled: return "modelled";
  }
  return "?";
}

CostTable CostTable::OfOneDeviceEach(size_t ops, size_t devices) {
  CostTable table(ops, 1);
  table.devices_ = devices;
  table.only_.assign(ops, DeviceId());
  return table;
}

void CostTable::Widen() {
  const IdVector<OpId, DeviceId> only = std::exchange(only_, {});
  const std::vector<Nanos> times =
      std::exchange(times_, std::vector<Nanos>(ops_ * devices_, kUnsupported));
  const std::vector<CostSource> sources =
      std::exchange(sources_, std::vector<CostSource>(ops_ * devices_, CostSource::kModelled));
  for (const OpId op : IdRange<OpId>(ops_)) {
    SetSource(op, sources[op.index()]);
    if (only[op].valid()) SetTime(op, only[op], times[op.index()]);
  }
}

void CostTable::SetSource(OpId op, CostSource source) {
  if (!only_.empty()) {
    sources_[op.index()] = source;
    return;
  }
  for (size_t d = 0; d < devices_; ++d) SetSource(op, DeviceId(d), source);
}

Nanos CostTable::MinTime(OpId op) const {
  if (!only_.empty()) return times_[op.index()];
  Nanos min = kUnsupported;
  for (size_t d = 0; d < devices_; ++d) {
    const Nanos t = time(op, DeviceId(d));
    if (t != kUnsupported && (min == kUnsupported || t < min)) min = t;
  }
  return min;
}

CostSource CostTable::source(OpId op) const {
  if (!only_.empty()) return sources_[op.index()];
  CostSource weakest = CostSource::kGiven;
  bool supported = false;
  for (size_t d = 0; d < devices_; ++d) {
    if (!Supports(op, DeviceId(d))) continue;
    weakest = std::max(weakest, source(op, DeviceId(d)));
    supported = true;
  }
  return supported || devices_ == 0 ? weakest : source(op, DeviceId(0));
}

CostTable GivenTimes(const IdVector<OpId, Nanos>& times, const Cluster& cluster) {
  const auto is_cpu = [&](DeviceId device) {
    return cluster.kind(device).device_class == DeviceClass::kCpu;
  };
  bool only_cpus = true;
  for (const DeviceId device : cluster.devices()) only_cpus = only_cpus && is_cpu(device);
  CostTable table(times.size(), cluster.device_count());
  for (const OpId op : IdRange<OpId>(times.size())) {
    table.SetSource(op, CostSource::kGiven);
    for (const DeviceId device : cluster.devices()) {
      if (only_cpus || !is_cpu(device)) table.SetTime(op, device, times[op]);
    }
  }
  return table;
}

CostShares SharesOf(const CostTable& costs, const IdVector<OpId, DeviceId>& device_of) {
  struct Sums {
    int64_t given = 0, measured = 0, modelled = 0;
    void Add(CostSource source, int64_t amount) {
      int64_t& sum = source == CostSource::kGiven      ? given
                     : source == CostSource::kMeasured ? measured
                                                       : modelled;
      sum = SaturatingAdd(sum, amount);
    }
    bool Empty() const { return given == 0 && measured == 0 && modelled == 0; }
  } time, count;
  for (OpId op : IdRange<OpId>(std::min(device_of.size(), costs.op_count()))) {
    const DeviceId device = device_of[op];
    if (!device.valid() || !costs.Supports(op, device)) continue;
    time.Add(costs.source(op, device), costs.time(op, device).count);
    count.Add(costs.source(op, device), 1);
  }
  const Sums& sums = time.Empty() ? count : time;
  if (sums.Empty()) return {};
  const double total = static_cast<double>(sums.given) + static_cast<double>(sums.measured) +
                       static_cast<double>(sums.modelled);
  return {static_cast<double>(sums.given) / total, static_cast<double>(sums.measured) / total,
          static_cast<double>(sums.modelled) / total};
}

}  // namespace placewright
