#include "cli/request/max_batch.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/text.h"
#include "cli/request/batch_proof.h"
#include "cli/request/configurations.h"
#include "cli/request/models.h"
#include "formats/aten/format.h"
#include "formats/plan/layouts_json.h"

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

// The batch of the graph as it is, or 1 where it states none.
Result<int64_t> StartOf(const MaxBatchRequest& request) {
  PW_ASSIGN(const Inputs inputs, LoadInputs(At(request, std::nullopt)));
  const Graph& graph = inputs.graph.graph;
  const BatchScaling* const laws = graph.batch_scaling();
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
  return std::max<int64_t>(1, graph.samples());
}

class LoadedAtBatch : public ProblemAtBatch {
 public:
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

}  // namespace

Result<MaxBatch> FindMaxBatch(const MaxBatchRequest& request, Console& console) {
  TrialNotes notes;
  PW_ASSIGN(BatchTrialOptions options, OptionsOf(request, console, &notes));
  BatchTrials trials(std::move(options));
  PW_ASSIGN(const int64_t start, StartOf(request));
  Result<MaxBatchOrTrials> found = FindMaxBatch(trials, start, request.stop);
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
