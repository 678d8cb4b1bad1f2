#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/commands/profile_nccl_tests.h"
#include "cli/commands/profile_ranks.h"
#include "cli/request/cost_store.h"
#include "cli/request/model_source.h"
#include "cli/request/models.h"
#include "cli/request/profile_report.h"
#include "cli/request/ranks.h"
#include "cli/request/recorded_version.h"
#include "cli/request/this_machine.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cost/signature.h"
#include "cost/transfer_fit.h"
#include "cost/work.h"
#include "formats/cost_store/cost_store.h"
#include "torch_api/blas.h"
#include "torch_api/execution_setup.h"
#include "torch_api/profiling_service.h"
#include "torch_api/torch_library.h"

namespace placewright {
namespace {

// The rows that a profile comes to: of ops of one signature, the mean of their medians.
std::vector<MeasuredOp> RowsOf(const Graph& graph, const StepProfile& profile) {
  struct Sum {
    MeasuredOp row;
    int64_t ops = 0;
  };
  std::map<std::string, Sum> by_signature;
  for (const OpId op : graph.ops()) {
    if (graph.op(op).is_view) continue;
    Signature signature = SignatureOf(graph, op);
    Sum& sum = by_signature[signature.text];
    const StepProfile::OpTime& time = profile.ops[op];
    sum.row.family = std::move(signature.family);
    sum.row.time += time.median;
    sum.row.low += time.low;
    sum.row.high += time.high;
    sum.row.workspace = std::max(sum.row.workspace, time.workspace);
    ++sum.ops;
  }
  std::vector<MeasuredOp> rows;
  for (auto& [text, sum] : by_signature) {
    const auto mean = [&](Nanos total) { return Nanos((total.count + sum.ops / 2) / sum.ops); };
    MeasuredOp row = std::move(sum.row);
    row.signature = text;
    row.batch = graph.batch();
    row.time = mean(row.time);
    row.low = mean(row.low);
    row.high = mean(row.high);
    row.runs = profile.steps * sum.ops;
    row.state = profile.state;
    rows.push_back(std::move(row));
  }
  return rows;
}

class ProfileCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand(
        "profile", "Measure what a step's ops and transfers take on this machine's devices");
    app_ = app;
    app.AddOption("GRAPH", graph_, "Recorded step, or a model of the zoo; none with --ranks");
    app.AddOption("-c,--cluster", cluster_,
                  "Cluster whose devices are cores and GPUs of this machine, or local: all of them")
        .TypeName("CLUSTER")
        .Required()
        .Group("Input");
    AddRepeated(app, "--batch", batches_, "N",
                "Batch size to measure at; may be repeated (default: that of the graph, a half and "
                "a quarter of it where it scales)",
                "Input");
    app.AddFlag("--loaded", loaded_,
                "Measure also while the cluster's other devices execute the same step")
        .Group("Profile");
    app.AddFlag("--no-transfers", no_transfers_, "Measure ops alone").Group("Profile");
    app.AddFlag(
           "--ranks", on_ranks_,
           "Started on every rank by torchrun, mpirun or srun: measure transfers and collectives "
           "between these processes, and no ops; rank 0 prints, and writes the store")
        .Group("Profile");
    AddRepeated(
        app, "--nccl-tests", nccl_tests_, "FILE",
        "Measure nothing, and take what a test of nccl-tests printed on the cluster's GPUs; "
        "COLLECTIVE=FILE where the log does not name it; may be repeated",
        "Profile");
    app.AddOption("--largest-transfer", largest_,
                  "Sizes double from 1 KiB to this many MiB (default 1024, less where memory ends; "
                  "with --ranks they grow fourfold, to 64)")
        .TypeName("MIB")
        .Check(IntegerWithin(1, 1 << 20))
        .Group("Profile");
    app.AddOption("--steps", steps_, "Of each batch at the most (default 60; 5 at least)")
        .TypeName("N")
        .Check(IntegerWithin(5, 1'000'000))
        .Group("Profile");
    app.AddOption("--time", time_, "Seconds for each batch (default 60), once it has 5 steps")
        .TypeName("SECONDS")
        .Check(IntegerWithin(1, 1'000'000))
        .Group("Profile");
    app.AddOption("--rank-timeout", rank_timeout_, "As run's (default 20)")
        .TypeName("N")
        .Check(IntegerWithin(1, 86'400))
        .Group("Profile");
    app.AddFlag("--no-nccl", no_nccl_, "As run's").Group("Profile");
    app.AddOption("--cost-store", store_,
                  "Where the times go (default: PLACEWRIGHT_COST_STORE, or "
                  "placewright/costs.sqlite in XDG_DATA_HOME or ~/.local/share)")
        .TypeName("FILE")
        .Group("Output");
    app.Footer(
        "The step is executed as `run` does, whole and on one device, until the medians of its\n"
        "ops are stable. `plan`, `simulate` and `compare` use what the store has of a cluster's\n"
        "devices by themselves. Ctrl-C keeps what is measured.\n"
        "With --ranks every machine of the cluster has the same number of ranks, one or more; what "
        "is\n"
        "measured holds between machines.\n"
        "Examples:\n"
        "  placewright cluster detect --split-cpu 2 -o workers.yaml\n"
        "  placewright profile mlp -c workers.yaml --loaded --steps 5 --largest-transfer 4\n"
        "  placewright profile mlp -c local --batch 16 --steps 5 --json\n"
        "  mpirun -n 2 placewright profile --ranks -c machines.yaml\n"
        "  placewright profile --nccl-tests all_reduce.log -c 8xH100\n"
        "  placewright plan mlp -c workers.yaml -o mlp.plan.json --iterations 100");
    return app;
  }

  Result<int> Run(Context& context) override {
    const std::atomic<bool>& interrupted = CatchInterrupts();
    Console& console = context.console;
    if (store_.empty()) store_ = DefaultCostStore();
    if (store_.empty()) {
      return MakeError(ErrorCode::kUsage, "there is no home folder for the cost store", "",
                       "Give --cost-store FILE.");
    }
    if (!nccl_tests_.empty()) return TakeLogs(context);
    if (on_ranks_) return MeasureRanks(context, interrupted);
    if (app_.Given("--rank-timeout") || no_nccl_) {
      return MakeError(ErrorCode::kUsage,
                       fmt::format("{} is of --ranks", no_nccl_ ? "--no-nccl" : "--rank-timeout"),
                       "", "Leave it out, or start `placewright profile --ranks` on every rank.");
    }
    if (graph_.empty()) {
      return MakeError(ErrorCode::kUsage, "GRAPH is required", "",
                       "`placewright profile --help` explains it.");
    }
    PW_ASSIGN(const Cluster cluster, TakeCluster());
    PW_ASSIGN(const std::vector<Graph> graphs, TakeGraphs(&interrupted));
    ProfileOutcome outcome;
    outcome.graph = graphs.front().name();
    for (const Graph& graph : graphs) {
      for (const OpId op : graph.ops()) {
        if (!graph.op(op).is_view) outcome.wanted.insert(SignatureOf(graph, op).text);
      }
    }
    outcome.store = store_;
    PW_ASSIGN(const TorchLibrary library, TorchLibrary::Open(TorchLibrary::Part::kRun));
    PW_ASSIGN(const std::vector<ExecutionDevice> workers,
              Workers(cluster, library.api().cuda_devices(), outcome));
    // Before anything is measured: a store that cannot take it is found now.
    PW_ASSIGN(CostStore store, CostStore::Open(store_, /*create=*/true));
    const ProfilingService* const service = library.api().profiling();
    if (service == nullptr) {
      return MakeError(ErrorCode::kMissingRuntime, library.path() + " measures nothing");
    }
    outcome.libtorch = library.api().libtorch_version();
    outcome.blas = library.api().blas();
    if (const std::string advice = BlasAdvice(outcome.blas); !advice.empty()) {
      console.Note(advice);
    }
    ProfilingOptions options;
    options.max_steps = steps_;
    options.seconds = static_cast<double>(time_);
    options.stop = StopToken(&interrupted);
    for (const Graph& graph : graphs) {
      if (interrupted) break;
      const Status measured =
          MeasureSteps(*service, graph, cluster, workers, options, store, outcome, console);
      if (!measured.ok()) return WithRecordedVersion(measured.error(), graph_);
    }
    if (!no_transfers_ && !interrupted) {
      PW_RETURN_IF_ERROR(
          MeasureTransfers(*service, cluster, workers, options, store, outcome, console));
    }
    console.Progress("");
    outcome.interrupted = interrupted;
    outcome.seconds = std::chrono::duration<double>(Clock::now() - context.started).count();
    if (console.json) {
      console.PrintJson(ProfileJson(outcome));
    } else {
      console.Print(ProfileText(outcome, console.style()));
    }
    return interrupted ? InfoOf(ErrorCode::kInterrupted).exit_status : 0;
  }

 private:
  static constexpr int64_t kLargestHere = 1024;  // MiB

  Result<int> TakeLogs(Context& context) const {
    for (const char* const name : {"--ranks", "--batch", "--loaded", "--no-transfers", "--steps",
                                   "--time", "--largest-transfer", "--rank-timeout", "--no-nccl"}) {
      if (!app_.Given(name)) continue;
      return MakeError(ErrorCode::kUsage,
                       fmt::format("--nccl-tests measures nothing: leave {} out", name));
    }
    if (!graph_.empty()) {
      return MakeError(ErrorCode::kUsage, "--nccl-tests measures nothing: leave GRAPH out");
    }
    PW_ASSIGN(const Cluster cluster, TakeCluster());
    return TakeNcclTests(cluster, nccl_tests_, store_, context);
  }

  Result<int> MeasureRanks(Context& context, const std::atomic<bool>& interrupted) const {
    const bool of_ops = app_.Given("--steps") || app_.Given("--time");
    if (!graph_.empty() || !batches_.empty() || loaded_ || no_transfers_ || of_ops) {
      return MakeError(ErrorCode::kUsage,
                       "--ranks measures no ops: leave GRAPH, --batch, --loaded, --no-transfers, "
                       "--steps and --time out",
                       "", "`placewright profile GRAPH` measures ops, on one process.");
    }
    RankProfileOptions options;
    options.store = store_;
    if (largest_ > 0) options.largest = Bytes(largest_ << 20);
    options.rank_timeout = std::chrono::seconds(rank_timeout_);
    options.no_nccl = no_nccl_;
    const Result<Cluster> cluster = TakeCluster();
    if (!cluster.ok()) return RunRanks::Refuse(cluster.error(), options.rank_timeout, interrupted);
    return ProfileBetweenRanks(cluster.value(), options, interrupted, context);
  }

  Result<Cluster> TakeCluster() const {
    if (cluster_ != "local") {
      PW_ASSIGN(LoadedCluster loaded, LoadCluster(cluster_));
      return std::move(loaded.cluster);
    }
    std::vector<std::string> notes;
    PW_ASSIGN(ClusterBuilder builder, DescribeThisMachine(/*gpus=*/true, notes));
    return std::move(builder).Build();
  }

  // At every batch, the graph's own first.
  Result<std::vector<Graph>> TakeGraphs(const std::atomic<bool>* interrupted) const {
    std::vector<std::optional<int64_t>> batches;
    for (const std::string& text : batches_) {
      PW_ASSIGN(const int64_t batch, ReadBatch(text));
      batches.emplace_back(batch);
    }
    if (batches.empty()) batches.emplace_back();
    std::vector<Graph> graphs;
    for (size_t i = 0; i < batches.size(); ++i) {
      PW_ASSIGN(LoadedGraph loaded,
                LoadGraphOrModel(graph_, {batches[i], "", {}}, {}, interrupted));
      PW_RETURN_IF_ERROR(CheckExecutable(loaded.graph).InFile(graph_));
      graphs.push_back(std::move(loaded.graph));
      const Graph& graph = graphs.back();
      const BatchScaling* const laws = graph.batch_scaling();
      if (!batches_.empty() || i > 0 || laws == nullptr || !laws->reason.empty()) continue;
      for (const int64_t part : {2, 4}) {
        const int64_t batch = graph.batch() / part;
        if (batch >= laws->SmallestProven() && batch > 0) batches.emplace_back(batch);
      }
    }
    return graphs;
  }

  static Result<int64_t> ReadBatch(const std::string& text) {
    int64_t batch = 0;
    const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), batch);
    if (failure == std::errc() && rest == text.data() + text.size() && batch > 0) return batch;
    return MakeError(ErrorCode::kUsage,
                     fmt::format("--batch \"{}\" is no positive integer", Printable(text, 80)));
  }

