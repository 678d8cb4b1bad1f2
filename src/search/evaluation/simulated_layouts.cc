#include "search/evaluation/simulated_layouts.h"

#include <algorithm>
#include <utility>

#include "search/evaluation/simulated.h"
#include "search/layouts/simulated_arrays.h"

namespace placewright {

struct LayoutEvaluator::State {
  explicit State(const LayoutProblem& of)
      : problem(of),
        suffices(Suffices(of)),
        prices(of.cluster, of.cost_options, of.graph.batch()),
        sim_graph(of.communication, prices) {}

  Result<Evaluation> Simulate(Nanos abandon_above) {
    PW_RETURN_IF_ERROR(sim_graph.Fill(arrays));
    return EvaluateGraph(sim_graph.sim_graph(), sim_graph.placement(), problem.policy,
                         abandon_above);
  }

  const LayoutProblem& problem;
  const bool suffices;
  PartPrices prices;
  StepArrays arrays;
  ArraySimGraph sim_graph;
};

LayoutEvaluator::LayoutEvaluator(const LayoutProblem& problem)
    : state_(std::make_unique<State>(problem)) {}
LayoutEvaluator::~LayoutEvaluator() = default;

bool LayoutEvaluator::Suffices(const LayoutProblem& problem) {
  const Graph& graph = problem.graph;
  if (!problem.cost_options.overrides.empty() || problem.cost_options.profile != "default") {
    return false;
  }
  for (const TensorId id : graph.tensors()) {
    if (SizeOf(graph.tensor(id).dtype) == 0) return false;
  }
  for (const OpId op : graph.ops()) {
    if (!graph.op(op).after.empty()) return false;
  }
  return true;
}

Result<Evaluation> LayoutEvaluator::Evaluate(const Layouts& layouts, const CompileOptions& options,
                                             Nanos abandon_above) {
  State& state = *state_;
  if (!state.suffices) return EvaluateLayouts(state.problem, layouts, options);
  PW_RETURN_IF_ERROR(WriteArrays(state.problem.graph, state.problem.axes, layouts, options,
                                 state.prices, state.arrays));
  return state.Simulate(abandon_above);
}

}  // namespace placewright
