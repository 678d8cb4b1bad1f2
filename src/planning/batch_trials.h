// Which batch fits and how fast it is, by trials at one batch after the other.
#ifndef PLACEWRIGHT_PLANNING_BATCH_TRIALS_H_
#define PLACEWRIGHT_PLANNING_BATCH_TRIALS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/layout_spec.h"
#include "planning/largest_batch.h"
#include "planning/quick_fit.h"
#include "search/planner.h"
#include "search/problem/problem.h"

namespace placewright {

// The problem at a batch with what it points to.
class ProblemAtBatch {
 public:
  virtual ~ProblemAtBatch() = default;
  virtual const Problem& problem() const = 0;
};

struct BatchTrialOptions {
  // Errors of the batch (kBatchScaling, kTooLarge, kNotRecordable, kGraphShape, kField) say that there is no step at it, but
  // at the first that is tried; kInfeasible that none fits; all others end the trials.
  std::function<Result<std::unique_ptr<ProblemAtBatch>>(int64_t batch)> at_batch;
  const Planner* asked = nullptr;           // as in FindFit
  std::optional<DistributionSpec> layouts;  // by hand: no plan but these
  std::string layouts_file, graph_file;     // that errors name; or empty
  PlannerOptions planning;                  // budget, seed, threads
  // Called before each trial with what is asked, and behind it with what it came to, if that is a trial of whether it fits.
  std::function<void(int64_t batch, std::string_view question)> asking;
  std::function<void(const BatchTrial&)> tried;
};

class BatchTrials {
 public:
  explicit BatchTrials(BatchTrialOptions options) : options_(std::move(options)) {}

  // Whether a plan that fits is found. Errors: kInterrupted where the stop token asks for it; see above.
  Result<BatchTrial> Try(int64_t batch);
  // None where no plan is found any more.
  Result<std::optional<BatchRate>> Rate(int64_t batch);

  // Of the largest batch that fitted so far, where they were tried in ascending order.
  const PlannerResult& plan() const { return plan_; }
  int64_t largest() const { return largest_; }
  bool may_split() const { return may_split_; }  // ops, in the last trial

 private:
  Result<BatchTrial> Make(int64_t batch);
  Result<QuickFit> Fit(const Problem& problem, decltype(&FindFit) find) const;

  const BatchTrialOptions options_;
  PlannerResult plan_;
  int64_t largest_ = 0;
  bool first_ = true, may_split_ = false;
};

struct MaxBatch {
  LargestBatch found;  // batch at least 1
  PlannerResult plan;  // at that batch, one that fits; without an algorithm: strategies were tried
  std::vector<BatchRate>
      rates;  // of the trials' plans, not of the search behind them; one at least
};

struct MaxBatchOrTrials {
  std::optional<MaxBatch> found;
  std::vector<BatchTrial> trials;
};
// From `start`: the largest batch, and rates where the best may be. None where not even one sample fits: the trials say
// why. Errors: those of Try and Rate; kInterrupted.
Result<MaxBatchOrTrials> FindMaxBatch(BatchTrials& trials, int64_t start, const StopToken& stop);

// Of the trial at batch 1, which does not fit: kInfeasible or kNothingFound.
Error NoBatchFits(const BatchTrial& one);

// What a search over layouts is to start from: the trials' plan, where it took such a search to find that the batch
// fits, as one within the time may come to nothing; else nothing.
std::optional<StepPlan> StartOf(const MaxBatch& found);
// The batch was chosen by a plan that fits: the result of the search at that batch becomes that plan where it is no
// better, and keeps what the search did (its moves, baselines, notes).
void TakeTrialsPlan(const MaxBatch& found, const Problem& problem, PlannerResult& result);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_BATCH_TRIALS_H_
