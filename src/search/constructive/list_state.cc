#include "search/constructive/list_state.h"

#include <algorithm>

namespace placewright {

ListState::ListState(const Problem& problem, const OpGraph& graph,
                     const CandidateDevices& candidates, ListOptions options)
    : problem_(problem),
      graph_(graph),
      candidates_(candidates),
      options_(std::move(options)),
      used_(graph.devices, 0),
      workspace_(graph.devices, 0),
      group_device_(problem.groups.size()),
      end_(graph.ops, -1) {
  const SimGraph& sim_graph = problem.sim_graph;
  for (int64_t capacity : candidates.capacity)
    limit_.push_back(capacity - capacity / 8 * options_.headroom);
  for (SliceId slice : sim_graph.slice_ids()) {
    readers_left_.push_back(static_cast<int32_t>(sim_graph.slice_readers[slice].size()));
  }
  arrival_.assign(static_cast<size_t>(sim_graph.slices) * graph.devices, -1);
  resident_.assign(arrival_.size(), 0);
  const size_t storages = sim_graph.storage_class.size();
  storage_held_.assign(storages, 0);
  storage_device_.assign(storages, DeviceId());
  storage_readers_left_.assign(storages, 0);
  for (SliceId slice : sim_graph.slice_ids()) {
    storage_readers_left_[sim_graph.slice_storage[slice]] += readers_left_[slice];
  }
  for (StorageId s : sim_graph.storage_ids()) {
    const bool persistent = sim_graph.storage_class[s] == StorageClass::kPersistent;
    if (persistent && sim_graph.fixed_home[s].valid()) {
      int64_t& used = used_[sim_graph.fixed_home[s]];
      used = SaturatingAdd(used, sim_graph.storage_bytes[s]);
    }
  }
  for (ColocationGroupId u : problem.group_ids()) {
    if (candidates.any[u].size() == 1) Decide(u, candidates.any[u][0]);
  }
}

std::span<const DeviceId> ListState::Candidates(ExecOpId op) const {
  const ColocationGroupId group = graph_.group_of[op];
  if (group_device_[group].valid()) return {&group_device_[group], 1};
  return candidates_.preferred[group];
}

DeviceId ListState::HomeOf(const OpInput& input, DeviceId reader_device) const {
  if (input.home_device.valid()) return input.home_device;
  if (!input.home_group.valid()) return reader_device;
  const DeviceId home = group_device_[input.home_group];
  return home.valid() ? home : reader_device;
}

int64_t ListState::Transfer(DeviceId from, DeviceId to, int64_t length) const {
  const Nanos once = problem_.cluster->TransferDuration(from, to, Bytes(length));
  return SaturatingMultiply(once.count, options_.transfer_factor);
}

int64_t ListState::Arrival(ExecOpId op, DeviceId device) const {
  int64_t ready = 0;
  const auto arrival = [&](const OpInput& input) {
    const DeviceId from = SourceOf(input, device);
    const int64_t at = input.producer.valid() ? end_[input.producer] : 0;
    if (from == device || !from.valid()) return std::max<int64_t>(at, 0);
    const int64_t known = arrival_[CopySlot(input.crossing, device)];
    if (known >= 0) return known;
    if (!problem_.cluster->Connected(from, device)) return kMaxQuantity;
    return SaturatingAdd(at, Transfer(from, device, input.length));
  };
  for (const OpInput& input : graph_.Inputs(op)) ready = std::max(ready, arrival(input));
  for (ExecOpId first : graph_.Before(op)) ready = std::max(ready, end_[first]);
  return ready;
}

int64_t ListState::Needed(ExecOpId op, DeviceId device) const {
  const SimGraph& sim_graph = problem_.sim_graph;
  int64_t needed = std::max<int64_t>(0, sim_graph.workspace[op] - workspace_[device]);
  const ColocationGroupId group = graph_.group_of[op];
  if (!group_device_[group].valid()) needed = SaturatingAdd(needed, GroupBytes(group));
  if (!options_.fixed_bytes.empty()) return needed;
  ColocationGroupId last_home;
  for (const OpInput& input : graph_.Inputs(op)) {
    if (LeavesHomeOpen(input)) {
      if (input.home_group != last_home && input.home_group != group) {
        needed = SaturatingAdd(needed, GroupBytes(input.home_group));
      }
      last_home = input.home_group;
      continue;
    }
    const DeviceId from = SourceOf(input, device);
    const size_t slot = CopySlot(input.crossing, device);
    if (from.valid() && from != device && !resident_[slot])
      needed = SaturatingAdd(needed, input.bytes);
  }
  for (VersionId version : sim_graph.op_makes[op]) {
    const StorageId storage = sim_graph.version_storage[version];
    if (sim_graph.storage_class[storage] == StorageClass::kTransient &&
        storage_held_[storage] == 0) {
      needed = SaturatingAdd(needed, sim_graph.storage_bytes[storage]);
    }
  }
  return needed;
}

int64_t ListState::Room(ExecOpId op, DeviceId device) const {
  if (candidates_.connections && Arrival(op, device) >= kMaxQuantity) return -kMaxQuantity;
  return limit_[device] - workspace_[device] - used_[device] - Needed(op, device);
}

void ListState::Decide(ColocationGroupId group, DeviceId device) {
  group_device_[group] = device;
  used_[device] = SaturatingAdd(used_[device], GroupBytes(group));
}

// Parameters go to their first reader where they may and fit, else where the largest amount is
// free.
void ListState::DecideHome(ColocationGroupId group, DeviceId reader_device) {
  const std::vector<DeviceId>& candidates = candidates_.preferred[group];
  DeviceId best = candidates.front();
  for (DeviceId device : candidates) {
    if (limit_[device] - used_[device] > limit_[best] - used_[best]) best = device;
  }
  const bool may =
      std::find(candidates.begin(), candidates.end(), reader_device) != candidates.end();
  const int64_t free = limit_[reader_device] - used_[reader_device];
  Decide(group, may && free >= GroupBytes(group) ? reader_device : best);
}

// One reader of the crossing has been placed: copies and storages without further readers leave.
void ListState::Release(SliceId crossing) {
  const SimGraph& sim_graph = problem_.sim_graph;
  const StorageId storage = sim_graph.slice_storage[crossing];
  if (--readers_left_[crossing] == 0) {
    for (DeviceId d : graph_.device_ids()) {
      char& resident = resident_[CopySlot(crossing, d)];
      if (resident) Free(d, sim_graph.slice_bytes[crossing]);
      resident = 0;
    }
  }
  if (--storage_readers_left_[storage] == 0 && storage_held_[storage] > 0) {
    Free(storage_device_[storage], storage_held_[storage]);
    storage_held_[storage] = 0;
  }
}

void ListState::Place(ExecOpId op, DeviceId device, int64_t start) {
  const SimGraph& sim_graph = problem_.sim_graph;
  if (!group_device_[graph_.group_of[op]].valid()) Decide(graph_.group_of[op], device);
  workspace_[device] = std::max(workspace_[device], sim_graph.workspace[op]);
  for (const OpInput& input : graph_.Inputs(op)) {
    if (LeavesHomeOpen(input)) {
      DecideHome(input.home_group, device);
    }
    const DeviceId from = SourceOf(input, device);
    if (from == device || !from.valid()) continue;
    const size_t slot = CopySlot(input.crossing, device);
    if (arrival_[slot] < 0 && problem_.cluster->Connected(from, device)) {
      const int64_t at = input.producer.valid() ? end_[input.producer] : 0;
      arrival_[slot] = SaturatingAdd(at, Transfer(from, device, input.length));
    }
  }
  end_[op] = SaturatingAdd(start, Duration(op, device));
  if (options_.fixed_bytes.empty()) Allocate(op, device);
}

void ListState::Allocate(ExecOpId op, DeviceId device) {
  const SimGraph& sim_graph = problem_.sim_graph;
  for (const OpInput& input : graph_.Inputs(op)) {
    const DeviceId from = SourceOf(input, device);
    char& resident = resident_[CopySlot(input.crossing, device)];
    if (from == device || !from.valid()) continue;
    if (!resident) used_[device] = SaturatingAdd(used_[device], input.bytes);
    resident = 1;
  }
  for (VersionId version : sim_graph.op_makes[op]) {
    const StorageId storage = sim_graph.version_storage[version];
    if (sim_graph.storage_class[storage] != StorageClass::kTransient) continue;
    if (storage_held_[storage] > 0 || storage_readers_left_[storage] == 0) continue;
    storage_held_[storage] = sim_graph.storage_bytes[storage];
    storage_device_[storage] = device;
    used_[device] = SaturatingAdd(used_[device], sim_graph.storage_bytes[storage]);
  }
  for (const OpInput& input : graph_.Inputs(op)) Release(input.crossing);
}

GroupPlacement ListState::Finish() {
  for (ColocationGroupId u : problem_.group_ids()) {
    if (!group_device_[u].valid()) DecideHome(u, candidates_.preferred[u].front());
  }
  return group_device_;
}

}  // namespace placewright
