#include "bench/harness/runs/simulator_speed.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/check.h"
#include "sim/incremental.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

// Of the processor, spent by this thread.
double ProcessorSeconds() {
  timespec now{};
  PW_CHECK_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <class Body>
double SecondsOf(const Body& body) {
  const double start = ProcessorSeconds();
  body();
  return ProcessorSeconds() - start;
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The arrays of PlainPass: what describes the step and nothing more.
struct PlainStep {
  struct Row {
    int64_t time, bytes;
    int32_t device, needs, reader;
  };
  std::vector<Row> rows;  // and one behind the last
  std::vector<int32_t> readers;

  PlainStep(const SimGraph& p, const Placement& placement) : rows(p.ops + 1) {
    for (ExecOpId reader : p.slice_readers.items) readers.push_back(reader.value());
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i].reader = p.slice_readers.offsets[p.op_first_slice[i]];
      if (i + 1 == rows.size()) break;
      const ExecOpId op(i);
      const DeviceId device = placement[p.op_of[op]];
      rows[i].time = p.Time(op, device);
      rows[i].device = device.value();
      rows[i].needs = static_cast<int32_t>(p.op_slices[op].size());
      for (int32_t u = p.op_first_slice[i]; u < p.op_first_slice[i + 1]; ++u) {
        rows[i].bytes += p.slice_bytes[SliceId(u)];
      }
    }
  }

  int64_t Pass() const {
    int64_t sum = 0;
    for (size_t op = 0; op + 1 < rows.size(); ++op) {
      sum += rows[op].time + rows[op].bytes + rows[op].device + rows[op].needs;
      for (int32_t r = rows[op].reader; r < rows[op + 1].reader; ++r) sum += readers[r];
    }
    return sum;
  }
};

// `count` of `ops`, evenly spread.
std::vector<OpId> Spread(const std::vector<OpId>& ops, size_t count) {
  count = std::min(count, ops.size());
  std::vector<OpId> chosen;
  for (size_t i = 0; i < count; ++i) chosen.push_back(ops[(2 * i + 1) * ops.size() / (2 * count)]);
  return chosen;
}

class IncrementalBench {
 public:
  IncrementalBench(const SimGraph& sim_graph, const Placement& placement, SchedulingPolicy policy)
      : devices_(sim_graph.devices), simulator_(sim_graph, policy) {
    simulator_.SetIncumbent(placement);
  }

  // Median over the ops of the time of one Try.
  double MedianSeconds(const std::vector<OpId>& ops) {
    std::vector<double> seconds;
    for (OpId op : ops) {
      const DeviceId next((simulator_.incumbent()[op].value() + 1) % devices_);
      const std::array<OpMove, 1> move = {OpMove{op, next}};
      double best = std::numeric_limits<double>::max();
      for (int turn = 0; turn < 3; ++turn) {
        best = std::min(best, SecondsOf([&] { simulator_.Try(move); }));
      }
      seconds.push_back(best);
    }
    return Median(std::move(seconds));
  }

 private:
  int32_t devices_;
  IncrementalSimulator simulator_;
};

void MeasureIncremental(const SyntheticStep& step, const SimGraph& sim_graph,
                        const Placement& placement, SchedulingPolicy policy,
                        SimulatorSpeed* speed) {
  Simulator simulator(sim_graph);
  SimOptions options;
  options.policy = policy;
  options.schedule = true;
  const SimResult& result = simulator.Run(placement, options);
  std::vector<OpId> all, late;
  for (OpId op : step.graph.ops()) {
    all.push_back(op);
    if (result.schedule->ops[op].start.count >= result.step_time.count / 10 * 9) late.push_back(op);
  }
  IncrementalBench bench(sim_graph, placement, policy);
  speed->incremental_median = bench.MedianSeconds(Spread(all, 101)) / speed->best_seconds;
  if (late.empty()) return;
  speed->incremental_last_tenth = bench.MedianSeconds(Spread(late, 51)) / speed->best_seconds;
}

}  // namespace

SimulatorSpeed MeasureSimulator(const SimulatorSpeedOptions& options) {
  PW_CHECK_LE(1, options.repeat);
  const SyntheticStep step = MakeSyntheticStep(options.step);
  const Placement placement = options.random ? RandomPlacement(step) : ContiguousPlacement(step);
  const SimGraph sim_graph = BuildSimGraph(step.graph, step.cluster, step.costs);
  const PlainStep plain(sim_graph, placement);
  Simulator simulator(sim_graph);
  SimOptions sim_options;
  sim_options.policy = options.policy;
  SimulatorSpeed speed;
  speed.inputs = static_cast<int64_t>(sim_graph.slice_readers.items.size());
  volatile int64_t sink = plain.Pass();  // so that the passes are not taken out
  speed.step_time = simulator.Run(placement, sim_options).step_time;
  std::vector<double> seconds, pass_seconds;
  for (int turn = 0; turn < options.repeat; ++turn) {
    pass_seconds.push_back(SecondsOf([&] { sink = plain.Pass(); }));
    seconds.push_back(SecondsOf([&] { simulator.Run(placement, sim_options); }));
  }
  speed.best_seconds = *std::min_element(seconds.begin(), seconds.end());
  speed.best_pass_seconds = *std::min_element(pass_seconds.begin(), pass_seconds.end());
  speed.median_seconds = Median(std::move(seconds));
  speed.median_pass_seconds = Median(std::move(pass_seconds));
  if (options.step.devices > 1) {
    MeasureIncremental(step, sim_graph, placement, options.policy, &speed);
  }
  return speed;
}

}  // namespace placewright
