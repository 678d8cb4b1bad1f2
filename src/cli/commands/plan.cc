#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/out_of_memory.h"
#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/commands/plan_output.h"
#include "cli/request/analysis.h"
#include "cli/request/configurations.h"
#include "cli/request/fit_advice.h"
#include "cli/request/from_configuration.h"
#include "cli/request/given.h"
#include "cli/request/learned_planners.h"
#include "cli/request/max_batch.h"
#include "cli/request/models.h"
#include "cli/request/picture.h"
#include "cli/request/planning.h"
#include "cli/request/policies.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/output_path.h"
#include "formats/plan/layouts_json.h"
#include "formats/plan/plan_files.h"
#include "planning/algorithms.h"
#include "planning/permitted_changes.h"
#include "planning/rewriting.h"
#include "planning/search_budget.h"
#include "report/plan_report.h"
#include "search/evaluation/group_placement.h"
#include "torch_api/evaluator_service.h"
#include "torch_api/torch_library.h"

namespace placewright {
namespace {

constexpr const char* kPlanExamples =
    "Without --time and --iterations the search ends 10 s after the graph was read. Ctrl-C writes\n"
    "the best plan so far and exits with 130. The plan's costs and schedule are written beside "
    "it.\n"
    "A model of the zoo is recorded first, into MODEL.step.json.gz beside the plan (with --batch\n"
    "8: MODEL-batch8.step.json.gz).\n"
    "Examples:\n"
    "  placewright plan bert-base -c 4xP100\n"
    "  placewright plan bert.json.gz -c 4xP100\n"
    "  placewright plan bert.json.gz -c 4xP100 --time 60s -o bert.plan.json\n"
    "  placewright plan bert.json.gz -c 4xP100 --colocate-each '*' -o whole.plan.json\n"
    "  placewright plan model.onnx -c my-machines.yaml --batch 32 --algo m-etf\n"
    "  placewright plan bert.json.gz -c 2xV100 --iterations 100000 --seed 7 --json\n"
    "  placewright plan bert-base -c 4xP100 --pin '*embeddings*=host0/cpu0'\n"
    "  placewright plan bert-base -c 4xP100 --algo horovod --batch 16/gpu\n"
    "  placewright plan bert-base -c 4xP100 --algo horovod --max-batch\n"
    "  placewright plan bert-base -c 4xP100 --for fsdp2\n"
    "  placewright plan bert-base -c 4xP100 --from ds_config.json";

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string IsChoice(const std::string& text) {
  if (text == "auto" || text == "off") return "";
  return fmt::format("\"{}\" is neither auto nor off", Printable(text));
}

class PlanCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app =
        program.AddCommand("plan", "Search a placement of a graph's ops and write the plan");
    app.AddOption(
           "GRAPH", input_.graph,
           "Graph of any readable format (docs/formats), model of the zoo, or hf:PATH: a folder "
           "with the config.json of a model of transformers, or such a file")
        .Required();
    AddInputOptions(app, &input_);
    app.AddOption("--algo", algorithm_, "Algorithm: " + algorithms_.Names() + " (default auto)")
        .TypeName("NAME")
        .Group("Search");
    app.AddOption("--for", engine_,
                  "Only plans that PyTorch can say itself: ddp (DistributedDataParallel), fsdp2 "
                  "(fully_shard) or tp (parallelize_module)")
        .TypeName("ENGINE")
        .Group("Search");
    app.AddOption("--from", from_file_,
                  "Configuration of torchtitan, Megatron or DeepSpeed to plan by, with the best "
                  "strategy beside it")
        .TypeName("FILE")
        .Group("Search");
    AddSearchOptions(app, &search_);
    app.AddOption("--strategies", strategies_,
                  "Whether micro-batches and recomputation that are not stated may be chosen: auto "
                  "(default: by the algorithm auto, which may choose a pipeline, too, where that "
                  "fits or is faster; of another algorithm where its plan does not fit) or off")
        .TypeName("CHOICE")
        .Check(IsChoice)
        .Group("Search");
    AddSpaceOptions(app, &space_, true);
    AddSfbOption(app, &space_);
    app_ = app;
    app.AddOption("--init", initial_, "Plan or placement to start from")
        .TypeName("FILE")
        .Group("Search");
    app.AddOption("--expert", expert_, "Placement that the algorithm `expert` gives")
        .TypeName("FILE")
        .Group("Search");
    app.AddOption("--set", settings_.agent,
                  "Setting of the algorithm (see explain ALGO); repeatable")
        .TypeName("NAME=VALUE")
        .Group("Search");
    app.AddOption("--policy", policy_,
                  "Policy that a learned planner starts from (train); none: not even its own")
        .TypeName("FILE")
        .Group("Search");
    app.AddFlag("--measured", measured_,
                "Search by executing candidates on this machine's CPUs, 15 steps each (slow), "
                "instead of simulating them")
        .Group("Search");
    app.AddFlag("--max-batch", wants_max_batch_,
                "Plan for the largest batch that fits, on GPUs alone where there are some")
        .Group("Search");
    app.AddOption("-o,--output", output_, "Plan file (default: GRAPH's name with .plan.json, here)")
        .TypeName("FILE")
        .Group("Output");
    AddPictureOptions(app, &pictures_);
    app.Footer(kPlanExamples);
    return app;
  }

