// When everything happens in one simulated step.
#ifndef PLACEWRIGHT_PLAN_SCHEDULE_H_
#define PLACEWRIGHT_PLAN_SCHEDULE_H_

#include <placewright/base/ids.h>
#include <placewright/base/units.h>

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace placewright {

// The order in which a device runs its ops: ready ones by ready time or by path (simulator rule 2), or all
// of them as the program lists them (rule 17).
enum class SchedulingPolicy : uint8_t { kFifo, kCriticalPath, kProgram };
inline constexpr std::array kSchedulingPolicies = {
    SchedulingPolicy::kProgram, SchedulingPolicy::kFifo, SchedulingPolicy::kCriticalPath};
std::string_view ToString(SchedulingPolicy policy);  // "program", "fifo", "critical-path"
std::optional<SchedulingPolicy> FindSchedulingPolicy(std::string_view name);
// The order in which what runs a graph of this format (Graph::format) would run its ops: PyTorch that of the
// program, which recorded steps ("aten") state. Other formats state none: fifo.
SchedulingPolicy DefaultPolicy(std::string_view graph_format);

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
