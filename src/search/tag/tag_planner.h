// TAG (Zhang et al.): the tree search of mcts_planner.h with the prior of a graph network (network.h) that was trained on
// other models and machines (`train tag`).
#ifndef PLACEWRIGHT_SEARCH_TAG_TAG_PLANNER_H_
#define PLACEWRIGHT_SEARCH_TAG_TAG_PLANNER_H_

#include <memory>
#include <string_view>

#include "search/agent_settings.h"
#include "search/planner_table.h"
#include "search/tag/features.h"
#include "search/tag/network.h"

namespace placewright {

// `tag` with its settings, those of its training included.
const SettableAlgorithm& TagAlgorithm();
TagNetworkSize TagSizeOf(const AgentSettings& settings);
TagView TagViewOf(const AgentSettings& settings);

class TagPlanner : public IterativePlanner {
 public:
  // `settings.policy`: what it follows; none and `untrained`: a network with first values, the control.
  explicit TagPlanner(PlannerSettings settings) : settings_(std::move(settings)) {}
  std::string_view name() const override { return TagAlgorithm().name; }
  std::string_view description() const override { return TagAlgorithm().description; }
  const SettableAlgorithm* settable() const override { return &TagAlgorithm(); }
  PlanSpace space() const override { return PlanSpace::kReplicated; }
  bool in_auto() const override { return false; }
  // Errors: those of MctsPlanner's; kUsage (no policy), kPlanMismatch and kField (a policy of another algorithm, or a
  // damaged one).
  Result<std::unique_ptr<PlannerRun>> Start(const Problem& problem, Evaluator& evaluator,
                                            const PlannerOptions& options) const override;

 private:
  const PlannerSettings settings_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TAG_TAG_PLANNER_H_
