// What a search over layouts may look at: the step, its named axes, and what parts of it cost.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_PROBLEM_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_PROBLEM_H_

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "compile/compiler.h"
#include "cost/communication.h"
#include "cost/cost_model.h"
#include "graph/partition/tag_groups.h"
#include "plan/layout_spec.h"
#include "plan/schedule.h"
#include "sharding/named_axes.h"
#include "sim/engine/sim_graph.h"

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

// A step with everything that it takes to simulate it.
struct CompiledStep {
  DistributedStep step;
  CostTable costs;
  CostModelReport report;
  SimGraph sim_graph;
  bool gradients_apart = false;  // of some op: what StepSwitches came to
};

// An op of a distributed step, and of which op of the original it is an instance, if of any.
struct TimedInstance {
  OpId origin;
  DeviceId device;
  Nanos time;
  friend auto operator<=>(const TimedInstance&, const TimedInstance&) = default;
};
std::vector<TimedInstance> InstancesOf(const CompiledStep& compiled);

// Gradients are made apart (compile/rewrites/separate_gradients.h) where the step is faster for it, or needs
// less memory that there is not; a step that has some is compiled and simulated both ways, unless the switches say
// which is the better one (LayoutEvaluator::gradients_apart). Errors: those of ResolveLayouts, Compile, CostsOfStep;
// kUnreachable where devices that have to exchange something cannot.
Result<CompiledStep> CompileStep(const LayoutProblem& problem, const DistributionSpec& spec);
// The same of layouts that are resolved.
Result<CompiledStep> CompileStep(const LayoutProblem& problem, const Layouts& layouts,
                                 CompileOptions options);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_PROBLEM_H_
