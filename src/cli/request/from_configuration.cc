#include "cli/request/from_configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "cli/request/inputs.h"
#include "cli/request/steps_by_batch.h"
#include "cli/request/tried_strategy_json.h"
#include "formats/input.h"
#include "formats/text/file.h"
#include "formats/text/yaml.h"
#include "planning/rewriting.h"
#include "planning/strategy_trials.h"

namespace placewright {
namespace {

// Of the step time; positive: faster than as configured.
double GainOf(const StrategyResult& configured, const StrategyResult& other) {
  return Seconds(configured.step_time) / Seconds(other.step_time) - 1;
}

std::string SignedBytes(Bytes change) {
  return (change.count < 0 ? "-" : "+") + FormatBytes(Bytes(std::abs(change.count)));
}

std::string MemoryOf(const StrategyResult& one) {
  return fmt::format("{} of {}", FormatBytes(one.memory), FormatBytes(one.capacity));
}

}  // namespace

Result<FromConfiguration> ReadFromConfiguration(const std::string& file,
                                                const std::string& cluster) {
  FromConfiguration from;
  from.file = file;
  PW_ASSIGN(const std::string text, ReadFile(file, {kMaxYamlBytes, kMaxYamlBytes}));
  PW_ASSIGN(from.configuration, ReadTrainingConfiguration(text).InFile(file));
  PW_ASSIGN(const LoadedCluster loaded, LoadCluster(cluster, {}));
  std::set<int32_t> hosts;
  for (const DeviceId id : loaded.cluster.devices()) {
    if (loaded.cluster.kind(id).device_class != DeviceClass::kGpu) continue;
    ++from.gpus;
    hosts.insert(loaded.cluster.device(id).host);
  }
  from.hosts = static_cast<int64_t>(hosts.size());
  if (from.gpus < 2) {
    return MakeError(ErrorCode::kUsage,
                     fmt::format("{} has {}, and a configuration is one of several",
                                 Printable(loaded.cluster.name(), 80), CountOf(from.gpus, "GPU")),
                     "", "Give the cluster that the configuration is for.");
  }
  PW_ASSIGN(from.made,
            StrategyOfConfiguration(from.configuration, from.gpus, from.hosts).InFile(file));
  return from;
}

Result<BesideConfiguration> CompareWithBest(const FromConfiguration& from,
                                            const InputOptions& input, const StopToken& stop) {
  StepsByBatch steps(input);
  PW_ASSIGN(StrategyTrier* const trier, steps.At(input.batch));
  PW_ASSIGN(const auto reserve, ReadMemoryReserve(input.memory_reserve));
  PW_ASSIGN(LoadedCluster loaded, LoadCluster(input.cluster, {.reserve = reserve}));
  const Cluster& cluster = loaded.cluster;
  StrategyTrialOptions options;
  PW_ASSIGN(options.costs, CostOptionsOf(input, cluster));
  options.stop = stop;
  BesideConfiguration beside;
  beside.batch = trier->step().samples();
  Strategy configured = from.made.strategy;
  // A pipeline whose configuration states no batch has the micro-batches of `plan --pipeline`.
  PW_ASSIGN(configured.rewriting,
            ChooseRewriting(trier->step(), cluster, std::move(configured.rewriting)));
  PW_ASSIGN(beside.configured, trier->Try(cluster, configured, options));
  PW_ASSIGN(const StrategyTrials trials, trier->On(cluster, options));
  if (trials.Best() == nullptr) return beside;
  beside.best = *trials.Best();
  const Strategy& best = beside.best->strategy;
  const ConfigurationLines now =
      LinesOf(from.configuration.program, configured, from.gpus, from.hosts, beside.batch);
  const ConfigurationLines then =
      LinesOf(from.configuration.program, best, from.gpus, from.hosts, beside.batch);
  const auto change = [&](const std::string& before, const std::string& after,
                          Strategy alone) -> Status {
    if (after.empty() || before == after || stop.StopRequested()) return Ok();
    PW_ASSIGN(StrategyResult result, trier->Try(cluster, alone, options));
    beside.changes.push_back({after, std::move(result)});
    return Ok();
  };
  // A pipeline's stages and micro-batches go with its algorithm.
  const bool pipelines = configured.rewriting.stages > 1 || best.rewriting.stages > 1;
  Strategy alone = pipelines ? best : configured;
  alone.algorithm = best.algorithm;
  alone.settings = best.settings;
  alone.rewriting.recompute = configured.rewriting.recompute;
  PW_RETURN_IF_ERROR(change(now.sharding, then.sharding, alone));
  alone = configured;
  alone.rewriting.recompute = best.rewriting.recompute;
  PW_RETURN_IF_ERROR(change(now.recompute, then.recompute, alone));
  alone = configured;
  alone.rewriting.micro_batches = best.rewriting.micro_batches;
  if (!pipelines) PW_RETURN_IF_ERROR(change(now.micro_batches, then.micro_batches, alone));
  std::stable_sort(beside.changes.begin(), beside.changes.end(),
                   [](const ConfigurationChange& a, const ConfigurationChange& b) {
                     const auto key = [](const ConfigurationChange& one) {
                       return std::pair(!one.result.fits, one.result.step_time.count);
                     };
                     return key(a) < key(b);
                   });
  return beside;
}

std::string DescribeFrom(const FromConfiguration& from, const BesideConfiguration& beside,
                         const Style& style) {
  const StrategyResult& configured = beside.configured;
  std::string text =
      fmt::format("from {} ({}): {}\n", Printable(from.file, 4096),
                  ToString(from.configuration.program), Describe(configured.strategy));
  const auto line = [&](std::string_view name, const std::string& what) {
    if (!what.empty()) text += Wrap(fmt::format("  {:<10} {}\n", name, what), style, 13);
  };
  line("read", fmt::format("{}", fmt::join(from.configuration.read, ", ")));
  line("ignored", fmt::format("{}", fmt::join(from.configuration.ignored, ", ")));
  line("note", fmt::format("{}", fmt::join(from.made.notes, "; ")));
  if (!beside.best) {
    line("best", "no strategy that was tried fits");
    return text;
  }
  const StrategyResult& best = *beside.best;
  if (!configured.fits) {
    line("best", fmt::format("{}: {} a step, {}; as configured it {}", Describe(best.strategy),
                             FormatNanos(best.step_time), MemoryOf(best), configured.why_not));
  } else if (best.step_time >= configured.step_time) {
    line("best", "no strategy that was tried is faster");
    return text;
  } else {
    line("best", fmt::format("{}: {} a step, {:.1f}% faster; {} ({} as configured)",
                             Describe(best.strategy), FormatNanos(best.step_time),
                             100 * GainOf(configured, best), MemoryOf(best),
                             FormatBytes(configured.memory)));
  }
  for (const ConfigurationChange& change : beside.changes) {
    const StrategyResult& result = change.result;
    if (!result.fits) {
      line("change", fmt::format("{}: alone it {}", change.line, result.why_not));
    } else if (configured.fits) {
      line("change", fmt::format("{}: alone {:+.1f}% speed, {} memory", change.line,
                                 100 * GainOf(configured, result),
                                 SignedBytes(result.memory - configured.memory)));
    } else {
      line("change",
           fmt::format("{}: alone it fits, {} a step", change.line, FormatNanos(result.step_time)));
    }
  }
  return text;
}

Json FromToJson(const FromConfiguration& from, const BesideConfiguration& beside) {
  Json object = {{"file", from.file},
                 {"program", ToString(from.configuration.program)},
                 {"batch", beside.batch},
                 {"read", from.configuration.read},
                 {"ignored", from.configuration.ignored},
                 {"notes", from.made.notes},
                 {"configured", StrategyToJson(beside.configured)},
                 {"best", nullptr},
                 {"changes", Json::array()}};
  if (beside.best) object["best"] = StrategyToJson(*beside.best);
  for (const ConfigurationChange& change : beside.changes) {
    Json line = {{"line", change.line},
                 {"strategy", StrategyToJson(change.result)},
                 {"gain", nullptr},
                 {"memory_change_bytes", nullptr}};
    if (change.result.fits && beside.configured.fits) {
      line["gain"] = GainOf(beside.configured, change.result);
      line["memory_change_bytes"] = (change.result.memory - beside.configured.memory).count;
    }
    object["changes"].push_back(std::move(line));
  }
  return object;
}

}  // namespace placewright
