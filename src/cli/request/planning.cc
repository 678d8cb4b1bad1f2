#include "cli/request/planning.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/text.h"
#include "formats/dnn_partitioning/workload_scale.h"
#include "formats/plan/plan_files.h"
#include "report/plan_report.h"
#include "search/proof/enough.h"
#include "search/proof/enumeration.h"
#include "search/proof/routes.h"

namespace placewright {

namespace {

// As ProveFits, except that what our simulator counts and a dnn-partitioning workload does not
// (activations) is no proof.
Status ProveInputFits(const Planning& planning) {
  Status fits = ProveFits(planning.problem);
  const std::optional<PipelineWorkload>& workload = planning.inputs.graph.workload;
  if (fits.ok() || !workload) return fits;
  const WorkloadScale scale = ScaleOf(*workload);
  if (scale.exact()) return fits;
  Problem generous = planning.problem;
  for (int64_t& capacity : generous.program.capacity) {
    capacity = SaturatingAdd(capacity, scale.uncounted);
  }
  return ProveFits(generous).ok() ? Ok() : fits;
}

}  // namespace

Result<std::unique_ptr<Planning>> Prepare(const InputOptions& input, const SearchOptions& search) {
  PW_ASSIGN(const Constraints constraints, ParseConstraints(search));
  auto planning = std::make_unique<Planning>();
  PW_ASSIGN(planning->inputs, LoadInputs(input));
  const Inputs& inputs = planning->inputs;
  Result<Problem> problem = BuildProblem(inputs.graph.graph, inputs.cluster.cluster, inputs.costs,
                                         constraints, inputs.order);
  // A constraint comes from the command line.
  if (!problem.ok() && problem.error().code == ErrorCode::kConstraint) return problem.error();
  PW_ASSIGN(planning->problem, std::move(problem).InFile(input.graph));
  PW_RETURN_IF_ERROR(ProveConnects(planning->problem).InFile(input.graph));
  Status fits = ProveInputFits(*planning).InFile(input.graph);
  if (!fits.ok()) {
    fits.error().remedy += ConstraintAdvice(planning->problem);
    return std::move(fits.error());
  }
  planning->bound = TightestBound(planning->problem);
  return planning;
}

namespace {

std::vector<std::string> Differences(const Plan& plan, const InputOptions& input,
                                     const Inputs& inputs) {
  std::vector<std::string> differs;
  if (plan.graph.sha256 != inputs.graph.sha256) differs.emplace_back("graph");
  if (plan.batch_option != input.batch.value_or(0) || plan.dimensions != inputs.dimensions) {
    differs.emplace_back("sizes");
  }
  if (plan.cluster.sha256 != inputs.cluster.sha256) differs.emplace_back("cluster");
  const Cluster& cluster = inputs.cluster.cluster;
  const auto same = [&](const DeviceUse& use) {
    const DeviceId id = cluster.FindDevice(use.name);
    return !id.valid() || use.reserve.value_or(Bytes()) == cluster.device(id).reserve;
  };
  if (!std::all_of(plan.devices.begin(), plan.devices.end(), same)) {
    differs.emplace_back("memory reserve");
  }
  return differs;
}

}  // namespace

// The error of a plan whose names are not those of this problem, saying what it is a plan of.
static Error OfOther(const Plan& plan, Error error, const Planning& planning) {
  const std::string& graph = planning.inputs.graph.graph.name();
  const std::string& cluster = planning.inputs.cluster.cluster.name();
  if (plan.graph_name == graph && plan.cluster_name == cluster) return error;
  error.message = fmt::format("this is a plan of {} on {}, not of {} on {}: {}",
                              Printable(plan.graph_name, 80), Printable(plan.cluster_name, 80),
                              Printable(graph, 80), Printable(cluster, 80), error.message);
  return error;
}

Result<Initial> LoadInitial(const std::string& path, const InputOptions& input,
                            const Planning& planning) {
  const Graph& graph = planning.inputs.graph.graph;
  const Cluster& cluster = planning.inputs.cluster.cluster;
  PW_ASSIGN(const NamedPlacement named, LoadPlacement(path, planning.inputs.graph, cluster));
  std::optional<Plan> plan;
  PW_ASSIGN(const bool is_plan, IsPlan(path));
  if (is_plan) {
    PW_ASSIGN(plan, LoadPlan(path));
  }
  Result<Placement> placement = ResolvePlacement(named, graph, cluster).InFile(path);
  if (!placement.ok())
    return plan ? OfOther(*plan, placement.error(), planning) : placement.error();
  PW_RETURN_IF_ERROR(
      VerifyPlacement(planning.problem.program, graph, cluster, placement.value()).InFile(path));
  Initial initial{placement.Take(), {}};
  if (plan) initial.differs = Differences(*plan, input, planning.inputs);
  return initial;
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
      const double seconds = std::chrono::duration<double>(Clock::now() - context.started).count();
      context.console.Progress(fmt::format(
          "{:5.1f} s  {}  {}  {}", seconds, progress.algorithm,
          CountOf(progress.iterations, "move"),
          progress.feasible ? "best " + FormatNanos(progress.best) : "nothing fits yet"));
    };
  }
  return options;
}

Result<SimResult> Replay(const Planning& planning, const PlannerResult& result) {
  Simulator simulator(planning.problem.program);
  SimOptions options;
  options.order = planning.problem.order;
  options.schedule = true;
  options.feedback = true;
  SimResult replay = simulator.Run(result.placement, options);
  PW_CHECK_EQ(replay.step_time.count, result.step_time.count);
  PW_CHECK_EQ(replay.feasible, result.feasible);
  const Inputs& inputs = planning.inputs;
  PW_RETURN_IF_ERROR(VerifyCounted(planning.problem.program, inputs.graph.graph,
                                   inputs.cluster.cluster, result.placement, replay)
                         .InFile(inputs.graph.path));
  return replay;
}

Plan MakePlan(const Planning& planning, const InputOptions& input, const SearchOptions& search,
              const PlannerResult& result, const SimResult& replay, double seconds) {
  const Inputs& inputs = planning.inputs;
  Plan plan;
  plan.graph = {inputs.graph.path, inputs.graph.sha256};
  plan.cluster = {inputs.cluster.path, inputs.cluster.sha256};
  plan.graph_name = inputs.graph.graph.name();
  plan.cluster_name = inputs.cluster.cluster.name();
  plan.batch_option = input.batch.value_or(0);
  plan.dimensions = inputs.dimensions;
  plan.cost_profile = input.cost_profile;
  plan.order = inputs.order;
  plan.algorithm = result.algorithm;
  plan.feasible = replay.feasible;
  plan.step_time = replay.step_time;
  plan.lower_bound = planning.bound.value;
  plan.devices = UseOfDevices(replay, inputs.cluster.cluster);
  plan.baselines = result.baselines;
  const CostShares shares = SharesOf(inputs.costs, result.placement);
  plan.share_given = shares.given;
  plan.share_measured = shares.measured;
  plan.share_modelled = shares.modelled;
  plan.seed = search.seed;
  plan.iterations = result.iterations;
  plan.seconds = seconds;
  plan.first_feasible_seconds = result.first_feasible_seconds;
  plan.history = result.history;
  plan.placement = NamePlacement(result.placement, inputs.graph.graph, inputs.cluster.cluster);
  return plan;
}

}  // namespace placewright
