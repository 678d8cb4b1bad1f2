#include "sim/step_split.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace placewright {
namespace {

// Start (+1) or end (-1) of something on a device.
struct DeviceEvent {
  int64_t time = 0;
  int8_t computing = 0, moving = 0;
};

class SplitCounter {
 public:
  explicit SplitCounter(size_t devices) : events_(devices), computes_(devices, false) {}

  void Compute(DeviceId device, Nanos start, Nanos end) {
    computes_[device.index()] = true;
    Add(device, start, end, 1, 0);
  }
  void Move(DeviceId device, Nanos start, Nanos end) { Add(device, start, end, 0, 1); }

  StepSplit Count(Nanos step_time) {
    StepSplit split;
    double devices = 0;
    for (size_t i = 0; i < events_.size(); ++i) {
      if (!computes_[i] || step_time.count <= 0) continue;
      ++devices;
      CountDevice(events_[i], static_cast<double>(step_time.count), split);
    }
    if (devices == 0) return {};
    split.compute /= devices;
    split.communication /= devices;
    split.idle = std::max(0.0, 1 - split.compute - split.communication);  // rounded off below
    return split;
  }

 private:
  void Add(DeviceId device, Nanos start, Nanos end, int8_t computing, int8_t moving) {
    if (start >= end) return;
    events_[device.index()].push_back({start.count, computing, moving});
    events_[device.index()].push_back(
        {end.count, static_cast<int8_t>(-computing), static_cast<int8_t>(-moving)});
  }

  static void CountDevice(std::vector<DeviceEvent>& events, double step, StepSplit& split) {
    std::sort(events.begin(), events.end(),
              [](const DeviceEvent& a, const DeviceEvent& b) { return a.time < b.time; });
    int64_t last = 0, computing = 0, moving = 0;
    for (const DeviceEvent& event : events) {
      const double share = static_cast<double>(event.time - last) / step;
      if (computing > 0) {
        split.compute += share;
      } else if (moving > 0) {
        split.communication += share;
      }
      computing += event.computing;
      moving += event.moving;
      last = event.time;
    }
  }

  std::vector<std::vector<DeviceEvent>> events_;
  std::vector<bool> computes_;
};

}  // namespace

StepSplit SplitOfStep(const Graph& step, const Placement& placement, const Schedule& schedule,
                      size_t devices, Nanos step_time) {
  SplitCounter counter(devices);
  for (const OpId op : step.ops()) {
    if (step.op(op).is_view) continue;
    const CollectiveId collective = step.collective_of(op);
    if (collective.valid()) {
      const CollectiveSpan& span = schedule.collectives[collective];
      counter.Move(placement[op], span.start, span.end);
    } else {
      counter.Compute(placement[op], schedule.ops[op].start, schedule.ops[op].end);
    }
  }
  for (const TransferSpan& span : schedule.transfers) {
    counter.Move(span.from, span.start, span.end);
    counter.Move(span.to, span.start, span.end);
  }
  return counter.Count(step_time);
}

}  // namespace placewright
