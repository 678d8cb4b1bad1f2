#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/request/cost_store.h"
#include "cli/request/measured_prediction.h"
#include "cli/request/models.h"
#include "cli/request/validation.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cli/torch_library.h"
#include "formats/plan/plan_files.h"
#include "formats/plan/plan_json.h"
#include "planning/algorithms.h"
#include "planning/prepared_problem.h"
#include "report/table.h"
#include "torch_api/execution_setup.h"
#include "torch_api/machine_log.h"
#include "torch_api/step_measurement.h"

namespace placewright {
namespace {

// Models whose steps take a CPU well below a second or two, at these batches.
struct SuiteModel {
  std::string_view model;
  int64_t batch;
};
constexpr std::array kSuite = {SuiteModel{"inception-v3", 1}, SuiteModel{"bert-small", 2},
                               SuiteModel{"resnet-50", 1}, SuiteModel{"transformer", 2}};

// Who places, from which seed, by how many moves.
struct SuitePlanner {
  std::string_view name;
  uint64_t seed = 0;
  int64_t iterations = 0;
};
constexpr std::array kPlanners = {SuitePlanner{"single"},
                                  SuitePlanner{"layered"},
                                  SuitePlanner{"metis"},
                                  SuitePlanner{"scotch"},
                                  SuitePlanner{"m-topo"},
                                  SuitePlanner{"m-etf"},
                                  SuitePlanner{"heft"},
                                  SuitePlanner{"random", 0},
                                  SuitePlanner{"random", 1},
                                  SuitePlanner{"annealing", 0, 300},
                                  SuitePlanner{"annealing", 1, 3000},
                                  SuitePlanner{"auto", 0, 10000}};

// Plans of a graph whose times differ by less say nothing on whether they are ranked well.
constexpr double kRankedSpan = 1.4;

// One thing to execute.
struct Case {
  std::string plan;
  Placement placement;
  Prediction predicted;  // as the machine was when it was profiled
};

// What cases are executed with.
struct Setting {
  const Graph& graph;
  const Cluster& cluster;
  const CostTable& costs;  // for the paths of a policy
  SchedulingPolicy policy;
  const MeasuredPrediction* measured;  // null where the costs are a plan's own
};

class ValidateCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand(
        "validate", "Execute plans and compare times and memory with their prediction");
    app.AddOption("PLAN", plans_, "Plans of recorded steps; with --suite graphs or models")
        .TypeName("FILE..");
    app.AddFlag("--suite", suite_,
                "Placements by several planners of each graph (of four models of the zoo, where "
                "none is named)");
    app.AddOption("-c,--cluster", cluster_, "With --suite: a cluster of this machine's CPU workers")
        .TypeName("CLUSTER")
        .Group("Input");
    app.AddOption("--cost-store", input_.cost_store,
                  "With --suite: times that `profile` measured (default: the one that it writes)")
        .TypeName("FILE")
        .Group("Input");
    app.AddOption("--steps", steps_, "Of each plan and pass (default 10); the first 5 warm up")
        .TypeName("N")
        .Check(IntegerWithin(6, 1'000'000));
    app.AddOption("--passes", passes_,
                  "Times that all plans are executed, one after the other (default 4)")
        .TypeName("N")
        .Check(IntegerWithin(1, 1000));
    app.Footer(
        "Plans are executed as `run` does. With --suite, and for plans whose times come from a "
        "cost\n"
        "store that is still there, the costs are those that `profile` has measured: mixed for "
        "each\n"
        "placement from those measured alone and with the others at work (`profile --loaded`) by "
        "how\n"
        "much its devices compute at the same time, and scaled to the state of the machine, by\n"
        "references measured between the steps.\n"
        "Examples:\n"
        "  placewright cluster detect --split-cpu 2 -o workers.yaml\n"
        "  placewright profile mlp -c workers.yaml --loaded --no-transfers --steps 5\n"
        "  placewright validate --suite mlp -c workers.yaml --steps 6 --passes 1\n"
        "  placewright plan mlp -c workers.yaml -o mlp.plan.json --iterations 100\n"
        "  placewright validate mlp.plan.json --steps 6 --passes 1");
    return app;
  }

