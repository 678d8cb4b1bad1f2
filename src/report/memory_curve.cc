#include "report/memory_curve.h"

#include <algorithm>

#include "sim/memory/residents.h"

namespace placewright {
namespace {

struct Change {
  Nanos time;
  int64_t bytes;  // negative: freed
};

// Frees of an instant come before its allocations (rule 12).
MemoryCurve Accumulate(std::vector<Change>& changes) {
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;
  });
  MemoryCurve curve = {{Nanos(0), Bytes(0)}};
  int64_t now = 0;
  for (const Change& change : changes) {
    now = change.bytes > 0 ? SaturatingAdd(now, change.bytes) : now + change.bytes;
    if (curve.back().time == change.time) {
      curve.back().bytes = Bytes(now);
    } else {
      curve.push_back({change.time, Bytes(now)});
    }
  }
  return curve;
}

}  // namespace

std::vector<Bytes> PeaksWithWorkspace(const SimGraph& sim_graph, const Placement& placement,
                                      const Schedule& schedule,
                                      std::span<const MemoryCurve> curves) {
  std::vector<Bytes> peaks;
  for (const MemoryCurve& curve : curves) {
    Bytes peak(0);
    for (const MemoryPoint& point : curve) peak = std::max(peak, point.bytes);
    peaks.push_back(peak);
  }
  for (const ExecOpId exec : sim_graph.exec_ops()) {
    if (sim_graph.workspace[exec] == 0) continue;
    const OpId op = sim_graph.op_of[exec];
    const size_t device = placement[op].index();
    const MemoryCurve& curve = curves[device];
    const OpSpan& span = schedule.ops[op];
    // From the last point that is not behind the op's start to its end.
    auto point =
        std::upper_bound(curve.begin(), curve.end(), span.start,
                         [](Nanos time, const MemoryPoint& one) { return time < one.time; });
    if (point != curve.begin()) --point;
    for (; point != curve.end() && (point->time < span.end || point->time <= span.start); ++point) {
      peaks[device] = std::max(peaks[device], point->bytes + Bytes(sim_graph.workspace[exec]));
    }
  }
  return peaks;
}

std::vector<MemoryCurve> MemoryCurves(const SimGraph& sim_graph, const Placement& placement,
                                      const Schedule& schedule) {
  std::vector<std::vector<Change>> changes(static_cast<size_t>(sim_graph.devices));
  for (const Resident& one : FindResidents(sim_graph, placement, schedule)) {
    std::vector<Change>& here = changes[one.device.index()];
    here.push_back({one.from, one.bytes.count});
    if (one.until != kWholeStep) here.push_back({one.until, -one.bytes.count});
  }
  std::vector<MemoryCurve> curves;
  for (std::vector<Change>& of_device : changes) curves.push_back(Accumulate(of_device));
  return curves;
}

}  // namespace placewright
