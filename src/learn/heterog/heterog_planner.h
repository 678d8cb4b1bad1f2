// `heterog` as a planner: its policy is trained on the problem itself, and the plan is the best strategy that it drew, or
// data parallelism, which rewards are relative to. A strategy drawn is a move.
//
// With a stored policy (`train heterog`) it begins with what that finds likeliest, which is no move, and goes on learning.
#ifndef PLACEWRIGHT_LEARN_HETEROG_HETEROG_PLANNER_H_
#define PLACEWRIGHT_LEARN_HETEROG_HETEROG_PLANNER_H_

#include <memory>
#include <string_view>
#include <utility>

#include "plan/stored_policy.h"
#include "search/agent_settings.h"
#include "search/planner.h"

namespace placewright {

class HeterogPlanner : public IterativePlanner {
 public:
  // `policy`: to start from; may be nullptr.
  explicit HeterogPlanner(AgentSettings settings, std::shared_ptr<const StoredPolicy> policy)
      : settings_(std::move(settings)), policy_(std::move(policy)) {}
  std::string_view name() const override { return settings_.algorithm().name; }
  std::string_view description() const override { return settings_.algorithm().description; }
  PlanSpace space() const override { return PlanSpace::kReplicated; }
  bool in_auto() const override { return false; }
  bool on_calling_thread() const override { return true; }  // METIS makes its units
  // Errors: those of HeterogLearner::Make; kPlanMismatch (a policy of another network).
  Result<std::unique_ptr<PlannerRun>> Start(const Problem& problem, Evaluator& evaluator,
                                            const PlannerOptions& options) const override;

 private:
  const AgentSettings settings_;
  const std::shared_ptr<const StoredPolicy> policy_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_HETEROG_HETEROG_PLANNER_H_
