#include "planning/strategy_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "planning/algorithms.h"
#include "planning/all_peaks.h"
#include "planning/plan_session.h"
#include "planning/quick_fit.h"
#include "planning/strategy_search.h"
#include "search/evaluation/group_placement.h"
#include "search/evaluation/simulated.h"
#include "search/evaluation/simulated_layouts.h"
#include "sim/simulator.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

constexpr const char* kOnOneDevice = "single";
constexpr const char* kBySpeed = "data-parallel-p";

std::vector<DeviceId> GpusOf(const Cluster& cluster) {
  std::vector<DeviceId> gpus;
  for (const DeviceId id : cluster.devices()) {
    if (cluster.kind(id).device_class == DeviceClass::kGpu) gpus.push_back(id);
  }
  return gpus;
}

bool AreUnequal(const Cluster& cluster, const std::vector<DeviceId>& gpus) {
  return std::any_of(gpus.begin(), gpus.end(), [&](DeviceId id) {
    return cluster.device(id).kind != cluster.device(gpus.front()).kind;
  });
}

SchedulingPolicy PolicyOf(const StrategyTrialOptions& options, const Graph& graph) {
  return options.policy.value_or(DefaultPolicy(graph.format()));
}

// A step on a cluster with all that its planners point to. Never moved.
class TrialProblem {
 public:
  static Result<std::unique_ptr<TrialProblem>> Make(const Graph& graph, const Cluster& cluster,
                                                    const StrategyTrialOptions& options) {
    auto made = std::make_unique<TrialProblem>();
    PW_ASSIGN(made->costs_, ModelCosts(graph, cluster, options.costs));
    const SchedulingPolicy policy = PolicyOf(options, graph);
    PW_ASSIGN(Problem problem, BuildProblem(graph, cluster, made->costs_, {}, policy));
    made->problem_ = OnGpusAlone(std::move(problem));
    if (cluster.device_count() > 1) {
      PW_ASSIGN(made->layouts_, MakeLayouts(graph, cluster, options.costs, policy, {}));
    }
    made->problem_.layouts = made->layouts_.get();
    made->evaluator_ = MakeSimulatedEvaluator(made->problem_, 1);
    return made;
  }

  Result<PlannerResult> Plan(const Planner& planner, const StopToken& stop) const {
    PlannerOptions options;
    options.budget.stop = stop;
    return planner.Plan(problem_, *evaluator_, options);
  }

  Result<Evaluation> Evaluate(const PlannerResult& result) const {
    if (result.space != PlanSpace::kPlaced) return evaluator_->EvaluatePlan(result.plan);
    return evaluator_->EvaluateOne(PlacementOf(problem_, result.plan),
                                   {.order = result.plan.switches.order});
  }

  Status CheckPeaks(const Graph& recorded, const PlannerResult& result) const {
    return CheckAllPeaks(problem_, *evaluator_, recorded, result);
  }

  Result<StepOfPlan> StepOf(const PlannerResult& result) const {
    if (result.space == PlanSpace::kPlaced) {
      return StepOfWholeOps(*problem_.graph, costs_, &problem_.sim_graph,
                            PlacementOf(problem_, result.plan));
    }
    PW_ASSIGN(CompiledStep compiled, DecideAndCompile(*layouts_, result.plan));
    StepOfPlan step;
    step.space = PlanSpace::kReplicated;
    step.compiled = std::make_unique<CompiledStep>(std::move(compiled));
    step.graph = &step.compiled->step.graph;
    step.sim_graph = &step.compiled->sim_graph;
    step.placement = step.compiled->step.placement;
    return step;
  }

  SchedulingPolicy OrderOf(const PlannerResult& result) const {
    return result.plan.switches.order.value_or(problem_.policy);
  }
  const Cluster& cluster() const { return *problem_.cluster; }

 private:
  CostTable costs_;
  std::unique_ptr<LayoutProblem> layouts_;
  Problem problem_;
  std::unique_ptr<Evaluator> evaluator_;
};

Status TakeEvaluation(const TrialProblem& problem, const PlannerResult& plan,
                      const Graph* in_all_peaks_of, StrategyResult& result) {
  PW_ASSIGN(const Evaluation evaluation, problem.Evaluate(plan));
  result.evaluated = true;
  result.fits = evaluation.feasible;
  result.step_time = evaluation.step_time;
  TakeFullestDevice(problem.cluster(), evaluation, result);
  if (!result.fits || in_all_peaks_of == nullptr) return Ok();
  const Status fits = problem.CheckPeaks(*in_all_peaks_of, plan);
  result.fits = fits.ok();
  return fits;
}

// `in_all_peaks_of`: the step as it was recorded; or nullptr.
StrategyResult TryOn(const TrialProblem& problem, const Planner& planner, const Strategy& strategy,
                     const Graph* in_all_peaks_of, const StopToken& stop) {
  StrategyResult result;
  result.strategy = strategy;
  const Result<PlannerResult> plan = problem.Plan(planner, stop);
  const Status taken = plan.ok() ? TakeEvaluation(problem, plan.value(), in_all_peaks_of, result)
                                 : Status(plan.error());
  if (!taken.ok()) result.why_not = taken.error().message;
  return result;
}

std::vector<Rewriting> RewritingsOfOneDevice(int64_t batch, const StrategyTrialOptions& options) {
  std::vector<Rewriting> rewritings;
  if (options.recompute) {
    rewritings.push_back({.recompute = *options.recompute});
  } else {
    for (const char* const set : {"", "selective", "full"}) {
      rewritings.emplace_back();
      if (*set != 0) rewritings.back().recompute = {set};
    }
  }
  if (options.micro_batches) {
    for (Rewriting& one : rewritings) one.micro_batches = *options.micro_batches;
    return rewritings;
  }
  const Rewriting last = rewritings.back();
  for (int64_t k = 2; k <= batch; k *= 2) {
    if (batch % k != 0) continue;
    rewritings.push_back(last);
    rewritings.back().micro_batches = k;
  }
  return rewritings;
}

}  // namespace

