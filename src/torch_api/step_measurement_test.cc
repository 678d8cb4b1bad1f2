#include "torch_api/step_measurement.h"

#include <gtest/gtest.h>

#include "graph/graph_builder.h"

namespace placewright {
namespace {

// Two ops, one on each device, that take a tenth and a half of the step; steps take what the test says.
class Scripted : public Execution {
  GpuTransfers gpu_transfers() const override { return {}; }

 public:
  explicit Scripted(std::vector<int64_t> times) : times_(std::move(times)) {}
  Result<Step> Run() override { return Step{times_.at(at_++), std::nullopt}; }
  void SetStep(int64_t) override {}
  Status SetInput(TensorId, std::string_view) override { return Ok(); }
  Result<std::string> ReadInput(TensorId) const override { return std::string(); }
  std::string GeneratorState() const override { return ""; }
  Status SetGeneratorState(std::string_view) override { return Ok(); }
  Schedule LastSchedule() const override {
    const int64_t time = times_[at_ - 1];
    Schedule schedule;
    schedule.ops.push_back({Nanos(0), Nanos(time / 10)});
    schedule.ops.push_back({Nanos(time / 2), Nanos(time)});
    return schedule;
  }
  IdVector<OpId, int64_t> LastWorkspaces() const override { return {}; }
  std::vector<int64_t> TakePeaks() override { return {7, 9}; }

