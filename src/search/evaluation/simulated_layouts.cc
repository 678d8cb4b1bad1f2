#include "search/evaluation/simulated_layouts.h"

#include <optional>
#include <utility>
#include <vector>

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

  // The one for these options.
  ArrayWriter& WriterFor(const CompileOptions& options) {
    for (const auto& [of, writer] : writers) {
      const bool same =
          of.collectives == options.collectives && of.broadcasts == options.broadcasts;
      if (same && of.batch_norm_local == options.batch_norm_local) return *writer;
    }
    writers.emplace_back(
        options, std::make_unique<ArrayWriter>(problem.graph, problem.axes, options, prices));
    return *writers.back().second;
  }

  Result<Evaluation> Evaluate(const Layouts& layouts, const CompileOptions& options,
                              Nanos abandon_above) {
    ArrayWriter& writer = WriterFor(options);
    PW_RETURN_IF_ERROR(writer.Write(layouts));
    PW_RETURN_IF_ERROR(prices.PriceNew());
    // Both ways, as CompileStep has it.
    std::optional<Evaluation> apart;
    if (separable) {
      ArrayChanges changes(writer);
      if (SeparateGradients(prices, writer, changes)) {
        PW_ASSIGN(apart, Simulate(layouts, options, abandon_above, writer, changes));
      }
    }
    ArrayChanges changes(writer);
    PW_ASSIGN(Evaluation together, Simulate(layouts, options, abandon_above, writer, changes));
    return apart && apart->score() < together.score() ? *std::move(apart) : std::move(together);
  }

  Result<Evaluation> Simulate(const Layouts& layouts, const CompileOptions& options,
                              Nanos abandon_above, ArrayWriter& writer, ArrayChanges& changes) {
    const bool fuses = options.fusion > Bytes(0);
    if (fuses && !FuseAllReduces(options.fusion, prices, writer, changes)) {
      return EvaluateLayouts(problem, layouts, options);
    }
    PW_RETURN_IF_ERROR(prices.PriceNew());
    PW_RETURN_IF_ERROR(sim_graph.Fill(writer.arrays()));
    return EvaluateGraph(sim_graph.sim_graph(), sim_graph.placement(), problem.policy,
                         abandon_above);
  }

  const LayoutProblem& problem;
  const bool suffices, separable;
  PartPrices prices;
  std::vector<std::pair<CompileOptions, std::unique_ptr<ArrayWriter>>> writers;
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
  return state.Evaluate(layouts, options, abandon_above);
}

}  // namespace placewright
