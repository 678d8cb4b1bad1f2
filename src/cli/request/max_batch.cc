#include "cli/request/max_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "cli/request/batch_proof.h"
#include "cli/request/configurations.h"
#include "cli/request/models.h"
#include "cli/request/steps_by_batch.h"
#include "formats/aten/format.h"
#include "formats/plan/layouts_json.h"
#include "planning/strategy_search.h"
#include "planning/strategy_trials.h"

namespace placewright {
namespace {

constexpr double kNotedSeconds = 1;  // trials that took as long are named

InputOptions At(const MaxBatchRequest& request, std::optional<int64_t> batch) {
  InputOptions at = request.input;
  at.batch = batch;
  at.store.clear();  // trials leave nothing behind
  at.cluster_store.clear();
  at.prove_batch = request.space.MaySplit();
  return at;
}

struct FirstTrial {
  int64_t batch = 1;        // that of the graph as it is, or 1 where it states none
  bool strategies = false;  // are to be tried, and may be
};

Result<FirstTrial> StartOf(const MaxBatchRequest& request) {
  PW_ASSIGN(const Inputs inputs, LoadInputs(At(request, std::nullopt)));
  PW_ASSIGN(const Constraints constraints, ParseConstraints(request.search));
  const Graph& graph = inputs.graph.graph;
  const BatchScaling* const laws = graph.batch_scaling();
  // Names of models and configurations are recorded anew at each batch; of a file only what is proven can be scaled.
  const bool file = inputs.graph.format == &kAtenFormat && !MayBeModel(request.input.graph) &&
                    !IsConfiguration(request.input.graph);
  if (file && (laws == nullptr || !laws->reason.empty())) {
    Error error = MakeError(
        ErrorCode::kBatchScaling,
        fmt::format("--max-batch cannot change its batch: the step is {}",
                    DescribeBatchProof(graph)),
        "",
        "Record it so that it scales: `placewright capture MODEL -o FILE`, or from PyTorch "
        "export(..., batch=N) (docs/formats/pytorch.md); or give a model of the zoo by its "
        "name.");
    error.file = request.input.graph;
    return error;
  }
  const bool may = MaySplit(request.space, inputs) && MayChooseStrategies(graph, constraints) &&
                   !inputs.graph.times;
  return FirstTrial{std::max<int64_t>(1, graph.samples()), request.strategies && may};
}

class LoadedAtBatch : public ProblemAtBatch {
 public:
  // Everything is read anew: another batch may be another graph, with other costs and other ops that may be split.
  static Result<std::unique_ptr<ProblemAtBatch>> Load(const MaxBatchRequest& request,
                                                      int64_t batch) {
    const InputOptions at = At(request, batch);
    auto made = std::make_unique<LoadedAtBatch>();
    PW_ASSIGN(made->inputs_, LoadInputs(at));
    const Inputs& inputs = made->inputs_;
    PW_ASSIGN(const Constraints constraints, ParseConstraints(request.search));
    PW_ASSIGN(made->problem_, BuildProblem(inputs.graph.graph, inputs.cluster.cluster, inputs.costs,
                                           constraints, inputs.policy));
    if (MaySplit(request.space, inputs)) {
      PW_ASSIGN(made->layouts_, MakeLayoutProblem(at, request.space, inputs));
      made->problem_.layouts = made->layouts_.get();
    }
    return std::unique_ptr<ProblemAtBatch>(std::move(made));
  }
  const Problem& problem() const override { return problem_; }