  Result<int> Run(Context& context) override {
    const std::atomic<bool>& interrupted = CatchInterrupts();
    const StopToken stop(&interrupted);
    PW_ASSIGN(const Planner* asked, SettleOptions(context.console));
    PW_RETURN_IF_ERROR(MakeBudget(search_, context.started));  // a bad --time before a long read
    input_.interrupted = &interrupted;
    input_.say = [&context](std::string_view text) { context.console.Note(text); };
    PW_RETURN_IF_ERROR(NameFiles());
    if (wants_max_batch_) PW_RETURN_IF_ERROR(TakeMaxBatch(*asked, stop, context.console));
    PW_ASSIGN(const std::unique_ptr<Planning> planning, PrepareStep(*asked, stop, context));
    // --time is of the search, not of reading; some of it is left to compile and to write.
    PW_ASSIGN(Budget budget, MakeBudget(search_, planning->loaded));
    budget.stop = stop;
    LeaveTimeToWrite(planning->loaded, Clock::now() - planning->chosen_in, &budget);
    Result<PlannerResult> planned =
        space_.layouts.empty() ? Search(*planning, budget, context) : TakeLayouts(*planning);
    if (!planned.ok() && planned.error().code == ErrorCode::kCancelled && interrupted) {
      return Interrupted(false);
    }
    PW_ASSIGN(PlannerResult result, std::move(planned));
    return Finish(*planning, std::move(result), *asked, budget, context);
  }

 private:
  // What options say of one another, before anything is read, so that a mistake costs no waiting. The planner that is
  // asked for.
  Result<const Planner*> SettleOptions(Console& console) {
    PW_RETURN_IF_ERROR(TakeEngine());
    PW_RETURN_IF_ERROR(TakeConfiguration());
    AlignPipeline(!space_.layouts.empty(), algorithm_, input_.rewriting);
    input_.algorithm = algorithm_;
    input_.settings = settings_.agent;
    PW_ASSIGN(const Planner* asked, algorithms_.Find(algorithm_));
    PW_ASSIGN(sfb_, ParseSfb(space_));
    PW_RETURN_IF_ERROR(SettleSpace({app_, *asked, initial_, measured_}, space_));
    PW_RETURN_IF_ERROR(CheckMaxBatch());
    PW_ASSIGN(const std::string batch_note, ResolveBatch(&input_));
    if (!batch_note.empty()) console.Note(batch_note);
    if (!initial_.empty()) PW_RETURN_IF_ERROR(algorithms_.CheckTakesInit(*asked));
    PW_RETURN_IF_ERROR(CheckAgentSettings(*asked, settings_));
    PW_ASSIGN(loaded_policy_, LoadAgentPolicy(asked->name(), policy_, &settings_));
    if (policy_.empty() && !loaded_policy_.empty()) {
      console.Note(fmt::format("{} starts from {} (--policy none: from nothing)", asked->name(),
                               Printable(loaded_policy_, 4096)));
    }
    return asked;
  }

  // Where the plan and what is kept beside it will lie.
  Status NameFiles() {
    if (output_.empty()) {
      const bool configuration = IsConfiguration(input_.graph);
      output_ = DefaultPlanPath(configuration ? ConfigurationName(input_.graph) : input_.graph);
    }
    input_.store = StoredPath(input_.graph, input_.batch, output_);
    input_.cluster_store = StoredClusterPath(input_.cluster, output_);
    return CheckOutput();
  }

