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
#include "plan/schedule.h"
#include "plan/step_plan.h"
#include "sharding/named_axes.h"
#include "transforms/transforms.h"

namespace placewright {

// The step after its transforms (transforms/transforms.h), so that `graph` may have more ops than what it was made of.
struct LayoutProblem {
  // `step` and `cluster` must outlive it. Errors: those of ApplyTransforms and ModelCosts.
  static Result<std::unique_ptr<LayoutProblem>> Make(const Graph& step, const Cluster& cluster,
                                                     CostOptions cost_options,
                                                     SchedulingPolicy policy);
  LayoutProblem(const LayoutProblem&) = delete;
  LayoutProblem& operator=(const LayoutProblem&) = delete;

  bool HasBatchNorms() const;  // in training: what their statistics are of makes a difference

 private:
  const std::unique_ptr<const Graph> transformed_;  // nullptr: the step as it is

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
  // Where the graph has some micro-batches of the step alone: how many times as many the step has.
  double unwritten = 1;

 private:
  LayoutProblem(const Graph& step, std::unique_ptr<const Graph> transformed,
                const Cluster& machines, CostTable whole, CostOptions options,
                SchedulingPolicy order);
};

// Whether a plan that states transforms is of this problem's step: they are those that made it. Errors: kField.
Status CheckTransforms(const LayoutProblem& problem, const std::optional<Transforms>& stated);

// Of a plan that a search starts from: batch norms as the problem has them, and what was decided of gradients open
// again.
StepSwitches AsStart(const LayoutProblem& problem, StepSwitches switches);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROBLEM_LAYOUT_PROBLEM_H_
