// A problem with everything that a plan of it is made with and held to.
#ifndef PLACEWRIGHT_PLANNING_PREPARED_PROBLEM_H_
#define PLACEWRIGHT_PLANNING_PREPARED_PROBLEM_H_

#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "planning/algorithms.h"
#include "search/evaluator.h"
#include "search/problem/problem.h"
#include "search/proof/bound.h"

namespace placewright {

struct ProblemSettings {
  Constraints constraints{};
  SchedulingPolicy policy = SchedulingPolicy::kFifo;
  int threads = 1;  // of the evaluator; never changes a result
  // Bytes that the simulator counts on every device and the graph's file does not: no proof that
  // nothing fits may rest on them.
  int64_t uncounted_bytes = 0;
  Budget advice{};  // of the plans by which a proof that nothing fits says what is missing
  // Where ops may be split or copied: a proof that no placement fits then ends nothing, one that no such plan
  // does ends as that does elsewhere.
  const LayoutProblem* layouts = nullptr;
};

// Not moved once made: parts refer to others.
class PreparedProblem {
 public:
  // Builds the problem, looks for proofs that no plan can exist, and bounds the step time. The
  // three must outlive it. Errors: kConstraint, kUnreachable, kInfeasible with its proof.
  static Result<std::unique_ptr<PreparedProblem>> Prepare(const Graph& graph,
                                                          const Cluster& cluster,
                                                          const CostTable& costs,
                                                          const ProblemSettings& settings);
  PreparedProblem(const PreparedProblem&) = delete;
  PreparedProblem& operator=(const PreparedProblem&) = delete;

  const Problem& problem() const { return problem_; }
  Evaluator& evaluator() const { return *evaluator_; }
  const Bound& bound() const { return bound_; }
  // The same for PlannerOptions: none where placements were enumerated, under costs that a planner's evaluator may not
  // have.
  std::optional<Bound> search_bound() const;
  // Of plans that may split or copy ops; none where they may not, or nothing is known (replicated_bound.h).
  const std::optional<Bound>& replicated_bound() const { return replicated_bound_; }
  // Plans of the constructive planners, for proofs and advice, until the budget ends.
  PlanSource plans(const Budget& budget) const { return ConstructivePlans(planners_, budget); }

 private:
  PreparedProblem() = default;

  Problem problem_;
  std::unique_ptr<Evaluator> evaluator_;
  PlannerTable planners_;
  Bound bound_;
  std::optional<Bound> replicated_bound_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_PREPARED_PROBLEM_H_