const StrategyResult* StrategyTrials::Best() const {
  if (strategies.empty()) return nullptr;
  const StrategyResult& first = strategies.front();
  return first.fits && first.evaluated ? &first : nullptr;
}

Result<const Graph*> StrategyTrier::Rewritten(const Rewriting& rewriting) {
  const Transforms transforms = TransformsFor(rewriting);
  if (transforms.empty()) return &step_;
  const std::string key = Describe(transforms);
  auto at = rewritten_.find(key);
  if (at == rewritten_.end()) {
    Result<std::unique_ptr<Graph>> made = ApplyTransforms(step_, transforms);
    at = made.ok() ? rewritten_.emplace(key, std::unique_ptr<const Graph>(made.Take())).first
                   : rewritten_.emplace(key, made.error()).first;
  }
  if (!at->second.ok()) return at->second.error();
  return at->second.value() == nullptr ? &step_ : at->second.value().get();
}

Result<StrategyTrials> StrategyTrier::OnOneDevice(const Cluster& cluster,
                                                  const StrategyTrialOptions& options) {
  StrategyTrials trials;
  for (const Rewriting& rewriting : RewritingsOfOneDevice(step_.batch(), options)) {
    if (options.stop.StopRequested()) {
      trials.interrupted = true;
      break;
    }
    PW_ASSIGN(StrategyResult tried, Try(cluster, {kOnOneDevice, rewriting}, options));
    const bool fits = tried.fits;
    trials.strategies.push_back(std::move(tried));
    if (fits) break;
  }
  RankStrategyResults(trials.strategies);
  return trials;
}

Result<StrategyTrials> StrategyTrier::On(const Cluster& cluster,
                                         const StrategyTrialOptions& options) {
  const std::vector<DeviceId> gpus = GpusOf(cluster);
  if (gpus.size() == 1 || cluster.device_count() == 1) return OnOneDevice(cluster, options);
  StrategySearchOptions search;
  search.strategies.recompute = options.recompute;
  search.strategies.micro_batches = options.micro_batches;
  search.strategies.evaluations = kComparedStrategies;
  search.policy = PolicyOf(options, step_);
  search.planning.budget.stop = options.stop;
  search.in_all_peaks = options.in_all_peaks;
  search.tried = [&](const StrategyResult& one, auto&&...) {
    if (options.tried) options.tried(one);
  };
  PW_ASSIGN(StrategySearchResult found, SearchStrategies(step_, cluster, options.costs, search));
  StrategyTrials trials;
  trials.strategies = std::move(found.strategies);
  std::vector<std::string> more = {kOnOneDevice};
  if (AreUnequal(cluster, gpus)) more.emplace_back(kBySpeed);
  for (const std::string& algorithm : more) {
    if (options.stop.StopRequested()) break;
    const Rewriting stated{.micro_batches = options.micro_batches.value_or(0),
                           .recompute = options.recompute.value_or(std::vector<std::string>())};
    PW_ASSIGN(StrategyResult tried, Try(cluster, {algorithm, stated}, options));
    trials.strategies.push_back(std::move(tried));
  }
  trials.interrupted = options.stop.StopRequested();
  RankStrategyResults(trials.strategies);
  return trials;
}

Result<StrategyResult> StrategyTrier::Try(const Cluster& cluster, const Strategy& strategy,
                                          const StrategyTrialOptions& options) {
  const Algorithms algorithms({.agent = strategy.settings});
  PW_ASSIGN(const Planner* const planner, algorithms.Find(strategy.algorithm));
  StrategyResult none;
  none.strategy = strategy;
  const Result<const Graph*> graph = Rewritten(strategy.rewriting);
  if (!graph.ok()) {
    none.why_not = graph.error().message;
    return none;
  }
  PW_ASSIGN(const auto problem, TrialProblem::Make(*graph.value(), cluster, options));
  StrategyResult tried =
      TryOn(*problem, *planner, strategy, options.in_all_peaks ? &step_ : nullptr, options.stop);
  if (options.tried && tried.evaluated) options.tried(tried);
  return tried;
}

Result<StrategyDetail> StrategyTrier::Detail(const Cluster& cluster, const Strategy& strategy,
                                             const StrategyTrialOptions& options) {
  const Algorithms algorithms({.agent = strategy.settings});
  PW_ASSIGN(const Planner* const planner, algorithms.Find(strategy.algorithm));
  PW_ASSIGN(const Graph* const graph, Rewritten(strategy.rewriting));
  PW_ASSIGN(const auto problem, TrialProblem::Make(*graph, cluster, options));
  PW_ASSIGN(const PlannerResult result, problem->Plan(*planner, options.stop));
  PW_ASSIGN(const StepOfPlan step, problem->StepOf(result));
  Simulator simulator(*step.sim_graph);
  const SimResult replay = simulator.Run(
      step.placement, {.policy = problem->OrderOf(result), .schedule = true, .feedback = true});
  StrategyDetail detail;
  detail.split = SplitOfStep(*step.graph, step.placement, *replay.schedule, cluster.device_count(),
                             replay.step_time);
  for (const LinkId link : cluster.links()) {
    const double busy = ShareOf(replay.links[link.index()].busy.count, replay.step_time.count);
    if (busy <= detail.link_busy) continue;
    detail.link_busy = busy;
    detail.link = cluster.link(link).name;
  }
  return detail;
}

}  // namespace placewright
