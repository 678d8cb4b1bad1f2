// The learned algorithms as planners.
#ifndef PLACEWRIGHT_LEARN_PLANNER_LEARNED_PLANNER_H_
#define PLACEWRIGHT_LEARN_PLANNER_LEARNED_PLANNER_H_

#include <memory>

#include "plan/stored_policy.h"
#include "search/planner_table.h"
#include "torch_api/learned_algorithms.h"

namespace placewright {

class LearnedPlanner : public IterativePlanner {
 public:
  // `policy`: to start from.
  explicit LearnedPlanner(AgentSettings settings,
                          std::shared_ptr<const StoredPolicy> policy = nullptr)
      : settings_(std::move(settings)), policy_(std::move(policy)) {}

  std::string_view name() const override { return settings_.algorithm().name; }
  std::string_view description() const override { return settings_.algorithm().description; }
  bool in_auto() const override { return false; }           // what it learns takes minutes
  bool on_calling_thread() const override { return true; }  // METIS makes its units
  Result<std::unique_ptr<PlannerRun>> Start(const Problem& problem, Evaluator& evaluator,
                                            const PlannerOptions& options) const override;

 private:
  AgentSettings settings_;
  std::shared_ptr<const StoredPolicy> policy_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_PLANNER_LEARNED_PLANNER_H_