  Result<int> Run(Context& context) override {
    const std::atomic<bool>& interrupted = CatchInterrupts();
    PW_RETURN_IF_ERROR(CheckUsage());
    PW_ASSIGN(const TorchLibrary library, TorchLibrary::Open(TorchLibrary::Part::kRun));
    const ExecutionService* const service = library.api().executions();
    const ProfilingService* const profiling = library.api().profiling();
    if (service == nullptr || profiling == nullptr) {
      return MakeError(ErrorCode::kMissingRuntime, library.path() + " executes no plans");
    }
    Work work{*service, *profiling, context.console, interrupted, {}, {}};
    if (suite_) {
      std::vector<std::pair<std::string, std::optional<int64_t>>> graphs;
      for (const std::string& graph : plans_) graphs.emplace_back(graph, std::nullopt);
      for (const SuiteModel& model : kSuite) {
        if (plans_.empty()) graphs.emplace_back(model.model, model.batch);
      }
      for (const auto& [graph, batch] : graphs) {
        if (interrupted) break;
        Take(ValidateGraph(graph, batch, work), work);
      }
    } else {
      for (const std::string& plan : plans_) {
        if (interrupted) break;
        Take(ValidatePlan(plan, work).InFile(plan), work);
      }
    }
    context.console.Progress("");
    // What has no pairs at all is an error alone; others stand beside what was executed.
    if (work.pairs.empty() && !work.errors.empty()) return work.errors.front();
    for (const Error& error : work.errors) context.console.Note(error.ToString());
    if (context.console.json) {
      PrintJson(work, interrupted, context.console);
    } else {
      PrintText(work.pairs, context.console);
    }
    if (interrupted) return InfoOf(ErrorCode::kInterrupted).exit_status;
    return work.errors.empty() ? 0 : InfoOf(work.errors.front().code).exit_status;
  }

 private:
  struct Work {
    const ExecutionService& service;
    const ProfilingService& profiling;
    Console& console;
    const std::atomic<bool>& interrupted;
    std::vector<ValidatedPair> pairs;
    std::vector<Error> errors;  // what could not be executed
  };

  static void Take(Status status, Work& work) {
    if (!status.ok()) work.errors.push_back(std::move(status.error()));
  }

  Status CheckUsage() const {
    if (!suite_ && plans_.empty()) {
      return MakeError(ErrorCode::kUsage, "PLAN is required", "",
                       "Name plans, or let --suite make some.");
    }
    if (suite_ && cluster_.empty()) {
      return MakeError(ErrorCode::kUsage, "--suite needs -c CLUSTER", "",
                       "`placewright cluster detect --split-cpu 2 -o workers.yaml` describes two "
                       "workers of this machine.");
    }
    if (!suite_ && (!cluster_.empty() || !input_.cost_store.empty())) {
      return MakeError(ErrorCode::kUsage, "-c and --cost-store go with --suite; plans have theirs");
    }
    return Ok();
  }

  Status ValidatePlan(const std::string& path, Work& work) const {
    PW_ASSIGN(const PlanInputs loaded, LoadPlanInputs(path));
    PW_RETURN_IF_ERROR(CheckDigest(loaded.document));
    const Graph& graph = loaded.graph.graph;
    const Cluster& cluster = loaded.cluster.cluster;
    PW_RETURN_IF_ERROR(CheckExecutable(graph));
    std::vector<Case> cases(1);
    cases[0].plan = std::filesystem::path(path).filename().string();
    PW_ASSIGN(cases[0].placement, ResolvePlacement(loaded.plan.placement, graph, cluster));
    cases[0].predicted =
        Predict(graph, cluster, loaded.costs, cases[0].placement, loaded.plan.policy);
    // Its times can be looked up again, alone and with others at work, where they are the store's.
    const std::optional<CostStoreUse>& use = loaded.plan.cost_store;
    const std::string store =
        use ? (std::filesystem::path(path).parent_path() / use->path).string() : "";
    std::error_code failed;
    const bool known = use && loaded.plan.share_given == 0 &&
                       loaded.plan.cost_profile == "default" && !use->environments.empty() &&
                       std::filesystem::exists(store, failed);
    std::optional<MeasuredPrediction> measured;
    if (known) {
      PW_ASSIGN(const FloatPrecision precision, ParseFloatPrecision(loaded.plan.precision));
      Result<MeasuredPrediction> read = MeasuredPrediction::Read(graph, cluster, store, precision);
      if (read.ok()) {
        measured.emplace(read.Take());
      } else {
        work.console.Note("the plan's own times are taken: " + read.error().ToString());
      }
    }
    return Execute(
        {graph, cluster, loaded.costs, loaded.plan.policy, measured ? &*measured : nullptr}, cases,
        work);
  }

