#include "planning/batch_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "planning/all_peaks.h"
#include "planning/plan_session.h"
#include "search/evaluation/compiled_step.h"
#include "search/evaluation/plan_result.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/layout_search.h"
#include "search/problem/layout_problem.h"

namespace placewright {
namespace {

// Beyond it, what a device holds is no question any more.
constexpr int64_t kMaxTriedBatch = int64_t{1} << 24;

BatchRate RateOf(const PlannerResult& plan, int64_t batch) {
  const double seconds = static_cast<double>(std::max<int64_t>(1, plan.step_time.count)) / 1e9;
  return {batch, static_cast<double>(batch) / seconds, plan.algorithm};
}

// What another batch than the first may lead to, and is not the user's mistake: sizes that are out of range, a
// batch of one sample that layouts are to split.
bool IsOfTheBatch(ErrorCode code) {
  return code == ErrorCode::kBatchScaling || code == ErrorCode::kTooLarge ||
         code == ErrorCode::kNotRecordable || code == ErrorCode::kGraphShape ||
         code == ErrorCode::kField;
}

Result<QuickFit> FitOfLayouts(const Problem& problem, DistributionSpec spec) {
  QuickFit fit;
  PW_ASSIGN(fit.plan, ResultOfLayouts(*problem.layouts, spec));
  PW_ASSIGN(const Evaluation evaluation, EvaluateCompiled(*problem.layouts, fit.plan.plan));
  fit.plan.SetEvaluation(evaluation);
  if (!evaluation.feasible) return fit;
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(problem);
  const Status fits = CheckAllPeaks(problem, *evaluator, *problem.graph, fit.plan);
  if (!fits.ok()) fit.reason = fits.error().message;
  fit.fits = fits.ok();
  return fit;
}

}  // namespace

Error NoBatchFits(const BatchTrial& one) {
  const bool proven = one.verdict == BatchVerdict::kProvenNot;
  return MakeError(proven ? ErrorCode::kInfeasible : ErrorCode::kNothingFound,
                   fmt::format("not even batch {} fits: {}", one.batch,
                               one.reason.empty() ? "no plan was found" : one.reason),
                   "", "A plan at that batch says how much memory would be enough.");
}

Result<BatchTrial> BatchTrials::Try(int64_t batch) {
  const Clock::time_point started = Clock::now();
  if (options_.asking) options_.asking(batch, "does it fit?");
  Result<BatchTrial> made = Make(batch);
  if (!made.ok()) {
    if (first_ || !IsOfTheBatch(made.error().code)) return made.error();
    made = BatchTrial{batch, BatchVerdict::kNotPossible, made.error().message, 0};
  }
  first_ = false;
  made.value().seconds = SecondsSince(started);
  if (options_.tried) options_.tried(made.value());
  return made;
}

Result<QuickFit> BatchTrials::Fit(const Problem& problem, decltype(&FindFit) find) const {
  if (options_.layouts) {
    return FitOfLayouts(problem, *options_.layouts).InFile(options_.layouts_file);
  }
  return find(problem, options_.asked, options_.planning).InFile(options_.graph_file);
}

Result<BatchTrial> BatchTrials::Make(int64_t batch) {
  Result<std::unique_ptr<ProblemAtBatch>> at = options_.at_batch(batch);
  if (!at.ok() && at.error().code == ErrorCode::kInfeasible) {
    return BatchTrial{batch, BatchVerdict::kProvenNot, at.error().message, 0};
  }
  if (!at.ok()) return at.error();
  const Problem& problem = at.value()->problem();
  may_split_ = problem.layouts != nullptr;
  PW_ASSIGN(QuickFit fit, Fit(problem, FindFit));
  if (options_.planning.budget.Stopped()) return MakeError(ErrorCode::kInterrupted, "interrupted");
  BatchTrial trial{batch, BatchVerdict::kNotFound, fit.reason, 0};
  if (fit.proven) trial.verdict = BatchVerdict::kProvenNot;
  if (!fit.fits) return trial;
  trial.verdict = BatchVerdict::kFits;
  trial.reason = fit.plan.algorithm;
  plan_ = std::move(fit.plan);
  largest_ = batch;
  return trial;
}

Result<std::optional<BatchRate>> BatchTrials::Rate(int64_t batch) {
  if (options_.asking) options_.asking(batch, "how fast is it?");
  Result<std::unique_ptr<ProblemAtBatch>> at = options_.at_batch(batch);
  if (!at.ok() && at.error().code == ErrorCode::kInfeasible) return std::optional<BatchRate>();
  if (!at.ok()) return at.error();
  PW_ASSIGN(const QuickFit fit, Fit(at.value()->problem(), FindFastest));
  if (!fit.fits || fit.plan.step_time.count <= 0) return std::optional<BatchRate>();
  return std::optional(RateOf(fit.plan, batch));
}

Result<MaxBatchOrTrials> FindMaxBatch(BatchTrials& trials, int64_t start, const StopToken& stop) {
  PW_ASSIGN(LargestBatch of_all,
            FindLargestBatch(
                start, kMaxTriedBatch, [&](int64_t batch) { return trials.Try(batch); }, stop));
  const Error interrupted = MakeError(ErrorCode::kInterrupted, "interrupted");
  if (of_all.interrupted || stop.StopRequested()) return interrupted;
  MaxBatchOrTrials result;
  result.trials = of_all.trials;
  if (of_all.batch == 0) return result;
  const PlannerResult& plan = trials.plan();
  PW_ASSIGN(std::vector<BatchRate> rates,
            FindBatchRates(
                of_all, static_cast<int64_t>(PartsOf(plan)),
                [&](int64_t batch) { return trials.Rate(batch); }, stop));
  if (stop.StopRequested()) return interrupted;
  if (rates.empty()) rates.push_back(RateOf(plan, of_all.batch));
  result.found = MaxBatch{std::move(of_all), plan, std::move(rates)};
  return result;
}

std::optional<StepPlan> StartOf(const MaxBatch& found) {
  const bool searched = found.plan.algorithm == LayoutSearchPlanner().name();
  return searched ? std::optional(found.plan.plan) : std::nullopt;
}

void TakeTrialsPlan(const MaxBatch& found, const Problem& problem, PlannerResult& result) {
  const PlannerResult& trial = found.plan;
  // What `auto` was given to start from has the name of --init there.
  constexpr std::string_view kGiven = "init";
  const bool improved = result.algorithm != kGiven;
  for (HistoryPoint& point : result.history) {
    if (point.algorithm == kGiven) point.algorithm = trial.algorithm;
  }
  if (improved && result.feasible && result.step_time <= trial.step_time) return;
  PlannerResult taken = trial;
  taken.notes = std::move(result.notes);
  taken.notes.push_back(
      fmt::format("{}'s plan is that of the trials, as the search found none that {}",
                  trial.algorithm, result.feasible ? "is faster" : "fits"));
  // What repeats the plan are the moves of the search, whether they came to anything or not.
  taken.iterations = result.iterations;
  taken.history = {{0, trial.first_feasible_seconds.value_or(0), trial.step_time, trial.algorithm}};
  taken.out_of_memory = result.out_of_memory;
  // A plan is one of its baselines, where it has any.
  taken.baselines = std::move(result.baselines);
  if (!taken.baselines.empty()) {
    std::erase_if(taken.baselines,
                  [&](const Baseline& of) { return of.algorithm == trial.algorithm; });
    taken.baselines.push_back(BaselineOf(problem, trial, true));
  }
  result = std::move(taken);
}

}  // namespace placewright
