#include "cli/commands/profile_nccl_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "cli/request/profile_report.h"
#include "cluster/discovery/match_gpu.h"
#include "cost/transfer_fit.h"
#include "formats/cost_store/cost_store.h"
#include "formats/costs/nccl_tests_log.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

constexpr size_t kMaxFile = size_t{16} << 20;

struct NamedLog {
  std::string file;
  NcclTestsLog log;
};

Result<NamedLog> ReadLog(const std::string& given) {
  NamedLog named{given, {}};
  std::optional<CollectiveKind> kind;
  if (const size_t at = given.find('='); at != std::string::npos) {
    std::vector<std::string> names;
    for (const CollectiveKind one : kCollectiveKinds) {
      names.emplace_back(ToString(one));
      if (names.back() == given.substr(0, at)) kind = one;
    }
    if (!kind) {
      return MakeError(
          ErrorCode::kUsage,
          fmt::format("--nccl-tests \"{}\" names no collective{}",
                      Printable(given.substr(0, at), 80), DidYouMean(given.substr(0, at), names)),
          "", fmt::format("Collectives are {}.", fmt::join(names, ", ")));
    }
    named.file = given.substr(at + 1);
  }
  PW_ASSIGN(const std::string text, ReadFile(named.file, {kMaxFile, kMaxFile}));
  PW_ASSIGN(named.log, ParseNcclTestsLog(text, kind).InFile(named.file));
  return named;
}

// Whether a driver's name of a GPU may be that of a kind: kinds that the catalogue lacks may be any.
bool MayBe(const std::string& driver, const std::string& kind) {
  const Result<GpuMatch> match = MatchGpu(driver, Bytes()), own = MatchGpu(kind, Bytes());
  if (!match.ok() || !own.ok() || own.value().kind.name != kind) return true;
  return match.value().kind.name == kind;
}

// Of a log the GPUs of its machines, as a cluster has them: the log's machines with most GPUs on the first of the
// cluster's that have so many of the kind.
Result<std::vector<DeviceId>> DevicesOf(const NcclTestsLog& log, const Cluster& cluster) {
  std::map<std::string, std::vector<std::string>> by_host;
  for (const NcclTestsLog::Rank& rank : log.ranks) by_host[rank.host].push_back(rank.gpu);
  std::vector<std::vector<std::string>> machines;
  for (auto& [host, gpus] : by_host) machines.push_back(std::move(gpus));
  std::stable_sort(machines.begin(), machines.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::map<int32_t, std::vector<DeviceId>> here;
  for (const DeviceId device : cluster.devices()) {
    if (cluster.kind(device).device_class == DeviceClass::kGpu) {
      here[cluster.device(device).host].push_back(device);
    }
  }
  std::vector<DeviceId> devices;
  for (const std::vector<std::string>& gpus : machines) {
    const auto fits = [&](const auto& machine) {
      return machine.second.size() >= gpus.size() &&
             MayBe(gpus.front(), cluster.kind(machine.second.front()).name);
    };
    const auto found = std::find_if(here.begin(), here.end(), fits);
    if (found == here.end()) {
      return MakeError(
          ErrorCode::kUsage,
          fmt::format("{} has no further machine with {} {}", Printable(cluster.name(), 80),
                      gpus.size(), Printable(gpus.front(), 80)),
          "", "Give the cluster that the log was made on, with -c.");
    }
    devices.insert(devices.end(), found->second.begin(),
                   found->second.begin() + static_cast<std::ptrdiff_t>(gpus.size()));
    here.erase(found);
  }
  std::sort(devices.begin(), devices.end());
  return devices;
}

}  // namespace

Result<int> TakeNcclTests(const Cluster& cluster, const std::vector<std::string>& logs,
                          const std::string& store, Context& context) {
  ProfileOutcome outcome;
  outcome.store = store;
  outcome.from_logs = true;
  std::vector<MeasuredCollectives> rows;
  std::set<std::string> keys;
  for (const std::string& given : logs) {
    PW_ASSIGN(const NamedLog named, ReadLog(given));
    PW_ASSIGN(const std::vector<DeviceId> devices,
              DevicesOf(named.log, cluster).InFile(named.file));
    MeasuredCollectives row{"nccl", MeasuredCollectiveKey(named.log.kind, cluster, devices),
                            named.log.sizes};
    if (!keys.insert(row.devices).second) {
      return MakeError(
          ErrorCode::kUsage,
          fmt::format("{} is measured by two of the logs", Printable(row.devices, 200)), named.file,
          "Give one log of each collective and set of machines.");
    }
    ProfiledExchange report{named.log.kind, {}, row.devices, {}, {}};
    std::vector<SizeAndTime> sizes;
    for (const MeasuredCollective& size : row.sizes) {
      sizes.emplace_back(size.bytes, size.time);
      report.times.push_back({size.bytes, size.time, size.runs});
    }
    report.segments = FitSegments(sizes);
    for (const DeviceId device : devices) report.devices.push_back(cluster.device(device).name);
    outcome.exchanges.push_back(std::move(report));
    rows.push_back(std::move(row));
  }
  PW_ASSIGN(CostStore opened, CostStore::Open(store, /*create=*/true));
  PW_RETURN_IF_ERROR(opened.PutCollectives(rows));
  if (context.console.json) {
    context.console.PrintJson(ProfileJson(outcome));
  } else {
    context.console.Print(ProfileText(outcome, context.console.style()));
  }
  return 0;
}

}  // namespace placewright
