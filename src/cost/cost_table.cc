#include "cost/cost_table.h"

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

}  // namespace placewright
