// Candidates evaluated by the event simulator (docs/simulator.md): every step time and memory peak
// is modelled from the problem's costs. Of `search` only this and step_packer.h know the simulator.
#ifndef PLACEWRIGHT_SEARCH_EVALUATION_SIMULATED_H_
#define PLACEWRIGHT_SEARCH_EVALUATION_SIMULATED_H_

#include <memory>

#include "base/stop_check.h"
#include "search/evaluator.h"
#include "search/problem/problem.h"

namespace placewright {

class Simulator;
struct PackedStep;
struct SimGraph;
struct SimResult;

// `problem` must outlive it. `threads` share out a batch and never change a result. `stop`: plans of a problem with layouts
// that it gives up are errors (kCancelled).
std::unique_ptr<Evaluator> MakeSimulatedEvaluator(const Problem& problem, int threads = 1,
                                                  StopCheck stop = {});

// What a run of the simulator says, without feedback.
Evaluation EvaluationOf(const SimResult& result);
// Without instances. Precondition: the run had feedback; the schedule is that of the run, if it had one.
Feedback FeedbackOf(const SimResult& result);

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
  // With feedback; its instances have no origin. The evaluation is not abandoned.
  Evaluation EvaluateWithFeedback(PackedStep& packed, const Placement& placement,
                                  SchedulingPolicy policy);

 private:
  std::unique_ptr<Simulator> simulator_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_EVALUATION_SIMULATED_H_
