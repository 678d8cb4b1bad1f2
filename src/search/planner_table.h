// The table of planners that need no LibTorch, and `auto`, which runs a table.
#ifndef PLACEWRIGHT_SEARCH_PLANNER_TABLE_H_
#define PLACEWRIGHT_SEARCH_PLANNER_TABLE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/stored_policy.h"
#include "search/planner.h"
#include "search/proof/plan_source.h"

namespace placewright {

// Shared: users of the library may hand in planners of their own, for several tables.
using PlannerTable = std::vector<std::shared_ptr<const Planner>>;

// With what the planners are built.
struct PlannerSettings {
  std::optional<Placement> expert;  // --expert: what the planner `expert` gives
  std::vector<std::string> agent;   // --set: settings of the planner asked for, "NAME=VALUE"
  std::shared_ptr<const StoredPolicy> policy;  // --policy: what a learned planner starts from
  std::string policy_file;                     // what errors about it name
  bool untrained =
      false;  // --policy none: from no policy, not even one that comes with the program
};
// In the order in which tables print them; `auto` is not among them.
PlannerTable MakeSearchPlanners(const PlannerSettings& settings = {});
// Those whose plans split or copy ops (PlanSpace::kReplicated), which need Problem::layouts.
PlannerTable MakeLayoutPlanners(const PlannerSettings& settings = {});

// Whether it is a strategy that engines train by, with micro-batches and recomputation as it needs them: on meshes (fsdp,
// 2d, ...), in pipelines, ddp or offload. Not data parallelism and other baselines of papers, which rewrite no step.
bool IsTrainingStrategy(std::string_view algorithm);
// Whether its plan is the best of many that an engine can say (fsdp2, tp), not one that is laid out.
bool TriesUnits(std::string_view algorithm);

// `auto` over a table, which must outlive it: runs the constructive planners, then shares the
// budget out among the iterative ones, slice by slice: each time to that with the fewest moves, the
// first of equals. The budget's iterations are theirs together. Planners with another in_auto() are
// left out, those that split or copy ops run beside and behind them,
// where the problem allows it. Its result is at most every entry of its own baselines.
std::unique_ptr<Planner> MakeAuto(const PlannerTable& table);

// The plans of the constructive planners of a table that `auto` would run, for proofs. All of them place ops whole. The
// table must outlive it. Without plans once the budget has expired.
PlanSource ConstructivePlans(const PlannerTable& table, const Budget& budget = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PLANNER_TABLE_H_