  // From then on the step is recorded at the largest batch; its plan's files are those of this batch.
  Status TakeMaxBatch(const Planner& asked, const StopToken& stop, Console& console) {
    PW_ASSIGN(max_batch_,
              FindMaxBatch({input_, search_, space_, asked, stop, ChoosesStrategies()}, console));
    input_.batch = max_batch_->found.batch;
    return NameFiles();
  }

  // Strategies are tried while the problem is prepared: the one that is chosen says how the step is rewritten, and so
  // which problem it is.
  Result<std::unique_ptr<Planning>> PrepareStep(const Planner& asked, const StopToken& stop,
                                                Context& context) {
    PW_ASSIGN(Budget budget, MakeBudget(search_, context.started));
    budget.stop = stop;
    const PlannerOptions choose = MakePlannerOptions(search_, budget, context);
    context.console.Progress("reading the step");
    Result<std::unique_ptr<Planning>> prepared =
        Prepare(input_, search_, space_, ChoosesStrategies() ? &choose : nullptr);
    if (!prepared.ok() && prepared.error().code == ErrorCode::kInfeasible) {
      prepared.error().remedy +=
          FitAdvice({input_, search_, space_, asked, nullptr, stop}, context.console);
    }
    PW_ASSIGN(std::unique_ptr<Planning> planning, std::move(prepared));
    if (space_.splitting == SpaceOptions::Splitting::kWhereProven &&
        planning->layouts() != nullptr) {
      context.console.Note(kMayBeSplit);
    }
    PW_RETURN_IF_ERROR(
        CheckPathsUtf8(planning->inputs.graph.path, planning->inputs.cluster.path, output_));
    return planning;
  }

  // The plan of the algorithm that was asked for does not fit: what rewrites the step so that it does is planned then, once.
  // What was found is in `advice` otherwise.
  bool TakeRewritingThatFits(FitAdviceRequest& advice, Console& console) {
    if (!rewriting_note_.empty()) return false;
    advice.rewriting = FindRewriting(advice, console);
    const std::optional<RewritingAdvice>& found = advice.rewriting;
    const bool may_choose =
        strategies_ == "auto" && engine_.empty() && !from_ && !wants_max_batch_ && initial_.empty();
    if (!may_choose || !found || !found->fits || !found->may_be_chosen) return false;
    input_.rewriting = found->to;
    rewriting_note_ = fmt::format(
        "{} does not fit the step as it is, which is rewritten so that it does: {} (--strategies "
        "off leaves it as it is)",
        algorithm_, DescribeChange(*found, RewritingWords::kOptions));
    return true;
  }

  // What the command ends with where the step was rewritten so that it fits, and planned anew.
  Result<std::optional<int>> FinishRewritten(FitAdviceRequest& advice, const Budget& budget,
                                             Context& context) {
    if (budget.Stopped() || !TakeRewritingThatFits(advice, context.console)) {
      return std::optional<int>();
    }
    context.console.Progress("rewriting the step");
    PW_ASSIGN(const std::unique_ptr<Planning> rewritten, Prepare(input_, search_, space_, nullptr));
    PW_ASSIGN(Budget anew, MakeBudget(search_, rewritten->loaded));
    anew.stop = budget.stop;
    LeaveTimeToWrite(rewritten->loaded, {}, &anew);
    PW_ASSIGN(PlannerResult again, Search(*rewritten, anew, context));
    PW_ASSIGN(const int status, Finish(*rewritten, std::move(again), advice.asked, anew, context));
    return std::optional<int>(status);
  }

  Result<PlannerResult> TakeLayouts(const Planning& planning) const {
    PW_ASSIGN(DistributionSpec spec, ReadDistributionSpec(space_.layouts));
    return planning.session->TakeLayouts(std::move(spec)).InFile(space_.layouts);
  }

  // Where the search starts, by the options.
  Status TakeStarts(const Planning& planning, PlannerOptions& options, Console& console) {
    if (!initial_.empty()) {
      PW_ASSIGN(Initial initial, LoadInitial(initial_, input_, planning));
      options.initial = std::move(initial.plan);
      init_differs_ = std::move(initial.differs);
      NoteDifferences("--init", initial_, init_differs_, console);
    } else {
      options.given = GivenPlacement(planning.inputs, planning.problem().sim_graph);
    }
    if (max_batch_) options.initial = StartOf(*max_batch_);
    if (!expert_.empty()) {
      PW_ASSIGN(const Initial expert, LoadExpert(expert_, input_, planning));
      settings_.expert = PlacementOf(planning.problem(), expert.plan);
      NoteDifferences("--expert", expert_, expert.differs, console);
    }
    return Ok();
  }

