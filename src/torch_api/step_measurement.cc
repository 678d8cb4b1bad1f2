#include "torch_api/step_measurement.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace placewright {
namespace {

// Time in ops, by device. Members of collectives occupy none.
std::vector<int64_t> BusyOf(const Schedule& schedule, const Placement& placement, size_t devices,
                            const Graph* graph) {
  std::vector<int64_t> busy(devices, 0);
  for (const OpId op : IdRange<OpId>(schedule.ops.size())) {
    if (!placement[op].valid()) continue;
    if (graph != nullptr && graph->collective_of(op).valid()) continue;
    busy[placement[op].index()] += (schedule.ops[op].end - schedule.ops[op].start).count;
  }
  return busy;
}

}  // namespace

int64_t StepMeasurement::Quantile(double share) const {
  if (times_ns.empty()) return 0;
  const auto last = static_cast<double>(times_ns.size() - 1);
  return times_ns[static_cast<size_t>(share * last + 0.5)];
}

Result<StepMeasurement> MeasureSteps(Execution& execution, const Placement& placement,
                                     size_t devices, const StepMeasurementOptions& options) {
  StepMeasurement measured;
  const int64_t warm_up = std::min(options.warm_up, options.steps - 1);
  std::vector<int64_t> all, busy(devices, 0);
  int64_t whole = 0;
  const auto next = [&](int64_t step) -> Result<Execution::Step> {
    if (options.interlude && step >= warm_up) {
      PW_ASSIGN(const bool used, options.interlude());
      if (used) {
        PW_ASSIGN([[maybe_unused]] const Execution::Step cold, execution.Run());
        if (options.warm) options.warm();
      }
    }
    if (options.prepare) PW_RETURN_IF_ERROR(options.prepare(step));
    return execution.Run();
  };
  for (int64_t step = 0; step < options.steps && !options.stop.StopRequested(); ++step) {
    Result<Execution::Step> run = next(step);
    if (!run.ok()) {
      if (step == 0) return std::move(run.error());
      measured.failure = std::move(run.error());
      break;
    }
    const Execution::Step taken = run.Take();
    if (options.progress) options.progress(step, taken);
    all.push_back(taken.time_ns);
    measured.losses.push_back(taken.loss);
    measured.long_turns = taken.long_turns;
    std::vector<int64_t>& times = measured.times_ns;
    if (step >= warm_up) {
      times.insert(std::upper_bound(times.begin(), times.end(), taken.time_ns), taken.time_ns);
    }
    Schedule schedule = execution.LastSchedule();
    // While it warms up each step is looked at: the last one, if nothing comes behind it.
    if (times.size() <= 1) {
      busy.assign(devices, 0);
      whole = 0;
    }
    const std::vector<int64_t> of_step = BusyOf(schedule, placement, devices, options.graph);
    for (size_t d = 0; d < devices; ++d) busy[d] += of_step[d];
    whole += taken.time_ns;
    const auto away = [&](int64_t time) { return std::abs(time - measured.Quantile(0.5)); };
    if (times.size() <= 1 || away(taken.time_ns) < away(measured.schedule_time.count)) {
      measured.schedule = std::move(schedule);
      measured.schedule_time = Nanos(taken.time_ns);
    }
    // Steps that warm up are slower: only what is far beyond the limit ends there.
    constexpr int64_t kCold = 10;
    const int64_t excess = step < warm_up ? kCold : 1;
    measured.abandoned = step > 0 && taken.time_ns / excess > options.abandon_above.count;
    if (measured.abandoned) break;
  }
  measured.steps = static_cast<int64_t>(all.size());
  measured.dropped = measured.steps - static_cast<int64_t>(measured.times_ns.size());
  if (measured.times_ns.empty() && !all.empty()) {
    measured.times_ns = {all.back()};
    --measured.dropped;
  }
  for (const int64_t time : busy) {
    measured.busy.push_back(
        whole > 0 ? std::min(1.0, static_cast<double>(time) / static_cast<double>(whole)) : 0);
  }
  measured.peaks = execution.TakePeaks();
  return measured;
}

Nanos TimeInCollectives(const Schedule& schedule) {
  std::vector<CollectiveSpan> spans(schedule.collectives.begin(), schedule.collectives.end());
  std::sort(spans.begin(), spans.end(),
            [](const CollectiveSpan& a, const CollectiveSpan& b) { return a.start < b.start; });
  Nanos time(0), done(0);  // everything before `done` is counted
  for (const CollectiveSpan& span : spans) {
    time += std::max(span.end - std::max(span.start, done), Nanos(0));
    done = std::max(done, span.end);
  }
  return time;
}

}  // namespace placewright
