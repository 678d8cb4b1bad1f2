#include "runtime/profiler/profiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "graph/graph_builder.h"
#include "runtime/executor/team.h"
#include "runtime/service/execution.h"

namespace placewright {
namespace {

// Memory is new and caches are cold.
constexpr int64_t kWarmUp = 3;

// Nearest rank.
int64_t Quantile(std::vector<int64_t>& values, double share) {
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(at), values.end());
  return values[at];
}

// The steps of one device.
class Samples {
 public:
  explicit Samples(const Graph& graph)
      : graph_(graph), times_(graph.op_count()), workspace_(graph.op_count(), 0) {}

  void Add(const Execution::Step& step, const Execution& execution) {
    const Schedule schedule = execution.LastSchedule();
    const IdVector<OpId, int64_t> workspaces = execution.LastWorkspaces();
    int64_t sum = 0;
    for (const OpId op : graph_.ops()) {
      const int64_t time = (schedule.ops[op].end - schedule.ops[op].start).count;
      if (!graph_.op(op).is_view) times_[op].push_back(time);
      workspace_[op] = std::max(workspace_[op], workspaces[op]);
      sum += time;
    }
    steps_.push_back(step.time_ns);
    covered_.push_back(sum * 1'000'000 / std::max<int64_t>(1, step.time_ns));
  }

  size_t count() const { return steps_.size(); }

  double SumOfMedians() {
    double sum = 0;
    for (std::vector<int64_t>& times : times_) {
      if (!times.empty()) sum += static_cast<double>(Quantile(times, 0.5));
    }
    return sum;
  }

  StepProfile Profile() {
    StepProfile profile;
    profile.ops = IdVector<OpId, StepProfile::OpTime>(graph_.op_count());
    for (const OpId op : graph_.ops()) {
      std::vector<int64_t>& times = times_[op];
      if (times.empty()) continue;
      profile.ops[op] = {Nanos(Quantile(times, 0.5)), Nanos(Quantile(times, 0.1)),
                         Nanos(Quantile(times, 0.9)), Bytes(workspace_[op])};
    }
    profile.step = Nanos(Quantile(steps_, 0.5));
    profile.covered = std::min(1.0, static_cast<double>(Quantile(covered_, 0.5)) * 1e-6);
    profile.steps = static_cast<int64_t>(steps_.size());
    return profile;
  }

 private:
  const Graph& graph_;
  IdVector<OpId, std::vector<int64_t>> times_;  // by step
  IdVector<OpId, int64_t> workspace_;
  std::vector<int64_t> steps_, covered_;  // ns; millionths
};

// One device of a profile.
struct Profiled {
  explicit Profiled(const Graph& graph) : alone(graph), loaded(graph) {}

  Status Step(Samples* samples) {
    PW_ASSIGN(const Execution::Step step, execution->Run());
    if (samples != nullptr) samples->Add(step, *execution);
    return Ok();
  }

  std::unique_ptr<Execution> execution;
  Samples alone, loaded;
  Status status = Ok();
};

// `bytes` are made on one device and read on the other.
Result<Graph> TransferOf(int64_t bytes) {
  GraphBuilder builder("transfer", "aten");
  PW_ASSIGN(const TensorId x, builder.AddInput("input:x", TensorKind::kInput, DType::kF32,
                                               {bytes / SizeOf(DType::kF32)}));
  const auto add = [&](std::string name, std::string type, TensorId input,
                       std::vector<int64_t> shape) -> Result<TensorId> {
    OpSpec op;
    op.name = name;
    op.type = std::move(type);
    op.args = {Value(InputRef{0})};
    op.inputs = {input};
    op.outputs = {{std::move(name), DType::kF32, std::move(shape), OutputSpec::Alias::kFresh}};
    PW_ASSIGN(const std::vector<TensorId> made, builder.AddOp(std::move(op)));
    return made.front();
  };
  PW_ASSIGN(const TensorId made, add("made", "aten.neg.default", x, {bytes / SizeOf(DType::kF32)}));
  PW_ASSIGN(const TensorId read, add("read", "aten.sum.default", made, {}));
  builder.SetOutputs({read});
  return std::move(builder).Build();
}

}  // namespace

