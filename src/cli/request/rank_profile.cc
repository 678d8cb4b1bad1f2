#include "cli/request/rank_profile.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cost/communication/measured_collectives.h"

namespace placewright {
namespace {

std::vector<std::vector<DeviceId>> DevicesByMachine(const Cluster& cluster) {
  std::map<int32_t, std::vector<DeviceId>> machines;
  for (const DeviceId device : cluster.devices()) {
    machines[cluster.device(device).host].push_back(device);
  }
  std::vector<std::vector<DeviceId>> devices;
  for (auto& [host, own] : machines) devices.push_back(std::move(own));
  return devices;
}

// 2, 4, 8, ..., all.
std::vector<size_t> CountsUpTo(size_t machines) {
  std::vector<size_t> counts;
  for (size_t count = 2; count < machines; count *= 2) counts.push_back(count);
  if (machines >= 2) counts.push_back(machines);
  return counts;
}

}  // namespace

std::string KeyOf(const Exchange& exchange, const Cluster& cluster) {
  return exchange.collective
             ? MeasuredCollectiveKey(*exchange.collective, cluster, exchange.devices)
             : MeasuredTransferKey(cluster, exchange.devices[0], exchange.devices[1]);
}

std::vector<Exchange> ExchangesOf(const Cluster& cluster) {
  std::vector<Exchange> exchanges;
  std::set<std::string> keys;
  const auto add = [&](Exchange exchange) {
    if (keys.insert(KeyOf(exchange, cluster)).second) exchanges.push_back(std::move(exchange));
  };
  for (const DeviceId from : cluster.devices()) {
    for (const DeviceId to : cluster.devices()) {
      if (cluster.device(from).host < cluster.device(to).host) add({std::nullopt, {from, to}});
    }
  }
  const std::vector<std::vector<DeviceId>> machines = DevicesByMachine(cluster);
  for (const size_t count : CountsUpTo(machines.size())) {
    std::vector<DeviceId> first, all;
    for (size_t i = 0; i < count; ++i) {
      first.push_back(machines[i].front());
      all.insert(all.end(), machines[i].begin(), machines[i].end());
    }
    for (const CollectiveKind kind : kCollectiveKinds) {
      add({kind, first});
      add({kind, all});
    }
  }
  return exchanges;
}

}  // namespace placewright