  // Those of the cluster's devices that are cores or GPUs of this machine.
  Result<std::vector<ExecutionDevice>> Workers(const Cluster& cluster, int cuda_devices,
                                               ProfileOutcome& outcome) const {
    std::vector<std::string> notes;
    const auto is_gpu = [&](DeviceId id) {
      return cluster.kind(id).device_class == DeviceClass::kGpu;
    };

    bool any_gpu = false;
    for (const DeviceId id : cluster.devices()) any_gpu |= is_gpu(id);
    PW_ASSIGN(const ClusterBuilder builder, DescribeThisMachine(any_gpu, notes));
    std::set<std::string> here;
    for (const DeviceKind& kind : builder.kinds()) here.insert(kind.name);
    const int machine = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    int cpus = 0, next = 0, gpus = 0;
    for (const DeviceId id : cluster.devices()) {
      cpus += cluster.kind(id).device_class == DeviceClass::kCpu ? 1 : 0;
    }
    std::vector<ExecutionDevice> workers;
    for (const DeviceId id : cluster.devices()) {
      const DeviceKind& kind = cluster.kind(id);
      const bool cpu = kind.device_class == DeviceClass::kCpu;
      // As ExecutionDevicesOf numbers them.
      const int gpu = is_gpu(id) ? gpus++ : -1;
      if (gpu >= 0 && gpu < cuda_devices && here.count(kind.name) > 0) {
        ExecutionDevice worker;
        worker.name = cluster.device(id).name;
        worker.kind = ExecutionDevice::Kind::kCuda;
        worker.cuda_index = gpu;
        worker.memory_limit = cluster.device(id).capacity.count;
        workers.push_back(std::move(worker));
        continue;
      }
      if (!cpu || kind.cores > machine || (kind.cores == 0 && here.count(kind.name) == 0)) {
        outcome.left_out.push_back(cluster.device(id).name);
        continue;
      }
      ExecutionDevice worker;
      worker.name = cluster.device(id).name;
      worker.threads =
          kind.cores > 0 ? static_cast<int>(kind.cores) : std::max(1, machine / std::max(1, cpus));
      worker.memory_limit = cluster.device(id).capacity.count;
      worker.first_core = next;
      next += worker.threads;
      workers.push_back(std::move(worker));
    }
    if (workers.empty()) {
      return MakeError(
          ErrorCode::kMissingRuntime,
          fmt::format("this machine has none of the devices of {}", Printable(cluster.name())), "",
          "Give -c local, or a file of `placewright cluster detect`; a CPU kind that "
          "states `cores` stands for as many cores of this machine.");
    }
    return workers;
  }

