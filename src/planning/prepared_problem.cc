#include "planning/prepared_problem.h"

#include <utility>

#include "search/evaluation/simulated.h"
#include "search/proof/enumeration.h"
#include "search/proof/infeasibility.h"
#include "search/proof/memory_advice.h"
#include "search/proof/replicated_bound.h"
#include "search/proof/replicated_memory.h"
#include "search/proof/routes.h"

namespace placewright {
namespace {

// As CheckNotProvenInfeasible, but `uncounted_bytes` more on every device must not fit, either.
Status CheckNotProvenNotToFit(const PreparedProblem& prepared, int64_t uncounted_bytes,
                              const Budget& advice) {
  const Problem& problem = prepared.problem();
  const PlanSource plans = prepared.plans(advice);
  Status fits = CheckNotProvenInfeasible(problem, prepared.evaluator(), plans);
  if (fits.ok() || uncounted_bytes == 0) return fits;
  Problem generous = problem;
  for (int64_t& capacity : generous.sim_graph.capacity) {
    capacity = SaturatingAdd(capacity, uncounted_bytes);
  }
  const std::unique_ptr<Evaluator> evaluator = prepared.evaluator().ForProblem(generous, 1);
  return CheckNotProvenInfeasible(generous, *evaluator, plans).ok() ? Ok() : fits;
}

}  // namespace

Result<std::unique_ptr<PreparedProblem>> PreparedProblem::Prepare(const Graph& graph,
                                                                  const Cluster& cluster,
                                                                  const CostTable& costs,
                                                                  const ProblemSettings& settings) {
  std::unique_ptr<PreparedProblem> prepared(new PreparedProblem);
  PW_ASSIGN(prepared->problem_,
            BuildProblem(graph, cluster, costs, settings.constraints, settings.policy));
  prepared->evaluator_ = MakeSimulatedEvaluator(prepared->problem_, settings.threads);
  prepared->planners_ = MakeSearchPlanners();
  prepared->problem_.layouts = settings.layouts;
  PW_RETURN_IF_ERROR(CheckNotProvenDisconnected(prepared->problem_));
  if (settings.layouts == nullptr) {
    Status fits = CheckNotProvenNotToFit(*prepared, settings.uncounted_bytes, settings.advice);
    if (!fits.ok()) {
      fits.error().remedy += ConstraintAdvice(prepared->problem_);
      return std::move(fits.error());
    }
  } else {
    PW_RETURN_IF_ERROR(CheckNotProvenInfeasibleInParts(prepared->problem_));
    prepared->replicated_bound_ = ReplicatedLowerBound(prepared->problem_);
  }
  prepared->bound_ = TightestBound(prepared->problem_, prepared->evaluator());
  return prepared;
}

std::optional<Bound> PreparedProblem::search_bound() const {
  return bound_.argument == "enumeration" ? std::nullopt : std::optional(bound_);
}

}  // namespace placewright