  Result<PlannerResult> Search(const Planning& planning, const Budget& budget, Context& context) {
    PlannerOptions options = MakePlannerOptions(search_, budget, context);
    options.bound = planning.prepared().search_bound();
    PW_RETURN_IF_ERROR(TakeStarts(planning, options, context.console));
    const Algorithms algorithms(settings_, LearnedPlanners(settings_));
    PW_ASSIGN(const Planner* planner, algorithms.Find(algorithm_));
    // Only the search looks at the evaluator: proofs, bound and replay stay predictions, so that a plan's
    // certificate is one of the costs that it names.
    std::optional<TorchLibrary> library;  // closed behind the evaluator
    std::unique_ptr<Evaluator> measuring;
    if (measured_) {
      PW_ASSIGN(library, TorchLibrary::Open(TorchLibrary::Part::kRun));
      const EvaluatorService* const service = library->api().evaluators();
      if (service == nullptr) {
        return MakeError(ErrorCode::kMissingRuntime, library->path() + " measures nothing");
      }
      PW_ASSIGN(measuring,
                service->MakeMeasuringEvaluator(planning.problem()).InFile(input_.graph));
    }
    Evaluator& evaluator = measured_ ? *measuring : planning.prepared().evaluator();
    const StrategySearchResult* const strategies =
        planning.strategies ? &*planning.strategies : nullptr;
    const auto search = [&](const PlannerOptions& of) {
      context.console.Progress(fmt::format("{} makes its plan", planner->name()));
      return planner->Plan(planning.problem(), evaluator, of);
    };
    PW_ASSIGN(PlannerResult result,
              SearchBehind(strategies, planning.problem(), evaluator, options, search)
                  .InFile(input_.graph));
    if (!rewriting_note_.empty()) result.notes.push_back(rewriting_note_);
    if (!measured_) {
      planning.session->NoteEqualShares(*planner, settings_.agent, options, result);
    }
    const bool has_plan = max_batch_ && !max_batch_->plan.algorithm.empty();
    if (has_plan) TakeTrialsPlan(*max_batch_, planning.problem(), result);
    return result;
  }

  // The best strategy that fits with all that is taken beside tensors, where the best plan did not.
  Result<std::unique_ptr<Planning>> PrepareInAllPeaks(const Error& crowded, const Budget& budget,
                                                      Context& context) {
    in_all_peaks_ = true;
    context.console.Note(crowded.message.substr(0, crowded.message.find(';')) +
                         ": strategies that need less are tried");
    PlannerOptions options = MakePlannerOptions(search_, budget, context);
    return Prepare(input_, search_, space_, &options, true);
  }