  Status ValidateGraph(const std::string& name, std::optional<int64_t> batch, Work& work) const {
    PW_ASSIGN(LoadedCluster loaded, LoadCluster(cluster_));
    const Cluster& cluster = loaded.cluster;
    PW_ASSIGN(const LoadedGraph read,
              LoadGraphOrModel(name, {batch, "", {}}, {}, &work.interrupted));
    const Graph& graph = read.graph;
    PW_RETURN_IF_ERROR(CheckExecutable(graph).InFile(name));
    const std::string store = CostStorePath(input_);
    if (store.empty()) return NotMeasured(name, batch);
    PW_ASSIGN([[maybe_unused]] const std::vector<LinkId> links,
              UseMeasuredLinks(store, loaded.cluster));
    PW_ASSIGN(const MeasuredPrediction measured,
              MeasuredPrediction::Read(graph, cluster, store, FloatPrecision::kPyTorch));
    const Placement one(graph.op_count(), DeviceId(0));
    if (SharesOf(measured.busy(), one).measured < 0.9 || !measured.knows_loaded()) {
      return NotMeasured(name, batch);
    }
    PW_ASSIGN(std::vector<Case> cases, PlanSuite(graph, cluster, measured, work));
    return Execute({graph, cluster, measured.busy(), SchedulingPolicy::kFifo, &measured}, cases,
                   work);
  }

  Error NotMeasured(const std::string& name, std::optional<int64_t> batch) const {
    return MakeError(ErrorCode::kCostMissing,
                     fmt::format("the ops of {} were not measured on the devices of {}",
                                 Printable(name), Printable(cluster_)),
                     "",
                     fmt::format("`placewright profile {}{} -c {} --loaded` measures them.", name,
                                 batch ? fmt::format(" --batch {}", *batch) : "", cluster_));
  }

  Result<std::vector<Case>> PlanSuite(const Graph& graph, const Cluster& cluster,
                                      const MeasuredPrediction& measured, Work& work) const {
    PW_ASSIGN(const auto prepared, PreparedProblem::Prepare(graph, cluster, measured.busy(), {}));
    const Algorithms algorithms;
    std::vector<Case> cases;
    std::vector<Placement> known;
    for (const SuitePlanner& by : kPlanners) {
      if (work.interrupted) break;
      work.console.Progress(fmt::format("{}: {}", graph.name(), by.name));
      PW_ASSIGN(const Planner* planner, algorithms.Find(by.name));
      PlannerOptions options;
      options.seed = by.seed;
      options.budget.iterations = by.iterations;
      options.started = Clock::now();
      PW_ASSIGN(PlannerResult result,
                planner->Plan(prepared->problem(), prepared->evaluator(), options));
      if (!result.feasible ||
          std::find(known.begin(), known.end(), result.placement) != known.end()) {
        continue;
      }
      known.push_back(result.placement);
      Case one;
      one.plan =
          by.name == "random" || by.iterations > 0
              ? fmt::format("{} (seed {}{})", by.name, by.seed,
                            by.iterations > 0 ? fmt::format(", {} moves", by.iterations) : "")
              : std::string(by.name);
      one.placement = std::move(result.placement);
      PW_ASSIGN(one.predicted, measured.Predict(one.placement, SchedulingPolicy::kFifo));
      cases.push_back(std::move(one));
    }
    return cases;
  }

