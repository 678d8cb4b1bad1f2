#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/request/assumptions.h"
#include "cli/request/configurations.h"
#include "cli/request/learned_planners.h"
#include "cli/request/planning.h"
#include "cli/request/result_json.h"
#include "cli/terminal/interrupt.h"
#include "formats/plan/layouts_json.h"
#include "formats/plan/plan_files.h"
#include "planning/algorithms.h"
#include "planning/rewriting.h"
#include "planning/search_budget.h"
#include "report/memory_report.h"
#include "report/plan_report.h"
#include "search/evaluation/group_placement.h"
#include "sim/memory/device_memory.h"

namespace placewright {
namespace {

constexpr const char* kMemoryExamples =
    "Three peaks of each device: allocated (tensors), reserved (what PyTorch's caching allocator\n"
    "holds for them) and device (with context and NCCL's buffers), which decides what fits; "
    "tensors\n"
    "alone must leave the memory reserve free, too.\n"
    "Examples:\n"
    "  placewright memory gpt-2 -c 8xH100 --batch 64 --algo data-parallel\n"
    "  placewright plan gpt-2 -c 8xH100 --batch 64 --algo zero-2 -o gpt-2.plan.json\n"
    "  placewright memory gpt-2.plan.json --json";

// What is measured, and of which plan.
struct Measured {
  const StepInputs& of;
  const PlannerResult& result;
  const SimResult& replay;
  IdVector<DeviceId, DevicePeaks> memories;

  bool fits() const {
    return std::all_of(memories.begin(), memories.end(),
                       [](const DevicePeaks& memory) { return memory.fits; });
  }
};

// Makes a plan, or takes one, replays it, and measures in that order of ops what every device holds: the peaks need the
// schedule, not only the placement.
class MemoryCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand(
        "memory", "What a plan takes of every device: allocated, reserved and device peaks");
    app_ = app;
    app.AddOption(
           "GRAPH", input_.graph,
           "Graph of any readable format (docs/formats), model of the zoo, hf:PATH, or a plan, "
           "which names its graph and cluster")
        .Required();
    AddInputOptions(app, &input_);
    app.AddOption("--algo", algorithm_,
                  "Algorithm that makes the plan: " + algorithms_.Names() + " (default auto)")
        .TypeName("NAME")
        .Group("Search");
    app.AddOption("--plan", plan_, "Plan to look at, of this graph and cluster")
        .TypeName("FILE")
        .Group("Search");
    app.AddOption("--set", settings_.agent,
                  "Setting of the algorithm (see explain ALGO); repeatable")
        .TypeName("NAME=VALUE")
        .Group("Search");
    AddSearchOptions(app, &search_);
    AddSpaceOptions(app, &space_, true);
    app.Footer(kMemoryExamples);
    return app;
  }

  Result<int> Run(Context& context) override {
    const std::atomic<bool>& interrupted = CatchInterrupts();
    PW_RETURN_IF_ERROR(TakeGraphOfPlan());
    PW_RETURN_IF_ERROR(CheckOptions());
    PW_RETURN_IF_ERROR(TakeInputsOfPlan());
    AlignPipeline(!space_.layouts.empty() || !plan_.empty(), algorithm_, input_.rewriting);
    PW_ASSIGN(const Planner* asked, algorithms_.Find(algorithm_));
    PW_RETURN_IF_ERROR(SettleSpace({app_, *asked, plan_}, space_));
    PW_RETURN_IF_ERROR(CheckAgentSettings(*asked, settings_));
    PW_ASSIGN(const std::string batch_note, ResolveBatch(&input_));
    if (!batch_note.empty()) context.console.Note(batch_note);
    PW_RETURN_IF_ERROR(MakeBudget(search_, context.started));  // a bad --time before a long read
    input_.interrupted = &interrupted;
    input_.algorithm = algorithm_;
    input_.settings = settings_.agent;
    input_.say = [&context](std::string_view text) { context.console.Note(text); };
    // Strategies are not tried: what is asked is the memory of one plan, of the step as the options state it.
    Result<std::unique_ptr<Planning>> prepared = Prepare(input_, search_, space_);
    // The plan's transforms name modules and layers that this graph does not have.
    if (!prepared.ok() && input_.transforms && prepared.error().code == ErrorCode::kTransform) {
      prepared.error().code = ErrorCode::kPlanMismatch;
      prepared.error().message =
          fmt::format("the plan is of another graph: {}", prepared.error().message);
      prepared.error().remedy = "Give the graph that it was made of, or plan anew.";
    }
    PW_ASSIGN(const std::unique_ptr<Planning> planning, std::move(prepared));
    PW_ASSIGN(PlannerResult result, FindPlan(*planning, context, interrupted));
    PW_ASSIGN(const StepInputs of, StepOf(*planning, result, input_.graph));
    PW_ASSIGN(const SimResult replay, Replay(*planning, of, result));
    // Whatever the planner counts, these are the peaks of the compiled step, collectives' buffers among them.
    const Measured measured{of, result, replay,
                            planning->session->MeasurePeaks(of.step, result, replay)};
    for (const std::string& note : result.notes) context.console.Note(note);
    if (context.console.json) {
      PrintMemoryJson(measured, context.console);
    } else {
      PrintText(measured, context.console);
    }
    return 0;
  }

