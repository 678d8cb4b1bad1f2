// Planners that need LibTorch (`learn`): what the program asks of them, without LibTorch.
#ifndef PLACEWRIGHT_TORCH_API_PLANNER_SERVICE_H_
#define PLACEWRIGHT_TORCH_API_PLANNER_SERVICE_H_

#include "search/planner_table.h"
#include "torch_api/policy_training.h"

namespace placewright {

class PlannerService {
 public:
  virtual ~PlannerService() = default;
  // A new planner of LearnedAlgorithms(), by name. It is to be destroyed before the library is
  // closed. Errors: kUnknownName; those of AgentSettings::Parse.
  virtual Result<std::unique_ptr<Planner>> MakePlanner(std::string_view algorithm,
                                                       const PlannerSettings& settings) const = 0;
  // Begins to train. Errors: those of AgentSettings::Parse and of stored policies (kPlanMismatch).
  virtual Result<std::unique_ptr<PolicyTraining>> StartTraining(
      const AgentSettings& settings, const TrainingRequest& request) const = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_PLANNER_SERVICE_H_
