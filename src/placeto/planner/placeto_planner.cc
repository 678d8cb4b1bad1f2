#include "placeto/planner/placeto_planner.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "placeto/agent/stored_numbers.h"
#include "placeto/planner/placeto_run.h"

namespace placewright {
namespace {

const LearnedAlgorithm& Placeto() { return *FindLearnedAlgorithm(kPlacetoName); }

class PlacetoPlanner : public IterativePlanner {
 public:
  explicit PlacetoPlanner(PlannerSettings settings) : settings_(std::move(settings)) {}

  std::string_view name() const override { return kPlacetoName; }
  std::string_view description() const override { return Placeto().description; }
  const SettableAlgorithm* settable() const override { return &Placeto(); }
  bool in_auto() const override { return false; }           // what it learns takes minutes
  bool on_calling_thread() const override { return true; }  // METIS makes its units
  Result<std::unique_ptr<PlannerRun>> Start(const Problem& problem, Evaluator& evaluator,
                                            const PlannerOptions& options) const override {
    Result<std::unique_ptr<PlannerRun>> run = StartFrom(problem, evaluator, options);
    if (run.ok() || run.error().code != ErrorCode::kPlanMismatch) return run;
    return std::move(run).InFile(settings_.policy_file);
  }

 private:
  Result<std::unique_ptr<PlannerRun>> StartFrom(const Problem& problem, Evaluator& evaluator,
                                                const PlannerOptions& options) const {
    const StoredPolicy* const policy = settings_.policy.get();
    PW_ASSIGN(const AgentSettings settings,
              policy == nullptr ? AgentSettings::Parse(Placeto(), settings_.agent)
                                : AgentSettings::OfPolicy(Placeto(), *policy, settings_.agent));
    PW_ASSIGN(std::shared_ptr<PlacetoLearner> learner,
              MakePlacetoLearner(settings, problem.cluster->device_count(), options.seed, policy));
    PW_ASSIGN(std::unique_ptr<PlacetoRun> run,
              PlacetoRun::Start(
                  settings, problem, evaluator, options, std::move(learner),
                  policy == nullptr ? PlacetoRun::Use::kPlan : PlacetoRun::Use::kPlanByPolicy));
    return std::unique_ptr<PlannerRun>(std::move(run));
  }

  const PlannerSettings settings_;
};

std::string PrefixOf(size_t problem) { return fmt::format("problem{}.", problem); }

class PlacetoTraining : public PolicyTraining {
 public:
  PlacetoTraining(const AgentSettings& settings, const TrainingRequest& request)
      : settings_(settings), options_(request.options) {}

  Status Start(const TrainingRequest& request) {
    const size_t devices = request.problems.front().problem->cluster->device_count();
    PW_ASSIGN(learner_, MakePlacetoLearner(settings_, devices, options_.seed, request.start));
    for (const TrainingProblem& problem : request.problems) {
      PlannerOptions options = options_;
      options.budget.iterations.reset();  // they are counted over all problems
      PW_ASSIGN(std::unique_ptr<PlacetoRun> run,
                PlacetoRun::Start(settings_, *problem.problem, *problem.evaluator, options,
                                  learner_, PlacetoRun::Use::kTraining));
      if (!run->HasChoice()) {
        return MakeError(ErrorCode::kUsage,
                         fmt::format("\"{}\" has nothing to learn from: every unit has one device",
                                     Printable(problem.problem->graph->name())),
                         "", "Leave it out, or give a cluster with more devices.");
      }
      runs_.push_back(std::move(run));
    }
    if (request.resume) PW_RETURN_IF_ERROR(Restore(*request.start));
    Store();
    return Ok();
  }

  bool Advance() override {
    const size_t turn = static_cast<size_t>(progress_.updates) % runs_.size();
    PlacetoRun& run = *runs_[turn];
    const SampleCounts before = run.total();
    do {
      const int64_t evaluated = progress_.samples + run.total().samples - before.samples;
      const std::optional<int64_t>& limit = options_.budget.iterations;
      if ((limit && evaluated >= *limit) || options_.budget.Expired() || !run.Step()) return false;
    } while (!run.agent().AtEpisodeEnd());
    progress_.last.clear();
    progress_.AddUpdate(turn, before, run.total(), run.agent().entropy());
    progress_.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
    Store();
    return true;
  }

  TrainingProgress progress() const override { return progress_; }
  const PlannerResult& result(size_t problem) const override { return runs_[problem]->result(); }
  const StoredPolicy& stored() const override { return stored_; }

 private:
  void Store() {
    stored_ = {};
    stored_.algorithm = kPlacetoName;
    stored_.settings = {settings_.values().begin(), settings_.values().end()};
    learner_->Store(stored_, true);
    stored_.state["seed"] = fmt::to_string(options_.seed);
    stored_.state["problems"] = fmt::to_string(runs_.size());
    stored_.state["updates"] = fmt::to_string(progress_.updates);
    for (size_t i = 0; i < runs_.size(); ++i) runs_[i]->Store(PrefixOf(i), stored_);
  }

  Status Restore(const StoredPolicy& stored) {
    PW_ASSIGN(const uint64_t seed, StoredInteger(stored.state, "seed"));
    PW_ASSIGN(const uint64_t problems, StoredInteger(stored.state, "problems"));
    PW_ASSIGN(const uint64_t updates, StoredInteger(stored.state, "updates"));
    PW_RETURN_IF_ERROR(
        CheckSameTraining(settings_, stored, seed, options_.seed, problems, runs_.size()));
    PW_RETURN_IF_ERROR(learner_->Restore(stored, true));
    for (size_t i = 0; i < runs_.size(); ++i) {
      PW_RETURN_IF_ERROR(runs_[i]->Restore(PrefixOf(i), stored));
      progress_.samples += runs_[i]->total().samples;
      progress_.invalid += runs_[i]->total().invalid;
    }
    progress_.updates = static_cast<int64_t>(updates);
    return Ok();
  }

  const AgentSettings settings_;
  const PlannerOptions options_;
  std::shared_ptr<PlacetoLearner> learner_;
  std::vector<std::unique_ptr<PlacetoRun>> runs_;
  const Clock::time_point started_ = Clock::now();
  TrainingProgress progress_;
  StoredPolicy stored_;
};

}  // namespace

std::unique_ptr<Planner> MakePlacetoPlanner(const PlannerSettings& settings) {
  return std::make_unique<PlacetoPlanner>(settings);
}

Result<std::unique_ptr<PolicyTraining>> StartPlacetoTraining(const AgentSettings& settings,
                                                             const TrainingRequest& request) {
  PW_CHECK(!request.problems.empty());
  auto training = std::make_unique<PlacetoTraining>(settings, request);
  PW_RETURN_IF_ERROR(training->Start(request));
  return std::unique_ptr<PolicyTraining>(std::move(training));
}

}  // namespace placewright