  MeasuredOn EnvironmentOf(const Cluster& cluster, const std::string& device, bool loaded,
                           const ProfileOutcome& outcome) const {
    const DeviceKind& kind = cluster.kind(cluster.FindDevice(device));
    return {kind.name, kind.cores, loaded, outcome.libtorch, outcome.blas};
  }

  Status MeasureSteps(const ProfilingService& service, const Graph& graph, const Cluster& cluster,
                      const std::vector<ExecutionDevice>& workers, ProfilingOptions options,
                      CostStore& store, ProfileOutcome& outcome, Console& console) const {
    options.progress = [&](const std::string& text) {
      if (console.ShowsProgress())
        console.Progress(fmt::format("batch {}: {}", graph.batch(), text));
    };
    // The first of each kind stands for it.
    std::vector<bool> stands;
    std::set<std::string> kinds;
    for (const ExecutionDevice& worker : workers) {
      stands.push_back(kinds.insert(cluster.kind(cluster.FindDevice(worker.name)).name).second);
    }
    const bool loaded = loaded_ && workers.size() > 1;
    std::vector<ExecutionDevice> measured;  // where nothing is loaded, one of each kind is enough
    std::vector<bool> alone;
    for (size_t i = 0; i < workers.size(); ++i) {
      if (!stands[i] && !loaded) continue;
      measured.push_back(workers[i]);
      alone.push_back(stands[i]);
    }
    Result<std::vector<DeviceProfile>> profiles =
        service.ProfileStep(graph, measured, alone, loaded, options);
    if (!profiles.ok()) {
      // What other batches have given is in the store.
      if (profiles.error().code == ErrorCode::kCancelled) return Ok();
      profiles.error().file = graph_;
      return std::move(profiles.error());
    }
    std::vector<MeasuredDevice> devices;
    const auto take = [&](const std::string& worker, const StepProfile& profile, bool others) {
      const MeasuredOn on = EnvironmentOf(cluster, worker, others, outcome);
      devices.push_back({on, RowsOf(graph, profile)});
      outcome.measured += static_cast<int64_t>(devices.back().ops.size());
      for (const MeasuredOp& row : devices.back().ops) outcome.signatures.insert(row.signature);
      ProfiledStep one{on.kind,         on.cores,       graph.batch(),
                       profile.steps,   others,         profile.step,
                       profile.covered, profile.stable, {}};
      double sum = 0;
      for (const OpId op : graph.ops()) sum += static_cast<double>(profile.ops[op].median.count);
      for (const OpId op : graph.ops()) {
        if (graph.op(op).is_view || sum <= 0) continue;
        one.share[WorkOf(graph, op).op_class] +=
            static_cast<double>(profile.ops[op].median.count) / sum;
      }
      outcome.profiled.push_back(std::move(one));
    };
    for (size_t i = 0; i < measured.size(); ++i) {
      if (!alone[i]) continue;
      DeviceProfile& profile = profiles.value()[i];
      take(measured[i].name, *profile.alone, false);
      if (!profile.loaded) continue;
      // Copies of a step wait for one another's random numbers; devices that share a step do not.
      for (const OpId op : graph.ops()) {
        if (WorkOf(graph, op).op_class == OpClass::kRandom) {
          profile.loaded->ops[op] = profile.alone->ops[op];
        }
      }
      take(measured[i].name, *profile.loaded, true);
    }
    // What is measured of this batch stays, whatever happens to the next.
    return store.Put(devices, {});
  }