  // From what the planner made to the plan's files and the report.
  Result<int> Finish(const Planning& planning, PlannerResult result, const Planner& asked,
                     const Budget& budget, Context& context) {
    FitAdviceRequest advice{input_, search_, space_, asked, &planning, budget.stop};
    if (!result.feasible) {
      PW_ASSIGN(const std::optional<int> status, FinishRewritten(advice, budget, context));
      if (status) return *status;
    }
    const std::string& file = space_.layouts.empty() ? input_.graph : space_.layouts;
    PW_RETURN_IF_ERROR(
        planning.session->RecomputeFromFactors(sfb_, budget.stop, context.started, result)
            .InFile(file));
    if (measured_) TakeMeasured(planning, result);
    // Pictures draw every device.
    const bool in_lanes = pictures_.svg.empty() && pictures_.html.empty();
    const Clock::time_point searched = Clock::now();
    const double seconds = SecondsSince(context.started);
    context.console.Progress("compiling and checking the plan");
    PW_ASSIGN(const StepInputs of, StepOf(planning, result, file, in_lanes));
    context.console.Progress("");
    NoteReplicatedBound(planning, of.step, result);
    planning.session->NoteUnservedGpus(result);
    PW_ASSIGN(SimResult replay, Replay(planning, of, result));
    const std::optional<Error> crowded = IsCrowded(planning, of, result, replay);
    if (crowded && result.feasible) {
      PW_ASSIGN(const std::optional<int> status, FinishRewritten(advice, budget, context));
      if (status) return *status;
    }
    for (const std::string& note : result.notes) context.console.Note(note);
    if (crowded && planning.strategies && !in_all_peaks_ && !budget.Stopped()) {
      PW_ASSIGN(const std::unique_ptr<Planning> others,
                PrepareInAllPeaks(*crowded, budget, context));
      if (others->strategies && others->strategies->has_plan()) {
        return Finish(*others, others->strategies->ForAuto(), asked, budget, context);
      }
    }
    Plan plan = MakePlan(planning, input_, search_, of, result, replay, seconds);
    plan.measured_step_time = measured_time_;
    if (planning.strategies) plan.strategies = planning.strategies->Shown();
    const Inputs& inputs = *of.inputs;
    const Cluster& cluster = inputs.cluster.cluster;
    if (plan.feasible) {
      PW_RETURN_IF_ERROR(WritePlanFiles(plan, inputs.costs, *replay.schedule, inputs.graph.graph,
                                        cluster, output_, of.file));
    }
    AskForPermittedChanges(planning, plan, budget, context.console, result);
    const Analysis analysis = Analyze(of, std::move(replay), plan.policy, false);
    Status pictures = WritePictures(pictures_, of, analysis, plan, NotesOfPage(result));
    if (!pictures.ok()) return WithPlanWritten(std::move(pictures.error()), plan.feasible);
    std::optional<Error> error;
    if (budget.Stopped() && space_.layouts.empty()) {
      error = Interrupted(plan.feasible);
    } else if (!plan.feasible) {
      error = crowded ? crowded : DoesNotFit(planning, of, plan, ForAdvice(budget, Clock::now()));
    }
    if (error && error->code == ErrorCode::kNothingFound) {
      if (NearestStrategy(plan) == nullptr) {
        error->remedy += CheckpointAdvice(planning.inputs.graph.graph, analysis, cluster);
      }
      error->remedy += FitAdvice(advice, context.console);
    }
    if (result.out_of_memory) error = OutOfMemory();
    if (from_ && !budget.Stopped()) {
      context.console.Progress("which strategy would be the best?");
      PW_ASSIGN(beside_, CompareWithBest(*from_, input_, budget.stop));
      context.console.Progress("");
    }
    if (plan.feasible)
      PW_RETURN_IF_ERROR(NoteTime(planning, search_, of, searched, context.console));
    PrintPlan({of, plan, analysis, output_, result.notes, error, max_batch_, permitted_.changes,
               from_, beside_, init_differs_},
              context.console);
    return error ? InfoOf(error->code).exit_status : 0;
  }

  // What is not looked at is a note of the result.
  void AskForPermittedChanges(const Planning& planning, const Plan& plan, const Budget& budget,
                              Console& console, PlannerResult& result) {
    const bool given_times =
        planning.inputs.graph.times || planning.inputs.cluster.path == kClusterInGraph;
    if (!plan.feasible || budget.Stopped() || measured_ || given_times) return;
    Result<CostOptions> costs = CostOptionsOf(input_, planning.inputs.cluster.cluster);
    if (!costs.ok()) return;  // would have been an error before there was a plan
    permitted_ = FindPermittedChanges(
        {planning.problem(), planning.layouts(), planning.prepared().evaluator(), costs.value(),
         result, plan.step_time, algorithm_ == "auto" && space_.layouts.empty(),
         ThreadsOf(search_)});
    for (const std::string& note : permitted_.notes) {
      console.Note(note);
      result.notes.push_back(note);
    }
  }

  std::vector<std::string> NotesOfPage(const PlannerResult& result) const {
    std::vector<std::string> notes;
    for (const PermittedChange& change : permitted_.changes) {
      notes.push_back("would gain: " + DescribePermittedChange(change));
    }
    notes.insert(notes.end(), result.notes.begin(), result.notes.end());
    return notes;
  }

