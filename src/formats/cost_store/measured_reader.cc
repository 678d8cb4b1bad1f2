#include "formats/cost_store/measured_reader.h"

#include <algorithm>
#include <utility>

#include "formats/cost_store/cost_store.h"

namespace placewright {

Result<std::vector<MeasuredCollectives>> ReadMeasuredCollectives(const std::string& path) {
  PW_ASSIGN(const CostStore store, CostStore::Open(path, /*create=*/false));
  PW_ASSIGN(std::vector<MeasuredCollectives> measured, store.ReadCollectives("nccl"));
  PW_ASSIGN(std::vector<MeasuredCollectives> gloo, store.ReadCollectives("gloo"));
  measured.insert(measured.end(), gloo.begin(), gloo.end());
  return measured;
}

Result<std::vector<MeasuredDevice>> ReadMeasured(const std::string& path, const Cluster& cluster,
                                                 std::optional<bool> loaded) {
  std::vector<MeasuredDevice> chosen;
  PW_ASSIGN(const CostStore store, CostStore::Open(path, /*create=*/false));
  size_t measured = 0;  // devices of the cluster
  std::vector<std::vector<MeasuredDevice>> by_kind;
  for (const DeviceKind& kind : cluster.kinds()) {
    PW_ASSIGN(std::vector<MeasuredDevice> devices, store.Read(kind.name, kind.cores));
    if (devices.empty()) continue;
    for (const DeviceId device : cluster.devices()) {
      measured += cluster.kind(device).name == kind.name ? 1 : 0;
    }
    by_kind.push_back(std::move(devices));
  }
  const bool wanted = loaded.value_or(measured > 1);
  for (std::vector<MeasuredDevice>& all : by_kind) {
    // What was measured here goes before what came from elsewhere.
    std::vector<MeasuredDevice> devices, imported;
    for (MeasuredDevice& device : all) {
      (device.on.imported() ? imported : devices).push_back(std::move(device));
    }
    const auto add_imported = [&] {
      for (MeasuredDevice& device : imported) chosen.push_back(std::move(device));
    };
    if (devices.empty()) {
      add_imported();
      continue;
    }
    auto found = std::find_if(devices.begin(), devices.end(), [&](const MeasuredDevice& device) {
      return device.on.loaded == wanted;
    });
    if (found == devices.end()) found = devices.begin();
    // What was measured in the other state alone comes from there.
    std::rotate(devices.begin(), found, found + 1);
    for (MeasuredDevice& device : devices) chosen.push_back(std::move(device));
    add_imported();
  }
  return chosen;
}

Status UseMeasuredTimes(const std::string& path, const Cluster& cluster, CostOptions& options) {
  PW_ASSIGN(options.measured, ReadMeasured(path, cluster));
  PW_ASSIGN(options.measured_collectives, ReadMeasuredCollectives(path));
  return Ok();
}

Result<std::vector<LinkId>> UseMeasuredLinks(const std::string& path, Cluster& cluster) {
  PW_ASSIGN(const CostStore store, CostStore::Open(path, /*create=*/false));
  std::vector<MeasuredTransfers> all;
  for (const DeviceKind& kind : cluster.kinds()) {
    PW_ASSIGN(std::vector<MeasuredTransfers> of_kind, store.ReadTransfers(kind.name, kind.cores));
    for (MeasuredTransfers& pair : of_kind) all.push_back(std::move(pair));
  }
  std::vector<LinkId> links = SetMeasuredLinks(all, cluster);
  PW_ASSIGN(const std::vector<MeasuredCollectives> measured, ReadMeasuredCollectives(path));
  const std::vector<LinkId> network = SetMeasuredNetwork(measured, cluster);
  links.insert(links.end(), network.begin(), network.end());
  std::sort(links.begin(), links.end());
  return links;
}

}  // namespace placewright
