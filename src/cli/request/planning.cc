#include "cli/request/planning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/text.h"
#include "compile/lane_classes.h"
#include "formats/dnn_partitioning/workload_scale.h"
#include "formats/plan/plan_files.h"
#include "formats/text/file.h"
#include "planning/plan_words.h"
#include "planning/search_budget.h"
#include "report/memory_report.h"
#include "report/plan_report.h"
#include "search/proof/memory_advice.h"
#include "sim/order_advice.h"
#include "sim/placement_check.h"
#include "transforms/transforms.h"

namespace placewright {

namespace {

// Bytes a device that the simulator counts and a dnn-partitioning workload does not (activations).
int64_t UncountedBytes(const Inputs& inputs) {
  const auto* workload = inputs.graph.Details<PipelineWorkload>();
  if (workload == nullptr) return 0;
  const WorkloadScale scale = ScaleOf(*workload);
  return scale.exact() ? 0 : scale.uncounted;
}

Result<StrategySearchResult> SearchStrategies(const Planning& planning, const CostOptions& costs,
                                              const SplitWishes& wishes,
                                              const PlannerOptions& planner_options, bool for_auto,
                                              bool in_all_peaks = false) {
  StrategySearchOptions options;
  // The same order and batch norms as the search behind them, so that their times compare.
  options.policy = planning.inputs.policy;
  options.wishes = wishes;
  options.planning = planner_options;
  options.for_auto = for_auto;
  options.in_all_peaks = in_all_peaks;
  options.folds = for_auto;
  if (planner_options.progress) {
    options.tried = [&](const StrategyResult& one, int64_t evaluations,
                        const StrategyResult& best) {
      planner_options.progress({Describe(one.strategy), evaluations, best.step_time, best.fits});
    };
  }
  return SearchStrategies(planning.inputs.graph.graph, planning.inputs.cluster.cluster, costs,
                          options);
}

Result<StrategySearchResult> ChooseStrategy(const Planning& planning, const SearchOptions& search,
                                            const CostOptions& costs, const SplitWishes& wishes,
                                            PlannerOptions options, bool in_all_peaks) {
  PW_ASSIGN(Budget budget, MakeBudget(search, planning.loaded));
  budget.stop = options.budget.stop;
  options.budget = budget;
  return SearchStrategies(planning, costs, wishes, options, /*for_auto=*/true, in_all_peaks);
}

// The step becomes that of the best strategy, where it rewrites it.
Status TakeStrategy(const InputOptions& input, Planning& planning) {
  if (!planning.strategies->rewrites()) return Ok();
  Inputs& inputs = planning.inputs;
  const Transforms transforms = TransformsFor(planning.strategies->best->rewriting);
  PW_RETURN_IF_ERROR(
      TransformLoaded(transforms, inputs.graph, std::move(planning.strategies->rewritten))
          .InFile(input.graph));
  PW_ASSIGN(inputs.costs,
            LoadCosts(input, inputs.graph.graph, inputs.cluster.cluster, &inputs.cost_report));
  return Ok();
}

}  // namespace

Result<std::unique_ptr<Planning>> Prepare(const InputOptions& input, const SearchOptions& search,
                                          const SpaceOptions& space, const PlannerOptions* choose,
                                          bool in_all_peaks) {
  PW_ASSIGN(const Constraints constraints, ParseConstraints(search));
  auto planning = std::make_unique<Planning>();
  // How sizes follow the batch is proven only where ops may be split: that takes three more recordings.
  InputOptions proven = input;
  proven.prove_batch = space.MaySplit();
  PW_ASSIGN(planning->inputs, LoadInputs(proven));
  planning->loaded = Clock::now();
  const Inputs& inputs = planning->inputs;
  ProblemSettings settings;
  settings.constraints = constraints;
  settings.policy = inputs.policy;
  settings.threads = ThreadsOf(search);
  settings.uncounted_bytes = UncountedBytes(inputs);
  std::optional<CostOptions> parts;
  SplitWishes wishes;
  if (MaySplit(space, inputs)) {
    PW_ASSIGN(wishes, WishesOf(space));
    PW_ASSIGN(parts, CostsOfParts(input, inputs));
    if (choose != nullptr && MayChooseStrategies(inputs.graph.graph, constraints)) {
      PW_ASSIGN(planning->strategies,
                ChooseStrategy(*planning, search, *parts, wishes, *choose, in_all_peaks));
      planning->chosen_in = Clock::now() - planning->loaded;
      PW_RETURN_IF_ERROR(TakeStrategy(input, *planning));
    }
  }
  // What would fit is looked for within the time of the search, or shortly behind it.
  PW_ASSIGN(settings.advice, MakeBudget(search, planning->loaded));
  if (input.interrupted != nullptr) settings.advice.stop = StopToken(input.interrupted);
  settings.advice = ForAdvice(settings.advice, planning->loaded);
  Result<std::unique_ptr<PlanSession>> session =
      PlanSession::Open(inputs.graph.graph, inputs.cluster.cluster, inputs.costs,
                        parts ? &*parts : nullptr, wishes, settings);
  // A constraint comes from the command line.
  if (!session.ok() && session.error().code == ErrorCode::kConstraint) return session.error();
  PW_ASSIGN(planning->session, std::move(session).InFile(input.graph));
  if (planning->strategies && planning->strategies->has_plan()) {
    PW_RETURN_IF_ERROR(planning->strategies->LayOut(planning->problem()));
  }
  if (planning->strategies && planning->strategies->compiler) {
    planning->session->TakeCompiler(planning->strategies->plan.plan,
                                    planning->strategies->compiler);
  }
  return planning;
}

Result<std::vector<StrategyResult>> TryStrategies(const Planning& planning,
                                                  const InputOptions& input,
                                                  const SearchOptions& search,
                                                  const SpaceOptions& space,
                                                  const PlannerOptions& options) {
  PW_ASSIGN(const Constraints constraints, ParseConstraints(search));
  const bool may = planning.layouts() != nullptr &&
                   MayChooseStrategies(planning.inputs.graph.graph, constraints);
  if (!may) return std::vector<StrategyResult>();
  PW_ASSIGN(const SplitWishes wishes, WishesOf(space));
  PW_ASSIGN(const CostOptions costs, CostsOfParts(input, planning.inputs));
  PW_ASSIGN(const StrategySearchResult found,
            SearchStrategies(planning, costs, wishes, options, /*for_auto=*/false));
  return found.Shown();
}

namespace {

// Of what a plan was made for: what it is another of here.
std::vector<std::string> InputDifferences(const Plan& plan, const InputOptions& input,
                                          const Inputs& inputs) {
  std::vector<std::string> differs;
  if (plan.graph.sha256 != inputs.graph.sha256) differs.emplace_back("graph");
  if (plan.batch_option != input.batch.value_or(0) || plan.dimensions != inputs.dimensions) {
    differs.emplace_back("sizes");
  }
  if (!RewriteAlike(plan.distribution.transforms.value_or(Transforms()),
                    inputs.graph.graph.transforms())) {
    differs.emplace_back("micro-batches or recomputation");
  }
  if (plan.cluster.sha256 != inputs.cluster.sha256) differs.emplace_back("cluster");
  return differs;
}

std::vector<std::string> Differences(const Plan& plan, const InputOptions& input,
                                     const Planning& planning) {
  const Inputs& inputs = planning.inputs;
  std::vector<std::string> differs = InputDifferences(plan, input, inputs);
  const Cluster& cluster = inputs.cluster.cluster;
  // A reserve is an option, no part of the cluster's file.
  const auto same = [&](const DeviceUse& use) {
    const DeviceId id = cluster.FindDevice(use.name);
    return !id.valid() || use.reserve.value_or(Bytes()) == cluster.device(id).reserve;
  };
  if (!std::all_of(plan.devices.begin(), plan.devices.end(), same)) {
    differs.emplace_back("memory reserve");
  }
  // Planned anew in this problem's order and with its batch norms, a step may be slower than the plan says.
  if (plan.policy != inputs.policy) {
    differs.push_back(fmt::format("order (--order {})", ToString(plan.policy)));
  }
  const LayoutProblem* const layouts =
      planning.layouts();  // none: ops are whole, and so are batch norms
  const bool local = plan.distribution.switches.local_batch_norm;
  if (layouts != nullptr && local && !layouts->local_batch_norm) {
    differs.emplace_back("batch norms (--batch-norm local)");
  }
  return differs;
}

// Globs name devices of any cluster: that `layouts`, which are the plan's, have those on which its ops run.
Status CheckDevicesAlike(const Plan& plan, const Cluster& cluster, const Layouts& layouts) {
  size_t used = 0;
  for (const DeviceUse& use : plan.devices) {
    if (use.ops == 0) continue;
    ++used;
    if (cluster.FindDevice(use.name).valid()) continue;
    return MakeError(ErrorCode::kPlanMismatch,
                     fmt::format("it runs ops on \"{}\", which is no device of this cluster",
                                 Printable(use.name, 80)),
                     "devices");
  }
  const size_t here = CountDevices(cluster, layouts);
  if (here <= used) return Ok();
  return MakeError(
      ErrorCode::kPlanMismatch,
      fmt::format("it runs ops on {} devices, of which its layouts name {} here", used, here),
      "devices");
}

}  // namespace

Error OfOtherPlan(const Plan& plan, const InputOptions& input, const Inputs& inputs, Error error) {
  const std::vector<std::string> differs = InputDifferences(plan, input, inputs);
  if (differs.empty()) return error;
  const std::string& graph = inputs.graph.graph.name();
  const std::string& cluster = inputs.cluster.cluster.name();
  const bool named_alike = plan.graph_name == graph && plan.cluster_name == cluster;
  const std::string what =
      named_alike ? fmt::format("the plan was made for other inputs ({})", fmt::join(differs, ", "))
                  : fmt::format("this is a plan of {} on {}, not of {} on {}",
                                Printable(plan.graph_name, 80), Printable(plan.cluster_name, 80),
                                Printable(graph, 80), Printable(cluster, 80));
  error.code = ErrorCode::kPlanMismatch;
  error.message = fmt::format("{}: {}", what, error.message);
  error.remedy = "Give the graph, the cluster and the options that it was made with, or plan anew.";
  return error;
}

Result<Initial> LoadInitial(const std::string& path, const InputOptions& input,
                            const Planning& planning) {
  const Graph& graph = planning.inputs.graph.graph;
  const Cluster& cluster = planning.inputs.cluster.cluster;
  std::optional<Plan> plan;
  PW_ASSIGN(const bool is_plan, IsPlan(path));
  if (is_plan) {
    PW_ASSIGN(plan, LoadPlan(path));
  }
  if (plan && plan->space != PlanSpace::kPlaced) {
    if (planning.layouts() == nullptr) {
      Error error =
          MakeError(ErrorCode::kUsage, "it is a plan that splits or copies ops", "",
                    "Give --space replicated, for an algorithm that searches such plans.");
      error.file = path;
      return error;
    }
    const LayoutProblem& problem = *planning.layouts();
    Result<StepPlan> resolved = ResolvePlan(problem, plan->distribution).InFile(path);
    if (!resolved.ok()) return OfOtherPlan(*plan, input, planning.inputs, resolved.error());
    const bool same_cluster = plan->cluster.sha256 == planning.inputs.cluster.sha256;
    const Status alike =
        same_cluster ? Ok() : CheckDevicesAlike(*plan, cluster, resolved.value().layouts);
    if (!alike.ok()) {
      Error error = alike.error();
      error.file = path;
      return OfOtherPlan(*plan, input, planning.inputs, std::move(error));
    }
    return Initial{resolved.Take(), Differences(*plan, input, planning)};
  }
  PW_ASSIGN(const LoadedPlacement loaded, LoadPlacement(path, planning.inputs.graph, cluster));
  Result<Placement> placement = ResolvePlacement(loaded.placement, graph, cluster).InFile(path);
  // Names that are not found mostly mean that it is a plan of something else.
  if (!placement.ok()) {
    return plan ? OfOtherPlan(*plan, input, planning.inputs, placement.error()) : placement.error();
  }
  PW_RETURN_IF_ERROR(
      CheckPlacementLegal(planning.problem().sim_graph, graph, cluster, placement.value())
          .InFile(path));
  Initial initial{PlanOf(graph, placement.value()), {}};
  if (plan) initial.differs = Differences(*plan, input, planning);
  return initial;
}

Result<Initial> LoadExpert(const std::string& path, const InputOptions& input,
                           const Planning& planning) {
  PW_ASSIGN(Initial expert, LoadInitial(path, input, planning));
  if (expert.plan.IsPlaced()) return expert;
  return MakeError(
      ErrorCode::kUsage,
      "--expert is a placement, and " + Printable(path, 4096) + " a plan that splits or copies ops",
      "", "Start a search from it with --init.");
}

PlannerOptions MakePlannerOptions(const SearchOptions& search, const Budget& budget,
                                  Context& context) {
  PlannerOptions options;
  options.budget = budget;
  options.seed = search.seed;
  options.threads = ThreadsOf(search);
  options.started = context.started;
  if (context.console.ShowsProgress()) {
    options.progress = [&context](const PlannerOptions::Progress& progress) {
      context.console.Progress(
          context.started,
          fmt::format(
              "{}  {}  {}", progress.algorithm, CountOf(progress.iterations, "move"),
              progress.feasible ? "best " + FormatNanos(progress.best) : "nothing fits yet"));
    };
  }
  return options;
}

Result<StepInputs> StepOf(const Planning& planning, const PlannerResult& result,
                          const std::string& file, bool in_lanes) {
  PW_ASSIGN(StepOfPlan step, planning.session->StepOf(result, in_lanes).InFile(file));
  return InputsOf(planning.inputs, std::move(step));
}

Result<SimResult> Replay(const Planning& planning, const StepInputs& of,
                         const PlannerResult& result) {
  return planning.session->Replay(of.step, result).InFile(planning.inputs.graph.path);
}

Plan MakePlan(const Planning& planning, const InputOptions& input, const SearchOptions& search,
              const StepInputs& of, const PlannerResult& result, const SimResult& replay,
              double seconds) {
  Plan plan = planning.session->MakePlan(of.step, result, replay, search.seed, seconds);
  NameInputs(planning.inputs, input, plan);
  return plan;
}

namespace {

Error NoStrategyFits(const Planning& planning, const StrategyResult& nearest) {
  return MakeError(
      ErrorCode::kNothingFound,
      fmt::format("nothing fits: of {} strategies {} comes nearest and needs {} on a device that "
                  "has {}; nothing was written",
                  planning.strategies->strategies.size(), Describe(nearest.strategy),
                  FormatBytes(nearest.memory), FormatBytes(nearest.capacity)),
      "",
      fmt::format("Give {} more memory a device, more devices (`placewright size` finds how many), "
                  "or a smaller batch (--batch)",
                  FormatBytes(nearest.Over())));
}

}  // namespace

Error DoesNotFit(const Planning& planning, const StepInputs& of, const Plan& plan,
                 const Budget& advice) {
  if (const StrategyResult* nearest = NearestStrategy(plan)) {
    return NoStrategyFits(planning, *nearest);
  }
  const PreparedProblem& prepared = planning.prepared();
  if (plan.space == PlanSpace::kPlaced) {
    return NothingFits(prepared.problem(), prepared.evaluator(), prepared.plans(advice),
                       plan.algorithm, of.step.placement);
  }
  const DeviceUse* worst = nullptr;
  for (const DeviceUse& use : plan.devices) {
    const bool worse =
        worst == nullptr || use.peak_memory - use.capacity > worst->peak_memory - worst->capacity;
    if (worse) worst = &use;
  }
  // A pipeline is an order.
  const bool pipeline = PipelineOf(planning.inputs.graph.graph.transforms()) != nullptr;
  const auto order = pipeline
                         ? std::nullopt
                         : FindCheaperOrder(*of.step.sim_graph, of.step.placement, plan.policy);
  return MakeError(
      ErrorCode::kNothingFound,
      fmt::format("the plan of {} does not fit: {} needs {} and has {}; nothing was written",
                  plan.algorithm, worst->name, FormatBytes(worst->peak_memory),
                  FormatBytes(worst->capacity)),
      "",
      fmt::format("Give {}more memory{}", plan.iterations > 1 ? "more time (--time), or " : "",
                  order ? "; or " + Describe(*order, of.inputs->cluster.cluster) : ""));
}

std::optional<Error> IsCrowded(const Planning& planning, const StepInputs& of,
                               const PlannerResult& result, const SimResult& replay) {
  if (replay.feasible || replay.TotalOver() > Bytes(0)) return std::nullopt;
  const auto peaks = planning.session->MeasurePeaks(of.step, result, replay);
  const DeviceId worst = FindCrowded(peaks);
  if (!worst.valid()) return std::nullopt;
  const DevicePeaks& memory = peaks[worst];
  const Bytes beside = memory.Device() - memory.allocated - memory.context;
  return MakeError(
      ErrorCode::kNothingFound,
      fmt::format("the plan of {} does not fit: {}; nothing was written", result.algorithm,
                  DescribeCrowding(of.inputs->cluster.cluster.device(worst).name, memory)),
      "",
      fmt::format("Plan with that much kept free (--memory-reserve {}MiB), or with a smaller batch",
                  (beside.count >> 20) + 1));
}

void NameInputs(const Inputs& inputs, const InputOptions& input, Plan& plan) {
  plan.graph = {inputs.graph.path, inputs.graph.sha256};
  plan.cluster = {inputs.cluster.path, inputs.cluster.sha256};
  plan.batch_option = input.batch.value_or(0);
  plan.dimensions = inputs.dimensions;
  plan.cost_profile = input.cost_profile;
  plan.precision = input.precision;
  NameMeasurements(inputs.cost_store, inputs.cost_report.measured, inputs.cluster.cluster,
                   inputs.links, plan);
}

}  // namespace placewright
