#include "cli/request/distributed.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "formats/aten/format.h"
#include "formats/aten/writer.h"
#include "transforms/transforms.h"

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
                "Gradients made of gathered factors: none (default), embeddings (those of "
                "embeddings, from their rows), cut (where the step is faster) or paper (TAG's "
                "program)")
      .TypeName("NAME")
      .Group("Search");
}

Result<SfbMode> ParseSfb(const SpaceOptions& options) {
  const std::optional<SfbMode> mode = ParseSfbMode(options.sfb);
  if (mode) return *mode;
  return MakeError(ErrorCode::kUsage,
                   "--sfb \"" + Printable(options.sfb) + "\" is unknown" +
                       DidYouMean(options.sfb, {"none", "embeddings", "cut", "paper"}),
                   "", "It is none, embeddings, cut or paper.");
}

bool MaySplit(const SpaceOptions& space, const Inputs& inputs) {
  if (space.splitting != SpaceOptions::Splitting::kWhereProven) return space.MaySplit();
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

namespace {

// Whether the plan to start from does. What is wrong with it is said later.
bool InitialSplits(const std::string& initial) {
  if (initial.empty()) return false;
  const Result<bool> is_plan = IsPlan(initial);
  if (!is_plan.ok() || !is_plan.value()) return false;
  const Result<Plan> plan = LoadPlan(initial);
  return plan.ok() && plan.value().space != PlanSpace::kPlaced;
}

// Nothing that is given is of placements alone.
bool SearchesAnything(const SpaceRequest& request) {
  if (request.asked.name() != "auto" || request.measured) return false;
  for (const char* option : {"--space", "--init", "--expert", "--policy", "--set"}) {
    if (request.app.Given(option)) return false;
  }
  return true;
}

// Errors: kUsage where --layouts is given with what it leaves no meaning.
Status CheckLayoutsAlone(const CommandLine& app) {
  for (const char* option :
       {"--algo", "--init", "--expert", "--policy", "--set", "--pin", "--forbid", "--colocate",
        "--colocate-each", "--measured", "--units"}) {
    if (!app.Given(option)) continue;
    return MakeError(
        ErrorCode::kUsage,
        fmt::format("{} cannot be used with --layouts, which says where everything runs", option),
        "", fmt::format("Leave {} out.", option));
  }
  return Ok();
}

}  // namespace

Status SettleSpace(const SpaceRequest& request, SpaceOptions& options) {
  PW_ASSIGN(const PlanSpace space, ParseSpace(options));
  const bool forbidden = request.app.Given("--space") && space == PlanSpace::kPlaced;
  const bool layouts = !options.layouts.empty(), initial = InitialSplits(request.initial);
  const bool replicates = request.asked.space() != PlanSpace::kPlaced;
  if (replicates && forbidden) {
    return MakeError(
        ErrorCode::kUsage,
        fmt::format("{} splits ops, which --space placed forbids", request.asked.name()), "",
        "Leave --space out, or give --space replicated.");
  }
  if (layouts && forbidden) {
    return MakeError(ErrorCode::kUsage,
                     "--layouts splits or copies ops, which --space placed forbids", "",
                     "Leave one of the two out.");
  }
  if (initial && forbidden) {
    return MakeError(ErrorCode::kUsage,
                     "--init is a plan that splits or copies ops, which --space placed forbids", "",
                     "Leave --space out.");
  }
  using Splitting = SpaceOptions::Splitting;
  if (replicates || initial || layouts || space == PlanSpace::kReplicated) {
    options.splitting = Splitting::kYes;
  } else if (SearchesAnything(request)) {
    options.splitting = Splitting::kWhereProven;
  }
  for (const char* option : {"--batch-norm", "--sfb", "--units", "--offload"}) {
    if (options.MaySplit() || !request.app.Given(option)) continue;
    return MakeError(ErrorCode::kUsage, fmt::format("{} is of plans that split ops", option), "",
                     "Give --space replicated or --layouts with it.");
  }
  if (layouts) PW_RETURN_IF_ERROR(CheckLayoutsAlone(request.app));
  if (options.splitting == Splitting::kYes && request.measured) {
    return MakeError(ErrorCode::kUsage, "--measured executes placements of whole ops alone", "",
                     "Leave --measured out, or give --space placed.");
  }
  return Ok();
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

// Reports, pictures and files read a graph with costs, read or compiled: a compiled step becomes inputs of its own, with
// what is said of the graph that it is of. Its simulator's graph stays where it is.
Result<StepInputs> InputsOf(const Inputs& inputs, StepOfPlan step) {
  if (step.compiled == nullptr) return StepInputs{std::move(step), &inputs};
  CompiledStep& compiled = *step.compiled;
  StepInputs made;
  PW_ASSIGN(made.file, FormatAtenStep(compiled.step, *step.original, inputs.cluster.cluster));
  auto of_step = std::make_unique<Inputs>();
  of_step->graph.path = inputs.graph.path;
  of_step->graph.sha256 = inputs.graph.sha256;
  of_step->graph.format = inputs.graph.format;
  of_step->graph.notes = inputs.graph.notes;
  of_step->graph.assumed_shapes = inputs.graph.assumed_shapes;
  of_step->graph.assumed_dimensions = inputs.graph.assumed_dimensions;
  of_step->graph.graph = std::move(compiled.step.graph);
  of_step->cluster = inputs.cluster;
  of_step->costs = std::move(compiled.costs);
  of_step->cost_report = std::move(compiled.report);
  of_step->cost_store = inputs.cost_store;
  of_step->links = inputs.links;
  of_step->plan_links = inputs.plan_links;
  of_step->policy = inputs.policy;
  of_step->precision = inputs.precision;
  of_step->dimensions = inputs.dimensions;
  step.graph = &of_step->graph.graph;
  step.costs = &of_step->costs;
  made.step = std::move(step);
  made.inputs = of_step.get();
  made.own = std::move(of_step);
  return made;
}

Result<std::optional<OriginalStep>> LoadOriginal(const PlanInputs& loaded,
                                                 const std::string& plan_path,
                                                 const PlanInputOptions& options) {
  const Plan& plan = loaded.plan;
  if (plan.space == PlanSpace::kPlaced) return std::optional<OriginalStep>();
  // Batch, sizes and transforms of the plan: the step's ops are instances of that graph's.
  const std::vector<std::string> files = FilesOf(plan, plan_path);
  GraphInputOptions graph_options;
  if (plan.batch_option > 0) graph_options.batch = plan.batch_option;
  graph_options.dimensions = plan.dimensions;
  graph_options.sha256 = plan.graph.sha256;
  OriginalStep original;
  PW_ASSIGN(original.graph, LoadGraph(options.graph.value_or(files.front()), graph_options));
  PW_ASSIGN(original.transformed,
            ApplyTransforms(original.graph.graph,
                            plan.distribution.transforms.value_or(kUsualTransforms)));
  PW_ASSIGN(DistributedStep step,
            StepOfFile(loaded.graph, original.step(), loaded.cluster.cluster).InFile(files.back()));
  original.pieces = std::move(step.inputs);
  original.origin = std::move(step.origin);
  return std::optional(std::move(original));
}

}  // namespace placewright