 private:
  std::vector<int64_t> times_;
  size_t at_ = 0;
};

const Placement& TwoOps() {
  static const Placement placement = [] {
    Placement made;
    made.push_back(DeviceId(0));
    made.push_back(DeviceId(1));
    return made;
  }();
  return placement;
}

StepMeasurement Measure(std::vector<int64_t> times, StepMeasurementOptions options) {
  Scripted execution(std::move(times));
  return MeasureSteps(execution, TwoOps(), 2, options).Take();
}

TEST(StepMeasurement, LeavesTheFirstStepsOut) {
  const StepMeasurement measured =
      Measure({9000, 8000, 100, 300, 200, 240, 500}, {.steps = 7, .warm_up = 2});
  EXPECT_EQ(measured.steps, 7);
  EXPECT_EQ(measured.dropped, 2);
  EXPECT_EQ(measured.times_ns, (std::vector<int64_t>{100, 200, 240, 300, 500}));
  EXPECT_EQ(measured.median(), Nanos(240));
  EXPECT_EQ(measured.Quantile(0), 100);
  EXPECT_EQ(measured.schedule_time, Nanos(240));
  EXPECT_EQ(measured.schedule.ops[OpId(1)].end, Nanos(240));
  EXPECT_DOUBLE_EQ(measured.busy[0], 0.1);
  EXPECT_DOUBLE_EQ(measured.busy[1], 0.5);
  EXPECT_EQ(measured.peaks, (std::vector<int64_t>{7, 9}));
}

// The second op as the member of a collective of its own: its device is idle.
TEST(StepMeasurement, MembersOfCollectivesKeepNoDeviceBusy) {
  GraphBuilder builder("two", "aten");
  for (const char* name : {"a", "b"}) {
    OpSpec op{.name = name, .type = "test.op"};
    op.outputs = {{.name = name, .shape = {1}}};
    ASSERT_TRUE(builder.AddOp(op).ok());
  }
  ASSERT_TRUE(builder.AddCollective("c", {OpId(1)}).ok());
  const Graph graph = std::move(builder).Build().Take();
  StepMeasurementOptions options{.steps = 1};
  options.graph = &graph;
  const StepMeasurement measured = Measure({100}, options);
  EXPECT_DOUBLE_EQ(measured.busy[0], 0.1);
  EXPECT_DOUBLE_EQ(measured.busy[1], 0);
}

// [10, 30) and [20, 25) and [25, 40) are 30 ns, [50, 60) 10 more.
TEST(StepMeasurement, CollectivesAtOneTimeCountOnce) {
  Schedule schedule;
  for (const auto& [start, end] : {std::pair(25, 40), {10, 30}, {50, 60}, {20, 25}}) {
    schedule.collectives.push_back({Nanos(0), Nanos(start), Nanos(end)});
  }
  EXPECT_EQ(TimeInCollectives(schedule), Nanos(40));
  EXPECT_EQ(TimeInCollectives(Schedule()), Nanos(0));
}

TEST(StepMeasurement, OfFewStepsOneCounts) {
  const StepMeasurement one = Measure({700}, {.steps = 1});
  EXPECT_EQ(one.dropped, 0);
  EXPECT_EQ(one.median(), Nanos(700));
  const StepMeasurement three = Measure({700, 600, 500}, {.steps = 3});
  EXPECT_EQ(three.dropped, 2);
  EXPECT_EQ(three.median(), Nanos(500));
}

// Stopped while it warmed up: the last step still says something.
TEST(StepMeasurement, StopsAfterTheStepThatRuns) {
  StopSource source;
  StepMeasurementOptions options;
  options.stop = source.token();
  options.progress = [&](int64_t step, const Execution::Step&) {
    if (step == 1) source.RequestStop();
  };
  const StepMeasurement measured = Measure({900, 800, 700, 600}, options);
  EXPECT_EQ(measured.steps, 2);
  EXPECT_EQ(measured.dropped, 1);
  EXPECT_EQ(measured.median(), Nanos(800));
  EXPECT_EQ(measured.schedule_time, Nanos(800));
  EXPECT_DOUBLE_EQ(measured.busy[1], 0.5);
}

TEST(StepMeasurement, PreparesEveryStep) {
  StepMeasurementOptions options{.steps = 3};
  std::vector<int64_t> prepared;
  options.prepare = [&](int64_t step) -> Status {
    prepared.push_back(step);
    if (step == 2) return MakeError(ErrorCode::kField, "no batch");
    return Ok();
  };
  Scripted execution({900, 800, 700});
  const StepMeasurement measured = MeasureSteps(execution, TwoOps(), 2, options).Take();
  ASSERT_TRUE(measured.failure);
  EXPECT_EQ(measured.failure->message, "no batch");
  EXPECT_EQ(measured.steps, 2);  // what was measured before stays
  EXPECT_EQ(prepared, (std::vector<int64_t>{0, 1, 2}));
  options.prepare = [](int64_t) -> Status { return MakeError(ErrorCode::kField, "none at all"); };
  EXPECT_EQ(MeasureSteps(execution, TwoOps(), 2, options).error().message, "none at all");
}

// Behind an interlude that used the machine a step warms up, and counts for nothing.
TEST(StepMeasurement, InterludesAreNoSteps) {
  StepMeasurementOptions options{.steps = 4, .warm_up = 1};
  int calls = 0;
  options.interlude = [&]() -> Result<bool> { return ++calls == 2; };
  const StepMeasurement measured = Measure({900, 100, 7000, 200, 300}, options);
  EXPECT_EQ(calls, 3);  // none before steps that warm up
  EXPECT_EQ(measured.steps, 4);
  EXPECT_EQ(measured.times_ns, (std::vector<int64_t>{100, 200, 300}));
}

TEST(StepMeasurement, GivesUpWhatTakesTooLong) {
  const StepMeasurement measured =
      Measure({100, 100, 900, 100}, {.steps = 4, .warm_up = 1, .abandon_above = Nanos(500)});
  EXPECT_TRUE(measured.abandoned);
  EXPECT_EQ(measured.steps, 3);
  // Cold steps have ten times as long.
  const StepMeasurementOptions cold{.steps = 5, .warm_up = 3, .abandon_above = Nanos(500)};
  EXPECT_FALSE(Measure({9000, 900, 900, 100, 100}, cold).abandoned);
  const StepMeasurement hopeless = Measure({9000, 9000, 900, 100, 100}, cold);
  EXPECT_TRUE(hopeless.abandoned);
  EXPECT_EQ(hopeless.steps, 2);
}

}  // namespace
}  // namespace placewright
