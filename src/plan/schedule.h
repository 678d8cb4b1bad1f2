// When everything happens in one simulated step.
#ifndef PLACEWRIGHT_PLAN_SCHEDULE_H_
#define PLACEWRIGHT_PLAN_SCHEDULE_H_

#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace placewright {

// The order in which a device serves its ready ops (simulator rule 2).
enum class SchedulingPolicy : uint8_t { kFifo, kCriticalPath };
std::string_view ToString(SchedulingPolicy policy);  // "fifo", "critical-path"

struct OpSpan {
  Nanos start, end;  // of a view: both the time at which its content is resident
};

// One crossing of (storage, version, byte range) to one device.
struct TransferSpan {
  StorageId storage;
  int32_t version = 0;
  Bytes offset, length;
  DeviceId from, to;
  Nanos ready, start, end;
};

struct CollectiveSpan {
  Nanos ready, start, end;  // ready: when the last member is
};

struct Schedule {
  IdVector<OpId, OpSpan> ops;
  std::vector<TransferSpan> transfers;  // by (start, storage, version, offset, length, to)
  IdVector<CollectiveId, CollectiveSpan> collectives;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_SCHEDULE_H_
