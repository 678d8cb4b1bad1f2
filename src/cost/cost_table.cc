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

Nanos CostTable::LeastTime(OpId op) const {
  Nanos least = kUnsupported;
  for (size_t d = 0; d < devices_; ++d) {
    const Nanos t = time(op, DeviceId(d));
    if (t != kUnsupported && (least == kUnsupported || t < least)) least = t;
  }
  return least;
}

CostSource CostTable::source(OpId op) const {
  CostSource weakest = CostSource::kGiven;
  bool supported = false;
  for (size_t d = 0; d < devices_; ++d) {
    if (!Supports(op, DeviceId(d))) continue;
    weakest = std::max(weakest, source(op, DeviceId(d)));
    supported = true;
  }
  return supported || devices_ == 0 ? weakest : source(op, DeviceId(0));
}

CostShares SharesOf(const CostTable& costs, const IdVector<OpId, DeviceId>& device_of) {
  int64_t given = 0, measured = 0, modelled = 0;
  for (OpId op : IdRange<OpId>(std::min(device_of.size(), costs.op_count()))) {
    const DeviceId device = device_of[op];
    if (!device.valid() || !costs.Supports(op, device)) continue;
    int64_t& sum = costs.source(op, device) == CostSource::kGiven      ? given
                   : costs.source(op, device) == CostSource::kMeasured ? measured
                                                                       : modelled;
    sum = SaturatingAdd(sum, costs.time(op, device).count);
  }
  const double total =
      static_cast<double>(given) + static_cast<double>(measured) + static_cast<double>(modelled);
  if (total <= 0) return {};
  return {static_cast<double>(given) / total, static_cast<double>(measured) / total,
          static_cast<double>(modelled) / total};
}

}  // namespace placewright
