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
#include "cli/request/strategy.h"
#include "cli/terminal/options.h"
#include "cli/terminal/output_path.h"
#include "formats/plan/layouts_json.h"
#include "formats/plan/plan_files.h"
#include "formats/plan/plan_json.h"
#include "formats/text/file.h"
#include "sim/communication_use.h"
#include "sim/device_use.h"
#include "sim/placement_check.h"
#include "sim/placeto/from_step.h"
#include "sim/program_sequences.h"
#include "sim/saturation_check.h"
#include "sim/simulator.h"

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
    const Graph& graph = subject.inputs.graph.graph;
    const Cluster& cluster = subject.inputs.cluster.cluster;
    const SimGraph sim_graph = BuildSimGraph(graph, cluster, subject.inputs.costs);
    PW_RETURN_IF_ERROR(CheckPlacementLegal(sim_graph, graph, cluster, subject.placement)
                           .InFile(subject.placement_file));
    if (sim_ == kPlaceto) {
      placeto_.graph = graph.name();
      placeto_.cluster = cluster.name();
      placeto_.schedule = schedule_;
      PW_RETURN_IF_ERROR(
          ReportPlaceto(MakePlacetoCase(sim_graph, graph, cluster, subject.placement), placeto_,
                        context.console));
      return 0;
    }
    if (subject.inputs.policy == SchedulingPolicy::kProgram) {
      PW_RETURN_IF_ERROR(CheckProgramOrder(sim_graph, graph).InFile(input_.graph));
    }
    Simulator simulator(sim_graph);
    SimOptions options = {subject.inputs.policy, true, true};
    options.sequences = &subject.inputs.sequences;
    const SimResult& result = simulator.Run(subject.placement, options);
    if (result.stuck.valid()) {
      Error error = SequenceDeadlock(graph, cluster, subject.placement, result.stuck);
      error.file = subject.placement_file;
      return error;
    }
    PW_RETURN_IF_ERROR(CheckNotSaturated(sim_graph, graph, cluster, subject.placement, result)
                           .InFile(input_.graph));
    if (subject.distribution) {
      subject.distribution->communication =
          UseOfCommunication(graph, subject.inputs.costs, *result.schedule);
    }
    Analysis analysis = Analyze(subject.inputs, sim_graph, subject.placement, result, memory_);
    analysis.strategy = StrategyOf(subject, *result.schedule);
    PW_RETURN_IF_ERROR(DrawPictures(subject, sim_graph, analysis));
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
    PW_ASSIGN(PlanInputs loaded, LoadPlanInputs(input_.graph, options));
    // Behind the files: a change with a meaning is named first, the digest says only that there is one.
    PW_RETURN_IF_ERROR(CheckDigest(loaded.document).InFile(input_.graph));
    SimulatedSubject subject;
    if (loaded.plan.distribution) {
      PW_ASSIGN(OriginalStep original, LoadOriginal(loaded, input_.graph, options));
      subject.origin = std::move(original.origin);
      subject.step_of_plan = std::make_unique<const OriginalStep>(std::move(original));
      subject.original = &subject.step_of_plan->step();
    }
    subject.inputs.policy = loaded.plan.policy;
    if (app_.Given("--order")) {
      PW_ASSIGN(subject.inputs.policy, ParseSchedulingPolicy(input_.order));
    }
    if (app_.Given("--precision")) {
      return MakeError(ErrorCode::kUsage,
                       "--precision cannot be used with a plan, which has its costs", "",
                       "Leave --precision out, or give the graph.");
    }
    PW_ASSIGN(subject.inputs.precision, ParseFloatPrecision(loaded.plan.precision));
    subject.inputs.graph = std::move(loaded.graph);
    subject.inputs.cluster = std::move(loaded.cluster);
    subject.inputs.costs = std::move(loaded.costs);
    subject.inputs.plan_links = loaded.plan.links.size();
    PW_ASSIGN(subject.placement, ResolvePlacement(loaded.plan.placement, subject.inputs.graph.graph,
                                                  subject.inputs.cluster.cluster)
                                     .InFile(input_.graph));
    subject.placement_file = input_.graph;
    subject.distribution = loaded.plan.distribution;
    subject.inputs.distributed = loaded.plan.distribution.has_value();
    // Under another order the plan's bound and producer would say nothing about what is shown.
    if (subject.inputs.policy == loaded.plan.policy) subject.plan = std::move(loaded.plan);
    return subject;
  }

  Result<SimulatedSubject> FromLayouts() const {
    for (const char* option : {"--placement", "--sim"}) {
      if (!app_.Given(option)) continue;
      return MakeError(ErrorCode::kUsage, fmt::format("{} cannot be used with --layouts", option),
                       "", fmt::format("Leave {} out.", option));
    }
    PW_ASSIGN(const DistributionSpec spec, ReadDistributionSpec(space_.layouts));
    InputOptions proven = input_;
    proven.prove_batch = true;
    PW_ASSIGN(Inputs inputs, LoadInputs(proven));
    SimulatedSubject subject;
    subject.whole = std::make_unique<const Inputs>(std::move(inputs));
    PW_ASSIGN(subject.problem, MakeLayoutProblem(input_, space_, *subject.whole));
    PW_ASSIGN(PlanSession::Compiled compiled,
              CompileStated(*subject.problem, spec).InFile(space_.layouts));
    PW_ASSIGN(DistributedInputs distributed,
              Distribute(*subject.whole, *subject.problem, std::move(compiled)));
    subject.original = &subject.problem->graph;
    subject.origin = std::move(distributed.origin);
    subject.inputs = std::move(distributed.inputs);
    subject.placement = std::move(distributed.placement);
    subject.placement_file = space_.layouts;
    subject.distribution = std::move(distributed.distribution);
    return subject;
  }

  Result<SimulatedSubject> FromGraph() const {
    SimulatedSubject subject;
    PW_ASSIGN(subject.inputs, LoadInputs(input_));
    std::optional<NamedPlacement> named = std::move(subject.inputs.graph.placement);
    NamedSequences sequences = std::move(subject.inputs.graph.sequences);
    subject.placement_file = placement_.empty() ? input_.graph : placement_;
    if (!placement_.empty()) {
      PW_ASSIGN(LoadedPlacement loaded,
                LoadPlacement(placement_, subject.inputs.graph, subject.inputs.cluster.cluster));
      named = std::move(loaded.placement);
      sequences = std::move(loaded.sequences);
    }
    if (!named) {
      return MakeError(
          ErrorCode::kUsage,
          "--placement FILE is missing: " + input_.graph + " does not say where its ops run", "",
          "Give a plan or a JSON map from op to device.");
    }
    PW_ASSIGN(subject.placement,
              ResolvePlacement(*named, subject.inputs.graph.graph, subject.inputs.cluster.cluster)
                  .InFile(subject.placement_file));
    PW_ASSIGN(subject.inputs.sequences,
              ResolveSequences(sequences, subject.inputs.graph.graph,
                               subject.inputs.cluster.cluster, subject.placement)
                  .InFile(subject.placement_file));
    return subject;
  }

  Status DrawPictures(const SimulatedSubject& subject, const SimGraph& sim_graph,
                      const Analysis& analysis) const {
    const SimResult& result = analysis.result;
    Plan plan = subject.plan;
    plan.policy = subject.inputs.policy;
    plan.samples = subject.inputs.graph.graph.batch();
    if (subject.distribution) {
      plan.space = PlanSpace::kReplicated;
      plan.distribution = subject.distribution;
      plan.distribution->communication =
          UseOfCommunication(subject.inputs.graph.graph, subject.inputs.costs, *result.schedule);
    }
    plan.graph_name = subject.inputs.graph.graph.name();
    plan.cluster_name = subject.inputs.cluster.cluster.name();
    plan.feasible = result.feasible;
    plan.step_time = result.step_time;
    plan.devices = UseOfDevices(result, subject.inputs.cluster.cluster);
    return WritePictures(pictures_, subject.inputs, sim_graph, subject.placement, analysis, plan);
  }

  static StrategyReport StrategyOf(const SimulatedSubject& subject, const Schedule& schedule) {
    if (!subject.distribution) {
      return StrategyOfPlaced(subject.inputs, subject.placement, schedule);
    }
    return StrategyOfCompiled(subject.inputs, subject.placement, schedule, *subject.original,
                              subject.origin, subject.distribution->spec);
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