 private:
  Inputs inputs_;
  std::unique_ptr<LayoutProblem> layouts_;
  Problem problem_;
};

std::string Describe(const BatchTrial& trial) {
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

// What the trials came to, as far as they went.
struct TrialNotes {
  int trials = 0;
  double seconds = 0;
};

Result<BatchTrialOptions> OptionsOf(const MaxBatchRequest& request, Console& console,
                                    TrialNotes* notes) {
  BatchTrialOptions options;
  options.at_batch = [&request](int64_t batch) { return LoadedAtBatch::Load(request, batch); };
  options.asked = &request.asked;
  options.graph_file = request.input.graph;
  if (!request.space.layouts.empty()) {
    PW_ASSIGN(options.layouts, ReadDistributionSpec(request.space.layouts));
    options.layouts_file = request.space.layouts;
  }
  options.planning.threads = ThreadsOf(request.search);
  options.planning.seed = request.search.seed;
  options.planning.budget.stop = request.stop;
  options.planning.started = Clock::now();
  options.asking = [&console](int64_t batch, std::string_view question) {
    console.Progress(fmt::format("batch {}: {}", batch, question));
  };
  options.tried = [&console, notes](const BatchTrial& trial) {
    console.Progress("");
    if (notes == nullptr) return;
    ++notes->trials;
    notes->seconds += trial.seconds;
    if (trial.seconds >= kNotedSeconds) console.Note(Describe(trial));
  };
  return options;
}

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

// Whether the best strategies fit at one batch after the other.
class StrategiesAtBatch {
 public:
  static Result<StrategiesAtBatch> Make(const MaxBatchRequest& request) {
    PW_ASSIGN(const auto reserve, ReadMemoryReserve(request.input.memory_reserve));
    PW_ASSIGN(LoadedCluster loaded, LoadCluster(request.input.cluster, {.reserve = reserve}));
    StrategyTrialOptions options;
    PW_ASSIGN(options.costs, CostOptionsOf(request.input, loaded.cluster));
    if (!request.input.order.empty()) {
      PW_ASSIGN(options.policy, ParseSchedulingPolicy(request.input.order));
    }
    options.stop = request.stop;
    // In one micro-batch: with more of them every batch fits, and the largest would say nothing.
    options.micro_batches = 1;
    options.in_all_peaks = true;  // as `plan` judges
    return StrategiesAtBatch(request.input, std::move(loaded.cluster), std::move(options));
  }

  Result<BatchTrial> Try(int64_t batch) {
    const Clock::time_point started = Clock::now();
    StepsByBatch steps(input_);
    const Result<StrategyTrier*> step = steps.At(batch);
    // At the first batch it is the graph that cannot be read; later there is only no step of that size.
    if (!step.ok() && rates_.empty() && trials_ == 0) return step.error();
    ++trials_;
    BatchTrial trial{batch, BatchVerdict::kNotFound, "", 0};
    if (!step.ok()) {
      trial.verdict = BatchVerdict::kNotPossible;
      trial.reason = step.error().message;
    } else {
      PW_ASSIGN(const std::optional<StrategyResult> best, BestOf(*step.value()));
      if (best) {
        trial.verdict = BatchVerdict::kFits;
        trial.reason = Describe(best->strategy);
        const double seconds = static_cast<double>(best->step_time.count) / 1e9;
        rates_.push_back({batch, static_cast<double>(batch) / seconds, trial.reason});
      }
    }
    trial.seconds = std::chrono::duration<double>(Clock::now() - started).count();
    return trial;
  }

  // Of those that fit, the largest batch first.
  std::vector<BatchRate> rates() const {
    std::vector<BatchRate> rates = rates_;
    std::sort(rates.begin(), rates.end(),
              [](const BatchRate& a, const BatchRate& b) { return a.batch > b.batch; });
    return rates;
  }

 private:
  StrategiesAtBatch(const InputOptions& input, Cluster cluster, StrategyTrialOptions options)
      : input_(input), cluster_(std::move(cluster)), options_(std::move(options)) {}

  // The best of those that are tried; where none fits, as estimates of memory were wrong, the first of those that need little.
  Result<std::optional<StrategyResult>> BestOf(StrategyTrier& trier) const {
    PW_ASSIGN(const StrategyTrials tried, trier.On(cluster_, options_));
    if (const StrategyResult* const best = tried.Best()) return std::optional(*best);
    for (const char* const set : {"", "full"}) {
      Rewriting rewriting;
      if (*set != 0) rewriting.recompute = {set};
      for (const char* const algorithm : {"data-parallel", "zero-2", "fsdp"}) {
        if (options_.stop.StopRequested()) return std::optional<StrategyResult>();
        PW_ASSIGN(StrategyResult one, trier.Try(cluster_, {algorithm, rewriting}, options_));
        if (one.fits) return std::optional(std::move(one));
      }
    }
    return std::optional<StrategyResult>();
  }

  const InputOptions& input_;
  Cluster cluster_;
  StrategyTrialOptions options_;
  std::vector<BatchRate> rates_;
  int trials_ = 0;
};

constexpr int64_t kLargestTried = int64_t{1} << 24;

Result<MaxBatch> FindMaxBatchOfStrategies(const MaxBatchRequest& request, int64_t start,
                                          Console& console) {
  PW_ASSIGN(StrategiesAtBatch strategies, StrategiesAtBatch::Make(request));
  MaxBatch result;
  TrialNotes notes;
  const auto trial = [&](int64_t batch) -> Result<BatchTrial> {
    console.Progress(fmt::format("batch {}: which strategies fit?", batch));
    PW_ASSIGN(const BatchTrial tried, strategies.Try(batch));
    console.Progress("");
    ++notes.trials;
    notes.seconds += tried.seconds;
    const bool noted = tried.seconds >= kNotedSeconds && !request.stop.StopRequested();
    if (noted) console.Note(Describe(tried));
    return tried;
  };
  PW_ASSIGN(result.found, FindLargestBatch(start, kLargestTried, trial, request.stop));
  result.rates = strategies.rates();
  if (request.stop.StopRequested()) return WasInterrupted(result.found.batch);
  if (result.found.batch == 0) {
    Error error = NoBatchFits(result.found.trials.back());
    error.remedy = "`placewright plan` at that batch says how much memory would be enough.";
    error.file = request.input.graph;
    return error;
  }
  console.Note(fmt::format("the largest batch was found by {} trials in {:.1f} s", notes.trials,
                           notes.seconds));
  return result;
}

}  // namespace

Result<MaxBatch> FindMaxBatch(const MaxBatchRequest& request, Console& console) {
  PW_ASSIGN(const FirstTrial first, StartOf(request));
  if (first.strategies) return FindMaxBatchOfStrategies(request, first.batch, console);
  TrialNotes notes;
  PW_ASSIGN(BatchTrialOptions options, OptionsOf(request, console, &notes));
  BatchTrials trials(std::move(options));
  Result<MaxBatchOrTrials> found = FindMaxBatch(trials, first.batch, request.stop);
  console.Progress("");
  if (request.stop.StopRequested()) return WasInterrupted(trials.largest());
  PW_ASSIGN(MaxBatchOrTrials of_all, std::move(found));
  if (!of_all.found) {
    Error error = NoBatchFits(of_all.trials.back());
    error.remedy =
        fmt::format("`placewright plan` at that batch says how much memory would be enough{}.",
                    trials.may_split() ? "" : "; --space replicated may split ops");
    error.file = request.input.graph;
    return error;
  }
  console.Note(fmt::format("the largest batch was found by {} trials in {:.1f} s", notes.trials,
                           notes.seconds));
  return *std::move(of_all.found);
}

std::optional<SmallerBatch> FindSmallerBatch(const MaxBatchRequest& request, int64_t batch,
                                             std::chrono::seconds limit, Console& console) {
  if (batch < 2) return std::nullopt;
  const Clock::time_point deadline = Clock::now() + limit;
  Result<BatchTrialOptions> options = OptionsOf(request, console, nullptr);
  if (!options.ok() || !StartOf(request).ok()) return std::nullopt;
  options.value().planning.budget.deadline = deadline;
  BatchTrials trials(options.Take());
  SmallerBatch smaller;
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
  return text + (found.plan.algorithm.empty() ? "), in one micro-batch" : "), by quick plans");
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
