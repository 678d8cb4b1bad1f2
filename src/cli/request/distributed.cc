#include "cli/request/distributed.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "compile/counter_draws.h"
#include "formats/aten/reader.h"
#include "formats/aten/writer.h"
#include "formats/text/file.h"
#include "planning/replay.h"
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

// Files that state the times of whole ops say nothing of parts.
bool StatesTimes(const Inputs& inputs) {
  return inputs.graph.times || inputs.cluster.path == kClusterInGraph;
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

bool MaySplit(const SpaceOptions* space, const Inputs& inputs) {
  if (space == nullptr) return false;
  if (!space->where_proven) return true;
  return !StatesTimes(inputs) && SplitsByDefault(inputs.graph.graph, inputs.cluster.cluster);
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

Result<CostOptions> CostsOfParts(const InputOptions& input, const Inputs& inputs) {
  if (StatesTimes(inputs)) {
    return MakeError(ErrorCode::kUsage,
                     fmt::format("{} states the times of whole ops: those of parts are not known",
                                 Printable(input.graph, 4096)),
                     "", "Give a recorded step or a model, whose parts the cost model knows.");
  }
  return CostOptionsOf(input, inputs.cluster.cluster);
}

Result<SplitWishes> WishesOf(const SpaceOptions& options) {
  PW_ASSIGN(const bool local, ParseBatchNorm(options));
  return SplitWishes{local, options.units};
}

Result<std::unique_ptr<LayoutProblem>> MakeLayoutProblem(const InputOptions& input,
                                                         const SpaceOptions& options,
                                                         const Inputs& inputs) {
  PW_ASSIGN(const SplitWishes wishes, WishesOf(options));
  PW_ASSIGN(const CostOptions costs, CostsOfParts(input, inputs));
  return MakeLayouts(inputs.graph.graph, inputs.cluster.cluster, costs, inputs.policy, wishes);
}

Result<DistributedInputs> Distribute(const Inputs& inputs, const LayoutProblem& problem,
                                     PlanSession::Compiled made) {
  CompiledStep& compiled = *made.step;
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
  distributed.distribution = std::move(made.distribution);
  of_step.distributed = true;
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
