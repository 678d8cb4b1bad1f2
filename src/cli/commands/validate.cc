#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/request/cost_store.h"
#include "cli/request/measured_prediction.h"
#include "cli/request/models.h"
#include "cli/request/recorded_version.h"
#include "cli/request/validation_report.h"
#include "cli/request/validation_run.h"
#include "cli/request/validation_suite.h"
#include "cli/request/whole_plan.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "formats/plan/plan_files.h"
#include "formats/plan/plan_json.h"
#include "torch_api/execution_setup.h"
#include "torch_api/torch_library.h"

namespace placewright {
namespace {

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
        "Plans are executed as `run` does. With --suite, and for plans whose times come from a\n"
        "cost store that is still there, the costs are those that `profile` has measured: mixed\n"
        "for each placement from those measured alone and with the others at work (`profile\n"
        "--loaded`) by how much its devices compute at the same time, and scaled to the state of\n"
        "the machine, by references measured before and behind the steps.\n"
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
    const ValidationRun run{*service, *profiling, context.console, interrupted, steps_, passes_};
    std::vector<ValidatedPair> pairs;
    std::vector<Error> errors;  // of what could not be executed
    const auto take = [&](Status status) {
      if (!status.ok()) errors.push_back(std::move(status.error()));
    };
    if (suite_) {
      auto graphs = plans_.empty() ? SuiteModels() : decltype(SuiteModels()){};
      for (const std::string& graph : plans_) graphs.emplace_back(graph, std::nullopt);
      for (const auto& [graph, batch] : graphs) {
        if (interrupted) break;
        take(ValidateGraph(graph, batch, run, pairs, errors));
      }
    } else {
      for (const std::string& plan : plans_) {
        if (interrupted) break;
        take(ValidatePlan(plan, run, pairs, errors).InFile(plan));
      }
    }
    context.console.Progress("");
    // What has no pairs at all is an error alone; others stand beside what was executed.
    if (pairs.empty() && !errors.empty()) return errors.front();
    for (const Error& error : errors) context.console.Note(error.ToString());
    if (context.console.json) {
      context.console.PrintJson(ValidationJson(pairs, errors, interrupted));
    } else {
      context.console.Print(ValidationText(pairs, context.console.style()));
    }
    if (interrupted) return InfoOf(ErrorCode::kInterrupted).exit_status;
    return errors.empty() ? 0 : InfoOf(errors.front().code).exit_status;
  }

 private:
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

  static Status ValidatePlan(const std::string& path, const ValidationRun& run,
                             std::vector<ValidatedPair>& pairs, std::vector<Error>& errors) {
    PW_ASSIGN(const WholePlan whole, WholePlan::Open(path, {}));
    PW_ASSIGN(const PlanInputs loaded, LoadPlanInputs(whole.path()));
    PW_RETURN_IF_ERROR(CheckDigest(loaded.document));
    const Graph& graph = loaded.graph.graph;
    const Cluster& cluster = loaded.cluster.cluster;
    PW_RETURN_IF_ERROR(CheckExecutable(graph));
    PW_ASSIGN(Placement placement, ResolvePlacement(loaded.plan.placement, graph, cluster));
    const std::optional<MeasuredPrediction> measured =
        MeasuredPrediction::OfPlan(loaded, whole.path(), run.console);
    const size_t before = errors.size();
    const Status validated =
        Validate({graph, cluster, loaded.costs, loaded.plan.policy, measured ? &*measured : nullptr,
                  loaded.plan.step_time},
                 {{std::filesystem::path(path).filename().string(), std::move(placement)}}, run,
                 pairs, errors);
    return Named(validated, FilesOf(loaded.plan, whole.path()).front(), before, errors);
  }

  Status ValidateGraph(const std::string& name, std::optional<int64_t> batch,
                       const ValidationRun& run, std::vector<ValidatedPair>& pairs,
                       std::vector<Error>& errors) const {
    PW_ASSIGN(LoadedCluster loaded, LoadCluster(cluster_));
    const Cluster& cluster = loaded.cluster;
    PW_ASSIGN(const LoadedGraph read,
              LoadGraphOrModel(name, {batch, "", {}}, {}, &run.interrupted));
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
    PW_ASSIGN(const std::vector<SuitePlacement> placements,
              PlanSuite(graph, cluster, measured.busy(), run.interrupted, run.console));
    const size_t before = errors.size();
    const Status validated = Validate(
        {graph, cluster, measured.busy(), DefaultPolicy(graph.format()), &measured, std::nullopt},
        placements, run, pairs, errors);
    return Named(validated, name, before, errors);
  }

  // With the version that recorded the step, where an operator is not here.
  static Status Named(const Status& validated, const std::string& graph, size_t before,
                      std::vector<Error>& errors) {
    for (size_t i = before; i < errors.size(); ++i) {
      errors[i] = WithRecordedVersion(std::move(errors[i]), graph);
    }
    if (validated.ok()) return Ok();
    return WithRecordedVersion(validated.error(), graph);
  }

  Error NotMeasured(const std::string& name, std::optional<int64_t> batch) const {
    return MakeError(ErrorCode::kCostMissing,
                     fmt::format("the ops of {} were not measured on the devices of {}",
                                 Printable(name), Printable(cluster_)),
                     "",
                     fmt::format("`placewright profile {}{} -c {} --loaded` measures them.", name,
                                 batch ? fmt::format(" --batch {}", *batch) : "", cluster_));
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
