#include "cli/request/max_batch.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/text.h"
#include "cli/request/batch_proof.h"
#include "cli/request/configurations.h"
#include "cli/request/models.h"
#include "formats/aten/format.h"
#include "planning/quick_fit.h"
#include "search/evaluation/compiled_step.h"
#include "search/evaluation/plan_result.h"
#include "search/layouts/layout_search.h"

namespace placewright {
namespace {

// Beyond it, what a device holds is no question any more.
constexpr int64_t kMaxTriedBatch = int64_t{1} << 24;

constexpr double kNotedSeconds = 1;  // trials that took as long are named

// What another batch than the first may lead to, and is not the user's mistake: sizes that are out of range, a
// batch of one sample that layouts are to split.
bool IsOfTheBatch(ErrorCode code) {
  return code == ErrorCode::kBatchScaling || code == ErrorCode::kTooLarge ||
         code == ErrorCode::kNotRecordable || code == ErrorCode::kGraphShape ||
         code == ErrorCode::kField;
}

BatchRate RateOf(const PlannerResult& plan, int64_t batch) {
  const double seconds = static_cast<double>(std::max<int64_t>(1, plan.step_time.count)) / 1e9;
  return {batch, static_cast<double>(batch) / seconds, plan.algorithm};
}

class BatchTrials {
 public:
  BatchTrials(const MaxBatchRequest& request, Console& console,
              std::optional<Clock::time_point> deadline = std::nullopt)
      : request_(request), console_(console) {
    options_.budget.deadline = deadline;
    options_.threads = ThreadsOf(request.search);
    options_.seed = request.search.seed;
    options_.budget.stop = request.stop;
    options_.started = Clock::now();
  }

  // The batch of the graph as it is, or 1 where it states none.
  Result<int64_t> Start() const {
    PW_ASSIGN(const Inputs inputs, LoadInputs(At(std::nullopt)));
    const Graph& graph = inputs.graph.graph;
    const BatchScaling* const laws = graph.batch_scaling();
    const bool file = inputs.graph.format == &kAtenFormat && !MayBeModel(request_.input.graph) &&
                      !IsConfiguration(request_.input.graph);
    if (file && (laws == nullptr || !laws->reason.empty())) {
      Error error = MakeError(
          ErrorCode::kBatchScaling,
          fmt::format("--max-batch cannot change its batch: the step is {}",
                      DescribeBatchProof(graph)),
          "",
          "Record it so that it scales: `placewright capture MODEL -o FILE`, or from PyTorch "
          "export(..., batch=N) (docs/formats/pytorch.md); or give a model of the zoo by its "
          "name.");
      error.file = request_.input.graph;
      return error;
    }
    return std::max<int64_t>(1, graph.batch());
  }

  Result<BatchTrial> Try(int64_t batch) {
    const Clock::time_point started = Clock::now();
    console_.Progress(fmt::format("batch {}: does it fit?", batch));
    Result<BatchTrial> made = Make(batch);
    console_.Progress("");
    if (!made.ok()) {
      if (first_ || !IsOfTheBatch(made.error().code)) return made.error();
      made = BatchTrial{batch, BatchVerdict::kNotPossible, made.error().message, 0};
    }
    first_ = false;
    made.value().seconds = std::chrono::duration<double>(Clock::now() - started).count();
    ++trials_;
    seconds_ += made.value().seconds;
    if (!quiet_ && made.value().seconds >= kNotedSeconds) console_.Note(Describe(made.value()));
    return made;
  }

  // None where no plan is found any more.
  Result<std::optional<BatchRate>> Rate(int64_t batch) {
    console_.Progress(fmt::format("batch {}: how fast is it?", batch));
    PW_ASSIGN(const std::unique_ptr<AtBatch> at, Build(batch));
    std::optional<BatchRate> rate;
    if (at->infeasible.empty()) {
      PW_ASSIGN(const QuickFit fit, Fit(*at, FindFastest));
      if (fit.fits && fit.plan.step_time.count > 0) {
        rate = RateOf(fit.plan, batch);
      }
    }
    console_.Progress("");
    return rate;
  }

  const PlannerResult& plan() const { return plan_; }
  PlannerResult TakePlan() { return std::move(plan_); }
  void Quiet() { quiet_ = true; }
  bool may_split() const { return may_split_; }  // ops, in the last trial

  void NoteEnd() const {
    console_.Note(
        fmt::format("the largest batch was found by {} trials in {:.1f} s", trials_, seconds_));
  }

 private:
  static std::string Describe(const BatchTrial& trial) {
    std::string text = fmt::format("batch {}: ", trial.batch);
    switch (trial.verdict) {
      case BatchVerdict::kFits: text += "fits (" + trial.reason + ")"; break;
      case BatchVerdict::kProvenNot: text += "does not fit (proven)"; break;
      case BatchVerdict::kNotFound: text += "no plan that fits was found"; break;
      case BatchVerdict::kNotPossible:
        text += "there is no such step: " + Printable(trial.reason);
        break;
    }
    return text + fmt::format(", {:.1f} s", trial.seconds);
  }

