#include "search/evaluation/simulated_layouts.h"

#include <algorithm>
#include <utility>

#include "compile/array_passes.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/simulated_arrays.h"
#include "sharding/separable_results.h"

namespace placewright {
namespace {

// Whether some op makes gradients that two could.
bool HasSeparable(const Graph& graph) {
  for (const OpId op : graph.ops()) {
    if (SeparableResults(graph.op(op))) return true;
  }
  return false;
}

}  // namespace

struct LayoutEvaluator::State {
  explicit State(const LayoutProblem& of)
      : problem(of),
        suffices(Suffices(of)),
        separable(HasSeparable(of.graph)),
        prices(of.cluster, of.cost_options, of.graph.batch()),
        sim_graph(of.communication, prices) {}

  Result<Evaluation> Pass(const Layouts& layouts, const CompileOptions& options,
                          Nanos abandon_above) {
    if (options.fusion > Bytes(0)) {
      if (!FuseAllReduces(problem.graph, options.fusion, prices, arrays)) {
        return EvaluateLayouts(problem, layouts, options);
      }
      PW_RETURN_IF_ERROR(prices.PriceNew());
    }
    PW_RETURN_IF_ERROR(sim_graph.Fill(arrays));
    return EvaluateGraph(sim_graph.sim_graph(), sim_graph.placement(), problem.policy,
                         abandon_above);
  }

  const LayoutProblem& problem;
  const bool suffices, separable;
  PartPrices prices;
  StepArrays arrays, together;
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
  if (!state.separable) return state.Pass(layouts, options, abandon_above);
  // Both ways, as CompileStep has it.
  state.together = state.arrays;
  if (!SeparateGradients(state.prices, state.arrays))
    return state.Pass(layouts, options, abandon_above);
  PW_ASSIGN(Evaluation apart, state.Pass(layouts, options, abandon_above));
  std::swap(state.arrays, state.together);
  PW_ASSIGN(Evaluation together, state.Pass(layouts, options, abandon_above));
  return apart.score() < together.score() ? apart : together;
}

}  // namespace placewright
