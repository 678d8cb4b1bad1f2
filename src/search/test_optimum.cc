#include "search/test_optimum.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "search/evaluation/group_placement.h"
#include "search/test_problems.h"

namespace placewright {
namespace {

constexpr int kOps = 10, kDevices = 3, kSeeds = 10;
constexpr int64_t kSamples = 6000;  // of 59,049 placements

// Ops over three devices, as fast and as large as chance has it; `tight`: no device holds all.
TestSpec SmallProblem(const SmallCase& small, int ops) {
  Random random(small.seed);
  TestSpec spec;
  for (int d = 0; d < kDevices; ++d) spec.capacity.push_back(small.tight ? 360 * ops : 1 << 20);
  spec.latency = 20;
  for (uint64_t i = 0; i < static_cast<uint64_t>(ops); ++i) {
    TestOp op;
    op.name = "op" + std::to_string(i);
    for (int d = 0; d < kDevices; ++d) {
      op.time_ns.push_back(300 + static_cast<int64_t>(random.Below(1000)));
    }
    for (int k = 0; i > 0 && k < 2; ++k) {
      const std::string read = "op" + std::to_string(random.Below(i));
      if (op.reads.empty() || op.reads[0] != read) op.reads.push_back(read);
    }
    op.output_bytes = {100 + static_cast<int64_t>(random.Below(700))};
    spec.ops.push_back(op);
  }
  return spec;
}

int SeedsThatFind(const Planner& planner, const TestProblem& test, int64_t optimum,
                  int64_t samples) {
  int found = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    PlannerOptions options;
    options.seed = seed;
    options.budget.iterations = samples;
    options.started = Clock::now();
    const PlannerResult result = planner.Plan(test.problem, *test.evaluator, options).Take();
    if (result.feasible && result.step_time.count == optimum) ++found;
  }
  return found;
}

bool UniformSamplingFinds(const TestProblem& test, int64_t optimum, uint64_t seed) {
  Random random(seed);
  for (int64_t i = 0; i < kSamples; ++i) {
    GroupPlacement devices;
    for (int op = 0; op < kOps; ++op) {
      devices.push_back(DeviceId(static_cast<int32_t>(random.Below(kDevices))));
    }
    const Evaluation drawn = test.evaluator->EvaluateOne(ExpandGroups(test.problem, devices));
    if (drawn.feasible && drawn.step_time.count == optimum) return true;
  }
  return false;
}

}  // namespace

std::vector<SmallCase> SmallCases() { return {{2, false}, {9, true}, {13, true}}; }

void ExpectFindsOptimum(const Planner& planner, const SmallCase& small) {
  const auto test = MakeTestProblem(SmallProblem(small, kOps));
  const std::optional<Score> best = BestOfAll(test->problem);
  ASSERT_TRUE(best && best->feasible);
  int by_chance = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    if (UniformSamplingFinds(*test, best->step_time, seed)) ++by_chance;
  }
  EXPECT_GE(SeedsThatFind(planner, *test, best->step_time, kSamples), 9);
  EXPECT_LE(by_chance, 2);
}

int SeedsThatFindOptimum(const Planner& planner, const SmallCase& small, int ops, int64_t samples) {
  const auto test = MakeTestProblem(SmallProblem(small, ops));
  const std::optional<Score> best = BestOfAll(test->problem);
  if (!best || !best->feasible) return 0;
  return SeedsThatFind(planner, *test, best->step_time, samples);
}

}  // namespace placewright
