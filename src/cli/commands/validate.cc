#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <set>
#include <utility>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/request/cost_store.h"
#include "cli/request/models.h"
#include "cli/request/validation.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cli/torch_library.h"
#include "cost/cost_model.h"
#include "formats/plan/plan_files.h"
#include "formats/plan/plan_json.h"
#include "planning/algorithms.h"
#include "planning/prepared_problem.h"
#include "report/memory_curve.h"
#include "report/table.h"
#include "sim/contention.h"
#include "sim/simulator.h"
#include "torch_api/execution_setup.h"
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

// One thing to execute, and what is predicted of it.
struct Case {
  std::string plan;
  Placement placement;
  SimResult predicted;       // with schedule
  std::vector<Bytes> peaks;  // by device, of tensors with the workspace of the op that runs
  double share_modelled = 0;
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
    app.AddOption("--steps", steps_, "Of each plan and pass (default 15); the first 5 warm up")
        .TypeName("N")
        .Check(IntegerWithin(6, 1'000'000));
    app.AddOption("--passes", passes_,
                  "Times that all plans are executed, one after the other (default 2)")
        .TypeName("N")
        .Check(IntegerWithin(1, 1000));
    app.Footer(
        "Plans are executed as `run` does. With --suite the costs are those that `profile` has\n"
        "measured before, mixed for each placement from those measured alone and with the others\n"
        "at work (`profile --loaded`) by how much its devices compute at the same time.\n"
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
    if (service == nullptr) {
      return MakeError(ErrorCode::kMissingRuntime, library.path() + " executes no plans");
    }
    Work work{*service, context.console, interrupted, {}, {}};
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
    cases[0].share_modelled = loaded.plan.share_modelled;
    const SimGraph sim_graph = BuildSimGraph(graph, cluster, loaded.costs);
    cases[0].predicted =
        Simulator(sim_graph).Run(cases[0].placement, {loaded.plan.policy, true, false});
    PredictPeaks(sim_graph, cases[0]);
    return Execute(graph, cluster, loaded.costs, loaded.plan.policy, cases, work);
  }

  // The store's costs with the other devices at work, or alone.
  Result<CostTable> CostsOf(const Graph& graph, const Cluster& cluster, bool loaded,
                            const std::string& store) const {
    CostOptions options;
    PW_ASSIGN(options.measured, ReadMeasured(store, cluster, loaded));
    return ModelCosts(graph, cluster, options);
  }

