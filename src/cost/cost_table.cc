#include "cost/cost_table.h"

#include <algorithm>
#include <utility>

namespace placewright {

std::string_view ToString(CostSource source) {
  switch (source) {
    case CostSource::kGiven: return "given";
    case CostSource::kMeasured: return "measured";
    case CostSource::kModelled: return "modelled";
  }
  return "?";
}

CostTable::CostTable(size_t ops, IdVector<DeviceId, size_t> sorts)
    : ops_(ops), column_(std::move(sorts)), workspace_(ops) {
  users_.resize(1, 0);  // of a table without devices, too
  for (const size_t column : column_) {
    users_.resize(std::max(users_.size(), column + 1), 0);
    ++users_[column];
  }
  times_.assign(ops * users_.size(), kUnsupported);
  sources_.assign(ops * users_.size(), CostSource::kModelled);
}

CostTable CostTable::OfOneDeviceEach(size_t ops, size_t devices) {
  CostTable table(ops, devices);
  table.only_.assign(ops, DeviceId());
  return table;
}

size_t CostTable::SetApart(DeviceId device) {
  const size_t from = column_[device], column = users_.size();
  if (users_[from] == 1) return from;
  times_.resize(times_.size() + ops_);
  sources_.resize(sources_.size() + ops_);
  std::copy_n(times_.begin() + static_cast<ptrdiff_t>(from * ops_), ops_,
              times_.begin() + static_cast<ptrdiff_t>(column * ops_));
  std::copy_n(sources_.begin() + static_cast<ptrdiff_t>(from * ops_), ops_,
              sources_.begin() + static_cast<ptrdiff_t>(column * ops_));
  --users_[from];
  users_.push_back(1);
  return column_[device] = column;
}

void CostTable::Widen() {
  const IdVector<OpId, DeviceId> only = std::exchange(only_, {});
  const std::vector<Nanos> times =
      std::exchange(times_, std::vector<Nanos>(times_.size(), kUnsupported));
  for (const OpId op : IdRange<OpId>(ops_)) {
    if (only[op].valid()) SetTime(op, only[op], times[op.index()]);
  }
}

void CostTable::SetSource(OpId op, CostSource source) {
  for (size_t column = 0; column < users_.size(); ++column) sources_[At(op, column)] = source;
}

Nanos CostTable::MinTime(OpId op) const {
  if (!only_.empty()) return times_[op.index()];
  Nanos min = kUnsupported;
  for (size_t column = 0; column < users_.size(); ++column) {
    if (users_[column] == 0) continue;
    const Nanos t = times_[At(op, column)];
    if (t != kUnsupported && (min == kUnsupported || t < min)) min = t;
  }
  return min;
}

CostSource CostTable::source(OpId op) const {
  if (!only_.empty()) return sources_[op.index()];
  CostSource weakest = CostSource::kGiven;
  bool supported = false;
  for (size_t column = 0; column < users_.size(); ++column) {
    if (users_[column] == 0 || times_[At(op, column)] == kUnsupported) continue;
    weakest = std::max(weakest, sources_[At(op, column)]);
    supported = true;
  }
  return supported || column_.empty() ? weakest : source(op, DeviceId(0));
}

CostTable GivenTimes(const IdVector<OpId, Nanos>& times, const Cluster& cluster) {
  const auto is_cpu = [&](DeviceId device) {
    return cluster.kind(device).device_class == DeviceClass::kCpu;
  };
  bool only_cpus = true;
  for (const DeviceId device : cluster.devices()) only_cpus = only_cpus && is_cpu(device);
  IdVector<DeviceId, size_t> sorts;  // those with times are the first
  for (const DeviceId device : cluster.devices()) {
    sorts.push_back(!only_cpus && is_cpu(device) ? 1 : 0);
  }
  CostTable table(times.size(), std::move(sorts));
  for (const OpId op : IdRange<OpId>(times.size())) {
    table.SetSource(op, CostSource::kGiven);
    if (cluster.device_count() > 0) table.SetColumnTime(op, 0, times[op]);
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