  Status MeasureTransfers(const ProfilingService& service, const Cluster& cluster,
                          const std::vector<ExecutionDevice>& workers, ProfilingOptions options,
                          CostStore& store, ProfileOutcome& outcome, Console& console) const {
    options.progress = [&](const std::string& text) {
      if (console.ShowsProgress()) console.Progress(text);
    };
    std::set<std::pair<std::string, std::string>> done;  // pairs of kinds
    for (const ExecutionDevice& from : workers) {
      for (const ExecutionDevice& to : workers) {
        if (from.name == to.name) continue;
        const MeasuredOn source = EnvironmentOf(cluster, from.name, false, outcome);
        const MeasuredOn destination = EnvironmentOf(cluster, to.name, false, outcome);
        if (!done.emplace(source.kind, destination.kind).second) continue;
        // Source, copy and the executor's kept blocks lie in memory together.
        const int64_t fits = std::min(from.memory_limit, to.memory_limit) / 8;
        const int64_t largest = largest_ > 0 ? largest_ : kLargestHere;
        const Bytes most(std::max<int64_t>(1024, std::min(largest << 20, fits)));
        Result<std::vector<TransferSample>> times =
            service.ProfileTransfers(from, to, most, options);
        if (!times.ok()) return std::move(times.error());
        if (times.value().empty()) return Ok();  // stopped
        MeasuredTransfers measured{source, destination, {}};
        std::vector<SizeAndTime> sizes;
        for (const TransferSample& time : times.value()) {
          measured.sizes.push_back({time.bytes, time.median, time.runs});
          sizes.emplace_back(time.bytes, time.median);
        }
        PW_RETURN_IF_ERROR(store.Put({}, {measured}));
        outcome.pairs.push_back({from.name, to.name, times.Take(), FitSegments(sizes)});
      }
    }
    return Ok();
  }

  CommandLine app_;
  std::string graph_, cluster_, store_;
  std::vector<std::string> batches_, nccl_tests_;
  bool loaded_ = false, no_transfers_ = false, on_ranks_ = false, no_nccl_ = false;
  int64_t largest_ = 0, steps_ = 60, time_ = 60, rank_timeout_ = 20;
};

}  // namespace

std::unique_ptr<Command> MakeProfileCommand() { return std::make_unique<ProfileCommand>(); }

}  // namespace placewright
