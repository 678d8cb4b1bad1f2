#include "planning/plan_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "formats/text/file.h"
#include "planning/all_peaks.h"
#include "planning/plan_words.h"
#include "planning/rewritten_step.h"
#include "search/evaluation/group_placement.h"
#include "search/evaluation/plan_result.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/layouts/layout_devices.h"
#include "search/sfb/sfb_search.h"
#include "sim/communication_use.h"
#include "sim/device_use.h"
#include "sim/saturation_check.h"
#include "sim/step_in_lanes.h"
#include "transforms/precision.h"

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
  result.SetEvaluation(EvaluateStep(*compiled));
  stated_.emplace(std::move(spec), result.plan);
  return result;
}

Status PlanSession::RecomputeFromFactors(SfbMode mode, const StopToken& stop,
                                         Clock::time_point started, PlannerResult& result) const {
  if (mode == SfbMode::kNone) return Ok();
  if (stop.StopRequested()) {
    result.notes.push_back("no gradient is made of gathered factors, as the run was interrupted");
    return Ok();
  }
  if (result.space == PlanSpace::kPlaced) {
    result.notes.push_back(
        "the plan splits no op, so that there are no synchronised gradients to make of factors "
        "(--sfb)");
    return Ok();
  }
  PW_ASSIGN(SfbResult of_factors, ApplySfb(*layouts_, evaluator(), result.plan, mode));
  result.notes.push_back(of_factors.Note());
  // It alone has baselines, and promises to be no worse than any of its plans.
  const bool of_auto = !result.baselines.empty();
  const bool changed = !of_factors.duplicated.empty();
  const bool better = of_factors.after.score() < of_factors.before.score();
  if (of_auto && changed && !better) {
    result.notes.push_back(
        "that is no faster, so gradients stay synchronised: auto's plan is never worse than what "
        "it found (--algo data-parallel takes them all the same)");
    return Ok();
  }
  result.SetEvaluation(of_factors.after);
  if (!changed) return Ok();
  result.plan = std::move(of_factors.plan);
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

StepOfPlan StepOfCompiled(const LayoutProblem& problem, std::unique_ptr<CompiledStep> compiled,
                          DistributionSpec spec) {
  // Who reads the plan again compiles it as it was decided here.
  spec.switches.gradients_apart = compiled->gradients_apart;
  StepOfPlan step;
  step.space = PlanSpace::kReplicated;
  step.graph = &compiled->step.graph;
  step.costs = &compiled->costs;
  step.sim_graph = &compiled->sim_graph;
  step.placement = compiled->step.placement;
  step.original = &problem.graph;
  step.origin = compiled->step.origin;
  step.distribution = std::move(spec);
  step.compiled = std::move(compiled);
  return step;
}

}  // namespace

StepOfPlan StepOfWholeOps(const Graph& graph, const CostTable& costs, const SimGraph* sim_graph,
                          Placement placement) {
  StepOfPlan step;
  step.graph = step.original = &graph;
  step.costs = &costs;
  step.sim_graph = sim_graph;
  step.placement = std::move(placement);
  step.distribution.transforms = StatedTransforms(graph);
  for (const OpId op : graph.ops()) step.origin.push_back(op);
  return step;
}

Result<StepOfPlan> StepOfLayouts(const LayoutProblem& problem, const DistributionSpec& spec,
                                 bool in_lanes) {
  PW_ASSIGN(const StepPlan plan, ResolvePlan(problem, spec));
  PW_ASSIGN(CompiledStep compiled, DecideAndCompile(problem, plan, in_lanes));
  return StepOfCompiled(problem, std::make_unique<CompiledStep>(std::move(compiled)),
                        Restate(problem, plan, spec));
}

void NameMeasurements(const std::string& cost_store, const MeasuredUse& used,
                      const Cluster& cluster, const std::vector<LinkId>& links, Plan& plan) {
  for (const LinkId id : links) {
    const Link& link = cluster.link(id);
    plan.links.push_back({link.name, link.bandwidth, link.latency});
  }
  if (cost_store.empty()) return;
  plan.cost_store.emplace();
  plan.cost_store->path = cost_store;
  for (const auto& [on, rows, lines] : used.environments) {
    plan.cost_store->environments.push_back(
        {on.kind, on.cores, on.loaded, on.libtorch, on.blas, rows, Sha256(lines)});
  }
}

size_t PartsOf(const PlannerResult& result) {
  return result.space == PlanSpace::kPlaced ? 1 : DevicesOf(result.plan).size();
}

void PlanSession::NoteUnservedGpus(PlannerResult& result) const {
  const Problem& problem = prepared_->problem();
  const std::string why = WhyNoGpuServes(*problem.graph, *problem.cluster, *problem.costs);
  if (why.empty()) return;
  result.notes.push_back("no GPU runs every op of the step, so that CPUs compute: " + why +
                         "; recorded in another type (float16, float32) it may run on the GPUs");
}

