#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/commands/simulate_placeto.h"
#include "cli/commands/simulate_report.h"
#include "cli/request/analysis.h"
#include "cli/request/distributed.h"
#include "cli/request/inputs.h"
#include "cli/request/objective.h"
#include "cli/request/picture.h"
#include "cli/request/placed_graph.h"
#include "cli/request/strategy.h"
#include "cli/request/whole_plan.h"
#include "cli/terminal/options.h"
#include "cli/terminal/output_path.h"
#include "formats/plan/layouts_json.h"
#include "formats/plan/plan_files.h"
#include "formats/plan/plan_json.h"
#include "formats/text/file.h"
#include "planning/all_peaks.h"
#include "report/memory_report.h"
#include "sim/communication_use.h"
#include "sim/device_use.h"
#include "sim/memory/device_memory.h"
#include "sim/placement_check.h"
#include "sim/placeto/from_step.h"
#include "sim/program_sequences.h"
#include "sim/saturation_check.h"
#include "sim/simulator.h"
#include "sim/step_in_lanes.h"

namespace placewright {
namespace {

constexpr const char* kSimulateExamples =
    "A placement that does not fit is simulated to its end; the result says so and the exit\n"
    "status is 0.\n"
    "Examples:\n"
    "  placewright simulate bert.plan.json\n"
    "  placewright simulate model.json.gz -c 4xP100 --placement my-placement.json\n"
    "  placewright simulate costgraph.json --order critical-path --schedule --json\n"
    "  placewright simulate workload.json --placement split.json --objective throughput --json\n"
    "  placewright simulate --placeto case.json.gz --repeat 100";

class SimulateCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app =
        program.AddCommand("simulate", "Simulate a placement: step time, memory and bottlenecks");
    app_ = app;
    app.AddOption("FILE", input_.graph,
                  "Plan, graph (with -c and --placement), or cost graph or workload");
    AddInputOptions(app, &input_);
    AddPlacetoOptions(app);
    AddSpaceOptions(app, &space_, false);
    app.AddOption("--placement", placement_, "Plan, JSON map from op to device, or split")
        .TypeName("FILE")
        .Group("Input");
    app.AddOption("--objective", objective_,
                  "step-time (default), or of a dnn-partitioning workload throughput or latency")
        .TypeName("NAME")
        .Group("Input");
    app.AddFlag("--schedule", schedule_, "Also start and end of every op and transfer")
        .Group("Output");
    app.AddFlag("--memory", memory_, "What fills every device at its peak, not just the fullest")
        .Group("Output");
    AddPictureOptions(app, &pictures_);
    app.Footer(kSimulateExamples);
    return app;
  }

