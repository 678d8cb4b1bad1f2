#include "cli/commands/profile_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cli/request/profile_report.h"
#include "cli/request/rank_profile.h"
#include "cli/request/ranks.h"
#include "cost/transfer_fit.h"
#include "formats/cost_store/cost_store.h"
#include "torch_api/execution_setup.h"
#include "torch_api/torch_library.h"

namespace placewright {
namespace {

// What tensors cross by between processes (runtime/process/gloo_channel.h, nccl_links.h).
std::string BackendOf(const Exchange& exchange, const Cluster& cluster, bool by_nccl) {
  const bool gpus = std::all_of(
      exchange.devices.begin(), exchange.devices.end(),
      [&](DeviceId device) { return cluster.kind(device).device_class == DeviceClass::kGpu; });
  return by_nccl && gpus ? "nccl" : "gloo";
}

JoinRequest RequestOf(const Cluster& cluster, const RankProfileOptions& options) {
  JoinRequest join;
  for (const DeviceId device : cluster.devices()) {
    const DeviceKind& kind = cluster.kind(device);
    join.facts.emplace_back(
        fmt::format("device {}", device.value() + 1),
        fmt::format("{}, {} with {} cores on host {}", cluster.device(device).name, kind.name,
                    kind.cores, cluster.device(device).host));
  }
  join.facts.emplace_back("the options",
                          fmt::format("--largest-transfer {}{}", options.largest.count >> 20,
                                      options.no_nccl ? " --no-nccl" : ""));
  join.no_nccl = options.no_nccl;
  join.timeout = options.rank_timeout;
  return join;
}

ProfiledExchange ReportOf(const Exchange& exchange, const Cluster& cluster,
                          std::vector<TransferSample> times) {
  std::vector<SizeAndTime> sizes;
  for (const TransferSample& time : times) sizes.emplace_back(time.bytes, time.median);
  ProfiledExchange report{
      exchange.collective, {}, KeyOf(exchange, cluster), std::move(times), FitSegments(sizes)};
  for (const DeviceId device : exchange.devices) {
    report.devices.push_back(cluster.device(device).name);
  }
  return report;
}

Status Store(const ProfiledExchange& report, const std::string& backend, CostStore& store) {
  MeasuredCollectives row{backend, report.key, {}};
  for (const TransferSample& time : report.times) {
    row.sizes.push_back({time.bytes, time.median, time.runs});
  }
  return store.PutCollectives({row});
}

// What is measured is to cross between machines, never within a process.
Status CheckRanksApart(const Cluster& cluster, const RunRanks& ranks) {
  std::map<int32_t, int32_t> host_of;
  for (const DeviceId device : cluster.devices()) {
    const int32_t rank = ranks.rank_of()[device];
    const int32_t host = cluster.device(device).host;
    if (host_of.emplace(rank, host).first->second == host) continue;
    return MakeError(
        ErrorCode::kUsage,
        fmt::format("rank {} has devices of two of {}'s machines", rank, Printable(cluster.name())),
        "",
        "Start as many ranks on every machine of the cluster file, at least one, or describe "
        "those machines alone that have ranks.");
  }
  return Ok();
}

// `store`: rank 0's; none of the others.
Status Measure(const Cluster& cluster, const RunRanks& ranks, const ProfilingService& service,
               ProfilingOptions options, Bytes largest, std::optional<CostStore>& store,
               ProfileOutcome& outcome, Console& console) {
  const std::vector<Exchange> exchanges = ExchangesOf(cluster);
  if (exchanges.empty()) {
    return MakeError(
        ErrorCode::kUsage,
        fmt::format("all devices of {} are on one machine", Printable(cluster.name())), "",
        "What ranks measure holds between machines: give every rank's devices a host of "
        "their own in the cluster file.");
  }
  PW_RETURN_IF_ERROR(CheckRanksApart(cluster, ranks));
  RankDevices devices;
  PW_ASSIGN(devices.devices, ExecutionDevicesOf(cluster, /*simulate=*/false, ranks.here()));
  devices.rank_of = ranks.rank_of();
  devices.processes = ranks.processes();
  for (size_t i = 0; i < exchanges.size() && !outcome.interrupted; ++i) {
    options.progress = [&](const std::string& text) {
      if (!console.ShowsProgress()) return;
      console.Progress(fmt::format("{} of {}: {}", i + 1, exchanges.size(), text));
    };
    PW_ASSIGN(ExchangeProfile measured,
              service.ProfileExchange(devices, exchanges[i], largest, options));
    outcome.interrupted = measured.stopped;
    if (!store || measured.times.empty()) continue;
    const std::string backend = BackendOf(exchanges[i], cluster, measured.by_nccl);
    outcome.exchanges.push_back(ReportOf(exchanges[i], cluster, std::move(measured.times)));
    PW_RETURN_IF_ERROR(Store(outcome.exchanges.back(), backend, *store));
  }
  return Ok();
}

Result<int> MeasureAndPrint(const Cluster& cluster, const RankProfileOptions& options,
                            const TorchLibrary& library, const RunRanks& ranks,
                            const std::atomic<bool>& interrupted, Context& context) {
  Console& console = context.console;
  ProfileOutcome outcome;
  outcome.ranks = ranks.size();
  outcome.store = options.store;
  outcome.libtorch = library.api().libtorch_version();
  outcome.blas = library.api().blas();
  std::optional<CostStore> store;
  if (ranks.leads()) {
    PW_ASSIGN(CostStore opened, CostStore::Open(options.store, /*create=*/true));
    store.emplace(std::move(opened));
  }
  int64_t largest = options.largest.count;
  for (const DeviceId device : cluster.devices()) {
    // What is given, what comes and blocks that are kept lie in memory together.
    largest = std::min(largest, cluster.device(device).capacity.count / 8);
  }
  ProfilingOptions profiling;
  profiling.stop = StopToken(&interrupted);
  PW_RETURN_IF_ERROR(Measure(cluster, ranks, *library.api().profiling(), profiling,
                             Bytes(std::max<int64_t>(1024, largest)), store, outcome, console));
  console.Progress("");
  outcome.seconds = std::chrono::duration<double>(Clock::now() - context.started).count();
  if (ranks.leads() && console.json) {
    console.PrintJson(ProfileJson(outcome));
  } else if (ranks.leads()) {
    console.Print(ProfileText(outcome, console.style()));
  }
  return outcome.interrupted ? InfoOf(ErrorCode::kInterrupted).exit_status : 0;
}

}  // namespace

Result<int> ProfileBetweenRanks(const Cluster& cluster, const RankProfileOptions& options,
                                const std::atomic<bool>& interrupted, Context& context) {
  PW_ASSIGN(const TorchLibrary library, TorchLibrary::Open(TorchLibrary::Part::kRun));
  const ExecutionService* const executions = library.api().executions();
  if (executions == nullptr || library.api().profiling() == nullptr) {
    return MakeError(ErrorCode::kMissingRuntime, library.path() + " measures nothing");
  }
  JoinRequest join = RequestOf(cluster, options);
  join.interrupted = &interrupted;
  PW_ASSIGN(RunRanks ranks, RunRanks::Join(*executions, cluster, std::move(join)));
  if (!ranks.several()) {
    return MakeError(ErrorCode::kUsage, "--ranks needs several processes, and this is one", "",
                     "Start them by torchrun, srun or `mpirun -n 2 placewright profile --ranks "
                     "-c CLUSTER`.");
  }
  if (!ranks.leads()) {
    // Errors go to standard error; standard output is rank 0's.
    context.console.json = false;
    context.console.quiet = true;
  }
  return ranks.End(MeasureAndPrint(cluster, options, library, ranks, interrupted, context));
}

}  // namespace placewright
