#include "search/constructive/list_state.h"

#include <algorithm>

namespace placewright {

ListState::ListState(const Problem& problem, const OpGraph& graph, const Domain& domain,
                     ListOptions options)
    : problem_(problem),
      graph_(graph),
      domain_(domain),
      options_(std::move(options)),
      used_(graph.devices, 0),
      workspace_(graph.devices, 0),
      unit_device_(problem.units.size(), -1),
      end_(graph.ops, -1) {
  const StepProgram& program = problem.program;
  for (int64_t capacity : domain.capacity)
    limit_.push_back(capacity - capacity / 8 * options_.headroom);
  for (int32_t u = 0; u < program.units; ++u) {
    readers_left_.push_back(program.unit_readers_offset[u + 1] - program.unit_readers_offset[u]);
  }
  arrival_.assign(static_cast<size_t>(program.units) * graph.devices, -1);
  resident_.assign(arrival_.size(), 0);
  const size_t storages = program.storage_class.size();
  storage_held_.assign(storages, 0);
  storage_device_.assign(storages, -1);
  storage_readers_left_.assign(storages, 0);
  for (int32_t u = 0; u < program.units; ++u) {
    storage_readers_left_[program.version_storage[program.unit_version[u]]] += readers_left_[u];
  }
  for (size_t s = 0; s < storages; ++s) {
    if (program.storage_class[s] == StorageClass::kPersistent && program.fixed_home[s] >= 0) {
      int64_t& used = used_[program.fixed_home[s]];
      used = SaturatingAdd(used, program.storage_bytes[s]);
    }
  }
  for (size_t u = 0; u < problem.units.size(); ++u) {
    if (domain.any[u].size() == 1) Decide(static_cast<int32_t>(u), domain.any[u][0]);
  }
}

std::span<const int32_t> ListState::Candidates(int32_t op) const {
  const int32_t unit = graph_.unit_of[op];
  if (unit_device_[unit] >= 0) return {&unit_device_[unit], 1};
  return domain_.preferred[unit];
}

int32_t ListState::HomeOf(const OpInput& input, int32_t reader_device) const {
  if (input.home_device >= 0) return input.home_device;
  if (input.home_unit < 0) return reader_device;
  return unit_device_[input.home_unit] >= 0 ? unit_device_[input.home_unit] : reader_device;
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
            ? arrive(input, unit_device_[graph_.unit_of[input.producer]], end_[input.producer])
            : arrive(input, HomeOf(input, device), 0);
    ready = std::max(ready, at);
  }
  for (int32_t first : graph_.Before(op)) ready = std::max(ready, end_[first]);
  return ready;
}

int64_t ListState::Needed(int32_t op, int32_t device) const {
  const StepProgram& program = problem_.program;
  int64_t needed = std::max<int64_t>(0, program.workspace[op] - workspace_[device]);
  const int32_t unit = graph_.unit_of[op];
  if (unit_device_[unit] < 0) needed = SaturatingAdd(needed, UnitBytes(unit));
  if (!options_.fixed_bytes.empty()) return needed;
  int32_t last_home = -1;
  for (const OpInput& input : graph_.Inputs(op)) {
    if (input.producer < 0 && input.home_unit >= 0 && unit_device_[input.home_unit] < 0) {
      if (input.home_unit != last_home && input.home_unit != unit) {
        needed = SaturatingAdd(needed, UnitBytes(input.home_unit));
      }
      last_home = input.home_unit;
      continue;
    }
    const int32_t from =
        input.producer >= 0 ? unit_device_[graph_.unit_of[input.producer]] : HomeOf(input, device);
    const size_t slot = static_cast<size_t>(input.crossing) * graph_.devices + device;
    if (from >= 0 && from != device && !resident_[slot])
      needed = SaturatingAdd(needed, input.bytes);
  }
  for (int32_t i = program.op_makes_offset[op]; i < program.op_makes_offset[op + 1]; ++i) {
    const int32_t storage = program.version_storage[program.op_makes[i]];
    if (program.storage_class[storage] == StorageClass::kTransient && storage_held_[storage] == 0) {
      needed = SaturatingAdd(needed, program.storage_bytes[storage]);
    }
  }
  return needed;
}

