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
      group_device_(problem.groups.size(), -1),
      end_(graph.ops, -1) {
  const SimGraph& sim_graph = problem.sim_graph;
  for (int64_t capacity : candidates.capacity)
    limit_.push_back(capacity - capacity / 8 * options_.headroom);
  for (int32_t u = 0; u < sim_graph.slices; ++u) {
    readers_left_.push_back(sim_graph.slice_readers_offset[u + 1] -
                            sim_graph.slice_readers_offset[u]);
  }
  arrival_.assign(static_cast<size_t>(sim_graph.slices) * graph.devices, -1);
  resident_.assign(arrival_.size(), 0);
  const size_t storages = sim_graph.storage_class.size();
  storage_held_.assign(storages, 0);
  storage_device_.assign(storages, -1);
  storage_readers_left_.assign(storages, 0);
  for (int32_t u = 0; u < sim_graph.slices; ++u) {
    storage_readers_left_[sim_graph.version_storage[sim_graph.slice_version[u]]] +=
        readers_left_[u];
  }
  for (size_t s = 0; s < storages; ++s) {
    if (sim_graph.storage_class[s] == StorageClass::kPersistent && sim_graph.fixed_home[s] >= 0) {
      int64_t& used = used_[sim_graph.fixed_home[s]];
      used = SaturatingAdd(used, sim_graph.storage_bytes[s]);
    }
  }
  for (size_t u = 0; u < problem.groups.size(); ++u) {
    if (candidates.any[u].size() == 1) Decide(static_cast<int32_t>(u), candidates.any[u][0]);
  }
}

std::span<const int32_t> ListState::Candidates(int32_t op) const {
  const int32_t group = graph_.group_of[op];
  if (group_device_[group] >= 0) return {&group_device_[group], 1};
  return candidates_.preferred[group];
}

int32_t ListState::HomeOf(const OpInput& input, int32_t reader_device) const {
  if (input.home_device >= 0) return input.home_device;
  if (input.home_group < 0) return reader_device;
  return group_device_[input.home_group] >= 0 ? group_device_[input.home_group] : reader_device;
}

int64_t ListState::Transfer(int32_t from, int32_t to, int64_t length) const {
  const Nanos once =
      problem_.cluster->TransferDuration(DeviceId(from), DeviceId(to), Bytes(length));
  return SaturatingMultiply(once.count, options_.transfer_factor);
}

int64_t ListState::Arrival(int32_t op, int32_t device) const {
  int64_t ready = 0;
  const auto arrive = [&](const OpInput& input, int32_t from, int64_t at) {
    if (from == device || from < 0) return std::max<int64_t>(at, 0);  // < 0: nobody places it
    const int64_t known = arrival_[static_cast<size_t>(input.crossing) * graph_.devices + device];
    if (known >= 0) return known;
    if (!problem_.cluster->Connected(DeviceId(from), DeviceId(device))) return kMaxQuantity;
    return SaturatingAdd(at, Transfer(from, device, input.length));
  };
  for (const OpInput& input : graph_.Inputs(op)) {
    const int64_t at =
        input.producer >= 0
            ? arrive(input, group_device_[graph_.group_of[input.producer]], end_[input.producer])
            : arrive(input, HomeOf(input, device), 0);
    ready = std::max(ready, at);
  }
  for (int32_t first : graph_.Before(op)) ready = std::max(ready, end_[first]);
  return ready;
}

int64_t ListState::Needed(int32_t op, int32_t device) const {
  const SimGraph& sim_graph = problem_.sim_graph;
  int64_t needed = std::max<int64_t>(0, sim_graph.workspace[op] - workspace_[device]);
  const int32_t group = graph_.group_of[op];
  if (group_device_[group] < 0) needed = SaturatingAdd(needed, GroupBytes(group));
  if (!options_.fixed_bytes.empty()) return needed;
  int32_t last_home = -1;
  for (const OpInput& input : graph_.Inputs(op)) {
    if (input.producer < 0 && input.home_group >= 0 && group_device_[input.home_group] < 0) {
      if (input.home_group != last_home && input.home_group != group) {
        needed = SaturatingAdd(needed, GroupBytes(input.home_group));
      }
      last_home = input.home_group;
      continue;
    }
    const int32_t from = input.producer >= 0 ? group_device_[graph_.group_of[input.producer]]
                                             : HomeOf(input, device);
    const size_t slot = static_cast<size_t>(input.crossing) * graph_.devices + device;
    if (from >= 0 && from != device && !resident_[slot])
      needed = SaturatingAdd(needed, input.bytes);
  }
  for (int32_t i = sim_graph.op_makes_offset[op]; i < sim_graph.op_makes_offset[op + 1]; ++i) {
    const int32_t storage = sim_graph.version_storage[sim_graph.op_makes[i]];
    if (sim_graph.storage_class[storage] == StorageClass::kTransient &&
        storage_held_[storage] == 0) {
      needed = SaturatingAdd(needed, sim_graph.storage_bytes[storage]);
    }
  }
  return needed;
}