  InputOptions At(std::optional<int64_t> batch) const {
    InputOptions at = request_.input;
    at.batch = batch;
    at.store.clear();  // trials leave nothing behind
    at.cluster_store.clear();
    at.prove_batch = request_.space != nullptr;
    return at;
  }

  // The problem at a batch with what it points to; never moved once made.
  struct AtBatch {
    Inputs inputs;
    std::unique_ptr<LayoutProblem> layouts;
    Problem problem;
    std::string infeasible;  // why there is none
  };

  Result<std::unique_ptr<AtBatch>> Build(int64_t batch) {
    const InputOptions at = At(batch);
    auto made = std::make_unique<AtBatch>();
    PW_ASSIGN(made->inputs, LoadInputs(at));
    const Inputs& inputs = made->inputs;
    PW_ASSIGN(const Constraints constraints, ParseConstraints(request_.search));
    Result<Problem> built = BuildProblem(inputs.graph.graph, inputs.cluster.cluster, inputs.costs,
                                         constraints, inputs.policy);
    if (!built.ok() && built.error().code == ErrorCode::kInfeasible) {
      made->infeasible = built.error().message;
      return made;
    }
    PW_ASSIGN(made->problem, std::move(built));
    may_split_ = MaySplit(request_.space, inputs);
    if (may_split_) {
      PW_ASSIGN(made->layouts, MakeLayoutProblem(at, *request_.space, inputs));
      made->problem.layouts = made->layouts.get();
    }
    return made;
  }

  Result<QuickFit> Fit(const AtBatch& at, decltype(&FindFit) find) const {
    const bool given = request_.space != nullptr && !request_.space->layouts.empty();
    if (given) return OfLayouts(*at.layouts);
    return find(at.problem, &request_.asked, options_).InFile(request_.input.graph);
  }

  Result<BatchTrial> Make(int64_t batch) {
    PW_ASSIGN(const std::unique_ptr<AtBatch> at, Build(batch));
    if (!at->infeasible.empty()) {
      return BatchTrial{batch, BatchVerdict::kProvenNot, at->infeasible, 0};
    }
    PW_ASSIGN(QuickFit fit, Fit(*at, FindFit));
    if (request_.stop.StopRequested()) return MakeError(ErrorCode::kInterrupted, "interrupted");
    BatchTrial trial{batch, BatchVerdict::kNotFound, fit.reason, 0};
    if (fit.proven) trial.verdict = BatchVerdict::kProvenNot;
    if (!fit.fits) return trial;
    trial.verdict = BatchVerdict::kFits;
    trial.reason = fit.plan.algorithm;
    plan_ = std::move(fit.plan);
    return trial;
  }

  Result<QuickFit> OfLayouts(const LayoutProblem& problem) const {
    QuickFit fit;
    fit.plan.algorithm = "layouts";
    fit.plan.space = PlanSpace::kReplicated;
    PW_ASSIGN(const DistributionSpec spec, ReadGivenLayouts(*request_.space, problem));
    PW_ASSIGN(fit.plan.plan, ResolvePlan(problem, spec).InFile(request_.space->layouts));
    PW_ASSIGN(const Evaluation evaluation,
              EvaluateCompiled(problem, fit.plan.plan).InFile(request_.space->layouts));
    fit.fits = fit.plan.feasible = evaluation.feasible;
    fit.plan.step_time = evaluation.step_time;
    return fit;
  }

