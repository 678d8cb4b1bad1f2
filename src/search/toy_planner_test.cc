// A planner of one's own over layouts: all that it takes to be run by name, in `auto` beside the others, and to
// exchange plans with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "planning/plan_words.h"
#include "search/evaluation/compiled_step.h"
#include "search/evaluation/plan_result.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/test_tiny_steps.h"
#include "search/planner_table.h"

namespace placewright {
namespace {

// What happened to the runs of a planner.
struct Log {
  int offers = 0, taken = 0;
};
Log g_log;

// Begins with everything on the first device, and copies one group more to all devices at every move, where that is no
// slower.
class ToyRun : public PlannerRun {
 public:
  ToyRun(const Problem& problem, Evaluator& evaluator, const PlannerOptions& options)
      : problem_(problem), evaluator_(evaluator), options_(options) {
    result_.algorithm = "toy";
    result_.space = PlanSpace::kReplicated;
  }
  Status Begin() {
    const Placement first(problem_.graph->op_count(), DeviceId(0));
    return Keep(options_.starts.empty() ? PlanOf(*problem_.graph, first) : options_.starts.front());
  }
  bool Advance(int64_t max_moves) override {
    StepPlan plan = result_.plan;
    const GroupId next(static_cast<size_t>(result_.iterations));
    const bool over = result_.iterations >= options_.budget.iterations.value_or(kMaxQuantity);
    if (max_moves <= 0 || over || next.index() >= plan.layouts.of_group.size()) return false;
    ++result_.iterations;
    plan.layouts.of_group[next] = LayoutId(plan.layouts.layouts.size());
    std::vector<DeviceId> devices;
    for (const DeviceId device : problem_.cluster->devices()) devices.push_back(device);
    plan.layouts.layouts.push_back(CopiesOn(devices));
    return Keep(plan).ok();
  }
  void Offer(const Score& score, const StepPlan& plan) override {
    ++g_log.offers;
    if (score < best_ && Keep(plan).ok()) ++g_log.taken;
  }
  const PlannerResult& result() const override { return result_; }

 private:
  Status Keep(const StepPlan& plan) {
    const Result<Evaluation> evaluation = evaluator_.EvaluatePlan(plan);
    if (!evaluation.ok()) return result_.plan.empty() ? Status(evaluation.error()) : Ok();
    if (best_ < evaluation.value().score()) return Ok();
    best_ = evaluation.value().score();
    result_.plan = plan;
    result_.SetEvaluation(evaluation.value());
    return Ok();
  }

  const Problem& problem_;
  Evaluator& evaluator_;
  const PlannerOptions options_;
  Score best_;
  PlannerResult result_;
};

class ToyPlanner : public IterativePlanner {
 public:
  std::string_view name() const override { return "toy"; }
  std::string_view description() const override { return "copies one group after the other"; }
  PlanSpace space() const override { return PlanSpace::kReplicated; }
  Result<std::unique_ptr<PlannerRun>> Start(const Problem& problem, Evaluator& evaluator,
                                            const PlannerOptions& options) const override {
    auto run = std::make_unique<ToyRun>(problem, evaluator, options);
    PW_RETURN_IF_ERROR(run->Begin());
    return std::unique_ptr<PlannerRun>(std::move(run));
  }
};

PlannerTable TableWithToy() {
  PlannerTable table = MakeSearchPlanners();
  for (auto& planner : MakeLayoutPlanners()) table.push_back(std::move(planner));
  table.push_back(std::make_unique<ToyPlanner>());
  return table;
}

TEST(ToyPlanner, IsRunAlone) {
  const LayeredProblem tiny(3, {}, /*layers=*/3);
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(tiny.problem);
  PlannerOptions options;
  options.budget.iterations = 4;
  const PlannerResult result = ToyPlanner().Plan(tiny.problem, *evaluator, options).Take();
  EXPECT_EQ(result.iterations, 4);
  EXPECT_EQ(EvaluateCompiled(*tiny.layouts, result.plan).Take().step_time, result.step_time);
}

// Both searches over layouts have moves, plans go both ways, and the result is the best of all.
TEST(ToyPlanner, SharesTimeAndPlansWithTheOthersInAuto) {
  int taken = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const LayeredProblem tiny(seed, {}, /*layers=*/3);
    g_log = {};
    const PlannerTable table = TableWithToy();
    const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(tiny.problem);
    PlannerOptions options;
    options.budget.iterations = 60;
    const PlannerResult result = MakeAuto(table)->Plan(tiny.problem, *evaluator, options).Take();
    EXPECT_EQ(result.iterations, 60);
    int searches = 0;
    for (const Baseline& baseline : result.baselines) {
      EXPECT_LE(result.step_time, baseline.step_time) << baseline.algorithm;
      searches += baseline.algorithm == "toy" || baseline.algorithm == "layout-search" ? 1 : 0;
    }
    EXPECT_EQ(searches, 2);
    EXPECT_EQ(g_log.offers, g_log.taken);  // what is no better is not offered, but placements are
    taken += g_log.taken;
    const PlannerResult again = MakeAuto(table)->Plan(tiny.problem, *evaluator, options).Take();
    EXPECT_EQ(again.plan, result.plan);
  }
  EXPECT_GT(taken, 0);
}

// What ran where and when is that of the compiled step, to the nanosecond.
TEST(ToyPlanner, GetsFeedbackOfTheCompiledStep) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const LayeredProblem tiny(seed, {}, /*layers=*/3);
    const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(tiny.problem);
    const StepPlan plan = ResolvePlan(*tiny.layouts, EvenSplit()).Take();
    const Evaluation fast = evaluator->EvaluatePlan(plan, {.feedback = true}).Take();
    const std::unique_ptr<CompiledStep> compiled = evaluator->Compile(plan).Take();
    const Evaluation whole = EvaluateStep(*compiled, /*feedback=*/true);
    EXPECT_EQ(fast.step_time, whole.step_time);
    std::vector<Feedback::Instance> one = fast.feedback->instances;
    std::vector<Feedback::Instance> other = whole.feedback->instances;
    std::sort(one.begin(), one.end());
    std::sort(other.begin(), other.end());
    EXPECT_FALSE(one.empty());
    EXPECT_TRUE(one == other) << seed;
    for (const DeviceId device : tiny.cluster->devices()) {
      EXPECT_EQ(fast.feedback->devices[device.index()].busy,
                whole.feedback->devices[device.index()].busy);
    }
  }
}

}  // namespace
}  // namespace placewright
