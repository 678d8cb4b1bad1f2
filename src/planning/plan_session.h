// From a graph, a cluster and costs to plans: the way that PlanStep and the program's commands share.
#ifndef PLACEWRIGHT_PLANNING_PLAN_SESSION_H_
#define PLACEWRIGHT_PLANNING_PLAN_SESSION_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cost/cost_model.h"
#include "cost/measured_costs.h"
#include "plan/layout_spec.h"
#include "plan/plan.h"
#include "plan/sfb_mode.h"
#include "planning/prepared_problem.h"
#include "search/evaluation/compiled_step.h"
#include "search/planner.h"
#include "search/problem/layout_problem.h"
#include "sim/memory/device_memory.h"
#include "sim/simulator.h"

namespace placewright {

// What is asked for of plans that split or copy ops.
struct SplitWishes {
  bool local_batch_norm = false;  // of the parts that batch norms are split into (StepSwitches)
  int units = kTagParts;          // that a search over layouts moves as one, at most
};

// What layouts of a step are searched in and compiled with, as wished. Errors: those of LayoutProblem::Make.
Result<std::unique_ptr<LayoutProblem>> MakeLayouts(const Graph& graph, const Cluster& cluster,
                                                   const CostOptions& parts,
                                                   SchedulingPolicy policy,
                                                   const SplitWishes& wishes);

// Layouts by hand as the plan of an algorithm "layouts", not evaluated; batch norms are local where the layouts or the
// problem say so. Errors: those of ResolvePlan.
Result<PlannerResult> ResultOfLayouts(const LayoutProblem& problem, DistributionSpec& spec);

// Whether plans split and copy ops where nothing was said about it: it is proven how the step follows its batch, and
// there are several devices.
bool SplitsByDefault(const Graph& graph, const Cluster& cluster);

// What a plan comes to: the problem's graph with devices, or the step compiled of it. What it points to outlives it.
struct StepOfPlan {
  PlanSpace space = PlanSpace::kPlaced;
  // Whose ops run, with their costs: the problem's, or those of `compiled`.
  const Graph* graph = nullptr;
  const CostTable* costs = nullptr;
  const SimGraph* sim_graph = nullptr;
  Placement placement;
  const Graph* original = nullptr;         // whose ops they are instances of,
  IdVector<OpId, OpId> origin;             // as in DistributedStep
  DistributionSpec distribution{};         // in words: transforms, layouts of a compiled step
  const Bound* bound = nullptr;            // of plans of its space; nullptr: nothing is known
  std::unique_ptr<CompiledStep> compiled;  // what it points to of a step that was compiled for it
  // In which it is compiled; nullptr: every device has its own ops.
  const StepLanes* lanes() const {
    return compiled != nullptr && compiled->lanes ? &*compiled->lanes : nullptr;
  }
};
// Of ops that are whole, each its own instance.
StepOfPlan StepOfWholeOps(const Graph& graph, const CostTable& costs, const SimGraph* sim_graph,
                          Placement placement);
// Of layouts in words, compiled, many devices that are alike in lanes if `in_lanes`; without a bound. Errors: those of
// ResolvePlan and CompileStep.
Result<StepOfPlan> StepOfLayouts(const LayoutProblem& problem, const DistributionSpec& spec,
                                 bool in_lanes = false);

// A plan of costs that a store ("": none) holds names it, what of it was used, and the links whose
// figures are measured ones.
void NameMeasurements(const std::string& cost_store, const MeasuredUse& used,
                      const Cluster& cluster, const std::vector<LinkId>& links, Plan& plan);

// Devices that have equal shares of the samples where the batch divides by their number; of whole ops one.
size_t PartsOf(const PlannerResult& result);

// Not moved once opened: parts refer to others.
class PlanSession {
 public:
  // The problem with proofs, bounds and evaluator (prepared_problem.h). `parts`: how parts of ops cost what they do, where
  // plans may split or copy ops; nullptr: they may not. Graph, cluster and costs must outlive it; the `layouts` of
  // the settings are the session's own. Errors: those of LayoutProblem::Make and PreparedProblem::Prepare.
  static Result<std::unique_ptr<PlanSession>> Open(const Graph& graph, const Cluster& cluster,
                                                   const CostTable& costs, const CostOptions* parts,
                                                   const SplitWishes& wishes,
                                                   ProblemSettings settings);