  Status ValidateGraph(const std::string& name, std::optional<int64_t> batch, Work& work) const {
    PW_ASSIGN(const LoadedCluster loaded, LoadCluster(cluster_));
    const Cluster& cluster = loaded.cluster;
    PW_ASSIGN(const LoadedGraph read,
              LoadGraphOrModel(name, {batch, "", {}}, {}, &work.interrupted));
    const Graph& graph = read.graph;
    PW_RETURN_IF_ERROR(CheckExecutable(graph).InFile(name));
    const std::string store = CostStorePath(input_);
    if (store.empty()) return NotMeasured(name, batch);
    PW_ASSIGN(const CostTable alone, CostsOf(graph, cluster, false, store));
    PW_ASSIGN(const CostTable busy, CostsOf(graph, cluster, true, store));
    const Placement one(graph.op_count(), DeviceId(0));
    if (SharesOf(busy, one).measured < 0.9) return NotMeasured(name, batch);
    PW_ASSIGN(const auto loaded_rows, ReadMeasured(store, cluster, true));
    const bool loaded_known =
        std::any_of(loaded_rows.begin(), loaded_rows.end(),
                    [](const MeasuredDevice& device) { return device.on.loaded; });
    if (cluster.device_count() > 1 && !loaded_known) return NotMeasured(name, batch);
    PW_ASSIGN(std::vector<Case> cases, PlanSuite(graph, cluster, alone, busy, work));
    return Execute(graph, cluster, busy, SchedulingPolicy::kFifo, cases, work);
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
                                      const CostTable& alone, const CostTable& busy,
                                      Work& work) const {
    PW_ASSIGN(const auto prepared, PreparedProblem::Prepare(graph, cluster, busy, {}));
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
      // As if all devices were at work all the time; then as much as they are.
      CostTable costs = busy;
      for (int pass = 0; pass < 3; ++pass) {
        const SimGraph sim_graph = BuildSimGraph(graph, cluster, costs);
        one.predicted = Simulator(sim_graph).Run(one.placement, {SchedulingPolicy::kFifo, true});
        PredictPeaks(sim_graph, one);
        costs = MixCosts(
            alone, busy,
            OverlapOf(graph, one.placement, *one.predicted.schedule, cluster.device_count()));
      }
      one.share_modelled = SharesOf(costs, one.placement).modelled;
      cases.push_back(std::move(one));
    }
    return cases;
  }

  static void PredictPeaks(const SimGraph& sim_graph, Case& one) {
    const Schedule& schedule = *one.predicted.schedule;
    one.peaks = PeaksWithWorkspace(sim_graph, one.placement, schedule,
                                   MemoryCurves(sim_graph, one.placement, schedule));
  }

  // All cases one after the other, and again in each pass: the state of a machine changes.
  Status Execute(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                 SchedulingPolicy policy, const std::vector<Case>& cases, Work& work) const {
    std::vector<ValidatedPair> pairs(cases.size());
    std::vector<std::vector<int64_t>> times(cases.size());
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
        const StepMeasurement& measured = taken.value();
        if (measured.steps == 0) break;  // interrupted before the first one
        times[i].insert(times[i].end(), measured.times_ns.begin(), measured.times_ns.end());
        Compare(graph, cluster, cases[i], measured, pairs[i]);
      }
    }
    for (size_t i = 0; i < cases.size(); ++i) {
      if (times[i].empty()) continue;
      StepMeasurement all;
      all.times_ns = std::move(times[i]);
      std::sort(all.times_ns.begin(), all.times_ns.end());
      pairs[i].measured = all.median();
      pairs[i].low = Nanos(all.Quantile(0.1));
      pairs[i].high = Nanos(all.Quantile(0.9));
      work.pairs.push_back(std::move(pairs[i]));
    }
    return Ok();
  }

  static void Compare(const Graph& graph, const Cluster& cluster, const Case& one,
                      const StepMeasurement& measured, ValidatedPair& pair) {
    pair.graph = graph.name();
    pair.plan = one.plan;
    pair.predicted = one.predicted.step_time;
    pair.share_modelled = one.share_modelled;
    pair.devices.clear();
    pair.classes.clear();
    pair.workers = 0;
    for (const DeviceId id : cluster.devices()) {
      const DeviceResult& predicted = one.predicted.devices[id.index()];
      pair.workers += predicted.ops > 0 ? 1 : 0;
      pair.devices.push_back(
          {cluster.device(id).name, one.peaks[id.index()] + predicted.runtime_context,
           Bytes(measured.peaks[id.index()]), predicted.busy,
           Nanos(static_cast<int64_t>(measured.busy[id.index()] *
                                      static_cast<double>(measured.median().count)))});
    }
    for (const OpId op : graph.ops()) {
      if (graph.op(op).is_view) continue;
      ValidatedPair::OfClass& of_class = pair.classes[WorkOf(graph, op).op_class];
      const OpSpan& predicted = one.predicted.schedule->ops[op];
      const OpSpan& taken = measured.schedule.ops[op];
      of_class.predicted += predicted.end - predicted.start;
      of_class.measured += taken.end - taken.start;
    }
  }

  struct Summary {
    double median = 0, p90 = 0, peak_median = 0, peak_max = 0;
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
    std::vector<double> errors, peaks;
    std::map<std::string, std::vector<const ValidatedPair*>> by_graph;
    for (const ValidatedPair& pair : pairs) {
      errors.push_back(pair.Error());
      peaks.push_back(pair.PeakError());
      by_graph[pair.graph].push_back(&pair);
      for (const auto& [op_class, times] : pair.classes) {
        summary.classes[op_class].predicted += times.predicted;
        summary.classes[op_class].measured += times.measured;
      }
    }
    summary.median = Quantile(errors, 0.5);
    summary.p90 = Quantile(errors, 0.9);
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
    text += fmt::format(
        "\nstep time    median error {}, a tenth above {}\npeak memory  median error {}, largest "
        "{} (the fullest device of each plan)\n",
        FormatShare(summary.median), FormatShare(summary.p90), FormatShare(summary.peak_median),
        FormatShare(summary.peak_max));
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
  int64_t steps_ = 15, passes_ = 2;
};

}  // namespace

std::unique_ptr<Command> MakeValidateCommand() { return std::make_unique<ValidateCommand>(); }

}  // namespace placewright
