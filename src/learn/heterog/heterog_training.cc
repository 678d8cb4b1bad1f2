#include "learn/heterog/heterog_training.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/check.h"
#include "learn/store/stored_training.h"

namespace placewright {
namespace {

std::string ProblemPrefix(size_t problem) { return fmt::format("problem{}.", problem); }

}  // namespace

Result<std::unique_ptr<PolicyTraining>> HeterogTraining::Start(const AgentSettings& settings,
                                                               const TrainingRequest& request) {
  PW_CHECK(!request.problems.empty());
  std::unique_ptr<HeterogTraining> training(new HeterogTraining(settings, request));
  PW_RETURN_IF_ERROR(training->Build(request));
  return std::unique_ptr<PolicyTraining>(std::move(training));
}

Status HeterogTraining::Build(const TrainingRequest& request) {
  PW_ASSIGN(network_, TrainedTagNetwork::Make(settings_, options_.seed, request.start));
  for (const TrainingProblem& problem : request.problems) {
    OfProblem& own = *problems_.emplace_back(std::make_unique<OfProblem>());
    const uint64_t seed = Random(options_.seed).Fork(problems_.size()).Next();
    PW_ASSIGN(own.learner, HeterogLearner::Make(settings_, *problem.problem, *problem.evaluator,
                                                own.book, options_.budget, seed, *network_.network,
                                                network_.parameters->options()));
    own.result.algorithm = settings_.algorithm().name;
    own.learner->SetOnScored([&own](const LayoutState&, const Score& score, int64_t) {
      const bool better =
          score.feasible && (!own.result.feasible || score.step_time < own.result.step_time.count);
      if (better) own.result.step_time = Nanos(score.step_time);
      own.result.feasible = own.result.feasible || score.feasible;
    });
  }
  if (request.resume) PW_RETURN_IF_ERROR(Restore(*request.start));
  Store();
  return Ok();
}

Status HeterogTraining::Restore(const StoredPolicy& stored) {
  const StateReader state(stored, "");
  PW_RETURN_IF_ERROR(CheckStoredTraining(settings_, stored, options_.seed, problems_.size()));
  PW_ASSIGN(progress_.updates, state.Integer("updates"));
  for (size_t i = 0; i < problems_.size(); ++i) {
    OfProblem& own = *problems_[i];
    const StateReader of_problem(stored, ProblemPrefix(i));
    PW_RETURN_IF_ERROR(own.learner->Restore(of_problem));
    PW_ASSIGN(const int64_t feasible, of_problem.Integer("feasible"));
    PW_ASSIGN(const int64_t step_time, of_problem.Integer("step_time"));
    own.result.feasible = feasible != 0;
    own.result.step_time = Nanos(step_time);
    own.result.iterations = own.learner->total().samples;
    progress_.samples += own.learner->total().samples;
    progress_.invalid += own.learner->total().invalid;
  }
  return network_.optimizer->Restore(StateReader(stored, "optimizer."));
}

void HeterogTraining::Store() {
  stored_ = {};
  network_.Store(settings_, stored_);
  StateWriter state(stored_, "");
  StoreTraining(options_.seed, problems_.size(), state);
  state.Integer("updates", progress_.updates);
  for (size_t i = 0; i < problems_.size(); ++i) {
    StateWriter of_problem(stored_, ProblemPrefix(i));
    problems_[i]->learner->Store(of_problem);
    of_problem.Integer("feasible", problems_[i]->result.feasible ? 1 : 0);
    of_problem.Integer("step_time", problems_[i]->result.step_time.count);
  }
}

bool HeterogTraining::Advance() {
  progress_.last.clear();
  const size_t turn = static_cast<size_t>(progress_.updates) % problems_.size();
  // What is drawn is whole: samples that no update learns from would be lost to a later training.
  const std::optional<int64_t>& limit = options_.budget.iterations;
  if (limit && progress_.samples + settings_.Integer("update") > *limit) return false;
  OfProblem& own = *problems_[turn];
  const SampleCounts before = own.learner->total();
  while (!own.learner->UpdateIsDue()) {
    if (own.learner->Sample(kMaxQuantity) == 0) return false;
  }
  if (options_.budget.Expired()) return false;
  const double entropy = own.learner->Learn(*network_.optimizer);
  own.result.iterations = own.learner->total().samples;
  progress_.AddUpdate(turn, before, own.learner->total(), entropy);
  progress_.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  Store();
  return true;
}

}  // namespace placewright
