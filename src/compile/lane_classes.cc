#include "compile/lane_classes.h"

#include <algorithm>
#include <map>
#include <utility>

namespace placewright {
namespace {

// What devices of one class have in common.
using Signatures = IdVector<DeviceId, std::vector<int64_t>>;

std::vector<LayoutId> UsedOf(const Layouts& layouts) {
  std::vector<LayoutId> used(layouts.of_group.begin(), layouts.of_group.end());
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

Signatures SignaturesOf(const Cluster& cluster, const Layouts& layouts) {
  Signatures signatures(cluster.device_count());
  for (const DeviceId device : cluster.devices()) {
    signatures[device] = {cluster.device(device).kind, cluster.device(device).capacity.count};
  }
  for (const LayoutId id : UsedOf(layouts)) {
    for (const Share& share : layouts.layouts[id.index()].shares) {
      std::vector<int64_t>& signature = signatures[share.device];
      signature.push_back(-1 - id.value());
      for (const AxisInterval& one : share.box) signature.push_back(one.interval.length());
    }
  }
  return signatures;
}

// Which of its host's devices of the kind it is.
void AddPositions(const Cluster& cluster, Signatures& signatures) {
  std::map<std::pair<int32_t, int32_t>, int64_t> count;
  for (const DeviceId device : cluster.devices()) {
    const Device& of = cluster.device(device);
    signatures[device].push_back(count[{of.host, of.kind}]++);
  }
}

// What one device does for all, the first of a layout does.
void SetFirstApart(const Layouts& layouts, Signatures& signatures) {
  for (const LayoutId id : UsedOf(layouts)) {
    const DeviceId first = layouts.layouts[id.index()].shares.front().device;
    signatures[first].push_back(-1 - int64_t{first.value()});
  }
}

LaneClasses ClassesBy(const Signatures& signatures) {
  std::map<std::vector<int64_t>, std::vector<DeviceId>> classes;
  for (const DeviceId device : IdRange<DeviceId>(signatures.size())) {
    classes[signatures[device]].push_back(device);
  }
  LaneClasses found;
  found.first.resize(signatures.size());
  found.lane.resize(signatures.size());
  found.size.resize(signatures.size());
  for (const auto& [signature, members] : classes) {
    for (size_t lane = 0; lane < members.size(); ++lane) {
      found.first[members[lane]] = members.front();
      found.lane[members[lane]] = static_cast<int32_t>(lane);
      found.size[members[lane]] = static_cast<int32_t>(members.size());
    }
  }
  return found;
}

}  // namespace

size_t CountDevices(const Cluster& cluster, const Layouts& layouts) {
  IdVector<DeviceId, char> has(cluster.device_count(), 0);
  for (const LayoutId id : UsedOf(layouts)) {
    for (const Share& share : layouts.layouts[id.index()].shares) has[share.device] = 1;
  }
  return static_cast<size_t>(std::count(has.begin(), has.end(), 1));
}

size_t CountClasses(const LaneClasses& lanes, const Layouts& layouts) {
  IdVector<DeviceId, char> has(lanes.first.size(), 0);
  for (const LayoutId id : UsedOf(layouts)) {
    for (const Share& share : layouts.layouts[id.index()].shares) {
      has[lanes.first[share.device]] = 1;
    }
  }
  return static_cast<size_t>(std::count(has.begin(), has.end(), 1));
}

std::vector<LaneClasses> FindLaneClasses(const Cluster& cluster, const Layouts& layouts) {
  std::vector<LaneClasses> found;
  const auto add = [&](const Signatures& signatures) {
    LaneClasses classes = ClassesBy(signatures);
    const auto same = [&](const LaneClasses& other) { return other.first == classes.first; };
    if (std::any_of(found.begin(), found.end(), same)) return;
    bool any = false;
    for (const LayoutId id : UsedOf(layouts)) {
      for (const Share& share : layouts.layouts[id.index()].shares) {
        any = any || classes.size[share.device] > 1;
      }
    }
    if (any) found.push_back(std::move(classes));
  };
  Signatures signatures = SignaturesOf(cluster, layouts);
  for (const bool by_position : {false, true}) {
    if (by_position) AddPositions(cluster, signatures);
    add(signatures);
    Signatures apart = signatures;
    SetFirstApart(layouts, apart);
    add(apart);
  }
  return found;
}

}  // namespace placewright
