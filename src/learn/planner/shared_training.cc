#include "learn/planner/shared_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "learn/features/vocabulary.h"
#include "learn/store/stored_training.h"

namespace placewright {
namespace {

std::string PrefixOf(size_t problem) { return fmt::format("problem{}.", problem); }

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
    if (!runs_.empty()) options.seed = Random(options_.seed).Fork(runs_.size()).Next();
    PW_ASSIGN(
        std::unique_ptr<LearnedRun> run,
        LearnedRun::Build(settings_, *problem.problem, *problem.evaluator, options, parameters_));
    runs_.push_back(std::move(run));
  }
  optimizer_ = MakeOptimizer(settings_, parameters_);
  if (settings_.Is("graphs", "together")) {
    for (const auto& run : runs_) run->WaitForOthers();
  }
  for (const auto& run : runs_) run->Begin(optimizer_, start != nullptr && !resume);
  if (resume) PW_RETURN_IF_ERROR(Restore(*start));
  for (const auto& run : runs_) {
    if (progress_.lessons >= lessons()) break;
    PW_RETURN_IF_ERROR(run->FindTeachersPlans(settings_.Integer("teacher")));
  }
  Store();
  return Ok();
}

Status SharedTraining::Restore(const StoredPolicy& stored) {
  const StateReader state(stored, "");
  PW_RETURN_IF_ERROR(CheckStoredTraining(settings_, stored, options_.seed, runs_.size()));
  PW_ASSIGN(progress_.updates, state.Integer("updates"));
  PW_ASSIGN(progress_.lessons, state.Integer("lessons"));
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
  StoreTraining(options_.seed, runs_.size(), state);
  state.Integer("updates", progress_.updates);
  state.Integer("lessons", progress_.lessons);
  for (size_t i = 0; i < runs_.size(); ++i) {
    StateWriter of_run(stored_, PrefixOf(i));
    runs_[i]->Store(of_run);
  }
  StateWriter of_optimizer(stored_, "optimizer.");
  optimizer_->Store(of_optimizer);
}

bool SharedTraining::Lesson() {
  if (options_.budget.Expired()) return false;
  LearnedRun::LearnFromTeachers(runs_);
  if (++progress_.lessons == lessons()) optimizer_->Reset();
  progress_.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  Store();
  return true;
}

bool SharedTraining::Advance() {
  progress_.last.clear();
  if (progress_.lessons < lessons()) return Lesson();
  const bool together = settings_.Is("graphs", "together");
  std::vector<size_t> turns;
  if (together) {
    for (size_t i = 0; i < runs_.size(); ++i) turns.push_back(i);
  } else {
    turns.push_back(static_cast<size_t>(progress_.updates) % runs_.size());
  }
  // What is drawn is whole: samples that no update learns from would be lost to a later training.
  const auto wanted = static_cast<int64_t>(turns.size()) * settings_.Integer("update");
  const std::optional<int64_t>& limit = options_.budget.iterations;
  if (limit && progress_.samples + wanted > *limit) return false;
  std::vector<SampleCounts> before;
  for (const size_t turn : turns) {
    LearnedRun& run = *runs_[turn];
    before.push_back(run.total());
    do {
      if (!run.Advance(kMaxQuantity) || options_.budget.Expired()) return false;
    } while (together ? !run.UpdateIsDue() : !run.AtUpdate());
  }
  if (together) {
    LearnedRun::LearnTogether(runs_, options_.budget);
    if (options_.budget.Expired()) return false;
  }
  for (size_t i = 0; i < turns.size(); ++i) {
    const LearnedRun& run = *runs_[turns[i]];
    progress_.AddUpdate(turns[i], before[i], run.total(), run.last_update().entropy);
  }
  progress_.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  Store();
  return true;
}

}  // namespace placewright