  const MaxBatchRequest& request_;
  Console& console_;
  PlannerOptions options_;
  PlannerResult plan_;  // of the largest batch that fits so far: trials that fit ascend
  bool first_ = true, may_split_ = false, quiet_ = false;
  int trials_ = 0;
  double seconds_ = 0;
};

Error WasInterrupted(int64_t largest) {
  if (largest == 0) {
    return MakeError(ErrorCode::kInterrupted,
                     "interrupted before any batch that fits was found; nothing was written", "",
                     "Give it more time.");
  }
  return MakeError(
      ErrorCode::kInterrupted,
      fmt::format(
          "interrupted while the largest batch was looked for: {} fits; nothing was written",
          largest),
      "", fmt::format("Plan at that batch with --batch {}.", largest));
}

Error NoneFits(const LargestBatch& found, bool may_split) {
  const BatchTrial& one = found.trials.back();
  const bool proven = one.verdict == BatchVerdict::kProvenNot;
  return MakeError(
      proven ? ErrorCode::kInfeasible : ErrorCode::kNothingFound,
      fmt::format("not even batch {} fits: {}", one.batch,
                  one.reason.empty() ? "no plan was found" : one.reason),
      "",
      fmt::format("`placewright plan` at that batch says how much memory would be enough{}.",
                  may_split ? "" : "; --space replicated may split ops"));
}

}  // namespace

Result<MaxBatch> FindMaxBatch(const MaxBatchRequest& request, Console& console) {
  BatchTrials trials(request, console);
  PW_ASSIGN(const int64_t start, trials.Start());
  int64_t largest = 0;
  Result<LargestBatch> found = FindLargestBatch(
      start, kMaxTriedBatch,
      [&](int64_t batch) {
        Result<BatchTrial> trial = trials.Try(batch);
        if (trial.ok() && trial.value().verdict == BatchVerdict::kFits) largest = batch;
        return trial;
      },
      request.stop);
  if (request.stop.StopRequested()) return WasInterrupted(largest);
  PW_ASSIGN(LargestBatch of_all, std::move(found));
  if (of_all.batch == 0) {
    Error error = NoneFits(of_all, trials.may_split());
    error.file = request.input.graph;
    return error;
  }
  trials.NoteEnd();
  // Devices that have equal shares where the batch divides by their number.
  const size_t parts =
      trials.plan().space == PlanSpace::kPlaced ? 1 : DevicesOf(trials.plan().plan).size();
  PW_ASSIGN(std::vector<BatchRate> rates,
            FindBatchRates(
                of_all, static_cast<int64_t>(parts),
                [&](int64_t batch) { return trials.Rate(batch); }, request.stop));
  if (request.stop.StopRequested()) return WasInterrupted(largest);
  if (rates.empty()) rates.push_back(RateOf(trials.plan(), of_all.batch));
  return MaxBatch{std::move(of_all), trials.TakePlan(), std::move(rates)};
}

std::optional<SmallerBatch> FindSmallerBatch(const MaxBatchRequest& request, int64_t batch,
                                             std::chrono::seconds limit, Console& console) {
  if (batch < 2) return std::nullopt;
  const Clock::time_point deadline = Clock::now() + limit;
  BatchTrials trials(request, console, deadline);
  if (!trials.Start().ok()) return std::nullopt;
  SmallerBatch smaller;
  trials.Quiet();
  const Result<LargestBatch> found =
      FindLargestBatch(batch / 2, batch - 1, [&](int64_t at) -> Result<BatchTrial> {
        Result<BatchTrial> trial = trials.Try(at);
        const bool fits = trial.ok() && trial.value().verdict == BatchVerdict::kFits;
        if (fits) smaller = {at, false, trial.value().reason};
        // What time left out does not fit for that reason alone.
        if (Clock::now() >= deadline) return MakeError(ErrorCode::kCancelled, "time is over");
        return trial;
      });
  if (smaller.batch == 0) return std::nullopt;
  smaller.largest = found.ok();
  return smaller;
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

std::string DescribeMaxBatch(const LargestBatch& found) {
  const BatchTrial* const above = found.Above();
  if (above == nullptr) return fmt::format("{}, where the search ends", found.batch);
  switch (above->verdict) {
    case BatchVerdict::kProvenNot:
      return fmt::format("{}; {} is proven not to fit", found.batch, above->batch);
    case BatchVerdict::kNotPossible:
      return fmt::format("{}; there is no step at {}", found.batch, above->batch);
    case BatchVerdict::kFits:
    case BatchVerdict::kNotFound: break;
  }
  return fmt::format("{}; at {} no plan that fits was found", found.batch, above->batch);
}

std::string DescribeBestRate(const MaxBatch& found) {
  const BatchRate& best = BestRate(found.rates);
  const BatchRate& largest = found.rates.front();
  std::string text = fmt::format("batch {}: {:.4g} samples/s ({}", best.batch,
                                 best.samples_per_second, best.algorithm);
  if (largest.batch != best.batch) {
    text += fmt::format("; {}: {:.4g}", largest.batch, largest.samples_per_second);
  }
  return text + "), by quick plans";
}

namespace {

Json RateToJson(const BatchRate& rate) {
  return {{"batch", rate.batch},
          {"samples_per_second", rate.samples_per_second},
          {"algorithm", rate.algorithm}};
}

}  // namespace

Json MaxBatchToJson(const MaxBatch& found) {
  Json object = {{"batch", found.found.batch},
                 {"best_rate", RateToJson(BestRate(found.rates))},
                 {"rates", Json::array()},
                 {"trials", Json::array()}};
  for (const BatchRate& rate : found.rates) object["rates"].push_back(RateToJson(rate));
  for (const BatchTrial& trial : found.found.trials) {
    object["trials"].push_back({{"batch", trial.batch},
                                {"verdict", ToString(trial.verdict)},
                                {"reason", trial.reason},
                                {"seconds", trial.seconds}});
  }
  return object;
}

}  // namespace placewright
