#include "cli/request/distributed.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "compile/counter_draws.h"
#include "compile/layout_specs.h"
#include "formats/aten/reader.h"
#include "formats/aten/writer.h"
#include "formats/plan/layouts_json.h"
#include "formats/text/file.h"
#include "planning/replay.h"
#include "search/evaluation/plan_result.h"
#include "sim/communication_use.h"

namespace placewright {
namespace {

// Whether they are local.
Result<bool> ParseBatchNorm(const SpaceOptions& options) {
  const bool local = options.batch_norm == "local";
  if (local || options.batch_norm == "synchronised") return local;
  return MakeError(ErrorCode::kUsage,
                   "--batch-norm \"" + Printable(options.batch_norm) + "\" is unknown" +
                       DidYouMean(options.batch_norm, {"synchronised", "local"}),
                   "", "It is synchronised or local.");
}

}  // namespace

void AddSpaceOptions(CommandLine app, SpaceOptions* options, bool search) {
  app.AddOption("--layouts", options->layouts,
                "Layouts by hand (docs/formats/layouts.md): which modules are split, and how")
      .TypeName("FILE")
      .Group(search ? "Search" : "Input");
  if (!search) return;
  app.AddOption(
         "--space", options->space,
         "What a plan may do with ops: placed (whole) or replicated (split and copied; default of "
         "auto where the batch is proven to follow)")
      .TypeName("NAME")
      .Group("Search");
  app.AddOption(
         "--batch-norm", options->batch_norm,
         "Of batch norms that are split: synchronised (default), or local, of each part alone")
      .TypeName("NAME")
      .Group("Search");
  app.AddOption("--units", options->units,
                "Parts of the step that a search over layouts moves as one, at most (default 60)")
      .TypeName("N")
      .Check(IntegerWithin(1, kMaxTagParts))
      .Group("Search");
}

void AddSfbOption(CommandLine app, SpaceOptions* options) {
  app.AddOption("--sfb", options->sfb,
                "Gradients recomputed from gathered factors: none (default), cut (where the step "
                "is faster) "
                "or paper (TAG's program)")
      .TypeName("NAME")
      .Group("Search");
}

Result<SfbMode> ParseSfb(const SpaceOptions& options) {
  const std::optional<SfbMode> mode = ParseSfbMode(options.sfb);
  if (mode) return *mode;
  return MakeError(ErrorCode::kUsage,
                   "--sfb \"" + Printable(options.sfb) + "\" is unknown" +
                       DidYouMean(options.sfb, {"none", "cut", "paper"}),
                   "", "It is none, cut or paper.");
}

Status RecomputeFromFactors(const Problem& problem, Evaluator& evaluator, SfbMode mode,
                            Clock::time_point started, PlannerResult& result) {
  if (mode == SfbMode::kNone) return Ok();
  PW_ASSIGN(SfbResult recomputed, ApplySfb(*problem.layouts, evaluator, result.plan, mode));
  result.notes.push_back(recomputed.Note());
  // It alone has baselines, and promises to be no worse than any of its plans.
  const bool of_auto = !result.baselines.empty();
  const bool changed = !recomputed.duplicated.empty();
  const bool better = recomputed.after.score() < recomputed.before.score();
  if (of_auto && changed && !better) {
    result.notes.push_back(
        "that is no faster, so gradients stay synchronised: auto's plan is never worse than what "
        "it found "
        "(--algo data-parallel recomputes them all the same)");
    return Ok();
  }
  if (changed) result.plan = std::move(recomputed.plan);
  result.feasible = recomputed.after.feasible;
  result.step_time = recomputed.after.step_time;
  result.over = recomputed.after.TotalOver();
  if (!changed) return Ok();
  result.algorithm += "+sfb";
  if (of_auto) {
    result.baselines.push_back(BaselineOf(problem, result, true));
  }
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

bool MaySplit(const SpaceOptions* space, const Inputs& inputs) {
  if (space == nullptr) return false;
  if (!space->where_proven) return true;
  // Files that state the times of whole ops say nothing of parts.
  const bool times = inputs.graph.times || inputs.cluster.path == kClusterInGraph;
  const BatchScaling* const laws = inputs.graph.graph.batch_scaling();
  const bool proven = laws != nullptr && laws->reason.empty();
  return proven && !times && inputs.cluster.cluster.device_count() > 1;
}

Result<PlanSpace> ParseSpace(const SpaceOptions& options) {
  PW_RETURN_IF_ERROR(ParseBatchNorm(options));
  for (const PlanSpace space : {PlanSpace::kPlaced, PlanSpace::kReplicated}) {
    if (options.space == ToString(space)) return space;
  }
  return MakeError(ErrorCode::kUsage,
                   "--space \"" + Printable(options.space) + "\" is unknown" +
                       DidYouMean(options.space, {"placed", "replicated"}),
                   "", "The spaces are placed and replicated.");
}

Result<std::unique_ptr<LayoutProblem>> MakeLayoutProblem(const InputOptions& input,
                                                         const SpaceOptions& options,
                                                         const Inputs& inputs) {
  PW_ASSIGN(const bool local, ParseBatchNorm(options));
  if (inputs.graph.times || inputs.cluster.path == kClusterInGraph) {
    return MakeError(ErrorCode::kUsage,
                     fmt::format("{} states the times of whole ops: those of parts are not known",
                                 Printable(input.graph, 4096)),
                     "", "Give a recorded step or a model, whose parts the cost model knows.");
  }
  PW_ASSIGN(CostOptions cost_options, CostOptionsOf(input, inputs.cluster.cluster));
  PW_ASSIGN(std::unique_ptr<LayoutProblem> problem,
            LayoutProblem::Make(inputs.graph.graph, inputs.cluster.cluster, std::move(cost_options),
                                inputs.policy));

  problem->local_batch_norm = local && problem->HasBatchNorms();
  problem->units = options.units;
  return problem;
}

Result<DistributionSpec> ReadGivenLayouts(const SpaceOptions& options,
                                          const LayoutProblem& problem) {
  PW_ASSIGN(DistributionSpec spec, ReadDistributionSpec(options.layouts));
  spec.switches.local_batch_norm =
      (spec.switches.local_batch_norm && problem.HasBatchNorms()) || problem.local_batch_norm;
  return spec;
}

Result<DistributedInputs> Distribute(const Inputs& inputs, const LayoutProblem& problem,
                                     const DistributionSpec& spec, CompiledStep& compiled) {
  DistributedInputs distributed;
  PW_ASSIGN(distributed.step, FormatAtenStep(compiled.step, problem.graph, inputs.cluster.cluster));
  Inputs& of_step = distributed.inputs;
  of_step.graph.path = inputs.graph.path;
  of_step.graph.sha256 = inputs.graph.sha256;
  of_step.graph.format = inputs.graph.format;
  of_step.graph.notes = inputs.graph.notes;
  of_step.graph.assumed_shapes = inputs.graph.assumed_shapes;
  of_step.graph.assumed_dimensions = inputs.graph.assumed_dimensions;
  of_step.graph.graph = std::move(compiled.step.graph);
  of_step.cluster = inputs.cluster;
  of_step.costs = std::move(compiled.costs);
  of_step.cost_report = std::move(compiled.report);
  of_step.cost_store = inputs.cost_store;
  of_step.links = inputs.links;
  of_step.plan_links = inputs.plan_links;
  of_step.policy = inputs.policy;
  of_step.precision = inputs.precision;
  of_step.dimensions = inputs.dimensions;
  distributed.placement = std::move(compiled.step.placement);
  distributed.origin = std::move(compiled.step.origin);
  distributed.sim_graph = std::move(compiled.sim_graph);
  distributed.distribution.spec = spec;
  // Who reads the plan again compiles it as it was decided here.
  distributed.distribution.spec.switches.gradients_apart = compiled.gradients_apart;
  distributed.distribution.spec.layouts = ExpandSpecs(problem.axes, problem.cluster, spec.layouts);
  of_step.distributed = true;
  distributed.distribution.samples = problem.graph.batch();
  return distributed;
}

Result<OriginalStep> LoadOriginal(const PlanInputs& loaded, const std::string& plan_path,
                                  const PlanInputOptions& options) {
  const Plan& plan = loaded.plan;
  const std::vector<std::string> files = FilesOf(plan, plan_path);
  GraphInputOptions graph_options;
  if (plan.batch_option > 0) graph_options.batch = plan.batch_option;
  graph_options.dimensions = plan.dimensions;
  graph_options.sha256 = plan.graph.sha256;
  OriginalStep original;
  PW_ASSIGN(original.graph, LoadGraph(options.graph.value_or(files.front()), graph_options));
  PW_ASSIGN(original.counted, WithCountedDraws(original.graph.graph, kDrawSeed));
  PW_ASSIGN(const std::string text, ReadFile(files.back()));
  PW_ASSIGN(DistributedStep step,
            ReadAtenStep(text, original.step(), loaded.cluster.cluster).InFile(files.back()));
  original.pieces = std::move(step.inputs);
  original.origin = std::move(step.origin);
  return original;
}

Result<SimResult> Simulate(const DistributedInputs& distributed) {
  const Inputs& inputs = distributed.inputs;
  return Replay(distributed.sim_graph, inputs.graph.graph, inputs.cluster.cluster,
                distributed.placement, inputs.policy);
}

}  // namespace placewright