  Result<int> Run(Context& context) override {
    PW_RETURN_IF_ERROR(CheckSimulator());
    PW_ASSIGN(const Objective objective, ParseObjective(objective_));
    if (objective != Objective::kStepTime) {
      PW_RETURN_IF_ERROR(RejectStepOptions());
      PW_RETURN_IF_ERROR(PrintObjective(objective, input_.graph, placement_, context.console));
      return 0;
    }
    if (!placeto_.case_file.empty()) {
      PW_RETURN_IF_ERROR(ReportPlacetoFile(placeto_, context.console));
      return 0;
    }
    PW_RETURN_IF_ERROR(CheckOutput());
    PW_ASSIGN(const bool plan, IsPlan(input_.graph));
    if (!plan) {
      PW_ASSIGN(const std::string batch_note, ResolveBatch(&input_));
      if (!batch_note.empty()) context.console.Note(batch_note);
    }
    SimulatedSubject subject;
    if (plan) {
      PW_ASSIGN(subject, FromPlan());
    } else if (!space_.layouts.empty()) {
      PW_ASSIGN(subject, FromLayouts());
    } else {
      PW_ASSIGN(subject, FromGraph());
    }
    const Inputs& inputs = *subject.of.inputs;
    const Graph& graph = inputs.graph.graph;
    const Cluster& cluster = inputs.cluster.cluster;
    const Placement& placement = subject.of.step.placement;
    const StepLanes* const lanes = subject.of.step.lanes();
    auto made = std::make_unique<SimGraph>(BuildSimGraph(graph, cluster, inputs.costs));
    if (lanes != nullptr) SetCommunicators(*lanes, *made);
    subject.sim_graph = std::move(made);
    const SimGraph& sim_graph = *subject.sim_graph;
    subject.of.step.sim_graph = &sim_graph;
    PW_RETURN_IF_ERROR(
        CheckPlacementLegal(sim_graph, graph, cluster, placement).InFile(subject.placement_file));
    if (sim_ == kPlaceto) {
      placeto_.graph = graph.name();
      placeto_.cluster = cluster.name();
      placeto_.schedule = schedule_;
      PW_RETURN_IF_ERROR(ReportPlaceto(MakePlacetoCase(sim_graph, graph, cluster, placement),
                                       placeto_, context.console));
      return 0;
    }
    if (inputs.policy == SchedulingPolicy::kProgram) {
      PW_RETURN_IF_ERROR(CheckProgramOrder(sim_graph, graph).InFile(input_.graph));
    }
    Simulator simulator(sim_graph);
    SimOptions options = {inputs.policy, true, true};
    options.sequences = &inputs.sequences;
    SimResult result = simulator.Run(placement, options);
    if (lanes != nullptr) ExpandLanes(*lanes, result);
    if (result.stuck.valid()) {
      Error error = SequenceDeadlock(graph, cluster, placement, result.stuck);
      error.file = subject.placement_file;
      return error;
    }
    PW_RETURN_IF_ERROR(
        CheckNotSaturated(sim_graph, graph, cluster, placement, result).InFile(input_.graph));
    PW_RETURN_IF_ERROR(CheckStated(result, subject).InFile(input_.graph));
    JudgePeaks(subject, result);
    CompletePlan(result, subject);
    const Analysis analysis = Analyze(subject.of, result, inputs.policy, memory_);
    PW_RETURN_IF_ERROR(WritePictures(pictures_, subject.of, analysis, subject.plan));
    ReportSimulation(subject, analysis, schedule_, context.console);
    return 0;
  }

 private:
  static constexpr const char* kPlacewright = "placewright";
  static constexpr const char* kPlaceto = "placeto";