 private:
  // A plan in the place of the graph: of what it was made of, and with what.
  Status TakeGraphOfPlan() {
    PW_ASSIGN(const bool is_plan, IsPlan(input_.graph));
    if (!is_plan) return Ok();
    if (!plan_.empty()) {
      return MakeError(ErrorCode::kUsage,
                       Printable(input_.graph, 4096) + " is a plan, and --plan names another", "",
                       "Give one of them.");
    }
    plan_ = input_.graph;
    PW_ASSIGN(const Plan plan, LoadPlan(plan_));
    const std::vector<std::string> files = FilesOf(plan, plan_);
    input_.graph = files.front();
    if (!app_.Given("--cluster") && plan.cluster.path != kClusterInGraph) {
      input_.cluster = plan.cluster.path.starts_with(kPresetPrefix) ? plan.cluster.path : files[1];
    }
    if (!app_.Given("--precision")) input_.precision = plan.precision;
    if (!app_.Given("--cost-profile")) input_.cost_profile = plan.cost_profile;
    if (plan.cost_store && !app_.Given("--cost-store")) input_.cost_store = plan.cost_store->path;
    return Ok();
  }

  Status CheckOptions() const {
    if (plan_.empty()) return Ok();
    for (const char* option : {"--algo", "--set", "--layouts"}) {
      if (!app_.Given(option)) continue;
      return MakeError(ErrorCode::kUsage,
                       fmt::format("{} cannot be used with a plan, which has its layouts", option),
                       "", fmt::format("Leave {} out.", option));
    }
    return Ok();
  }

  // How the plan's step is rewritten, and its sizes, where no option says so.
  Status TakeInputsOfPlan() {
    if (plan_.empty()) return Ok();
    PW_ASSIGN(const bool is_plan, IsPlan(plan_));
    if (!is_plan) return Ok();
    PW_ASSIGN(const Plan plan, LoadPlan(plan_));
    if (!app_.Given("--batch") && plan.batch_option > 0) input_.batch = plan.batch_option;
    if (!app_.Given("--dim")) {
      for (const auto& [name, size] : plan.dimensions) {
        input_.dimensions.push_back(fmt::format("{}={}", name, size));
      }
    }
    const std::vector<std::string> rewriting = {"--micro-batches",   "--recompute",   "--offload",
                                                "--mixed-precision", "--pipeline",    "--stages",
                                                "--chunks",          "--stage-layers"};
    const bool stated = std::any_of(rewriting.begin(), rewriting.end(),
                                    [&](const auto& option) { return app_.Given(option); });
    const Transforms made = plan.distribution.transforms.value_or(Transforms());
    if (!stated && !RewriteAlike(made, {})) input_.transforms = made;
    return Ok();
  }

  Result<PlannerResult> FindPlan(const Planning& planning, Context& context,
                                 const std::atomic<bool>& interrupted) const {
    if (!space_.layouts.empty()) {
      PW_ASSIGN(DistributionSpec spec, ReadDistributionSpec(space_.layouts));
      return planning.session->TakeLayouts(std::move(spec)).InFile(space_.layouts);
    }
    if (!plan_.empty()) return TakePlan(planning, context.console);
    // --time is of the search, not of reading.
    PW_ASSIGN(Budget budget, MakeBudget(search_, planning.loaded));
    budget.stop = StopToken(&interrupted);
    PlannerOptions options = MakePlannerOptions(search_, budget, context);
    options.bound = planning.prepared().search_bound();
    const Algorithms algorithms(settings_, LearnedPlanners(settings_));
    PW_ASSIGN(const Planner* planner, algorithms.Find(algorithm_));
    Result<PlannerResult> result =
        planner->Plan(planning.problem(), planning.prepared().evaluator(), options);
    context.console.Progress("");
    return std::move(result).InFile(input_.graph);
  }

