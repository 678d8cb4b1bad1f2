#include "runtime/profiler/rank_profiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "runtime/profiler/exchange_chain.h"
#include "runtime/profiler/turns.h"
#include "runtime/service/execution.h"
#include "runtime/service/long_turns.h"

namespace placewright {
namespace {

constexpr int64_t kSmallest = 1024;
// About as many bytes for every size; steps that are measured.
constexpr int64_t kBytesOfSize = int64_t{128} << 20, kMostRuns = 25;

std::string NameOf(const Exchange& exchange, const RankDevices& ranks) {
  const auto name = [&](DeviceId device) { return ranks.devices[device.index()].name; };
  if (!exchange.collective) {
    return fmt::format("from {} to {}", name(exchange.devices[0]), name(exchange.devices[1]));
  }
  return fmt::format("{} of {} devices", ToString(*exchange.collective), exchange.devices.size());
}

// Whether a rank has been stopped is known to all of them behind a step.
struct SizeSample {
  TransferSample sample;
  bool stopped = false, by_nccl = false;
};

Result<SizeSample> ProfileSize(const RankDevices& ranks, const ExchangeChain& chain, int64_t runs,
                               const StopToken& stop) {
  ExecutionRequest request;
  request.graph = &chain.graph;
  request.placement = chain.placement;
  request.devices = ranks.devices;
  // What lies there is ours alone.
  for (ExecutionDevice& device : request.devices) device.memory_limit = 0;
  request.processes = ranks.processes;
  request.rank_of = ranks.rank_of;
  request.interrupted = stop.flag();
  PW_ASSIGN(const std::unique_ptr<Execution> execution, StartExecution(std::move(request)));
  std::vector<int64_t> taken;
  for (int64_t run = -WayOfSteps::kUntilChosen; run < runs; ++run) {
    PW_ASSIGN(const Execution::Step ran, execution->Run());
    if (ran.stop) return SizeSample{{}, true, false};
    const Schedule schedule = execution->LastSchedule();
    if (run >= 0) {
      taken.push_back(ranks.processes->rank() == 0 ? chain.TimeOf(schedule).count : 0);
    }
  }
  return SizeSample{{chain.bytes, Nanos(Quantile(taken, 0.5)), runs * chain.repeats},
                    false,
                    execution->gpu_transfers().by_nccl};
}

}  // namespace

Result<ExchangeProfile> ProfileExchange(const RankDevices& ranks, const Exchange& exchange,
                                        Bytes max, const ProfilingOptions& options) {
  ExchangeProfile profile;
  for (int64_t bytes = kSmallest; bytes <= max.count; bytes *= 4) {
    if (options.progress) {
      options.progress(fmt::format("{} {}", FormatBytes(Bytes(bytes)), NameOf(exchange, ranks)));
    }
    PW_ASSIGN(const ExchangeChain chain, MakeExchangeChain(exchange, Bytes(bytes)));
    const int64_t runs =
        std::clamp<int64_t>(kBytesOfSize / bytes / chain.repeats, options.min_steps, kMostRuns);
    PW_ASSIGN(const SizeSample measured, ProfileSize(ranks, chain, runs, options.stop));
    profile.stopped = measured.stopped;
    if (profile.stopped) break;
    profile.by_nccl = measured.by_nccl;
    profile.times.push_back(measured.sample);
  }
  return profile;
}

}  // namespace placewright