  // All cases one after the other, and again in each pass: the state of a machine changes.
  Status Execute(const Setting& setting, std::vector<Case>& cases, Work& work) const {
    const Graph& graph = setting.graph;
    const Cluster& cluster = setting.cluster;
    const CostTable& costs = setting.costs;
    const SchedulingPolicy policy = setting.policy;
    const MeasuredPrediction* const measured_costs = setting.measured;
    std::vector<StepMeasurement> last(cases.size());
    std::vector<std::vector<int64_t>> times(cases.size());
    // One for all cases, so that its memory is touched once; a log for each, since the machine changes.
    std::unique_ptr<MachineReference> reference;
    std::vector<MachineLog> machine;
    if (measured_costs != nullptr) {
      PW_ASSIGN(const std::vector<ExecutionDevice> devices, ExecutionDevicesOf(cluster, false));
      PW_ASSIGN(reference,
                work.profiling.StartReference(devices, std::vector<bool>(devices.size(), true),
                                              devices.size() > 1));
      machine.assign(cases.size(), MachineLog(*reference, devices.size()));
    }
    for (int64_t pass = 0; pass < passes_; ++pass) {
      for (size_t i = 0; i < cases.size() && !work.interrupted; ++i) {
        PW_ASSIGN(ExecutionRequest request,
                  MakeExecutionRequest(graph, cluster, costs, cases[i].placement, policy, false));
        const auto fail = [&](Error error) {
          error.message = fmt::format("{}: {}", cases[i].plan, error.message);
          work.errors.push_back(std::move(error));
        };
        Result<std::unique_ptr<Execution>> execution = work.service.Start(std::move(request));
        if (!execution.ok()) {
          fail(std::move(execution.error()));
          continue;
        }
        StepMeasurementOptions options;
        options.steps = steps_;
        options.stop = StopToken(&work.interrupted);
        if (reference != nullptr) {
          options.interlude = [&, i] { return machine[i].Look(); };
          options.warm = [&, i] { machine[i].Warm(); };
        }
        options.progress = [&](int64_t step, const Execution::Step& taken) {
          work.console.Progress(fmt::format("{}, {}: step {} of {}, {}", graph.name(),
                                            cases[i].plan, step + 1, steps_,
                                            FormatNanos(Nanos(taken.time_ns))));
        };
        Result<StepMeasurement> taken =
            MeasureSteps(*execution.value(), cases[i].placement, cluster.device_count(), options);
        if (!taken.ok()) {
          fail(std::move(taken.error()));
          continue;
        }
        if (taken.value().steps == 0) break;  // interrupted before the first one
        last[i] = taken.Take();
        times[i].insert(times[i].end(), last[i].times_ns.begin(), last[i].times_ns.end());
      }
    }
    for (size_t i = 0; i < cases.size(); ++i) {
      if (times[i].empty()) continue;
      ValidatedPair pair;
      pair.as_profiled = cases[i].predicted.result.step_time;
      if (measured_costs != nullptr) {
        PW_ASSIGN(cases[i].predicted,
                  measured_costs->Predict(cases[i].placement, policy, machine[i].Medians()));
      }
      Compare(graph, cluster, cases[i], last[i], pair);
      StepMeasurement all;
      all.times_ns = std::move(times[i]);
      std::sort(all.times_ns.begin(), all.times_ns.end());
      pair.measured = all.median();
      pair.low = Nanos(all.Quantile(0.1));
      pair.high = Nanos(all.Quantile(0.9));
      work.pairs.push_back(std::move(pair));
    }
    return Ok();
  }

  static void Compare(const Graph& graph, const Cluster& cluster, const Case& one,
                      const StepMeasurement& measured, ValidatedPair& pair) {
    pair.graph = graph.name();
    pair.plan = one.plan;
    pair.predicted = one.predicted.result.step_time;
    pair.share_modelled = one.predicted.share_modelled;

    for (const DeviceId id : cluster.devices()) {
      const DeviceResult& predicted = one.predicted.result.devices[id.index()];
      pair.workers += predicted.ops > 0 ? 1 : 0;
      pair.devices.push_back(
          {cluster.device(id).name, one.predicted.peaks[id.index()] + predicted.runtime_context,
           Bytes(measured.peaks[id.index()]), predicted.busy,
           Nanos(static_cast<int64_t>(measured.busy[id.index()] *
                                      static_cast<double>(measured.median().count)))});
    }
    for (const OpId op : graph.ops()) {
      if (graph.op(op).is_view) continue;
      ValidatedPair::OfClass& of_class = pair.classes[WorkOf(graph, op).op_class];
      const OpSpan& predicted = one.predicted.result.schedule->ops[op];
      const OpSpan& taken = measured.schedule.ops[op];
      of_class.predicted += predicted.end - predicted.start;
      of_class.measured += taken.end - taken.start;
    }
  }

