#include "sim/contention.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace placewright {

std::vector<double> OverlapOf(const Graph& graph, const Placement& placement,
                              const Schedule& schedule, size_t devices) {
  struct Event {
    Nanos time;
    bool begins = false;
    size_t device = 0;
  };
  std::vector<Event> events;
  for (const OpId op : graph.ops()) {
    const OpSpan& span = schedule.ops[op];
    if (graph.op(op).is_view || span.end <= span.start) continue;
    events.push_back({span.start, true, placement[op].index()});
    events.push_back({span.end, false, placement[op].index()});
  }
  // Of one time, ends before begins: a device is in one op at a time.
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::pair(a.time, a.begins) < std::pair(b.time, b.begins);
  });
  std::vector<char> computing(devices, 0);
  std::vector<int64_t> busy(devices, 0), met(devices, 0);
  int64_t at_work = 0;
  Nanos last;
  for (const Event& event : events) {
    const int64_t time = (event.time - last).count;
    for (size_t d = 0; d < devices && time > 0; ++d) {
      if (!computing[d]) continue;
      busy[d] += time;
      if (at_work > 1) met[d] += time;
    }
    last = event.time;
    computing[event.device] = event.begins ? 1 : 0;
    at_work += event.begins ? 1 : -1;
  }
  std::vector<double> overlap;
  for (size_t d = 0; d < devices; ++d) {
    overlap.push_back(busy[d] > 0 ? static_cast<double>(met[d]) / static_cast<double>(busy[d]) : 0);
  }
  return overlap;
}

CostTable MixCosts(const CostTable& alone, const CostTable& loaded,
                   const std::vector<double>& overlap) {
  CostTable mixed = loaded;
  for (size_t o = 0; o < loaded.op_count(); ++o) {
    const OpId op(o);
    for (size_t d = 0; d < loaded.device_count(); ++d) {
      const DeviceId device(d);
      if (!alone.Supports(op, device) || !loaded.Supports(op, device)) {
        mixed.SetTime(op, device, CostTable::kUnsupported);
        continue;
      }
      const auto from = static_cast<double>(alone.time(op, device).count);
      const auto to = static_cast<double>(loaded.time(op, device).count);
      mixed.SetTime(op, device,
                    Nanos(static_cast<int64_t>(std::ceil(from + overlap[d] * (to - from)))));
    }
  }
  return mixed;
}

}  // namespace placewright
