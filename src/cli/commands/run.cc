#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/request/result_json.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cli/torch_library.h"
#include "formats/plan/plan_files.h"
#include "formats/plan/plan_json.h"
#include "report/table.h"
#include "sim/engine/sim_graph.h"
#include "torch_api/execution_service.h"

namespace placewright {
namespace {

// Steps that are left out of times: memory is new, caches are cold.
constexpr int64_t kWarmUp = 5;

// What came of the steps.
struct Measured {
  std::vector<int64_t> times_ns;  // without warm-up, ascending
  std::vector<std::optional<double>> losses;
  std::vector<double> busy;  // by device, share of the steps without warm-up
  std::vector<int64_t> peaks;
  int64_t steps = 0, dropped = 0;

  // Of the times, nearest rank; 0 without any.
  int64_t Quantile(double share) const {
    if (times_ns.empty()) return 0;
    const auto last = static_cast<double>(times_ns.size() - 1);
    return times_ns[static_cast<size_t>(share * last + 0.5)];
  }
};

class RunCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand(
        "run", "Execute a plan's step op by op on this machine, beside its prediction");
    app.AddOption("PLAN", plan_, "Plan of a recorded step").Required();
    app.AddOption("--steps", steps_, "Steps (default 15); of more than one, up to five warm up")
        .TypeName("N")
        .Check(IntegerWithin(1, 1'000'000'000));
    app.AddFlag("--simulate-devices", simulate_,
                "Every device on a core of this machine, with a queue and a memory of its own: "
                "values are those of the plan's devices, times are not");
    app.AddOption("--seed", seed_, "Of inputs, parameters and random ops (default 0)")
        .TypeName("N")
        .Check(IntegerWithin(0, UINT64_MAX));
    app.AddOption("--graph", input_.graph, "Where the graph lies now, if not where the plan says")
        .TypeName("FILE")
        .Group("Input");
    app.AddOption("-c,--cluster", input_.cluster, "The same for the cluster: a file or preset")
        .TypeName("CLUSTER")
        .Group("Input");
    app.Footer(
        "Inputs and parameters are legal values from the seed. CPU devices share this machine's\n"
        "cores alike. Ctrl-C ends after the step that runs, and reports the steps so far.\n"
        "Examples:\n"
        "  placewright run first.plan.json --simulate-devices --steps 1\n"
        "  placewright run second.plan.json --simulate-devices --steps 1 --seed 7 --json");
    return app;
  }

  Result<int> Run(Context& context) override {
    const std::atomic<bool>& interrupted = CatchInterrupts();
    PW_ASSIGN(const PlanInputs loaded, LoadPlanInputs(plan_, input_));
    PW_RETURN_IF_ERROR(CheckDigest(loaded.document).InFile(plan_));
    const Graph& graph = loaded.graph.graph;
    const Cluster& cluster = loaded.cluster.cluster;
    if (graph.format() != "aten") {
      return MakeError(ErrorCode::kField,
                       fmt::format("a graph of format {} cannot be executed", graph.format()), "",
                       "Record the model's step (`placewright capture`) and plan that.");
    }
    ExecutionRequest request;
    request.graph = &graph;
    request.seed = seed_;
    request.policy = loaded.plan.policy;
    PW_ASSIGN(request.placement,
              ResolvePlacement(loaded.plan.placement, graph, cluster).InFile(plan_));
    PW_ASSIGN(request.devices, DevicesOf(cluster));
    if (request.policy == SchedulingPolicy::kCriticalPath) {
      request.paths = PathsOf(BuildSimGraph(graph, cluster, loaded.costs), graph);
    }
    PW_ASSIGN(const TorchLibrary library, TorchLibrary::Open(TorchLibrary::Part::kRun));
    const ExecutionService* const service = library.api().executions();
    if (service == nullptr) {
      return MakeError(ErrorCode::kMissingRuntime, library.path() + " executes no plans");
    }
    Measured measured;
    {
      PW_ASSIGN(const std::unique_ptr<Execution> execution,
                service->Start(std::move(request)).InFile(plan_));
      PW_RETURN_IF_ERROR(
          Execute(*execution, cluster.device_count(), interrupted, context.console, measured)
              .InFile(plan_));
    }
    context.console.Progress("");
    if (context.console.json) {
      PrintJson(loaded, measured, interrupted, context.console);
    } else {
      PrintText(loaded, measured, context.console);
    }
    return interrupted ? InfoOf(ErrorCode::kInterrupted).exit_status : 0;
  }

 private:
  Result<std::vector<ExecutionDevice>> DevicesOf(const Cluster& cluster) const {
    std::vector<ExecutionDevice> devices;
    int cpus = 0;
    for (const DeviceId id : cluster.devices()) {
      const DeviceKind& kind = cluster.kind(id);
      cpus += kind.device_class == DeviceClass::kCpu ? 1 : 0;
      if (simulate_ || kind.device_class == DeviceClass::kCpu) continue;
      return MakeError(ErrorCode::kMissingRuntime,
                       fmt::format("{} is a {}, and plans are executed on CPUs only",
                                   cluster.device(id).name, kind.name),
                       "",
                       "--simulate-devices lets this machine's cores stand for the plan's "
                       "devices; times are then those of this machine.");
    }
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    for (const DeviceId id : cluster.devices()) {
      ExecutionDevice device;
      device.name = cluster.device(id).name;
      device.kind = simulate_ ? ExecutionDevice::Kind::kSimulated : ExecutionDevice::Kind::kCpu;
      device.threads = simulate_ ? 1 : std::max(1, cores / std::max(1, cpus));
      device.memory_limit = cluster.device(id).capacity.count;
      devices.push_back(std::move(device));
    }
    return devices;
  }

  static IdVector<OpId, int64_t> PathsOf(const SimGraph& sim_graph, const Graph& graph) {
    IdVector<OpId, int64_t> paths(graph.op_count(), 0);
    for (const OpId op : graph.ops()) {
      const ExecOpId exec = sim_graph.exec_of[op];
      if (exec.valid()) paths[op] = sim_graph.min_path[exec];
    }
    return paths;
  }

  Status Execute(Execution& execution, size_t devices, const std::atomic<bool>& interrupted,
                 Console& console, Measured& measured) const {
    std::vector<Execution::Step> steps;
    for (int64_t step = 0; step < steps_ && !interrupted; ++step) {
      PW_ASSIGN(Execution::Step one, execution.Run());
      console.Progress(fmt::format("step {} of {}: {}{}", step + 1, steps_,
                                   FormatNanos(Nanos(one.time_ns)),
                                   one.loss ? fmt::format(", loss {:.4g}", *one.loss) : ""));
      steps.push_back(std::move(one));
    }
    measured.steps = static_cast<int64_t>(steps.size());
    // Of a run that Ctrl-C ended while it warmed up, the last step still says something.
    measured.dropped = std::max<int64_t>(0, std::min(kWarmUp, measured.steps - 1));
    std::vector<int64_t> busy(devices, 0);
    int64_t whole = 0;
    for (size_t step = 0; step < steps.size(); ++step) {
      measured.losses.push_back(steps[step].loss);
      if (static_cast<int64_t>(step) < measured.dropped) continue;
      measured.times_ns.push_back(steps[step].time_ns);
      whole += steps[step].time_ns;
      for (size_t d = 0; d < devices; ++d) busy[d] += steps[step].busy_ns[d];
    }
    std::sort(measured.times_ns.begin(), measured.times_ns.end());
    for (const int64_t time : busy) {
      measured.busy.push_back(
          whole > 0 ? std::min(1.0, static_cast<double>(time) / static_cast<double>(whole)) : 0);
    }
    measured.peaks = execution.TakePeaks();
    return Ok();
  }

  // Examples in a second; none where the batch is not known.
  static std::optional<double> RateOf(const Graph& graph, const Measured& measured) {
    const int64_t median = measured.Quantile(0.5);
    if (graph.batch() <= 0 || median <= 0) return std::nullopt;
    return static_cast<double>(graph.batch()) * 1e9 / static_cast<double>(median);
  }

  void PrintJson(const PlanInputs& loaded, const Measured& measured, bool interrupted,
                 Console& console) const {
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
    Json& predicted = object["predicted"] = Json::object();
    predicted["step_time_ns"] = loaded.plan.step_time.count;
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

  void PrintText(const PlanInputs& loaded, const Measured& measured, Console& console) const {
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
    text +=
        fmt::format("           predicted {} ({} of it from modelled costs)\n",
                    FormatNanos(loaded.plan.step_time), FormatShare(loaded.plan.share_modelled));
    if (const auto rate = RateOf(loaded.graph.graph, measured)) {
      text += fmt::format("rate       {:.4g} samples a second\n", *rate);
    }
    if (!measured.losses.empty() && measured.losses.front() && measured.losses.back()) {
      text += fmt::format("loss       {:.6g} in the first step, {:.6g} in the last\n",
                          *measured.losses.front(), *measured.losses.back());
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

  std::string plan_;
  PlanInputOptions input_;
  int64_t steps_ = 15;
  uint64_t seed_ = 0;
  bool simulate_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeRunCommand() { return std::make_unique<RunCommand>(); }

}  // namespace placewright
