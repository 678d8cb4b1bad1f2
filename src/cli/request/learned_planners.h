// The learned planners as entries of the program's table; those that need LibTorch open it only to
// plan or to train.
#ifndef PLACEWRIGHT_CLI_REQUEST_LEARNED_PLANNERS_H_
#define PLACEWRIGHT_CLI_REQUEST_LEARNED_PLANNERS_H_

#include <memory>
#include <string>

#include "search/planner_table.h"
#include "torch_api/policy_training.h"
#include "torch_api/torch_library.h"

namespace placewright {

// One for each of LearnedAlgorithms(). Their errors are, besides those of the planner, those of opening the
// library.
PlannerTable LearnedPlanners(const PlannerSettings& settings = {});

// A training, and the library that it lives in, if it lives in one.
struct OpenTraining {
  std::shared_ptr<const TorchLibrary> library;  // closed last
  std::unique_ptr<PolicyTraining> training;
};
// How trainings of one algorithm begin. Errors of making it: those of opening LibTorch.
class TrainingStarter {
 public:
  static Result<TrainingStarter> Make(const LearnedAlgorithm& algorithm);
  // Errors: those of PlannerService::StartTraining and StartPlacetoTraining.
  Result<OpenTraining> Start(const AgentSettings& settings, const TrainingRequest& request) const;

 private:
  std::shared_ptr<const TorchLibrary> library_;  // nullptr: none is needed
};

// Errors: kUsage where `settings` are stated for a planner that has none, or are not its own.
Status CheckAgentSettings(const Planner& planner, const PlannerSettings& settings);

// --policy: loads it into `settings`. Where `policy` is empty, the one that comes with the program for
// this planner, if there is one that serves any cluster and agrees with the settings; none where it is
// "none". The path of what was loaded, else "". Errors: kUsage where the planner has none; those of LoadNamedPolicy.
Result<std::string> LoadAgentPolicy(std::string_view algorithm, const std::string& policy,
                                    PlannerSettings* settings);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_LEARNED_PLANNERS_H_
