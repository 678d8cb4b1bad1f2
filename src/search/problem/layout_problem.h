// What a search over layouts may look at: the step, its named axes, and what parts of it cost.
#ifndef PLACEWRIGHT_SEARCH_PROBLEM_LAYOUT_PROBLEM_H_
#define PLACEWRIGHT_SEARCH_PROBLEM_LAYOUT_PROBLEM_H_

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "cost/communication.h"
#include "cost/cost_model.h"
#include "graph/partition/tag_groups.h"
#include "plan/layout_spec.h"
#include "plan/schedule.h"
#include "plan/step_plan.h"
#include "sharding/named_axes.h"

namespace placewright {

// Of random draws, in every plan.
inline constexpr uint64_t kDrawSeed = 0;

// The step's random draws are rewritten to count (compile/counter_draws.h), so that `graph` may have one op
// more than what it was made of; all others keep their ids, groups and names.
struct LayoutProblem {
  // `step` and `cluster` must outlive it. Errors: those of UseCounterBasedDraws and ModelCosts.
  static Result<std::unique_ptr<LayoutProblem>> Make(const Graph& step, const Cluster& cluster,
                                                     CostOptions cost_options,
                                                     SchedulingPolicy policy);
  LayoutProblem(const LayoutProblem&) = delete;
  LayoutProblem& operator=(const LayoutProblem&) = delete;

  bool HasBatchNorms() const;  // in training: what their statistics are of makes a difference

 private:
  const std::unique_ptr<const Graph> counted_;  // nullptr: the step draws nothing

 public:
  const Graph& graph;
  const Cluster& cluster;
  const CostTable costs;  // of ops that are not split
  const CostOptions cost_options;
  const SchedulingPolicy policy;
  const NamedAxes axes;
  const Communication communication;
  // What planners ask for.
  bool local_batch_norm = false;
  int units = kTagParts;  // that a search moves as one, at most

 private:
  LayoutProblem(const Graph& step, std::unique_ptr<const Graph> counted, const Cluster& machines,
                CostTable whole, CostOptions options, SchedulingPolicy order);
};

// The plan that the words of a layout file say. Errors: those of ResolveLayouts.
Result<StepPlan> ResolvePlan(const LayoutProblem& problem, const DistributionSpec& spec);
// The words for a plan, with as few lines as modules allow. Resolved, every group lies as it does in the plan.
DistributionSpec StatePlan(const LayoutProblem& problem, const StepPlan& plan);
// Of a plan that a search starts from: batch norms as the problem has them, and what was decided of gradients open
// again.
StepSwitches AsStart(const LayoutProblem& problem, StepSwitches switches);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROBLEM_LAYOUT_PROBLEM_H_
