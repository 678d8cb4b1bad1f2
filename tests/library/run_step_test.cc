// Steps executed from C++, with batches of the caller's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <placewright/learned_planners.h>
#include <placewright/placewright.h>
#include <placewright/run_step.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace placewright {
namespace {

template <class T>
std::string BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

class RunStepTest : public testing::Test {
 protected:
  RunStepTest() : cluster_(ReadCluster("2xV100").Take()) {
    const auto file = std::filesystem::path(testing::TempDir()) /
                      ("run_step." + std::to_string(getpid()) + ".json.gz");
    const std::string command = std::string(PLACEWRIGHT_PROGRAM) +
                                " -q capture mlp --batch 8 -o '" + file.string() + "' > /dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0);
    graph_ = ReadGraph(file.string()).Take();
    std::filesystem::remove(file);
    PlanRequest request;
    request.algorithm = "layered";
    placement_ = PlanStep(graph_, cluster_, request).Take().placement;
    request_.steps = 8;
    request_.simulate_devices = true;
  }

  Graph graph_;
  Cluster cluster_;
  Placement placement_;
  RunRequest request_;
};

TEST_F(RunStepTest, PlansByALearnedPlannerAsWell) {
  PlanRequest request;
  request.algorithm = "mars";
  request.iterations = 3;
  EXPECT_EQ(PlanStep(graph_, cluster_, request).error().code, ErrorCode::kUsage);
  request.planners = LearnedPlanners({"parts=4"});
  const Result<PlannedStep> planned = PlanStep(graph_, cluster_, request);
  ASSERT_TRUE(planned.ok()) << planned.error().ToString();
  EXPECT_EQ(planned.value().plan.algorithm, "mars");
  EXPECT_EQ(planned.value().plan.iterations, 3);
  EXPECT_EQ(planned.value().placement.size(), graph_.op_count());
  request.planners = LearnedPlanners({"pieces=4"});
  EXPECT_FALSE(PlanStep(graph_, cluster_, request).ok());
}

TEST_F(RunStepTest, TrainsOnTheBatchesThatItIsGiven) {
  std::vector<int64_t> steps;
  request_.batch = [&](int64_t step, StepValues& values) -> Status {
    steps.push_back(step);
    // A bright picture is of class 7, a dark one of class 2.
    std::vector<float> x;
    std::vector<int64_t> targets;
    for (int64_t row = 0; row < 8; ++row) {
      const bool bright = (row + step) % 2 == 0;
      x.insert(x.end(), 784, bright ? 1.0f : -1.0f);
      targets.push_back(bright ? 7 : 2);
    }
    PW_RETURN_IF_ERROR(values.Set("x", BytesOf(x)));
    return values.Set("input:targets", BytesOf(targets));
  };
  std::string weight;
  request_.finish = [&](const StepValues& values) -> Status {
    PW_ASSIGN(weight, values.Get("param:hidden0.weight"));
    return Ok();
  };
  int64_t reported = 0;
  request_.progress = [&](int64_t, Nanos time, std::optional<double> loss) {
    reported += time > Nanos(0) && loss ? 1 : 0;
  };
  const Result<StepRun> ran = RunStep(graph_, cluster_, placement_, request_);
  ASSERT_TRUE(ran.ok()) << ran.error().ToString();
  const StepRun& run = ran.value();
  EXPECT_EQ(run.steps, 8);
  EXPECT_EQ(run.dropped, 5);
  EXPECT_EQ(reported, 8);
  EXPECT_THAT(steps, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  ASSERT_EQ(run.losses.size(), 8u);
  EXPECT_LT(*run.losses.back(), *run.losses.front() / 2);  // it has learned the rule
  ASSERT_EQ(run.devices.size(), cluster_.device_count());
  int64_t used = 0;
  for (const StepRun::Device& device : run.devices) used += device.peak_memory > Bytes(0) ? 1 : 0;
  EXPECT_GE(used, 2);
  EXPECT_GT(run.median, Nanos(0));
  EXPECT_LE(run.p10, run.p90);
  EXPECT_EQ(weight.size() % 784, 0u);

  // The same, wherever its ops run; other parameters from the start, other losses.
  request_.progress = {};
  const StepRun one =
      RunStep(graph_, cluster_, Placement(graph_.op_count(), DeviceId(0)), request_).Take();
  EXPECT_EQ(one.losses, run.losses);
  request_.batch = [&, batch = request_.batch](int64_t step, StepValues& values) -> Status {
    if (step == 0) PW_RETURN_IF_ERROR(values.Set("param:hidden0.weight", weight));
    return batch(step, values);
  };
  EXPECT_LT(*RunStep(graph_, cluster_, placement_, request_).Take().losses.front(),
            *run.losses.front());
}

TEST_F(RunStepTest, ErrorsAreValues) {
  const auto error = [&] { return RunStep(graph_, cluster_, placement_, request_).error(); };
  request_.batch = [](int64_t step, StepValues& values) -> Status {
    return step == 3 ? values.Set("y", "") : Ok();
  };
  EXPECT_EQ(error().code, ErrorCode::kUnknownName);
  request_.batch = [](int64_t, StepValues& values) { return values.Set("x", "short"); };
  EXPECT_EQ(error().code, ErrorCode::kField);
  request_.batch = {};
  request_.steps = 0;
  EXPECT_EQ(error().code, ErrorCode::kUsage);
  request_.steps = 1;
  placement_ = Placement(1, DeviceId(0));
  EXPECT_EQ(error().code, ErrorCode::kPlanMismatch);
  StopSource stopped;
  stopped.RequestStop();
  request_.stop = stopped.token();
  request_.simulate_devices = true;
  placement_ = Placement(graph_.op_count(), DeviceId(0));
  EXPECT_EQ(RunStep(graph_, cluster_, placement_, request_).Take().steps, 0);
}

}  // namespace
}  // namespace placewright