int64_t ListState::Room(int32_t op, int32_t device) const {
  if (domain_.connections && Arrival(op, device) >= kMaxQuantity) return -kMaxQuantity;
  return limit_[device] - workspace_[device] - used_[device] - Needed(op, device);
}

void ListState::Decide(int32_t unit, int32_t device) {
  unit_device_[unit] = device;
  used_[device] = SaturatingAdd(used_[device], UnitBytes(unit));
}

// Parameters go to their first reader where they may and fit, else where most is free.
void ListState::DecideHome(int32_t unit, int32_t reader_device) {
  const std::vector<int32_t>& candidates = domain_.preferred[unit];
  int32_t best = candidates.front();
  for (int32_t device : candidates) {
    if (limit_[device] - used_[device] > limit_[best] - used_[best]) best = device;
  }
  const bool may =
      std::find(candidates.begin(), candidates.end(), reader_device) != candidates.end();
  const int64_t free = limit_[reader_device] - used_[reader_device];
  Decide(unit, may && free >= UnitBytes(unit) ? reader_device : best);
}

// One reader of the crossing has been placed: copies and storages nobody waits for leave.
void ListState::Release(int32_t crossing) {
  const StepProgram& program = problem_.program;
  const int32_t storage = program.version_storage[program.unit_version[crossing]];
  if (--readers_left_[crossing] == 0) {
    for (int32_t d = 0; d < graph_.devices; ++d) {
      char& resident = resident_[static_cast<size_t>(crossing) * graph_.devices + d];
      if (resident) Free(d, program.unit_bytes[crossing]);
      resident = 0;
    }
  }
  if (--storage_readers_left_[storage] == 0 && storage_held_[storage] > 0) {
    Free(storage_device_[storage], storage_held_[storage]);
    storage_held_[storage] = 0;
  }
}

void ListState::Place(int32_t op, int32_t device, int64_t start) {
  const StepProgram& program = problem_.program;
  if (unit_device_[graph_.unit_of[op]] < 0) Decide(graph_.unit_of[op], device);
  workspace_[device] = std::max(workspace_[device], program.workspace[op]);
  for (const OpInput& input : graph_.Inputs(op)) {
    if (input.producer < 0 && input.home_unit >= 0 && unit_device_[input.home_unit] < 0) {
      DecideHome(input.home_unit, device);
    }
    const int32_t from =
        input.producer >= 0 ? unit_device_[graph_.unit_of[input.producer]] : HomeOf(input, device);
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
  const StepProgram& program = problem_.program;
  for (const OpInput& input : graph_.Inputs(op)) {
    const int32_t from =
        input.producer >= 0 ? unit_device_[graph_.unit_of[input.producer]] : HomeOf(input, device);
    char& resident = resident_[static_cast<size_t>(input.crossing) * graph_.devices + device];
    if (from == device || from < 0) continue;
    if (!resident) used_[device] = SaturatingAdd(used_[device], input.bytes);
    resident = 1;
  }
  for (int32_t i = program.op_makes_offset[op]; i < program.op_makes_offset[op + 1]; ++i) {
    const int32_t storage = program.version_storage[program.op_makes[i]];
    if (program.storage_class[storage] != StorageClass::kTransient) continue;
    if (storage_held_[storage] > 0 || storage_readers_left_[storage] == 0) continue;
    storage_held_[storage] = program.storage_bytes[storage];
    storage_device_[storage] = device;
    used_[device] = SaturatingAdd(used_[device], program.storage_bytes[storage]);
  }
  for (const OpInput& input : graph_.Inputs(op)) Release(input.crossing);
}

std::vector<int32_t> ListState::Finish() {
  for (size_t u = 0; u < unit_device_.size(); ++u) {
    if (unit_device_[u] < 0) DecideHome(static_cast<int32_t>(u), domain_.preferred[u].front());
  }
  return unit_device_;
}

}  // namespace placewright