Result<std::vector<DeviceProfile>> ProfileStep(const Graph& graph,
                                               const std::vector<ExecutionDevice>& devices,
                                               const std::vector<bool>& alone, bool loaded,
                                               const ProfilingOptions& options) {
  std::vector<std::unique_ptr<Profiled>> profiled;
  for (const ExecutionDevice& device : devices) {
    ExecutionRequest request;
    request.graph = &graph;
    request.placement = Placement(graph.op_count(), DeviceId(0));
    request.devices = {device};
    request.seed = options.seed;
    request.measure_workspace = true;
    profiled.push_back(std::make_unique<Profiled>(graph));
    PW_ASSIGN(profiled.back()->execution, StartExecution(std::move(request)));
  }
  // Of all devices at the same time. Their steps need not take equally long: each goes on until all
  // have had theirs.
  std::atomic<size_t> left = 0;
  bool sampling = false;
  std::vector<std::function<void()>> members;
  for (const auto& one : profiled) {
    members.emplace_back([&left, &sampling, device = one.get()] {
      device->status = device->Step(sampling ? &device->loaded : nullptr);
      --left;
      while (left > 0 && device->status.ok()) device->status = device->Step(nullptr);
    });
  }
  // Threads stay, as those of an executed plan do.
  std::optional<Team> team;
  if (loaded) team.emplace(std::move(members));
  // One step of each that is asked for.
  const auto turn = [&](bool samples) -> Status {
    for (size_t i = 0; i < devices.size(); ++i) {
      if (alone[i]) PW_RETURN_IF_ERROR(profiled[i]->Step(samples ? &profiled[i]->alone : nullptr));
    }
    if (!loaded) return Ok();
    left = devices.size();
    sampling = samples;
    team->Go();
    for (const auto& one : profiled) PW_RETURN_IF_ERROR(one->status);
    return Ok();
  };
  for (int64_t step = 0; step < kWarmUp; ++step) PW_RETURN_IF_ERROR(turn(false));
  const Clock::time_point begin = Clock::now();
  double sum = 0;
  for (int64_t steps = 1, checked = 0;; ++steps) {
    PW_RETURN_IF_ERROR(turn(true));
    if (options.progress) {
      options.progress(fmt::format("step {} of at most {}", steps, options.max_steps));
    }
    if (steps < options.min_steps) {
      if (!options.stop.StopRequested()) continue;
      return MakeError(ErrorCode::kCancelled,
                       fmt::format("stopped after {} of the {} steps that a median needs", steps,
                                   options.min_steps));
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (steps >= options.max_steps || options.stop.StopRequested() ||
        (options.seconds && seconds >= *options.seconds)) {
      break;
    }
    if (steps < checked * 3 / 2 + 1) continue;
    double now = 0;
    for (const auto& one : profiled) now += one->alone.SumOfMedians() + one->loaded.SumOfMedians();
    const bool stable = checked > 0 && std::abs(now - sum) <= options.stable * now;
    // The state of a machine changes within seconds.
    if (stable && seconds >= options.min_seconds) break;
    sum = now;
    checked = steps;
  }
  std::vector<DeviceProfile> profiles;
  for (size_t i = 0; i < devices.size(); ++i) {
    profiles.emplace_back();
    if (alone[i]) profiles.back().alone = profiled[i]->alone.Profile();
    if (loaded) profiles.back().loaded = profiled[i]->loaded.Profile();
  }
  return profiles;
}

Result<std::vector<TransferSample>> ProfileTransfers(const ExecutionDevice& from,
                                                     const ExecutionDevice& to, Bytes max,
                                                     const ProfilingOptions& options) {
  std::vector<TransferSample> times;
  for (int64_t bytes = 1024; bytes <= max.count; bytes *= 2) {
    if (options.stop.StopRequested()) break;
    if (options.progress) {
      options.progress(
          fmt::format("{} from {} to {}", FormatBytes(Bytes(bytes)), from.name, to.name));
    }
    PW_ASSIGN(const Graph graph, TransferOf(bytes));
    ExecutionRequest request;
    request.graph = &graph;
    request.placement = Placement(graph.op_count(), DeviceId(0));
    request.placement[OpId(1)] = DeviceId(1);
    request.devices = {from, to};
    PW_ASSIGN(const std::unique_ptr<Execution> execution, StartExecution(std::move(request)));
    // About as many bytes for every size, and at least min_steps times.
    const int64_t runs = std::clamp<int64_t>((int64_t{256} << 20) / bytes, options.min_steps, 50);
    std::vector<int64_t> taken;
    for (int64_t run = -kWarmUp; run < runs; ++run) {
      PW_RETURN_IF_ERROR([&]() -> Status {
        PW_ASSIGN([[maybe_unused]] const Execution::Step step, execution->Run());
        return Ok();
      }());
      const Schedule schedule = execution->LastSchedule();
      const Nanos time = schedule.ops[OpId(1)].start - schedule.ops[OpId(0)].end;
      if (run >= 0) taken.push_back(time.count);
    }
    times.push_back({Bytes(bytes), Nanos(Quantile(taken, 0.5)), runs});
  }
  return times;
}

}  // namespace placewright