  void AddPlacetoOptions(CommandLine app) {
    app.AddOption("--sim", sim_, "Simulation rules: placewright (default) or placeto")
        .TypeName("NAME")
        .Group("Simulator");
    app.AddOption("--placeto", placeto_.case_file, "A case of Placeto's simulator, without FILE")
        .TypeName("CASE")
        .Group("Simulator");
    app.AddOption("--repeat", placeto_.repeat, "Simulate N times by Placeto's rules, for timing")
        .TypeName("N")
        .Check(IntegerWithin(1, 1'000'000'000))
        .Group("Simulator");
  }

  // Refuses what Placeto's rules, or a case that has everything, leave no meaning.
  Status CheckSimulator() {
    if (sim_ != kPlacewright && sim_ != kPlaceto) {
      return MakeError(ErrorCode::kUsage,
                       "--sim \"" + Printable(sim_) + "\" is unknown" +
                           DidYouMean(sim_, {kPlacewright, kPlaceto}),
                       "", "The simulators are placewright and placeto.");
    }
    const bool of_case = !placeto_.case_file.empty();
    if (input_.graph.empty() && !of_case) {
      return MakeError(ErrorCode::kUsage, "FILE is required", "",
                       "See `placewright simulate --help`.");
    }
    if (of_case) {
      if (app_.Given("--sim") && sim_ != kPlaceto) return Refuse("--sim");
      PW_RETURN_IF_ERROR(
          RejectAllBut({"--placeto", "--sim", "--repeat", "--schedule", "--json", "--quiet"}));
      placeto_.schedule = schedule_;
    } else if (sim_ == kPlaceto) {
      for (const char* option : {"--order", "--memory", "--svg", "--html", "--layouts"}) {
        if (app_.Given(option)) return Refuse(option);
      }
    } else if (app_.Given("--repeat")) {
      return MakeError(ErrorCode::kUsage, "--repeat needs --placeto or --sim placeto", "",
                       "Leave --repeat out.");
    }
    return Ok();
  }

  static Error Refuse(const std::string& option) {
    return MakeError(ErrorCode::kUsage, option + " cannot be used with Placeto's simulator", "",
                     "Leave " + option + " out.");
  }

  // Every option that is given must be among `allowed`.
  Status RejectAllBut(const std::vector<std::string>& allowed) const {
    const std::string other = app_.GivenBeside(allowed);
    if (!other.empty()) return Refuse(other);
    return Ok();
  }

  // The other objectives are sums over a split: nothing is scheduled, drawn or modelled.
  Status RejectStepOptions() const {
    for (const char* name :
         {"--layouts", "--cluster", "--memory-reserve", "--batch", "--dim", "--costs",
          "--cost-profile", "--order", "--schedule", "--memory", "--svg", "--html", "--sim"}) {
      if (!app_.Given(name)) continue;
      return MakeError(ErrorCode::kUsage,
                       fmt::format("{} cannot be used with --objective {}", name, objective_), "",
                       fmt::format("Leave {} out, or simulate the step.", name));
    }
    return Ok();
  }

  Status CheckOutput() const {
    const std::vector<NamedFile> outputs = FilesOf(pictures_);
    if (outputs.empty()) return Ok();
    std::vector<NamedFile> inputs = WithNamedFiles("the input", input_.graph);
    for (const NamedFile& file : FilesOf(input_)) inputs.push_back(file);
    for (const NamedFile& file : WithNamedFiles("--placement", placement_)) inputs.push_back(file);
    PW_RETURN_IF_ERROR(RejectOverwriting(outputs, inputs));
    for (const NamedFile& file : outputs) PW_RETURN_IF_ERROR(ProbeWritable(file.path));
    return Ok();
  }

  Result<SimulatedSubject> FromPlan() const {
    if (!space_.layouts.empty()) {
      return MakeError(ErrorCode::kUsage, "--layouts cannot be used with a plan", "",
                       "Give the graph instead of the plan, or leave --layouts out.");
    }
    if (!placement_.empty()) {
      return MakeError(ErrorCode::kUsage, "--placement cannot be used with a plan, which has one",
                       "", "Give the graph instead of the plan, or leave --placement out.");
    }
    PW_RETURN_IF_ERROR(RejectOptionsOfPlan(input_));
    PlanInputOptions options;
    if (!input_.cluster.empty()) options.cluster = input_.cluster;
    if (!ShowsAllDevices() && sim_ == kPlacewright && IsInLanes(input_.graph)) {
      return FromLanes(options);
    }
    PW_ASSIGN(const WholePlan whole, WholePlan::Open(input_.graph, options));
    PW_ASSIGN(PlanInputs loaded, LoadPlanInputs(whole.path(), options));
    // Behind the files: a change with a meaning is named first, the digest says only that there is one.
    PW_RETURN_IF_ERROR(CheckDigest(loaded.document).InFile(input_.graph));
    PW_ASSIGN(std::optional<OriginalStep> original, LoadOriginal(loaded, whole.path(), options));
    Inputs inputs;
    inputs.policy = loaded.plan.policy;
    if (app_.Given("--order")) {
      PW_ASSIGN(inputs.policy, ParseSchedulingPolicy(input_.order));
    }
    PW_RETURN_IF_ERROR(RejectPrecision());
    PW_ASSIGN(inputs.precision, ParseFloatPrecision(loaded.plan.precision));
    inputs.graph = std::move(loaded.graph);
    inputs.cluster = std::move(loaded.cluster);
    inputs.costs = std::move(loaded.costs);
    inputs.plan_links = loaded.plan.links.size();
    PW_ASSIGN(Placement placement,
              ResolvePlacement(loaded.plan.placement, inputs.graph.graph, inputs.cluster.cluster)
                  .InFile(input_.graph));
    // Under another order the plan's bound and producer would say nothing about what is shown.
    const bool same = inputs.policy == loaded.plan.policy;
    SimulatedSubject subject = SubjectOf(std::move(inputs), std::move(placement), input_.graph);
    StepOfPlan& step = subject.of.step;
    step.space = loaded.plan.space;
    step.distribution = loaded.plan.distribution;
    // Of a plan that splits ops: what its instances are of, by which the tables show it.
    if (original) {
      step.origin = std::move(original->origin);
      subject.step_of_plan = std::make_unique<const OriginalStep>(*std::move(original));
      step.original = &subject.step_of_plan->step();
    }
    if (same) subject.plan = std::move(loaded.plan);
    return subject;
  }

  Status RejectPrecision() const {
    if (!app_.Given("--precision")) return Ok();
    return MakeError(ErrorCode::kUsage,
                     "--precision cannot be used with a plan, which has its costs", "",
                     "Leave --precision out, or give the graph.");
  }

  bool ShowsAllDevices() const {
    return schedule_ || memory_ || !pictures_.svg.empty() || !pictures_.html.empty();
  }

  // A plan whose files are of one device of each class: its step is compiled again, in lanes.
  Result<SimulatedSubject> FromLanes(const PlanInputOptions& options) const {
    PW_RETURN_IF_ERROR(RejectPrecision());
    PW_RETURN_IF_ERROR(LoadPlan(input_.graph));  // as it was written
    std::optional<SchedulingPolicy> order;
    if (app_.Given("--order")) {
      PW_ASSIGN(order, ParseSchedulingPolicy(input_.order));
    }
    PW_ASSIGN(StepAgain again, CompileAgain(input_.graph, options, order, /*in_lanes=*/true));
    SimulatedSubject subject;
    subject.whole = std::move(again.whole);
    subject.problem = std::move(again.problem);
    PW_ASSIGN(subject.of, InputsOf(*subject.whole, std::move(again.step)));
    subject.placement_file = input_.graph;
    if (order.value_or(again.plan.policy) == again.plan.policy) {
      subject.stated_time = again.plan.step_time;
      subject.plan = std::move(again.plan);
    }
    return subject;
  }

  // A plan's step that is compiled again takes what the plan says.
  static Status CheckStated(const SimResult& result, const SimulatedSubject& subject) {
    if (!subject.stated_time || result.step_time == *subject.stated_time) return Ok();
    return MakeError(
        ErrorCode::kPlanMismatch,
        fmt::format("the step takes {} ns, and the plan says {}: costs come out otherwise than "
                    "when it was made",
                    result.step_time.count, subject.stated_time->count),
        "step_time_ns", "Make the plan again.");
  }

  Result<SimulatedSubject> FromLayouts() const {
    for (const char* option : {"--placement", "--sim"}) {
      if (!app_.Given(option)) continue;
      return MakeError(ErrorCode::kUsage, fmt::format("{} cannot be used with --layouts", option),
                       "", fmt::format("Leave {} out.", option));
    }
    PW_ASSIGN(const DistributionSpec spec, ReadDistributionSpec(space_.layouts));
    // Samples are shared out by what is proven of the batch.
    InputOptions proven = input_;
    proven.prove_batch = true;
    PW_ASSIGN(Inputs inputs, LoadInputs(proven));
    SimulatedSubject subject;
    subject.whole = std::make_unique<const Inputs>(std::move(inputs));
    PW_ASSIGN(subject.problem, MakeLayoutProblem(input_, space_, *subject.whole));
    PW_ASSIGN(StepOfPlan step,
              StepOfLayouts(*subject.problem, spec, !ShowsAllDevices()).InFile(space_.layouts));
    PW_ASSIGN(subject.of, InputsOf(*subject.whole, std::move(step)));
    subject.placement_file = space_.layouts;
    return subject;
  }

  Result<SimulatedSubject> FromGraph() const {
    PW_ASSIGN(Inputs inputs, LoadInputs(input_));
    const Graph& graph = inputs.graph.graph;
    const Cluster& cluster = inputs.cluster.cluster;
    if (!placement_.empty()) {
      PW_ASSIGN(FilePlacement file, LoadFilePlacement(placement_, input_, inputs));
      inputs.sequences = std::move(file.sequences);
      return SubjectOf(std::move(inputs), std::move(file.placement), placement_);
    }
    if (!inputs.graph.placement) {
      return MakeError(
          ErrorCode::kUsage,
          "--placement FILE is missing: " + input_.graph + " does not say where its ops run", "",
          "Give a plan or a JSON map from op to device.");
    }
    PW_ASSIGN(Placement placement,
              ResolvePlacement(*inputs.graph.placement, graph, cluster).InFile(input_.graph));
    PW_ASSIGN(
        inputs.sequences,
        ResolveSequences(inputs.graph.sequences, graph, cluster, placement).InFile(input_.graph));
    return SubjectOf(std::move(inputs), std::move(placement), input_.graph);
  }

  // Every op is an instance of itself.
  static SimulatedSubject SubjectOf(Inputs inputs, Placement placement, std::string file) {
    auto own = std::make_unique<const Inputs>(std::move(inputs));
    SimulatedSubject subject;
    subject.of.step = StepOfWholeOps(own->graph.graph, own->costs, nullptr, std::move(placement));
    subject.of.inputs = own.get();
    subject.of.own = std::move(own);
    subject.placement_file = std::move(file);
    return subject;
  }

  // By what is taken beside tensors, too, as `plan` and `memory` do.
  static void JudgePeaks(SimulatedSubject& subject, SimResult& result) {
    const Inputs& inputs = *subject.of.inputs;
    const StepOfPlan& step = subject.of.step;
    const Graph& recorded = step.original != nullptr ? *step.original : inputs.graph.graph;
    const Cluster& cluster = inputs.cluster.cluster;
    if (!result.feasible || !CountsPeaks(recorded, cluster)) return;
    const IdVector<DeviceId, DevicePeaks> peaks =
        PeaksOfReplay(*subject.sim_graph, inputs.graph.graph, cluster, step.placement, step.lanes(),
                      recorded, subject.plan.algorithm, result);
    const DeviceId crowded = FindCrowded(peaks);
    if (!crowded.valid()) return;
    result.feasible = false;
    subject.crowded = DescribeCrowding(cluster.device(crowded).name, peaks[crowded]);
  }

  static void CompletePlan(const SimResult& result, SimulatedSubject& subject) {
    const StepOfPlan& step = subject.of.step;
    const Inputs& inputs = *subject.of.inputs;
    Plan& plan = subject.plan;
    plan.policy = inputs.policy;
    plan.samples = step.graph->samples();
    plan.space = step.space;
    plan.distribution = step.distribution;
    plan.communication =
        UseOfCommunication(*step.graph, inputs.costs, *result.schedule, step.lanes());
    plan.graph_name = step.graph->name();
    plan.cluster_name = inputs.cluster.cluster.name();
    plan.feasible = result.feasible;
    plan.step_time = result.step_time;
    plan.devices = UseOfDevices(result, inputs.cluster.cluster);
  }

  InputOptions input_;
  SpaceOptions space_;
  std::string placement_, objective_ = "step-time";
  PictureOptions pictures_;
  bool schedule_ = false, memory_ = false;
  std::string sim_ = kPlacewright;
  PlacetoRequest placeto_;
  CommandLine app_;
};

}  // namespace

std::unique_ptr<Command> MakeSimulateCommand() { return std::make_unique<SimulateCommand>(); }

}  // namespace placewright
