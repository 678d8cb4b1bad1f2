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
  options.initial = request.initial;
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

Error Cancelled() { return MakeError(ErrorCode::kCancelled, "stopped before there was any plan"); }

}  // namespace

Result<Graph> ReadGraph(const std::string& path, const ReadGraphOptions& options) {
  PW_ASSIGN(LoadedGraph loaded, LoadGraph(path, {options.batch, "", options.dimensions}));
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
  return PlanStep(graph, cluster, modelled, request);
}

Result<PlannedStep> PlanStep(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                             const PlanRequest& request) {
  const Clock::time_point started = Clock::now();
  const Algorithms algorithms;
  PW_ASSIGN(const Planner* planner, algorithms.Find(request.algorithm));
  if (request.initial) PW_RETURN_IF_ERROR(algorithms.CheckTakesInit(*planner));
  PW_RETURN_IF_ERROR(CheckLimits(request));
  ProblemSettings settings;
  settings.constraints = request.constraints;
  settings.policy = request.policy;
  settings.threads = std::max(1, request.threads);
  const PlannerOptions options = OptionsOf(request, started);
  settings.advice = ForAdvice(options.budget, started);
  if (request.stop.StopRequested()) return Cancelled();
  PW_ASSIGN(const std::unique_ptr<PreparedProblem> prepared,
            PreparedProblem::Prepare(graph, cluster, costs, settings));
  const Problem& problem = prepared->problem();
  if (request.initial) {
    PW_RETURN_IF_ERROR(CheckPlacementLegal(problem.sim_graph, graph, cluster, *request.initial));
  }
  if (request.stop.StopRequested()) return Cancelled();
  PW_ASSIGN(PlannerResult result, planner->Plan(problem, prepared->evaluator(), options));
  const double seconds = std::chrono::duration<double>(Clock::now() - started).count();
  PW_ASSIGN(SimResult replay, Replay(*prepared, result));
  PlannedStep planned;
  planned.plan = MakePlan(*prepared, result, replay, request.seed, seconds);
  planned.plan.cost_profile = request.cost_profile;
  planned.plan.precision = request.precision;
  planned.placement = std::move(result.placement);
  planned.schedule = *std::move(replay.schedule);
  planned.bound_argument = prepared->bound().argument;
  planned.notes = std::move(result.notes);
  return planned;
}

}  // namespace placewright