  const PreparedProblem& prepared() const { return *prepared_; }
  const Problem& problem() const { return prepared_->problem(); }
  Evaluator& evaluator() const { return prepared_->evaluator(); }
  // nullptr: ops are placed whole. Changed while FindPermittedChanges asks.
  LayoutProblem* layouts() const { return layouts_.get(); }

  // Layouts by hand as the plan of an algorithm "layouts", which is evaluated; batch norms are local where either says so.
  // Plans of this session that are still these layouts keep their words. Errors: those of ResolvePlan and CompileStep.
  Result<PlannerResult> TakeLayouts(DistributionSpec spec);

  // The plan with gradients made of gathered factors (search/sfb/sfb_search.h), what is predicted of it, and a note. It is
  // then the plan of "ALGORITHM+sfb", in `auto` one more baseline, and there only if it is better than before; of a plan
  // that splits nothing, or where `stop` was requested, there is a note alone. `started`: the process. Errors: those of
  // ApplySfb.
  Status RecomputeFromFactors(SfbMode mode, const StopToken& stop, Clock::time_point started,
                              PlannerResult& result) const;

  // The step of this plan is compiled by `compile`, of an equal problem whose evaluator still has what it simulated.
  using PlanCompiler = std::function<Result<std::unique_ptr<CompiledStep>>(const StepPlan&)>;
  void TakeCompiler(StepPlan plan, PlanCompiler compile) {
    compiler_.emplace(std::move(plan), std::move(compile));
  }

  // Adds a note where the cluster has GPUs and none of them runs every op.
  void NoteUnservedGpus(PlannerResult& result) const;
  // Adds a note where the plan of one algorithm fits, gives GPUs of several kinds equal shares of the samples, and would be
  // faster with shares by speed, which are a setting of the algorithm: planned once more with it. `settings`: as stated.
  void NoteEqualShares(const Planner& asked, const std::vector<std::string>& settings,
                       const PlannerOptions& options, PlannerResult& result) const;
  // `in_lanes`: it may be a step in lanes. Errors: those of CompileStep.
  Result<StepOfPlan> StepOf(const PlannerResult& result, bool in_lanes = false) const;
  // The step of a result simulated with schedule and feedback; it is feasible if all devices of MeasurePeaks fit. Of whole
  // ops another step time than the planner's is a defect of ours and stops the program. Errors: kTooLarge
  // (CheckNotSaturated).
  Result<SimResult> Replay(const StepOfPlan& step, const PlannerResult& result) const;
  // What a replayed step takes of each device, and whether it fits (JudgeMemory).
  IdVector<DeviceId, DevicePeaks> MeasurePeaks(const StepOfPlan& step, const PlannerResult& result,
                                               const SimResult& replay) const;
  // Everything that a plan says but for the files it was made of. `seconds`: of the search, since the start.
  Plan MakePlan(const StepOfPlan& step, const PlannerResult& result, const SimResult& replay,
                uint64_t seed, double seconds) const;

 private:
  SchedulingPolicy OrderOf(const PlannerResult& result) const {
    return result.plan.switches.order.value_or(problem().policy);
  }
  PlanSession() = default;

  std::unique_ptr<LayoutProblem> layouts_;
  std::unique_ptr<PreparedProblem> prepared_;
  // Layouts by hand, and the plan that they are.
  std::optional<std::pair<DistributionSpec, StepPlan>> stated_;
  std::optional<std::pair<StepPlan, PlanCompiler>> compiler_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_PLAN_SESSION_H_
