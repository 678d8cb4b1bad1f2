// A planner of one's own over layouts: all that it takes to be run by name, in `auto` beside the others, and to
// exchange plans with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

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

// Begins with everything on the first device, and copies one group more to all devices at every move, where that is no
// slower.
class ToyRun : public PlannerRun {
 public:
  ToyRun(const Problem& problem, Evaluator& evaluator, const PlannerOptions& options, Log* log)
      : problem_(problem), evaluator_(evaluator), options_(options), log_(log) {
    result_.algorithm = "toy";
    result_.space = PlanSpace::kReplicated;
  }
  Status Begin() {
    const Placement first(problem_.graph->op_count(), DeviceId(0));
    const StepPlan plan =
        options_.starts.empty() ? PlanOf(*problem_.graph, first) : options_.starts.front();
    return Keep(plan, evaluator_.EvaluatePlan(plan));
  }
  bool Advance(int64_t max_moves) override {
    const size_t groups = result_.plan.layouts.of_group.size();
    const bool over = result_.iterations >= options_.budget.iterations.value_or(kMaxQuantity);
    if (max_moves <= 0 || over || static_cast<size_t>(result_.iterations) >= groups) return false;
    StepPlan plan = result_.plan;
    Layout copies;
    for (const DeviceId device : problem_.cluster->devices()) copies.shares.push_back({device, {}});
    plan.layouts.of_group[GroupId(static_cast<size_t>(result_.iterations++))] =
        LayoutId(plan.layouts.layouts.size());
    plan.layouts.layouts.push_back(std::move(copies));
    return Keep(plan, evaluator_.EvaluatePlan(plan)).ok();
  }
  void Offer(const Score& score, const StepPlan& plan) override {
    ++log_->offers;
    if (!(score < best_)) return;
    ++log_->taken;
    (void)Keep(plan, evaluator_.EvaluatePlan(plan));
  }
  const PlannerResult& result() const override { return result_; }

 private:
  Status Keep(const StepPlan& plan, const Result<Evaluation>& evaluation) {
    if (!evaluation.ok()) return result_.plan.empty() ? Status(evaluation.error()) : Ok();
    const Score score = evaluation.value().score();
    if (best_ < score) return Ok();
    if (score < best_) {
      result_.history.push_back({result_.iterations, SecondsSince(options_.started),
                                 Nanos(score.step_time), result_.algorithm});
    }
    best_ = score;
    result_.plan = plan;
    result_.feasible = score.feasible;
    result_.step_time = Nanos(score.step_time);
    result_.over = Bytes(score.over);
    return Ok();
  }

  const Problem& problem_;
  Evaluator& evaluator_;
  const PlannerOptions options_;
  Log* log_;
  Score best_;
  PlannerResult result_;
};

class ToyPlanner : public IterativePlanner {
 public:
  explicit ToyPlanner(Log* log) : log_(log) {}
  std::string_view name() const override { return "toy"; }
  std::string_view description() const override { return "copies one group after the other"; }
  PlanSpace space() const override { return PlanSpace::kReplicated; }
  Result<std::unique_ptr<PlannerRun>> Start(const Problem& problem, Evaluator& evaluator,
                                            const PlannerOptions& options) const override {
    auto run = std::make_unique<ToyRun>(problem, evaluator, options, log_);
    PW_RETURN_IF_ERROR(run->Begin());
    return std::unique_ptr<PlannerRun>(std::move(run));
  }

 private:
  Log* log_;
};

PlannerTable TableWith(Log* log) {
  PlannerTable table = MakeSearchPlanners();
  for (auto& planner : MakeLayoutPlanners()) table.push_back(std::move(planner));
  table.push_back(std::make_unique<ToyPlanner>(log));
  return table;
}

TEST(ToyPlanner, IsRunAlone) {
  const LayeredProblem tiny(3, {}, /*layers=*/3);
  Log log;
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(tiny.problem);
  PlannerOptions options;
  options.budget.iterations = 4;
  const PlannerResult result = ToyPlanner(&log).Plan(tiny.problem, *evaluator, options).Take();
  EXPECT_EQ(result.iterations, 4);
  EXPECT_EQ(EvaluateCompiled(*tiny.layouts, result.plan).Take().step_time, result.step_time);
}

// Both searches over layouts have moves, plans go both ways, and the result is the best of all.
TEST(ToyPlanner, SharesTimeAndPlansWithTheOthersInAuto) {
  int taken = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const LayeredProblem tiny(seed, {}, /*layers=*/3);
    Log log;
    const PlannerTable table = TableWith(&log);
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
    EXPECT_EQ(log.offers, log.taken);  // what is no better is not offered, but placements are
    taken += log.taken;
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
