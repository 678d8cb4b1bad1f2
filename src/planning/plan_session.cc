#include "planning/plan_session.h"

#include <utility>

#include "compile/layout_specs.h"
#include "search/evaluation/plan_result.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/sfb/sfb_search.h"

namespace placewright {

bool SplitsByDefault(const Graph& graph, const Cluster& cluster) {
  const BatchScaling* const laws = graph.batch_scaling();
  return laws != nullptr && laws->reason.empty() && cluster.device_count() > 1;
}

Result<std::unique_ptr<LayoutProblem>> MakeLayouts(const Graph& graph, const Cluster& cluster,
                                                   const CostOptions& parts,
                                                   SchedulingPolicy policy,
                                                   const SplitWishes& wishes) {
  PW_ASSIGN(std::unique_ptr<LayoutProblem> layouts,
            LayoutProblem::Make(graph, cluster, parts, policy));
  layouts->local_batch_norm = wishes.local_batch_norm && layouts->HasBatchNorms();
  layouts->units = wishes.units;
  return layouts;
}

Result<std::unique_ptr<PlanSession>> PlanSession::Open(const Graph& graph, const Cluster& cluster,
                                                       const CostTable& costs,
                                                       const CostOptions* parts,
                                                       const SplitWishes& wishes,
                                                       ProblemSettings settings) {
  std::unique_ptr<PlanSession> session(new PlanSession);
  if (parts != nullptr) {
    PW_ASSIGN(session->layouts_, MakeLayouts(graph, cluster, *parts, settings.policy, wishes));
  }
  settings.layouts = session->layouts_.get();
  PW_ASSIGN(session->prepared_, PreparedProblem::Prepare(graph, cluster, costs, settings));
  return session;
}

Result<PlannerResult> ResultOfLayouts(const LayoutProblem& problem, DistributionSpec& spec) {
  spec.switches.local_batch_norm =
      (spec.switches.local_batch_norm && problem.HasBatchNorms()) || problem.local_batch_norm;
  PlannerResult result;
  result.algorithm = "layouts";
  result.space = PlanSpace::kReplicated;
  PW_ASSIGN(result.plan, ResolvePlan(problem, spec));
  return result;
}

Result<PlannerResult> PlanSession::TakeLayouts(DistributionSpec spec) {
  PW_ASSIGN(PlannerResult result, ResultOfLayouts(*layouts_, spec));
  PW_ASSIGN(const CompiledStep* const compiled, evaluator().CompileAndKeep(result.plan));
  const Evaluation evaluation = EvaluateStep(*compiled);
  result.feasible = evaluation.feasible;
  result.step_time = evaluation.step_time;
  result.over = evaluation.TotalOver();
  stated_.emplace(std::move(spec), result.plan);
  return result;
}

Status PlanSession::RecomputeFromFactors(SfbMode mode, const StopToken& stop,
                                         Clock::time_point started, PlannerResult& result) const {
  if (mode == SfbMode::kNone) return Ok();
  if (stop.StopRequested()) {
    result.notes.push_back("no gradient is recomputed from factors, as the run was interrupted");
    return Ok();
  }
  if (result.space == PlanSpace::kPlaced) {
    result.notes.push_back(
        "the plan splits no op, so that there are no synchronised gradients to recompute (--sfb)");
    return Ok();
  }
  PW_ASSIGN(SfbResult recomputed, ApplySfb(*layouts_, evaluator(), result.plan, mode));
  result.notes.push_back(recomputed.Note());
  // It alone has baselines, and promises to be no worse than any of its plans.
  const bool of_auto = !result.baselines.empty();
  const bool changed = !recomputed.duplicated.empty();
  const bool better = recomputed.after.score() < recomputed.before.score();
  if (of_auto && changed && !better) {
    result.notes.push_back(
        "that is no faster, so gradients stay synchronised: auto's plan is never worse than what "
        "it found (--algo data-parallel recomputes them all the same)");
    return Ok();
  }
  result.feasible = recomputed.after.feasible;
  result.step_time = recomputed.after.step_time;
  result.over = recomputed.after.TotalOver();
  if (!changed) return Ok();
  result.plan = std::move(recomputed.plan);
  result.algorithm += "+sfb";
  if (of_auto) result.baselines.push_back(BaselineOf(problem(), result, true));
  // With `paper` the step of a single planner may be slower than on its way.
  const bool has_history = !result.history.empty();
  std::erase_if(result.history,
                [&](const HistoryPoint& point) { return point.step_time <= result.step_time; });
  if (result.feasible && (has_history || of_auto)) {
    result.history.push_back(
        {result.iterations, SecondsSince(started), result.step_time, result.algorithm});
  }
  if (!result.history.empty()) result.first_feasible_seconds = result.history.front().seconds;
  return Ok();
}

namespace {

PlanSession::Compiled CompiledOf(const LayoutProblem& problem, std::unique_ptr<CompiledStep> step,
                                 DistributionSpec spec) {
  PlanSession::Compiled compiled{std::move(step), {}};
  spec.layouts = ExpandSpecs(problem.axes, problem.cluster, std::move(spec.layouts));
  // Who reads the plan again compiles it as it was decided here.
  spec.switches.gradients_apart = compiled.step->gradients_apart;
  compiled.distribution.spec = std::move(spec);
  compiled.distribution.samples = problem.graph.batch();
  return compiled;
}

}  // namespace

Result<PlanSession::Compiled> PlanSession::Compile(const PlannerResult& result) const {
  PW_ASSIGN(std::unique_ptr<CompiledStep> step, evaluator().Compile(result.plan));
  const bool stated = stated_ && stated_->second == result.plan;
  return CompiledOf(*layouts_, std::move(step),
                    stated ? stated_->first : StatePlan(*layouts_, result.plan));
}

Result<PlanSession::Compiled> CompileStated(const LayoutProblem& problem,
                                            const DistributionSpec& spec) {
  PW_ASSIGN(const StepPlan plan, ResolvePlan(problem, spec));
  PW_ASSIGN(CompiledStep step, DecideAndCompile(problem, plan));
  return CompiledOf(problem, std::make_unique<CompiledStep>(std::move(step)), spec);
}

}  // namespace placewright
