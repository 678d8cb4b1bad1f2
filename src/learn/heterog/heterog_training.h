// Trains one policy of `heterog` on several steps, an update each in turn, as its authors train it on all models of one
// cluster (TAG, sec. 5.2).
#ifndef PLACEWRIGHT_LEARN_HETEROG_HETEROG_TRAINING_H_
#define PLACEWRIGHT_LEARN_HETEROG_HETEROG_TRAINING_H_

#include <memory>
#include <vector>

#include "learn/heterog/heterog_learner.h"
#include "learn/tag/tag_parameters.h"
#include "torch_api/policy_training.h"

namespace placewright {

class HeterogTraining : public PolicyTraining {
 public:
  // Errors: those of HeterogLearner::Make and TrainedTagNetwork::Make; kPlanMismatch (settings, seed or number of problems
  // of a training that goes on), kField (its state is damaged).
  static Result<std::unique_ptr<PolicyTraining>> Start(const AgentSettings& settings,
                                                       const TrainingRequest& request);

  bool Advance() override;
  TrainingProgress progress() const override { return progress_; }
  const PlannerResult& result(size_t problem) const override { return problems_[problem]->result; }
  const StoredPolicy& stored() const override { return stored_; }

 private:
  struct OfProblem {
    LayoutBook book;
    std::unique_ptr<HeterogLearner> learner;
    PlannerResult result;  // without a plan
  };

  HeterogTraining(AgentSettings settings, const TrainingRequest& request)
      : settings_(std::move(settings)), options_(request.options) {}
  Status Build(const TrainingRequest& request);
  Status Restore(const StoredPolicy& stored);
  void Store();

  const AgentSettings settings_;
  const PlannerOptions options_;
  TrainedTagNetwork network_;
  std::vector<std::unique_ptr<OfProblem>> problems_;
  const Clock::time_point started_ = Clock::now();
  TrainingProgress progress_;
  StoredPolicy stored_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_HETEROG_HETEROG_TRAINING_H_
