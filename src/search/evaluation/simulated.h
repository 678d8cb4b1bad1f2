// Candidates evaluated by the event simulator (docs/simulator.md): every step time and memory peak
// is modelled from the problem's costs. Of `search` only this and step_packer.h know the simulator.
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
struct PackedStep;
struct SimGraph;

// `problem` must outlive it. `threads` share out a batch and never change a result.
std::unique_ptr<Evaluator> MakeSimulatedEvaluator(const Problem& problem, int threads = 1);

// A step compiled by layouts. Errors: those of CompileStep.
Result<Evaluation> EvaluateLayouts(const LayoutProblem& problem, const DistributionSpec& spec);
Result<Evaluation> EvaluateLayouts(const LayoutProblem& problem, const Layouts& layouts,
                                   CompileOptions options);
struct CompiledStep;
Evaluation EvaluateStep(const CompiledStep& compiled, SchedulingPolicy policy);

// Steps for one cluster, packed one after the other.
class PackedEvaluator {
 public:
  // `graph` must outlive it: what Simulator::OfPackedSteps asks of one.
  explicit PackedEvaluator(const SimGraph& graph);
  ~PackedEvaluator();

  // `packed` is swapped with the step before. `placement`: of its ops, as CheckPlacementLegal would accept it. With a
  // limit or by critical path the graph has its paths.
  Evaluation Evaluate(PackedStep& packed, const Placement& placement, SchedulingPolicy policy,
                      Nanos abandon_above);

 private:
  std::unique_ptr<Simulator> simulator_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_EVALUATION_SIMULATED_H_
