// Candidates evaluated by the event simulator (docs/simulator.md): every step time and memory peak
// is modelled from the problem's costs. The only place in `search` that knows the simulator.
#ifndef PLACEWRIGHT_SEARCH_EVALUATION_SIMULATED_H_
#define PLACEWRIGHT_SEARCH_EVALUATION_SIMULATED_H_

#include <memory>

#include "base/result.h"
#include "compile/compiler.h"
#include "plan/layout.h"
#include "plan/layout_spec.h"
#include "search/evaluator.h"
#include "search/problem/problem.h"

namespace placewright {

class Simulator;

// `problem` must outlive it. `threads` share out a batch and never change a result.
std::unique_ptr<Evaluator> MakeSimulatedEvaluator(const Problem& problem, int threads = 1);

// A step compiled by layouts. Errors: those of CompileStep.
Result<Evaluation> EvaluateLayouts(const LayoutProblem& problem, const DistributionSpec& spec);
Result<Evaluation> EvaluateLayouts(const LayoutProblem& problem, const Layouts& layouts,
                                   CompileOptions options);
struct CompiledStep;
Evaluation EvaluateStep(const CompiledStep& compiled, SchedulingPolicy policy);

// Steps for one cluster, which are filled into one SimGraph one after the other.
class GraphEvaluator {
 public:
  // `graph` must outlive it; it is looked at by Evaluate alone.
  explicit GraphEvaluator(const SimGraph& graph);
  ~GraphEvaluator();

  // A placement of the graph's ops that CheckPlacementLegal accepts.
  Evaluation Evaluate(const Placement& placement, SchedulingPolicy policy,
                      Nanos abandon_above = Nanos(kMaxQuantity));

 private:
  const SimGraph& graph_;
  std::unique_ptr<Simulator> simulator_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_EVALUATION_SIMULATED_H_
