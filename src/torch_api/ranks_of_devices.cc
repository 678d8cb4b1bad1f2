#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "torch_api/process_service.h"

namespace placewright {
namespace {

// Numbers from `first` on, in runs.
void AssignRuns(const std::vector<DeviceId>& devices, size_t ranks, int32_t first,
                IdVector<DeviceId, int32_t>& rank_of) {
  for (size_t i = 0; i < devices.size(); ++i) {
    rank_of[devices[i]] = first + static_cast<int32_t>(i * ranks / devices.size());
  }
}

}  // namespace

Result<IdVector<DeviceId, int32_t>> RanksOfDevices(const Cluster& cluster, int32_t ranks) {
  const size_t devices = cluster.device_count(), count = static_cast<size_t>(ranks);
  if (count > devices) {
    return MakeError(ErrorCode::kUsage,
                     fmt::format("{} ranks are more than the plan's {} devices", ranks, devices),
                     "", "Start at most one rank for each device.");
  }
  IdVector<DeviceId, int32_t> rank_of(devices, 0);
  std::map<int32_t, std::vector<DeviceId>> of_host;
  std::vector<DeviceId> all;
  for (const DeviceId id : cluster.devices()) of_host[cluster.device(id).host].push_back(id);
  for (const auto& [host, own] : of_host) all.insert(all.end(), own.begin(), own.end());
  const size_t each = count / of_host.size();
  const bool alike = count % of_host.size() == 0 &&
                     std::all_of(of_host.begin(), of_host.end(),
                                 [&](const auto& one) { return one.second.size() >= each; });
  if (!alike) {
    AssignRuns(all, count, 0, rank_of);
    return rank_of;
  }
  int32_t first = 0;
  for (const auto& [host, own] : of_host) {
    AssignRuns(own, each, first, rank_of);
    first += static_cast<int32_t>(each);
  }
  return rank_of;
}

}  // namespace placewright
