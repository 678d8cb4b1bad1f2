#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/request/distributed.h"
#include "cli/request/executed_files.h"
#include "cli/request/inputs.h"
#include "cli/request/placed_graph.h"
#include "cli/request/prediction_now.h"
#include "cli/request/rank_prediction.h"
#include "cli/request/ranks.h"
#include "cli/request/recorded_version.h"
#include "cli/request/result_json.h"
#include "cli/request/step_state.h"
#include "cli/request/whole_plan.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cli/terminal/output_path.h"
#include "formats/plan/plan_files.h"
#include "formats/text/file.h"
#include "report/table.h"
#include "torch_api/blas.h"
#include "torch_api/execution_service.h"
#include "torch_api/execution_setup.h"
#include "torch_api/step_measurement.h"
#include "torch_api/torch_library.h"

namespace placewright {
namespace {

class RunCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand(
        "run", "Execute a plan's step op by op on this machine, beside its prediction");
    app.AddOption("PLAN", plan_, "Plan of a recorded step, or with --placement the step itself")
        .Required();
    app.AddOption(
           "--placement", placement_,
           "Where the ops of a step or model run, placed by hand: a JSON map from op to device")
        .TypeName("FILE")
        .Group("Input");
    app.AddOption("--steps", steps_, "Steps (default 15); of more than one, up to five warm up")
        .TypeName("N")
        .Check(IntegerWithin(1, 1'000'000'000));
    app.AddFlag("--simulate-devices", simulate_,
                "Every device on a core of this machine, with a queue and a memory of its own: "
                "values are those of the plan's devices, times are not");
    app.AddFlag(
        "--deterministic", deterministic_,
        "The same bits in every run on GPUs, too: deterministic kernels, no TF32; an op that "
        "has none fails by name");
    app.AddOption("--seed", seed_, "Of inputs, parameters and random ops (default 0)")
        .TypeName("N")
        .Check(IntegerWithin(0, UINT64_MAX));
    app.AddOption("--batches", batches_, "Seeded batches that take turns (default 1)")
        .TypeName("N")
        .Check(IntegerWithin(1, 1'000'000'000));
    app.AddOption("--load", load_,
                  "Parameters, buffers and optimizer state: a checkpoint of --save, or safetensors "
                  "with the parameters' names")
        .TypeName("FILE")
        .Group("Input");
    app.AddOption("--resume", resume_,
                  "As --load, of a checkpoint of --save, with --steps counted from the training's "
                  "first step")
        .TypeName("FILE")
        .Group("Input");
    app.AddOption("--inputs", inputs_,
                  "Inputs by name, as safetensors; with a dimension more in front, batches")
        .TypeName("FILE")
        .Group("Input");
    app.AddOption("--save", save_,
                  "Write a checkpoint after the last step, also where Ctrl-C ends it")
        .TypeName("FILE")
        .Group("Output");
    app.AddOption("--save-every", save_every_, "The same after every N steps, for a run that fails")
        .TypeName("N")
        .Check(IntegerWithin(1, 1'000'000'000))
        .Group("Output");
    app.AddOption(
           "--rank-timeout", rank_timeout_,
           "Of a run over several processes: seconds for all ranks to come, and after which a "
           "rank that is not heard of ends it (default 20)")
        .TypeName("N")
        .Check(IntegerWithin(1, 86'400));
    app.AddOption(
           "--message-timeout", message_timeout_,
           "The same: seconds for which a rank waits for what another has to send, or to take, "
           "while that one still answers (default 600)")
        .TypeName("N")
        .Check(IntegerWithin(1, 86'400));
    app.AddFlag(
        "--no-nccl", no_nccl_,
        "The same: tensors cross between GPUs of several ranks by the host's memory, whatever "
        "LibTorch has");
    AddExecutedFiles(app, &files_);
    AddPlanInputOptions(app, &input_);
    app.Footer(
        "Inputs and parameters are legal values from the seed where no file has them. CPU devices\n"
        "share this machine's cores alike, where their kinds do not state how many. Ctrl-C ends\n"
        "after the step that runs, and reports and saves the steps so far.\n"
        "Started by torchrun, mpirun or srun, each process executes its share of the devices; rank "
        "0\n"
        "prints and writes files.\n"
        "Examples:\n"
        "  placewright run first.plan.json --simulate-devices --steps 1\n"
        "  placewright run first.plan.json --simulate-devices --steps 1 --save state.safetensors\n"
        "  placewright run first.plan.json --simulate-devices --steps 1 --load state.safetensors\n"
        "  placewright run second.plan.json --simulate-devices --steps 1 --seed 7 --json\n"
        "  placewright run model.json.gz -c 4xP100 --placement my-placement.json "
        "--simulate-devices "
        "--steps 1");
    return app;
  }

  Result<int> Run(Context& context) override {
    const std::atomic<bool>& interrupted = CatchInterrupts();
    // Errors go to standard error; standard output is rank 0's.
    if (RunRanks::StartedBehindFirst()) context.console.json = false;
    if (!inputs_.empty() && batches_ > 1) {
      return MakeError(ErrorCode::kUsage, "--batches makes the inputs that --inputs gives", "",
                       "Leave one of them out; a file may hold several batches.");
    }
    if (save_every_ > 0 && save_.empty()) {
      return MakeError(ErrorCode::kUsage, "--save-every needs --save FILE");
    }
    if (!resume_.empty() && !load_.empty()) {
      return MakeError(ErrorCode::kUsage, "--resume is a --load, too: give one of them");
    }
    PW_RETURN_IF_ERROR(CheckOutput());
    const std::chrono::seconds timeout(rank_timeout_);
    Result<Subject> read = ReadSubject();
    if (!read.ok()) return RunRanks::Refuse(read.error(), timeout, interrupted);
    const Subject subject = read.Take();
    const PlanInputs& loaded = subject.loaded;
    std::optional<InputFile> inputs;
    if (!inputs_.empty()) {
      Result<InputFile> opened = InputFile::Open(inputs_, subject.step());
      if (!opened.ok()) return RunRanks::Refuse(opened.error(), timeout, interrupted);
      inputs = opened.Take();
    }
    PW_ASSIGN(const TorchLibrary library, TorchLibrary::Open(TorchLibrary::Part::kRun));
    const ExecutionService* const service = library.api().executions();
    if (service == nullptr) {
      return MakeError(ErrorCode::kMissingRuntime, library.path() + " executes no plans");
    }
    if (const std::string advice = BlasAdvice(library.api().blas()); !advice.empty()) {
      context.console.Note(advice);
    }
    JoinRequest join{.facts = RunRanks::FactsOf(loaded),
                     .timeout = timeout,
                     .message_timeout = std::chrono::seconds(message_timeout_),
                     .no_nccl = no_nccl_,
                     .interrupted = &interrupted};
    join.facts.emplace_back("the options", RankOptions());
    if (inputs && RunRanks::StartedAsRank()) {
      join.facts.emplace_back("what --inputs gives", inputs->Digest());
    }
    PW_ASSIGN(RunRanks ranks, RunRanks::Join(*service, loaded.cluster.cluster, std::move(join)));
    if (!ranks.leads()) context.console.quiet = true;
    return ranks.End(Execute(context, subject, inputs, library, ranks, interrupted));
  }

 private:
  // What is executed.
  struct Subject {
    WholePlan whole;  // none where a placement is given
    PlanInputs loaded;
    Placement placement;
    std::optional<OriginalStep> original;

    ExecutedStep step() const {
      if (!original) return {&loaded.graph.graph};
      return {&loaded.graph.graph, &original->step(), original->pieces};
    }
  };

  Result<Subject> ReadSubject() const {
    Subject read;
    if (placement_.empty()) {
      PW_ASSIGN(read.whole, WholePlan::Open(plan_, input_));
    }
    PW_ASSIGN(read.loaded, Load(read.whole.path()));
    const Graph& graph = read.loaded.graph.graph;
    PW_RETURN_IF_ERROR(CheckExecutable(graph));
    PW_ASSIGN(read.placement,
              ResolvePlacement(read.loaded.plan.placement, graph, read.loaded.cluster.cluster)
                  .InFile(plan_));
    PW_ASSIGN(read.original, LoadOriginal(read.loaded, read.whole.path(), input_));
    return read;
  }

  // Of the recorded step.
  std::string OriginalPath(const PlanInputs& loaded) const {
    if (input_.graph) return *input_.graph;
    return placement_.empty() ? FilesOf(loaded.plan, plan_).front() : plan_;
  }

  // What all ranks must have been given alike.
  std::string RankOptions() const {
    return fmt::format("--steps {} --seed {} --batches {} --save-every {}{}{}{}{}{}{}{}", steps_,
                       seed_, batches_, save_every_, no_nccl_ ? " --no-nccl" : "",
                       simulate_ ? " --simulate-devices" : "",
                       deterministic_ ? " --deterministic" : "", inputs_.empty() ? "" : " --inputs",
                       load_.empty() ? "" : " --load", resume_.empty() ? "" : " --resume",
                       save_.empty() ? "" : " --save");
  }

  Result<int> Execute(Context& context, const Subject& subject,
                      const std::optional<InputFile>& inputs, const TorchLibrary& library,
                      const RunRanks& ranks, const std::atomic<bool>& interrupted) {
    const auto& [whole, loaded, placement, original] = subject;
    const Graph& graph = loaded.graph.graph;
    const Cluster& cluster = loaded.cluster.cluster;
    if (ranks.leads()) PW_RETURN_IF_ERROR(ProbeOutput());
    PW_ASSIGN(ExecutionRequest request,
              MakeExecutionRequest(graph, cluster, loaded.costs, placement, loaded.plan.policy,
                                   simulate_, ranks.here()));
    request.seed = seed_;
    request.batches = batches_;
    request.deterministic = deterministic_;
    request.sequences = loaded.sequences;
    if (original) {
      request.original = &original->step();
      request.pieces = original->pieces;
    }
    request.interrupted = &interrupted;
    ranks.Give(loaded, request);
    // Of all ranks.
    std::atomic<bool> stops = false;
    StepMeasurement measured;
    Status saved = Ok();
    std::optional<Nanos> now;
    {
      PredictionNow prediction(loaded, plan_,
                               simulate_ || ranks.several() ? nullptr : library.api().profiling(),
                               request.devices, context.console);
      prediction.Look();
      Result<std::unique_ptr<Execution>> started =
          library.api().executions()->Start(std::move(request));
      if (!started.ok()) {
        return Result<int>(WithRecordedVersion(started.error(), OriginalPath(loaded)))
            .InFile(plan_);
      }
      const std::unique_ptr<Execution> execution = started.Take();
      if (const std::string composed = ComposedOps(graph, library.api().libtorch_version());
          !composed.empty()) {
        context.console.Note(fmt::format(
            "LibTorch {} does not have {}: executed by their definition, with more time and memory "
            "than is predicted",
            library.api().libtorch_version(), composed));
      }
      if (const std::string ways = execution->gpu_transfers().ways; !ways.empty()) {
        context.console.Note("between GPUs of several ranks tensors cross " + ways);
      }
      LoadedState state;
      if (const std::string& file = resume_.empty() ? load_ : resume_; !file.empty()) {
        PW_ASSIGN(const std::string bytes, ranks.ReadFile(file));
        PW_ASSIGN(state, LoadState(bytes, file, subject.step(), *execution));
        NoteKept(state, context.console);
        execution->SetStep(state.steps);
      }
      const bool loads = !resume_.empty() || !load_.empty();
      PW_RETURN_IF_ERROR(CheckConstants(subject.step(), loads ? &state.kept : nullptr)
                             .InFile(loaded.plan.graph.path));
      if (!resume_.empty() && state.steps >= steps_) {
        return MakeError(ErrorCode::kUsage,
                         fmt::format("{} has {} steps behind it, and --steps says {}", resume_,
                                     state.steps, steps_),
                         "", "Give more --steps: they count from the training's first.");
      }
      StepMeasurementOptions options;
      options.steps = resume_.empty() ? steps_ : steps_ - state.steps;
      options.graph = &graph;
      options.prepare = [&](int64_t step) -> Status {
        const Status prepared = [&]() -> Status {
          if (save_every_ > 0 && step > 0 && step % save_every_ == 0) {
            PW_RETURN_IF_ERROR(
                SaveState(save_, graph, *execution, state.steps + step, ranks.leads()));
          }
          if (!inputs) return Ok();
          return inputs->Set(state.steps + step, step == 0, *execution);
        }();
        if (prepared.ok()) return prepared;
        return ranks.Fail(prepared.error());
      };
      options.stop = StopToken(ranks.several() ? &stops : &interrupted);
      options.progress = [&](int64_t step, const Execution::Step& taken) {
        if (taken.stop) stops = true;
        context.console.Progress(fmt::format(
            "step {} of {}: {}{}", step + 1, options.steps, FormatNanos(Nanos(taken.time_ns)),
            taken.loss ? fmt::format(", loss {:.4g}", *taken.loss) : ""));
      };
      PW_ASSIGN(measured,
                MeasureSteps(*execution, placement, cluster.device_count(), options).InFile(plan_));
      if (const CopiedViews copied = execution->LastCopiedViews(); copied.views > 0) {
        context.console.Note(fmt::format(
            "{} copied in a step, {} in all: what they view lies otherwise in memory than in the "
            "recorded step; the prediction has neither their time nor their memory",
            CountOf(copied.views, "view"), FormatBytes(Bytes(copied.bytes))));
      }
      if (measured.failure) {
        // In the middle of a step: what --save-every has written is the last state that is whole.
        saved = std::move(*measured.failure);
        if (saved.error().file.empty()) saved.error().file = plan_;
      } else if (!save_.empty()) {
        saved = SaveState(save_, graph, *execution, state.steps + measured.steps, ranks.leads());
      }
      if (!interrupted) {
        prediction.Look();
        now = prediction.StepTime(placement, loaded.plan.policy);
      }
    }
    context.console.Progress("");
    if (stops && !interrupted) {
      context.console.Note(fmt::format("another rank was interrupted: the run has ended after {}",
                                       CountOf(measured.steps, "step")));
    }
    if (!ranks.leads()) {
      if (!saved.ok()) return std::move(saved.error());
      return stops ? InfoOf(ErrorCode::kInterrupted).exit_status : 0;
    }
    // What was measured is printed whatever becomes of the files; JSON is one object, the error's then.
    if (saved.ok() && measured.steps > 0) {
      saved = WriteExecutedFiles(files_, loaded, placement, measured);
    }
    const Predicted predicted{now, PredictOverRanks(loaded, placement, ranks.rank_of())};
    if (!saved.ok()) {
      if (!context.console.json) PrintText(loaded, measured, predicted, context.console);
      return std::move(saved.error());
    }
    if (context.console.json) {
      PrintJson(loaded, measured, predicted, interrupted || stops, context.console);
    } else {
      PrintText(loaded, measured, predicted, context.console);
    }
    return interrupted || stops ? InfoOf(ErrorCode::kInterrupted).exit_status : 0;
  }

  // `plan`: WholePlan::path.
  Result<PlanInputs> Load(const std::string& plan) const {
    const Result<bool> is_plan = IsPlan(plan_);  // an error: a model, say, or no file
    if (placement_.empty()) {
      Result<PlanInputs> loaded = LoadPlanInputs(plan, input_);
      if (!loaded.ok() && is_plan.ok() && !is_plan.value()) {
        loaded.error().remedy = "Give a plan, or a step with -c and --placement.";
      }
      if (!loaded.ok()) return loaded;
      PW_RETURN_IF_ERROR(CheckDigest(loaded.value().document).InFile(plan_));
      return loaded;
    }
    if ((is_plan.ok() && is_plan.value()) || input_.graph) {
      return MakeError(ErrorCode::kUsage, "--placement is for a graph; a plan has its placement");
    }
    InputOptions options;
    options.graph = plan_;
    options.cluster = input_.cluster.value_or("");
    return LoadPlacedGraph(options, placement_);
  }

  static void NoteKept(const LoadedState& state, Console& console) {
    if (state.kept.empty()) return;
    console.Note(fmt::format("{} tensors are not in the file and have values of the seed: {}{}",
                             state.kept.size(), Printable(state.kept.front(), 80),
                             state.kept.size() > 1 ? ", ..." : ""));
  }

  std::vector<NamedFile> Outputs() const {
    std::vector<NamedFile> files;
    if (!save_.empty()) files.push_back({"--save", save_});
    for (NamedFile& file : FilesOf(files_)) files.push_back(std::move(file));
    return files;
  }

  Status CheckOutput() const {
    const std::vector<NamedFile> outputs = Outputs();
    if (outputs.empty()) return Ok();
    std::vector<NamedFile> inputs = WithNamedFiles("the plan", plan_);
    inputs.push_back({"--inputs", inputs_});
    inputs.push_back({"--resume", resume_ == save_ ? "" : resume_});  // it goes on in its own file
    for (NamedFile& file : WithNamedFiles("--placement", placement_)) inputs.push_back(file);
    inputs.push_back({"-c", input_.cluster.value_or("")});
    inputs.push_back({"--graph", input_.graph.value_or("")});
    return RejectOverwriting(outputs, inputs);
  }

  Status ProbeOutput() const {
    for (const NamedFile& file : Outputs()) PW_RETURN_IF_ERROR(ProbeWritable(file.path));
    return Ok();
  }

  // Examples in a second; none where the batch is not known.
  static std::optional<double> RateOf(const Graph& graph, const StepMeasurement& measured) {
    const Nanos median = measured.median();
    if (graph.samples() <= 0 || median.count <= 0) return std::nullopt;
    return static_cast<double>(graph.samples()) / Seconds(median);
  }

  // What else the plan is predicted to take: as the machine was meanwhile; where cores compute, send and
  // receive by turns.
  struct Predicted {
    std::optional<Nanos> now, over_ranks;
  };

  void PrintJson(const PlanInputs& loaded, const StepMeasurement& measured, const Predicted& also,
                 bool interrupted, Console& console) const {
    Json object;
    object["schema"] = "placewright.run/1";
    object["plan_file"] = plan_;
    object["graph"] = loaded.graph.graph.name();
    object["cluster"] = loaded.cluster.cluster.name();
    object["simulated_devices"] = simulate_;
    object["steps"] = measured.steps;
    object["dropped"] = measured.dropped;
    object["step_time_ns"] = nullptr;
    if (measured.steps > 0) {
      object["step_time_ns"] = {{"median", measured.Quantile(0.5)},
                                {"p10", measured.Quantile(0.1)},
                                {"p90", measured.Quantile(0.9)}};
    }
    object["long_turns"] = measured.long_turns ? Json(*measured.long_turns) : Json(nullptr);
    const std::optional<double> rate = RateOf(loaded.graph.graph, measured);
    object["samples_per_second"] = rate ? Json(*rate) : Json(nullptr);
    Json& losses = object["loss"] = Json::array();
    for (const std::optional<double>& loss : measured.losses) {
      losses.push_back(loss ? Json(*loss) : Json(nullptr));
    }
    Json& devices = object["devices"] = Json::array();
    for (const DeviceId id : loaded.cluster.cluster.devices()) {
      devices.push_back({{"name", loaded.cluster.cluster.device(id).name},
                         {"busy", measured.busy[id.index()]},
                         {"peak_memory_bytes", measured.peaks[id.index()]}});
    }
    if (const size_t count = measured.schedule.collectives.size(); count > 0) {
      object["collectives"] = {{"count", count},
                               {"time_ns", TimeInCollectives(measured.schedule).count}};
    }
    Json& predicted = object["predicted"] = Json::object();
    predicted["step_time_ns"] = loaded.plan.step_time.count;
    predicted["now_ns"] = also.now ? Json(also.now->count) : Json(nullptr);
    predicted["over_ranks_ns"] = also.over_ranks ? Json(also.over_ranks->count) : Json(nullptr);
    Json& expected = predicted["devices"] = Json::array();
    for (const DeviceUse& use : loaded.plan.devices) {
      expected.push_back({{"name", use.name},
                          {"peak_memory_bytes", use.peak_memory.count},
                          {"tensor_peak_bytes", use.tensor_peak.count}});
    }
    object["cost_sources"] = {{"given", loaded.plan.share_given},
                              {"measured", loaded.plan.share_measured},
                              {"modelled", loaded.plan.share_modelled}};
    object["interrupted"] = interrupted;
    console.PrintJson(object);
  }

  void PrintText(const PlanInputs& loaded, const StepMeasurement& measured, const Predicted& also,
                 Console& console) const {
    const auto time = [&](double share) { return FormatNanos(Nanos(measured.Quantile(share))); };
    std::string text =
        fmt::format("{} on {}{}: {} steps, {} of them warm-up\n",
                    Printable(loaded.graph.graph.name()), Printable(loaded.cluster.cluster.name()),
                    simulate_ ? ", simulated devices" : "", measured.steps, measured.dropped);
    if (!measured.times_ns.empty()) {
      text +=
          fmt::format("step time  measured {} (a tenth of the steps below {}, a tenth above {})\n",
                      time(0.5), time(0.1), time(0.9));
    }
    if (measured.long_turns) {
      text += fmt::format("           with {} turns of the ranks' threads\n",
                          *measured.long_turns ? "long" : "the usual");
    }
    text +=
        fmt::format("           predicted {} ({} of it from modelled costs)\n",
                    FormatNanos(loaded.plan.step_time), FormatShare(loaded.plan.share_modelled));
    if (also.now) {
      text += fmt::format("           predicted {} as the machine is now\n",
                          FormatNanosLike(*also.now, loaded.plan.step_time));
    }
    if (also.over_ranks) {
      text +=
          fmt::format("           predicted {} where cores compute, send and receive by turns\n",
                      FormatNanosLike(*also.over_ranks, loaded.plan.step_time));
    }
    if (const auto rate = RateOf(loaded.graph.graph, measured)) {
      text += fmt::format("rate       {:.4g} samples a second\n", *rate);
    }
    if (!measured.losses.empty() && measured.losses.front() && measured.losses.back()) {
      text += fmt::format("loss       {:.6g} in the first step, {:.6g} in the last\n",
                          *measured.losses.front(), *measured.losses.back());
    }
    if (const size_t count = measured.schedule.collectives.size(); count > 0) {
      text +=
          fmt::format("collectives {}, under way for {} of a step of {}\n", count,
                      FormatNanosLike(TimeInCollectives(measured.schedule), measured.schedule_time),
                      FormatNanos(measured.schedule_time));
    }
    using Align = Table::Align;
    Table table({{"device", Align::kLeft},
                 {"busy", Align::kRight},
                 {"peak of tensors", Align::kRight},
                 {"predicted", Align::kRight}});
    for (const DeviceId id : loaded.cluster.cluster.devices()) {
      const std::string& name = loaded.cluster.cluster.device(id).name;
      const auto use = std::find_if(loaded.plan.devices.begin(), loaded.plan.devices.end(),
                                    [&](const DeviceUse& one) { return one.name == name; });
      table.AddRow({Printable(name), FormatShare(measured.busy[id.index()]),
                    FormatBytes(Bytes(measured.peaks[id.index()])),
                    use == loaded.plan.devices.end() ? "" : FormatBytes(use->tensor_peak)});
    }
    console.Print(text + "\n" + table.Render(console.style()));
  }

  std::string plan_, placement_, load_, resume_, inputs_, save_;
  ExecutedFiles files_;
  PlanInputOptions input_;
  int64_t steps_ = 15, batches_ = 1, save_every_ = 0, rank_timeout_ = 20, message_timeout_ = 600;
  uint64_t seed_ = 0;
  bool simulate_ = false, deterministic_ = false, no_nccl_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeRunCommand() { return std::make_unique<RunCommand>(); }

}  // namespace placewright