  // What the plan was chosen by is kept beside what is predicted of it, never mixed with it.
  void TakeMeasured(const Planning& planning, PlannerResult& result) {
    if (result.feasible) {
      measured_time_ = result.step_time;
      result.notes.push_back(
          fmt::format("the search went by measured steps: {} of this plan; what follows is its "
                      "prediction",
                      FormatNanos(result.step_time)));
    }
    const Evaluation predicted = planning.prepared().evaluator().EvaluateOne(
        PlacementOf(planning.problem(), result.plan), {.order = result.plan.switches.order});
    if (result.feasible != predicted.feasible) {
      result.notes.push_back(result.feasible
                                 ? "it was executed, but is predicted not to fit"
                                 : "no candidate could be executed to its end (memory, or an "
                                   "error); the plan is predicted to fit");
    }
    result.step_time = predicted.step_time;
    result.feasible = predicted.feasible;
    result.history.clear();
    result.first_feasible_seconds.reset();
    result.baselines.clear();
  }

  // Nothing says which rewriting, batch or plan it is to be.
  bool ChoosesStrategies() const {
    return algorithm_ == "auto" && strategies_ == "auto" && space_.layouts.empty() &&
           initial_.empty() && expert_.empty() && !measured_ &&
           input_.rewriting.micro_batches == 0 && input_.rewriting.recompute.empty();
  }

  // --for names one of the algorithms, whose plans are those of an engine.
  Status TakeEngine() {
    if (engine_.empty()) return Ok();
    const std::vector<std::string> engines = {"ddp", "fsdp2", "tp"};
    if (std::find(engines.begin(), engines.end(), engine_) == engines.end()) {
      return MakeError(ErrorCode::kUsage,
                       fmt::format("--for \"{}\" is unknown{}", Printable(engine_),
                                   DidYouMean(engine_, engines)),
                       "", fmt::format("The engines are {}.", fmt::join(engines, ", ")));
    }
    for (const char* option : {"--algo", "--layouts", "--sfb", "--init", "--measured"}) {
      if (!app_.Given(option)) continue;
      return MakeError(
          ErrorCode::kUsage,
          fmt::format("{} cannot be used with --for, whose search keeps to the engine", option), "",
          fmt::format("Leave {} out.", option));
    }
    algorithm_ = engine_;
    return Ok();
  }

  // --from states the algorithm, how the step is rewritten, and the batch where the file has one.
  Status TakeConfiguration() {
    if (from_file_.empty()) return Ok();
    for (const char* option :
         {"--algo", "--for", "--layouts", "--init", "--measured", "--max-batch", "--micro-batches",
          "--recompute", "--offload", "--pipeline", "--stages", "--chunks", "--stage-layers"}) {
      if (!app_.Given(option)) continue;
      return MakeError(
          ErrorCode::kUsage,
          fmt::format("{} cannot be used with --from, which states the strategy", option), "",
          fmt::format("Leave {} out.", option));
    }
    if (input_.cluster.empty()) {
      return MakeError(ErrorCode::kUsage, "--from needs -c CLUSTER, whose GPUs it is for", "",
                       "Give -c.");
    }
    PW_ASSIGN(from_, ReadFromConfiguration(from_file_, input_.cluster));
    const ConfiguredStrategy& made = from_->made;
    if (made.batch > 0 && app_.Given("--batch")) {
      return MakeError(
          ErrorCode::kUsage,
          fmt::format("--batch cannot be used with --from, whose file states a batch of {}",
                      made.batch),
          "", "Leave --batch out, or change the file.");
    }
    if (made.batch > 0) input_.batch = made.batch;
    algorithm_ = made.strategy.algorithm;
    input_.rewriting = made.strategy.rewriting;
    return Ok();
  }

  // What would contradict --max-batch, or be of another batch.
  Status CheckMaxBatch() const {
    if (!wants_max_batch_) return Ok();
    for (const char* option : {"--batch", "--init", "--expert", "--measured"}) {
      if (!app_.Given(option)) continue;
      return MakeError(
          ErrorCode::kUsage,
          fmt::format("{} cannot be used with --max-batch, which chooses the batch", option), "",
          fmt::format("Leave {} out.", option));
    }
    return Ok();
  }

