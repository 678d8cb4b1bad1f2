#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cost/cost_model.h"
#include "formats/input.h"
#include "planning/algorithms.h"
#include "planning/placewright.h"
#include "planning/prepared_problem.h"
#include "planning/replay.h"
#include "planning/search_budget.h"
#include "search/evaluation/compiled_step.h"
#include "search/problem/layout_problem.h"
#include "sim/communication_use.h"
#include "sim/placement_check.h"

namespace placewright {
namespace {

constexpr int kMaxThreads = 1024;

PlannerOptions OptionsOf(const PlanRequest& request, Clock::time_point started) {
  PlannerOptions options;
  options.budget = MakeSearchBudget(request.time, request.iterations, started);
  options.budget.stop = request.stop;
  options.seed = request.seed;
  options.threads = std::max(1, request.threads);
  options.started = started;
  if (request.progress) {
    options.progress = [&request](const PlannerOptions::Progress& progress) {
      request.progress({progress.algorithm, progress.iterations, progress.best, progress.feasible});
    };
  }
  return options;
}

Status CheckLimits(const PlanRequest& request) {
  if (request.iterations && *request.iterations < 0) {
    return MakeError(ErrorCode::kUsage, "fewer than 0 iterations were asked for", "",
                     "Give 0 or more, or none for no limit.");
  }
  if (request.threads > kMaxThreads) {
    return MakeError(ErrorCode::kUsage,
                     "more than " + std::to_string(kMaxThreads) + " threads were asked for", "",
                     "Give as many as there are cores.");
  }
  return Ok();
}

SchedulingPolicy PolicyOf(const PlanRequest& request, const Graph& graph) {
  return request.policy.value_or(DefaultPolicy(graph.format()));
}

Error NoSuchSpace(const std::string& why, const std::string& remedy) {
  return MakeError(ErrorCode::kUsage, why, "", remedy);
}

Result<std::unique_ptr<LayoutProblem>> LayoutsOf(const Graph& graph, const Cluster& cluster,
                                                 const CostOptions& costs,
                                                 const PlanRequest& request) {
  if (request.space == PlanSpace::kPlaced) return std::unique_ptr<LayoutProblem>();
  if (request.space == PlanSpace::kPipelined) {
    return NoSuchSpace("pipelines are not planned", "Ask for kPlaced or kReplicated.");
  }
  if (graph.batch_scaling() == nullptr) {
    return NoSuchSpace(
        "no op can be split: it is not proven how sizes of " + Printable(graph.name()) +
            " follow its batch",
        "Read an ONNX model with prove_batch, record the step anew, or ask for kPlaced.");
  }
  return LayoutProblem::Make(graph, cluster, costs, PolicyOf(request, graph));
}

// A plan that splits or copies ops is its compiled step, from here on.
Result<PlannedStep> PlannedOf(const PreparedProblem& prepared, const LayoutProblem& layouts,
                              PlannerResult& result, const PlanRequest& request,
                              Clock::time_point started) {
  PW_ASSIGN(const std::shared_ptr<CompiledStep> made, prepared.evaluator().Compile(result.plan));
  CompiledStep& compiled = *made;
  DistributedStep& step = compiled.step;
  PW_ASSIGN(SimResult replay, Replay(compiled.sim_graph, step.graph, layouts.cluster,
                                     step.placement, layouts.policy));
  PlannedStep planned;
  planned.plan = MakePlan(
      result, replay, {step.graph, layouts.cluster, compiled.costs, step.placement, layouts.policy},
      request.seed, std::chrono::duration<double>(Clock::now() - started).count());
  if (const std::optional<Bound>& bound = prepared.replicated_bound()) {
    planned.plan.lower_bound = bound->value;
    planned.bound_argument = bound->argument;
  }
  Distribution& distribution = planned.plan.distribution.emplace();
  distribution.spec = StatePlan(layouts, result.plan);
  distribution.spec.switches.gradients_apart = compiled.gradients_apart;
  distribution.communication = UseOfCommunication(step.graph, compiled.costs, *replay.schedule);
  distribution.samples = layouts.graph.batch();
  planned.placement = std::move(step.placement);
  planned.schedule = *std::move(replay.schedule);
  planned.compiled = std::move(step.graph);
  return planned;
}

Error Cancelled() { return MakeError(ErrorCode::kCancelled, "stopped before there was any plan"); }

void NameRequest(const PlanRequest& request, const Cluster& cluster, PlannerResult& result,
                 PlannedStep& planned) {
  planned.plan.cost_profile = request.cost_profile;
  planned.plan.precision = request.precision;
  planned.notes = cluster.notes();
  planned.notes.insert(planned.notes.end(), result.notes.begin(), result.notes.end());
}

// `layouts`: nullptr where ops stay whole.
Result<PlannedStep> Search(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                           const LayoutProblem* layouts, const PlanRequest& request) {
  const Clock::time_point started = Clock::now();
  const Algorithms algorithms;
  PW_ASSIGN(const Planner* planner, algorithms.Find(request.algorithm));
  if (request.initial) PW_RETURN_IF_ERROR(algorithms.CheckTakesInit(*planner));
  PW_RETURN_IF_ERROR(CheckLimits(request));
  ProblemSettings settings;
  settings.constraints = request.constraints;
  settings.policy = PolicyOf(request, graph);
  settings.threads = std::max(1, request.threads);
  settings.layouts = layouts;
  PlannerOptions options = OptionsOf(request, started);
  settings.advice = ForAdvice(options.budget, started);
  if (request.stop.StopRequested()) return Cancelled();
  PW_ASSIGN(const std::unique_ptr<PreparedProblem> prepared,
            PreparedProblem::Prepare(graph, cluster, costs, settings));
  const Problem& problem = prepared->problem();
  if (request.initial) {
    PW_RETURN_IF_ERROR(CheckPlacementLegal(problem.sim_graph, graph, cluster, *request.initial));
    options.initial = PlanOf(graph, *request.initial);
  }
  if (request.stop.StopRequested()) return Cancelled();
  options.bound = prepared->search_bound();
  PW_ASSIGN(PlannerResult result, planner->Plan(problem, prepared->evaluator(), options));
  PlannedStep planned;
  if (result.space != PlanSpace::kPlaced) {
    PW_ASSIGN(planned, PlannedOf(*prepared, *layouts, result, request, started));
    NameRequest(request, cluster, result, planned);
    return planned;
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - started).count();
  PW_ASSIGN(SimResult replay, Replay(*prepared, result));
  planned.plan = MakePlan(*prepared, result, replay, request.seed, seconds);
  planned.placement = PlacementOf(graph, result.plan);
  planned.schedule = *std::move(replay.schedule);
  planned.bound_argument = prepared->bound().argument;
  NameRequest(request, cluster, result, planned);
  return planned;
}

}  // namespace

Result<Graph> ReadGraph(const std::string& path, const ReadGraphOptions& options) {
  PW_ASSIGN(LoadedGraph loaded, LoadGraph(path, {.batch = options.batch,
                                                 .dimensions = options.dimensions,
                                                 .prove_batch = options.prove_batch}));
  if (loaded.cluster || loaded.costs || loaded.times) {
    Error error = MakeError(
        ErrorCode::kUsage, "the file holds times of its own, which are no part of a graph", "",
        "Plan it with the program `placewright plan`, or give PlanStep the graph with its costs.");
    error.file = path;
    return error;
  }
  return std::move(loaded.graph);
}

Result<Cluster> ReadCluster(const std::string& path_or_preset) {
  PW_ASSIGN(LoadedCluster loaded, LoadCluster(path_or_preset));
  return std::move(loaded.cluster);
}

Result<PlannedStep> PlanStep(const Graph& graph, const Cluster& cluster,
                             const PlanRequest& request) {
  if (!IsCostProfile(request.cost_profile)) {
    return MakeError(ErrorCode::kUsage,
                     "there is no cost profile \"" + Printable(request.cost_profile) + "\"", "",
                     "The profiles are default and tf1.");
  }
  CostOptions costs;
  costs.profile = request.cost_profile;
  PW_ASSIGN(costs.precision, ParseFloatPrecision(request.precision));
  PW_ASSIGN(const CostTable modelled, ModelCosts(graph, cluster, costs));
  PW_ASSIGN(const std::unique_ptr<LayoutProblem> layouts,
            LayoutsOf(graph, cluster, costs, request));
  return Search(graph, cluster, modelled, layouts.get(), request);
}

Result<PlannedStep> PlanStep(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                             const PlanRequest& request) {
  if (request.space != PlanSpace::kPlaced) {
    return NoSuchSpace("costs of whole ops say nothing of their parts",
                       "Leave the costs out, so that they are modelled, or ask for kPlaced.");
  }
  return Search(graph, cluster, costs, nullptr, request);
}

}  // namespace placewright
