// Trains one policy on several problems: runs that share parameters and optimizer, an update each
// in turn, or one of all at once.
#ifndef PLACEWRIGHT_LEARN_PLANNER_SHARED_TRAINING_H_
#define PLACEWRIGHT_LEARN_PLANNER_SHARED_TRAINING_H_

#include <memory>
#include <vector>

#include "learn/planner/learned_run.h"
#include "torch_api/policy_training.h"

namespace placewright {

class SharedTraining : public PolicyTraining {
 public:
  // Errors: those of MakeParameters, MakeAgent and LearnedRun::Restore; kPlanMismatch (settings,
  // seed or number of problems of a training that goes on).
  static Result<std::unique_ptr<PolicyTraining>> Start(const AgentSettings& settings,
                                                       const TrainingRequest& request);

  bool Advance() override;
  TrainingProgress progress() const override { return progress_; }
  const PlannerResult& result(size_t problem) const override { return runs_[problem]->result(); }
  const StoredPolicy& stored() const override { return stored_; }

 private:
  SharedTraining(AgentSettings settings, const TrainingRequest& request);

  Status Build(const StoredPolicy* start, bool resume);
  Status Restore(const StoredPolicy& stored);
  void Store();
  // A step toward the teacher's plan of each problem; before the first update. False where the budget
  // ended it.
  bool Lesson();
  int64_t lessons() const { return settings_.Has("lessons") ? settings_.Integer("lessons") : 0; }

  const AgentSettings settings_;
  const std::vector<TrainingProblem> problems_;
  const PlannerOptions options_;
  std::shared_ptr<Parameters> parameters_;
  std::shared_ptr<PolicyOptimizer> optimizer_;
  std::vector<std::unique_ptr<LearnedRun>> runs_;
  const Clock::time_point started_ = Clock::now();
  TrainingProgress progress_;
  StoredPolicy stored_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_PLANNER_SHARED_TRAINING_H_