  Status CheckOutput() {
    const std::string costs = PathBeside(output_, "costs"),
                      schedule = PathBeside(output_, "schedule");
    std::vector<NamedFile> own = {{"the plan", output_},
                                  {"the plan's costs", costs},
                                  {"the plan's schedule", schedule},
                                  {"the plan's step", StepPath(output_)},
                                  {"the recorded model", input_.store},
                                  {"the cluster", input_.cluster_store}};
    if (!costs.ends_with(".gz")) {  // large ones of split plans
      own.push_back({"the plan's costs", costs + ".gz"});
      own.push_back({"the plan's schedule", schedule + ".gz"});
    }
    const std::vector<NamedFile> pictures = FilesOf(pictures_);
    const std::vector<NamedFile> initial = WithNamedFiles("--init", initial_);
    std::vector<NamedFile> read = initial, inputs = FilesOf(input_);
    for (const NamedFile& file : WithNamedFiles("--expert", expert_)) read.push_back(file);
    if (!loaded_policy_.empty()) inputs.push_back({"--policy", loaded_policy_});
    // A search that goes on may replace the plan that it starts from, which is read before, with
    // the files that were written with it. The step of a plan is recorded again to the same bytes.
    const bool replaces = SameFile(initial_, output_);
    input_.store_kept = NamesStep(initial_) || NamesStep(expert_);
    for (const NamedFile& file : read) {
      const bool step = input_.store_kept && SameFile(file.path, input_.store);
      const bool replaced = replaces && std::any_of(own.begin(), own.end(), [&](const auto& one) {
                              return SameFile(one.path, file.path);
                            });
      if (!step && !replaced) inputs.push_back(file);
    }
    std::vector<NamedFile> outputs = own;
    outputs.insert(outputs.end(), pictures.begin(), pictures.end());
    PW_RETURN_IF_ERROR(RejectOverwriting(outputs, inputs));
    PW_RETURN_IF_ERROR(RejectOverwriting(pictures, initial));
    for (const NamedFile& file : outputs) {
      if (!file.path.empty()) PW_RETURN_IF_ERROR(ProbeWritable(file.path));
    }
    return Ok();
  }

  // Whether `file` is a plan of the step that this command records and stores.
  bool NamesStep(const std::string& file) const {
    if (input_.store.empty() || file.empty()) return false;
    const Result<bool> is_plan = IsPlan(file);
    if (!is_plan.ok() || !is_plan.value()) return false;
    const Result<Plan> plan = LoadPlan(file);
    return plan.ok() && SameFile(FilesOf(plan.value(), file).front(), input_.store);
  }

  // A picture that could not be written takes nothing from the plan.
  Error WithPlanWritten(Error error, bool written) const {
    if (!written) return error;
    error.message += "; the plan was written to " + Printable(output_, 4096) +
                     ", its costs and schedule beside it";
    return error;
  }

  static void NoteDifferences(std::string_view option, const std::string& file,
                              const std::vector<std::string>& differs, Console& console) {
    if (differs.empty()) return;
    std::string what;
    for (const std::string& one : differs) what += (what.empty() ? "" : ", ") + one;
    console.Note(
        fmt::format("what {} {} was made for differs in: {}; it is used, as all names are the same",
                    option, Printable(file, 4096), what));
  }

  Error Interrupted(bool written) const {
    return MakeError(
        ErrorCode::kInterrupted,
        written ? "interrupted; the best plan so far was written"
                : "interrupted before any plan that fits was found; "
                  "nothing was written",
        "",
        !written ? "Give it more time."
        : max_batch_
            ? fmt::format("Continue with --batch {} instead of --max-batch, and --init {}.",
                          max_batch_->found.batch, Printable(output_, 4096))
            : "Continue with the same command and --init " + Printable(output_, 4096) + ".");
  }

  Algorithms algorithms_{{}, LearnedPlanners()};
  PlannerSettings settings_;
  InputOptions input_;
  SearchOptions search_;
  SpaceOptions space_;
  SfbMode sfb_ = SfbMode::kNone;
  CommandLine app_;
  PictureOptions pictures_;
  bool measured_ = false, wants_max_batch_ = false;
  bool in_all_peaks_ = false;   // the plan is one of these already
  std::string rewriting_note_;  // what the step was rewritten by, so that the algorithm's plan fits
  std::optional<MaxBatch> max_batch_;
  PermittedChanges permitted_;
  std::optional<FromConfiguration> from_;
  std::optional<BesideConfiguration> beside_;  // of a plan by --from
  std::optional<Nanos> measured_time_;
  std::string algorithm_ = "auto", strategies_ = "auto", engine_, initial_, expert_, output_,
              policy_, from_file_;
  std::string loaded_policy_;  // its path, or that of the planner's own
  std::vector<std::string> init_differs_;
};

}  // namespace

std::unique_ptr<Command> MakePlanCommand() { return std::make_unique<PlanCommand>(); }

}  // namespace placewright