  struct Summary {
    double median = 0, p90 = 0;
    double profiled_median = 0, profiled_p90 = 0;  // as the machine was when it was profiled
    double peak_median = 0, peak_max = 0;
    struct Rank {
      std::string graph;
      double value = 0;
      size_t pairs = 0;
      double span = 0;  // slowest over fastest, as measured
    };
    std::vector<Rank> ranks;
    std::map<OpClass, ValidatedPair::OfClass> classes;
  };

  static Summary Summarise(const std::vector<ValidatedPair>& pairs) {
    Summary summary;
    std::vector<double> errors, profiled, peaks;
    std::map<std::string, std::vector<const ValidatedPair*>> by_graph;
    for (const ValidatedPair& pair : pairs) {
      errors.push_back(pair.Error());
      profiled.push_back(pair.ErrorAsProfiled());
      peaks.push_back(pair.PeakError());
      by_graph[pair.graph].push_back(&pair);
      for (const auto& [op_class, times] : pair.classes) {
        summary.classes[op_class].predicted += times.predicted;
        summary.classes[op_class].measured += times.measured;
      }
    }
    summary.median = Quantile(errors, 0.5);
    summary.p90 = Quantile(errors, 0.9);
    summary.profiled_median = Quantile(profiled, 0.5);
    summary.profiled_p90 = Quantile(profiled, 0.9);
    summary.peak_median = Quantile(peaks, 0.5);
    summary.peak_max = Quantile(peaks, 1);
    for (const auto& [graph, of_graph] : by_graph) {
      const auto [fastest, slowest] = std::minmax_element(
          of_graph.begin(), of_graph.end(),
          [](const auto* a, const auto* b) { return a->measured < b->measured; });
      summary.ranks.push_back(
          {graph, RankCorrelation(of_graph), of_graph.size(),
           static_cast<double>((*slowest)->measured.count) /
               static_cast<double>(std::max<int64_t>(1, (*fastest)->measured.count))});
    }
    return summary;
  }

  static void PrintJson(const Work& work, bool interrupted, Console& console) {
    const std::vector<ValidatedPair>& pairs = work.pairs;
    const Summary summary = Summarise(pairs);
    Json object;
    object["schema"] = "placewright.validate/1";
    Json& list = object["pairs"] = Json::array();
    for (const ValidatedPair& pair : pairs) {
      Json devices = Json::array();
      for (const ValidatedPair::Device& device : pair.devices) {
        devices.push_back({{"name", device.name},
                           {"predicted_peak_bytes", device.predicted_peak.count},
                           {"measured_peak_bytes", device.measured_peak.count},
                           {"predicted_busy_ns", device.predicted_busy.count},
                           {"measured_busy_ns", device.measured_busy.count}});
      }
      Json classes = Json::object();
      for (const auto& [op_class, times] : pair.classes) {
        classes[std::string(ToString(op_class))] = {{"predicted_ns", times.predicted.count},
                                                    {"measured_ns", times.measured.count}};
      }
      list.push_back({{"graph", pair.graph},
                      {"plan", pair.plan},
                      {"workers", pair.workers},
                      {"predicted_ns", pair.predicted.count},
                      {"predicted_as_profiled_ns", pair.as_profiled.count},
                      {"measured_ns", pair.measured.count},
                      {"measured_p10_ns", pair.low.count},
                      {"measured_p90_ns", pair.high.count},
                      {"error", pair.Error()},
                      {"predicted_peak_bytes", pair.Fullest().predicted_peak.count},
                      {"measured_peak_bytes", pair.Fullest().measured_peak.count},
                      {"modelled", pair.share_modelled},
                      {"devices", std::move(devices)},
                      {"classes", std::move(classes)}});
    }
    object["median_error"] = summary.median;
    object["p90_error"] = summary.p90;
    object["as_profiled"] = {{"median_error", summary.profiled_median},
                             {"p90_error", summary.profiled_p90}};
    object["peak_error"] = {{"median", summary.peak_median}, {"max", summary.peak_max}};
    Json& ranks = object["rank_correlation"] = Json::array();
    Json& narrow = object["not_ranked"] = Json::array();
    for (const Summary::Rank& rank : summary.ranks) {
      (rank.span >= kRankedSpan ? ranks : narrow)
          .push_back({{"graph", rank.graph},
                      {"value", rank.value},
                      {"pairs", rank.pairs},
                      {"span", rank.span}});
    }
    Json& failed = object["failed"] = Json::array();
    for (const Error& error : work.errors) failed.push_back(error.ToString());
    object["interrupted"] = interrupted;
    console.PrintJson(object);
  }

