#include "learn/planner/shared_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/text.h"
#include "learn/features/vocabulary.h"

namespace placewright {
namespace {

std::string PrefixOf(size_t problem) { return fmt::format("problem{}.", problem); }

Error OtherTraining(std::string message) {
  return MakeError(ErrorCode::kPlanMismatch, std::move(message), "",
                   "Go on with the options that it began with.");
}

}  // namespace

SharedTraining::SharedTraining(AgentSettings settings, const TrainingRequest& request)
    : settings_(std::move(settings)), problems_(request.problems), options_(request.options) {}

Result<std::unique_ptr<PolicyTraining>> SharedTraining::Start(const AgentSettings& settings,
                                                              const TrainingRequest& request) {
  PW_CHECK(!request.problems.empty());
  std::unique_ptr<SharedTraining> training(new SharedTraining(settings, request));
  PW_RETURN_IF_ERROR(training->Build(request.start, request.resume));
  return std::unique_ptr<PolicyTraining>(std::move(training));
}

Status SharedTraining::Build(const StoredPolicy* start, bool resume) {
  PW_ASSIGN(parameters_, MakeParameters(settings_, options_.seed, start));
  for (const TrainingProblem& problem : problems_) {
    PlannerOptions options = options_;
    options.budget.iterations.reset();  // they are counted over all problems
    PW_ASSIGN(
        std::unique_ptr<LearnedRun> run,
        LearnedRun::Build(settings_, *problem.problem, *problem.evaluator, options, parameters_));
    runs_.push_back(std::move(run));
  }
  optimizer_ = MakeOptimizer(settings_, parameters_);
  for (const auto& run : runs_) run->Begin(optimizer_, start != nullptr && !resume);
  if (resume) PW_RETURN_IF_ERROR(Restore(*start));
  Store();
  return Ok();
}

Status SharedTraining::Restore(const StoredPolicy& stored) {
  for (const auto& [name, value] : settings_.values()) {
    const auto found = stored.settings.find(name);
    if (found == stored.settings.end() || found->second != value) {
      return OtherTraining(fmt::format(
          "the training has {}={}, not {}", name,
          found == stored.settings.end() ? "no value" : Printable(found->second, 40), value));
    }
  }
  const StateReader state(stored, "");
  PW_ASSIGN(const int64_t seed, state.Integer("seed"));
  PW_ASSIGN(const int64_t problems, state.Integer("problems"));
  if (seed != static_cast<int64_t>(options_.seed)) {
    return OtherTraining(fmt::format("the training has the seed {}, not {}",
                                     static_cast<uint64_t>(seed), options_.seed));
  }
  if (problems != static_cast<int64_t>(runs_.size())) {
    return OtherTraining(
        fmt::format("the training is on {} graphs, not on {}", problems, runs_.size()));
  }
  PW_ASSIGN(progress_.updates, state.Integer("updates"));
  for (size_t i = 0; i < runs_.size(); ++i) {
    PW_RETURN_IF_ERROR(runs_[i]->Restore(StateReader(stored, PrefixOf(i))));
    progress_.samples += runs_[i]->total().samples;
    progress_.invalid += runs_[i]->total().invalid;
  }
  return optimizer_->Restore(StateReader(stored, "optimizer."));
}

void SharedTraining::Store() {
  stored_ = {};
  stored_.algorithm = settings_.algorithm().name;
  stored_.vocabulary = vocabulary::kVersion;
  stored_.settings = {settings_.values().begin(), settings_.values().end()};
  for (const auto& [name, tensor] : parameters_->named()) {
    stored_.parameters[name] = ToStored(tensor);
  }
  StateWriter state(stored_, "");
  state.Integer("seed", static_cast<int64_t>(options_.seed));
  state.Integer("problems", static_cast<int64_t>(runs_.size()));
  state.Integer("updates", progress_.updates);
  for (size_t i = 0; i < runs_.size(); ++i) {
    StateWriter of_run(stored_, PrefixOf(i));
    runs_[i]->Store(of_run);
  }
  StateWriter of_optimizer(stored_, "optimizer.");
  optimizer_->Store(of_optimizer);
}

bool SharedTraining::Advance() {
  const size_t turn = static_cast<size_t>(progress_.updates) % runs_.size();
  LearnedRun& run = *runs_[turn];
  const SampleCounts before = run.total();
  do {
    const int64_t drawn = progress_.samples + run.total().samples - before.samples;
    const std::optional<int64_t>& limit = options_.budget.iterations;
    // A draw is whole: samples that no update learns from would be lost to a later training.
    if (limit && drawn + settings_.Integer("update") > *limit &&
        run.total().samples == before.samples) {
      return false;
    }
    if (!run.Advance(kMaxQuantity) || options_.budget.Expired()) return false;
  } while (!run.AtUpdate());
  const SampleCounts& now = run.total();
  progress_.update_samples = now.samples - before.samples;
  progress_.update_invalid = now.invalid - before.invalid;
  progress_.samples += progress_.update_samples;
  progress_.samples_here += progress_.update_samples;
  progress_.invalid += progress_.update_invalid;
  const int64_t fitting = progress_.update_samples - progress_.update_invalid;
  progress_.mean_seconds =
      fitting > 0 ? (now.seconds - before.seconds) / static_cast<double>(fitting) : 0;
  progress_.entropy = run.last_update().entropy;
  progress_.problem = turn;
  progress_.evaluating += now.evaluating - before.evaluating;
  progress_.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  ++progress_.updates;
  Store();
  return true;
}

}  // namespace placewright