int64_t ListState::Room(int32_t op, int32_t device) const {
  if (candidates_.connections && Arrival(op, device) >= kMaxQuantity) return -kMaxQuantity;
  return limit_[device] - workspace_[device] - used_[device] - Needed(op, device);
}

void ListState::Decide(int32_t group, int32_t device) {
  group_device_[group] = device;
  used_[device] = SaturatingAdd(used_[device], GroupBytes(group));
}

// Parameters go to their first reader where they may and fit, else where most is free.
void ListState::DecideHome(int32_t group, int32_t reader_device) {
  const std::vector<int32_t>& candidates = candidates_.preferred[group];
  int32_t best = candidates.front();
  for (int32_t device : candidates) {
    if (limit_[device] - used_[device] > limit_[best] - used_[best]) best = device;
  }
  const bool may =
      std::find(candidates.begin(), candidates.end(), reader_device) != candidates.end();
  const int64_t free = limit_[reader_device] - used_[reader_device];
  Decide(group, may && free >= GroupBytes(group) ? reader_device : best);
}

// One reader of the crossing has been placed: copies and storages nobody waits for leave.
void ListState::Release(int32_t crossing) {
  const SimGraph& sim_graph = problem_.sim_graph;
  const int32_t storage = sim_graph.version_storage[sim_graph.slice_version[crossing]];
  if (--readers_left_[crossing] == 0) {
    for (int32_t d = 0; d < graph_.devices; ++d) {
      char& resident = resident_[static_cast<size_t>(crossing) * graph_.devices + d];
      if (resident) Free(d, sim_graph.slice_bytes[crossing]);
      resident = 0;
    }
  }
  if (--storage_readers_left_[storage] == 0 && storage_held_[storage] > 0) {
    Free(storage_device_[storage], storage_held_[storage]);
    storage_held_[storage] = 0;
  }
}

void ListState::Place(int32_t op, int32_t device, int64_t start) {
  const SimGraph& sim_graph = problem_.sim_graph;
  if (group_device_[graph_.group_of[op]] < 0) Decide(graph_.group_of[op], device);
  workspace_[device] = std::max(workspace_[device], sim_graph.workspace[op]);
  for (const OpInput& input : graph_.Inputs(op)) {
    if (input.producer < 0 && input.home_group >= 0 && group_device_[input.home_group] < 0) {
      DecideHome(input.home_group, device);
    }
    const int32_t from = input.producer >= 0 ? group_device_[graph_.group_of[input.producer]]
                                             : HomeOf(input, device);
    if (from == device || from < 0) continue;
    const size_t slot = static_cast<size_t>(input.crossing) * graph_.devices + device;
    if (arrival_[slot] < 0 && problem_.cluster->Connected(DeviceId(from), DeviceId(device))) {
      const int64_t at = input.producer >= 0 ? end_[input.producer] : 0;
      arrival_[slot] = SaturatingAdd(at, Transfer(from, device, input.length));
    }
  }
  end_[op] = SaturatingAdd(start, Duration(op, device));
  if (options_.fixed_bytes.empty()) Allocate(op, device);
}

void ListState::Allocate(int32_t op, int32_t device) {
  const SimGraph& sim_graph = problem_.sim_graph;
  for (const OpInput& input : graph_.Inputs(op)) {
    const int32_t from = input.producer >= 0 ? group_device_[graph_.group_of[input.producer]]
                                             : HomeOf(input, device);
    char& resident = resident_[static_cast<size_t>(input.crossing) * graph_.devices + device];
    if (from == device || from < 0) continue;
    if (!resident) used_[device] = SaturatingAdd(used_[device], input.bytes);
    resident = 1;
  }
  for (int32_t i = sim_graph.op_makes_offset[op]; i < sim_graph.op_makes_offset[op + 1]; ++i) {
    const int32_t storage = sim_graph.version_storage[sim_graph.op_makes[i]];
    if (sim_graph.storage_class[storage] != StorageClass::kTransient) continue;
    if (storage_held_[storage] > 0 || storage_readers_left_[storage] == 0) continue;
    storage_held_[storage] = sim_graph.storage_bytes[storage];
    storage_device_[storage] = device;
    used_[device] = SaturatingAdd(used_[device], sim_graph.storage_bytes[storage]);
  }
  for (const OpInput& input : graph_.Inputs(op)) Release(input.crossing);
}

std::vector<int32_t> ListState::Finish() {
  for (size_t u = 0; u < group_device_.size(); ++u) {
    if (group_device_[u] < 0) DecideHome(static_cast<int32_t>(u), candidates_.preferred[u].front());
  }
  return group_device_;
}

}  // namespace placewright