  static void PrintText(const std::vector<ValidatedPair>& pairs, Console& console) {
    using Align = Table::Align;
    if (pairs.empty()) {
      console.Print("Nothing was executed.\n");
      return;
    }
    Table table({{"graph", Align::kLeft},
                 {"plan", Align::kLeft},
                 {"workers", Align::kRight},
                 {"predicted", Align::kRight},
                 {"measured", Align::kRight},
                 {"error", Align::kRight},
                 {"peak predicted", Align::kRight},
                 {"measured", Align::kRight}});
    for (const ValidatedPair& pair : pairs) {
      const ValidatedPair::Device& fullest = pair.Fullest();
      table.AddRow({Printable(pair.graph, 40), Printable(pair.plan, 60),
                    fmt::format("{}", pair.workers), FormatNanosLike(pair.predicted, pair.measured),
                    FormatNanos(pair.measured),
                    fmt::format("{:+.1f}%", pair.predicted < pair.measured ? -100 * pair.Error()
                                                                           : 100 * pair.Error()),
                    FormatBytes(fullest.predicted_peak), FormatBytes(fullest.measured_peak)});
    }
    const Summary summary = Summarise(pairs);
    std::string text = table.Render(console.style());
    const bool scaled = std::any_of(pairs.begin(), pairs.end(), [](const ValidatedPair& pair) {
      return pair.as_profiled != pair.predicted;
    });
    const std::string unscaled =
        scaled
            ? fmt::format(" ({} and {} as the machine was when it was profiled)",
                          FormatShare(summary.profiled_median), FormatShare(summary.profiled_p90))
            : "";
    text += fmt::format(
        "\nstep time    median error {}, a tenth above {}{}\npeak memory  median error {}, largest "
        "{} (the fullest device of each plan)\n",
        FormatShare(summary.median), FormatShare(summary.p90), unscaled,
        FormatShare(summary.peak_median), FormatShare(summary.peak_max));
    for (const Summary::Rank& rank : summary.ranks) {
      text +=
          fmt::format("rank         {:.2f} over {} plans of {} (slowest over fastest {:.2f}{})\n",
                      rank.value, rank.pairs, Printable(rank.graph), rank.span,
                      rank.span >= kRankedSpan ? "" : ": too alike to be judged");
    }
    Table classes({{"op class", Align::kLeft},
                   {"predicted", Align::kRight},
                   {"measured", Align::kRight},
                   {"measured / predicted", Align::kRight}});
    std::vector<std::pair<Nanos, OpClass>> order;
    for (const auto& [op_class, times] : summary.classes)
      order.emplace_back(times.measured, op_class);
    std::sort(order.rbegin(), order.rend());
    for (const auto& [time, op_class] : order) {
      const Nanos predicted = summary.classes.at(op_class).predicted;
      if (time.count == 0) continue;
      classes.AddRow(
          {std::string(ToString(op_class)), FormatNanos(predicted), FormatNanos(time),
           predicted.count > 0 ? fmt::format("{:.2f}", Seconds(time) / Seconds(predicted)) : ""});
    }
    console.Print(text + "\n" + classes.Render(console.style()));
  }

  std::vector<std::string> plans_;
  std::string cluster_;
  InputOptions input_;
  bool suite_ = false;
  int64_t steps_ = 10, passes_ = 4;
};

}  // namespace

std::unique_ptr<Command> MakeValidateCommand() { return std::make_unique<ValidateCommand>(); }

}  // namespace placewright
