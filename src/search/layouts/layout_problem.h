// What a search over layouts may look at: the step, its named axes, and what parts of it cost.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_PROBLEM_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_PROBLEM_H_

#include "base/result.h"
#include "compile/compiler.h"
#include "cost/communication.h"
#include "cost/cost_model.h"
#include "plan/layout_spec.h"
#include "plan/schedule.h"
#include "search/evaluator.h"
#include "sharding/named_axes.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

// Graph, cluster and costs must outlive it.
struct LayoutProblem {
  LayoutProblem(const Graph& step, const Cluster& machines, const CostTable& whole_costs,
                CostOptions options, SchedulingPolicy order)
      : graph(step),
        cluster(machines),
        costs(whole_costs),
        cost_options(std::move(options)),
        policy(order),
        axes(step),
        communication(machines, cost_options.measured_collectives) {}

  const Graph& graph;
  const Cluster& cluster;
  const CostTable& costs;  // of ops that are not split
  const CostOptions cost_options;
  const SchedulingPolicy policy;
  const NamedAxes axes;
  const Communication communication;
  bool local_batch_norm = false;  // what planners ask for
};

// A step with everything that it takes to simulate it.
struct CompiledStep {
  DistributedStep step;
  CostTable costs;
  CostModelReport report;
  SimGraph sim_graph;
};

// Errors: those of ResolveLayouts, Compile, CostsOfStep; kUnreachable where devices that have to exchange
// something cannot.
Result<CompiledStep> CompileStep(const LayoutProblem& problem, const DistributionSpec& spec);

// As simulated. The same errors.
Result<Evaluation> EvaluateLayouts(const LayoutProblem& problem, const DistributionSpec& spec);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_PROBLEM_H_