void PlanSession::NoteEqualShares(const Planner& asked, const std::vector<std::string>& settings,
                                  const PlannerOptions& options, PlannerResult& result) const {
  if (asked.settable() == nullptr || asked.iterative() || !result.feasible) return;
  const auto& settable = asked.settable()->settings;
  const bool can = std::any_of(settable.begin(), settable.end(), [](const AgentSetting& one) {
    return one.name == "shares" && one.words == std::vector<std::string>{"equal", "speed"};
  });
  const bool states = std::any_of(settings.begin(), settings.end(), [](const std::string& one) {
    return one.starts_with("shares=");
  });
  if (!can || states) return;
  // By kind, not by speed: GPUs of one kind have equal shares under both.
  std::set<int32_t> kinds;
  for (const DeviceId device : DevicesOf(result.plan)) {
    kinds.insert(problem().cluster->device(device).kind);
  }
  if (kinds.size() < 2) return;
  Strategy by_speed{std::string(asked.name()), {}, settings};
  by_speed.settings.emplace_back("shares=speed");
  PlannerOptions quietly = options;
  quietly.progress = nullptr;
  const Result<PlannerResult> other = LaidOut(by_speed, problem(), evaluator(), quietly);
  if (!other.ok() || !other.value().feasible || other.value().step_time >= result.step_time) {
    return;
  }
  result.notes.push_back(fmt::format(
      "GPUs of unequal speed have equal shares of the samples: with the setting shares=speed, by "
      "which each has as many as it is fast, a step takes {}, not {}",
      FormatNanos(other.value().step_time), FormatNanos(result.step_time)));
}

Result<StepOfPlan> PlanSession::StepOf(const PlannerResult& result, bool in_lanes) const {
  if (result.space == PlanSpace::kPlaced) {
    StepOfPlan step = StepOfWholeOps(*problem().graph, *problem().costs, &problem().sim_graph,
                                     PlacementOf(problem(), result.plan));
    step.bound = &prepared().bound();
    return step;
  }
  // What was simulated last, if this is its plan; a search may have gone on from it to another.
  const bool is_there = compiler_ && compiler_->first == result.plan;
  PW_ASSIGN(std::unique_ptr<CompiledStep> compiled,
            is_there ? compiler_->second(result.plan) : evaluator().Compile(result.plan));
  // What reads a step without lanes needs the ops of all devices.
  if (!in_lanes && compiled->lanes) {
    PW_ASSIGN(*compiled, DecideAndCompile(*layouts_, result.plan));
  }
  // Layouts by hand keep their own words.
  const bool stated = stated_ && stated_->second == result.plan;
  StepOfPlan step = StepOfCompiled(
      *layouts_, std::move(compiled),
      stated ? Restate(*layouts_, result.plan, stated_->first) : StatePlan(*layouts_, result.plan));
  if (prepared().replicated_bound()) step.bound = &*prepared().replicated_bound();
  return step;
}

Result<SimResult> PlanSession::Replay(const StepOfPlan& step, const PlannerResult& result) const {
  const Cluster& cluster = *problem().cluster;
  Simulator simulator(*step.sim_graph);
  SimResult replay = simulator.Run(step.placement,
                                   {.policy = OrderOf(result), .schedule = true, .feedback = true});
  PW_RETURN_IF_ERROR(
      CheckNotSaturated(*step.sim_graph, *step.graph, cluster, step.placement, replay));
  if (step.lanes() != nullptr) ExpandLanes(*step.lanes(), replay);
  if (step.space == PlanSpace::kPlaced) {
    PW_CHECK_EQ(replay.step_time.count, result.step_time.count);
    PW_CHECK_EQ(replay.feasible, result.feasible);
  }
  if (replay.feasible && CountsPeaks(*step.original, cluster)) {
    replay.feasible = !FindCrowded(MeasurePeaks(step, result, replay)).valid();
  }
  return replay;
}

IdVector<DeviceId, DevicePeaks> PlanSession::MeasurePeaks(const StepOfPlan& step,
                                                          const PlannerResult& result,
                                                          const SimResult& replay) const {
  return PeaksOfReplay(*step.sim_graph, *step.graph, *problem().cluster, step.placement,
                       step.lanes(), *step.original, result.algorithm, replay);
}

namespace {

// Classes of several devices that have ops.
std::vector<std::vector<std::string>> NameLanes(const StepLanes& lanes, const Placement& placement,
                                                const Cluster& cluster) {
  std::vector<char> used(cluster.device_count(), 0);
  for (const DeviceId device : placement) used[device.index()] = 1;
  std::vector<std::vector<std::string>> classes;
  for (const DeviceId first : cluster.devices()) {
    if (used[first.index()] == 0 || lanes.members[first].size() < 2) continue;
    std::vector<std::string>& names = classes.emplace_back();
    for (const DeviceId member : lanes.members[first]) {
      names.push_back(cluster.device(member).name);
    }
  }
  return classes;
}

}  // namespace

Plan PlanSession::MakePlan(const StepOfPlan& step, const PlannerResult& result,
                           const SimResult& replay, uint64_t seed, double seconds) const {
  const Cluster& cluster = *problem().cluster;
  Plan plan;
  plan.graph_name = step.graph->name();
  plan.cluster_name = cluster.name();
  plan.samples = step.graph->samples();
  plan.policy = OrderOf(result);
  plan.algorithm = result.algorithm;
  plan.space = plan.bound_space = step.space;
  if (step.bound != nullptr) plan.lower_bound = step.bound->value;
  plan.feasible = replay.feasible;
  plan.step_time = replay.step_time;
  plan.devices = UseOfDevices(replay, cluster);
  plan.baselines = result.baselines;
  const CostShares shares = SharesOf(*step.costs, step.placement, step.lanes());
  plan.share_given = shares.given;
  plan.share_measured = shares.measured;
  plan.share_modelled = shares.modelled;
  plan.seed = seed;
  plan.iterations = result.iterations;
  plan.seconds = seconds;
  plan.first_feasible_seconds = result.first_feasible_seconds;
  plan.history = result.history;
  plan.placement = NamePlacement(step.placement, *step.graph, cluster);
  plan.distribution = step.distribution;
  if (step.lanes() != nullptr) plan.lanes = NameLanes(*step.lanes(), step.placement, cluster);
  plan.communication = UseOfCommunication(*step.graph, *step.costs, *replay.schedule, step.lanes());
  return plan;
}

}  // namespace placewright