  Result<PlannerResult> TakePlan(const Planning& planning, Console& console) const {
    PW_ASSIGN(Initial initial, LoadInitial(plan_, input_, planning));
    if (!initial.differs.empty()) {
      console.Note(fmt::format("what {} was made for differs in: {}; all names are the same",
                               Printable(plan_, 4096), fmt::join(initial.differs, ", ")));
    }
    // A map of ops to devices has no algorithm and no order of its own; a plan has both.
    PlannerResult result;
    result.plan = std::move(initial.plan);
    result.algorithm = "plan";
    PW_ASSIGN(const bool is_plan, IsPlan(plan_));
    // One whose ops are whole may say when parameters are fetched: it is compiled, too.
    bool compiled = !result.plan.IsPlaced();
    if (is_plan) {
      PW_ASSIGN(const Plan plan, LoadPlan(plan_));
      result.algorithm = plan.algorithm;
      result.plan.switches.order = plan.policy;
      compiled = compiled || plan.space == PlanSpace::kReplicated;
    }
    if (compiled) {
      result.space = PlanSpace::kReplicated;
      return result;
    }
    // A plan that splits ops is evaluated where it is compiled, behind this; whole ops are simulated as they are.
    result.SetEvaluation(planning.prepared().evaluator().EvaluateOne(
        PlacementOf(planning.problem(), result.plan), {.order = result.plan.switches.order}));
    return result;
  }

  void PrintMemoryJson(const Measured& measured, Console& console) const {
    const Inputs& inputs = *measured.of.inputs;
    const Cluster& cluster = inputs.cluster.cluster;
    Json object;
    object["schema"] = "placewright.memory/1";
    object["graph"] = inputs.graph.graph.name();
    object["cluster"] = cluster.name();
    object["algorithm"] = measured.result.algorithm;
    object["plan_file"] = nullptr;
    if (!plan_.empty()) object["plan_file"] = plan_;
    object["step_time_ns"] = measured.replay.step_time.count;
    object["fits"] = measured.fits();
    object["devices"] = Json::array();
    for (const DeviceId id : cluster.devices()) {
      const DevicePeaks& memory = measured.memories[id];
      Json uses;
      for (const MemoryUse use : kMemoryUses) {
        std::string name(ToString(use));
        std::replace(name.begin(), name.end(), ' ', '_');
        uses[name] = memory.Of(use).count;
      }
      object["devices"].push_back({{"name", cluster.device(id).name},
                                   {"kind", cluster.kind(id).name},
                                   {"class", ToString(cluster.kind(id).device_class)},
                                   {"fits", memory.fits},
                                   {"allocated_bytes", memory.allocated.count},
                                   {"reserved_bytes", memory.reserved.count},
                                   {"device_bytes", memory.Device().count},
                                   {"offered_bytes", memory.offered.count},
                                   {"peak_time_ns", memory.peak_time.count},
                                   {"allocated", uses},
                                   {"library_bytes", memory.library.bytes.count},
                                   {"communicators", memory.library.communicators},
                                   {"senders", memory.library.senders},
                                   {"context_bytes", memory.context.count},
                                   {"retries", memory.retries}});
    }
    AddNotes(inputs, &object);
    for (const std::string& note : measured.result.notes) object["notes"].push_back(note);
    console.PrintJson(object);
  }

  void PrintText(const Measured& measured, Console& console) const {
    const Inputs& inputs = *measured.of.inputs;
    const Cluster& cluster = inputs.cluster.cluster;
    const Style& style = console.style();
    const bool fits = measured.fits();
    console.Print(fmt::format(
        "{} on {} by {}: {}, step time {}\n\n",
        Paint(inputs.graph.graph.name(), Tone::kStrong, style),
        Paint(cluster.name(), Tone::kStrong, style), Printable(measured.result.algorithm),
        fits ? Paint("fits", Tone::kGood, style) : Paint("does not fit", Tone::kBad, style),
        FormatNanos(measured.replay.step_time)));
    console.Print(RenderMemory(measured.memories, cluster, style));
    for (const std::string& line : DescribeAssumptions(inputs)) {
      console.Print(Wrap(fmt::format("\n{}\n", line), style));
    }
  }

  Algorithms algorithms_{{}, LearnedPlanners()};
  PlannerSettings settings_;
  InputOptions input_;
  SearchOptions search_;
  SpaceOptions space_;
  CommandLine app_;
  std::string algorithm_ = "auto", plan_;
};

}  // namespace

std::unique_ptr<Command> MakeMemoryCommand() { return std::make_unique<MemoryCommand>(); }

}  // namespace placewright
