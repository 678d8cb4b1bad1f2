// TAG's search over strategies (Zhang et al., sec. 4.2): Monte-Carlo tree search (tree.h) over slices (slices.h) of units
// (strategies.h), with the prior of floors (floor_prior.h), a uniform one, or that of a
// network (network.h).
//
//   reward  r = T_base / T - 1 of the simulated step time T, at most 8; -1 where the strategy does not fit, cannot be
//           compiled, or takes more than 8 T_base
//   T_base  of data parallelism over all devices with AllReduce; where it does not fit, as if it did. It is looked at
//           first, and with it data parallelism by speed, in buckets and late, which strategies do not have (a setting):
//           the plan is never worse than these
//   plan    the best strategy looked at, by any score (search/evaluator.h). Every 200 strategies, and at the end, gradients
//           of the best are made of gathered factors where the step is faster for it (search/sfb)
//
// Strategies that come to one state are simulated once. A strategy looked at is a move, simulated or not.
//
// Deviations: half of every prior is even, so that no slice is left out by what is expected of it; exploration is 3, where
// the paper gives nothing and the authors' code has sqrt(actions / 10); there rewards above 1 are taken to the fourth root,
// and the base is the model-parallel plan where data parallelism does not fit. Values are scaled, and untried actions
// stand at their vertex's own (tree.h). The paper looks for factors in every strategy; here not in the tree, but of the best
// three every 200 moves, and of the best at the end. A unit is idle before its output goes on until its reader starts
// (features.h), where the paper has when each transfer starts.
#ifndef PLACEWRIGHT_SEARCH_TAG_MCTS_PLANNER_H_
#define PLACEWRIGHT_SEARCH_TAG_MCTS_PLANNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "search/agent_settings.h"
#include "search/planner.h"
#include "search/tag/network.h"
#include "search/tag/strategy_game.h"
#include "search/tag/tree.h"

namespace placewright {

struct MctsOptions {
  enum class Prior : uint8_t { kFloor, kUniform, kNetwork };
  Prior prior = Prior::kFloor;
  std::shared_ptr<const TagNetwork> network;  // of kNetwork
  bool untrained = false;                     // whether that has its first values
  bool feedback = true;                       // whether the network sees what simulated steps did
  TagView view = TagView::kOwn;
  StrategyGameOptions game;
  TreeOptions tree;
  bool starts = true;  // whether data parallelism by speed, in buckets and late is looked at first
  bool sfb = true;
  bool late_base =
      false;  // T_base is of gradients reduced behind the backward pass (data-parallel-late)
};

// Those that the search has whatever its prior, and what they come to: all but the prior.
const std::vector<AgentSetting>& MctsSearchSettings();
MctsOptions MctsOptionsOf(const AgentSettings& settings);

Result<std::unique_ptr<PlannerRun>> StartMcts(const Problem& problem, Evaluator& evaluator,
                                              const PlannerOptions& options,
                                              const MctsOptions& mcts, std::string_view name);

class MctsPlanner : public IterativePlanner {
 public:
  explicit MctsPlanner(std::vector<std::string> settings = {}) : settings_(std::move(settings)) {}
  std::string_view name() const override { return "mcts"; }
  std::string_view description() const override {
    return "tree search over strategies of groups of ops and devices (TAG, sec. 4.2)";
  }
  const SettableAlgorithm* settable() const override;
  PlanSpace space() const override { return PlanSpace::kReplicated; }
  bool in_auto() const override { return false; }
  Result<std::unique_ptr<PlannerRun>> Start(const Problem& problem, Evaluator& evaluator,
                                            const PlannerOptions& options) const override;

 private:
  const std::vector<std::string> settings_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TAG_MCTS_PLANNER_H_
