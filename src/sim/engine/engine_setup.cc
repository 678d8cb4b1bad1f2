// What the engine works out before the first event: rows fixed by the program, and what lies where.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sim/engine/engine.h"

namespace placewright {

namespace {

constexpr int32_t kNeverFreed = 1 << 30;

// Sorts `pairs` (row, item) into `items`; `start(row)` is where a row's start is kept.
template <class Start>
void FillRows(int32_t rows, std::vector<std::pair<int32_t, int32_t>> pairs,
              std::vector<int32_t>* items, const Start& start) {
  std::sort(pairs.begin(), pairs.end());
  for (int32_t row = 0; row <= rows; ++row) {
    while (items->size() < pairs.size() && pairs[items->size()].first < row) {
      items->push_back(pairs[items->size()].second);
    }
    start(row) = static_cast<int32_t>(items->size());
  }
}

}  // namespace

Engine::Engine(const StepProgram& program) : p_(program), run_(program.devices, program.links) {
  PW_CHECK_LT(p_.devices, 1 << 16);
  BuildStaticRows();
  BuildBaseNeeds();
  run_.ops.resize(p_.ops);
  run_.units.resize(p_.units);
  duration_.resize(p_.ops);
  op_ready_.assign(p_.ops, -1);
  op_start_.assign(p_.ops, -1);
  op_end_.assign(p_.ops, -1);
  device_touched_.assign(p_.devices, 0);
  link_touched_.assign(p_.links, 0);
  remote_count_.assign(p_.devices, 0);
}

void Engine::BuildStaticRows() {
  std::vector<std::pair<int32_t, int32_t>> releases, tokens;
  const int32_t storages = static_cast<int32_t>(p_.storage_class.size());
  op_info_.resize(p_.ops + 1);
  unit_info_.resize(p_.units + 1);
  base_left_.assign(storages, kNeverFreed);
  for (int32_t s = 0; s < storages; ++s) {
    const int32_t first = p_.storage_versions.offsets[s], end = p_.storage_versions.offsets[s + 1];
    if (p_.storage_class[s] == StorageClass::kPersistent) persistent_.push_back(s);
    if (p_.storage_class[s] != StorageClass::kTransient) continue;
    op_info_[p_.version_writer[first]].birth_bytes += p_.storage_bytes[s];
    const bool unread = p_.version_units_offset[first] == p_.version_units_offset[first + 1];
    base_left_[s] = 0;
    if (end - first == 1 && !unread) continue;  // its readers alone keep it
    base_left_[s] = end - first;
    for (int32_t v = first; v < end; ++v) tokens.emplace_back(p_.version_writer[v], s);
  }
  for (int32_t unit = 0; unit < p_.units; ++unit) {
    const int32_t s = p_.unit_storage[unit];
    UnitInfo& info = unit_info_[unit];
    info.storage = s;
    info.overwriter = p_.version_overwriter[p_.unit_version[unit]];
    const auto first = p_.unit_readers.begin() + p_.unit_readers_offset[unit];
    const auto end = p_.unit_readers.begin() + p_.unit_readers_offset[unit + 1];
    info.overwriter_reads = info.overwriter >= 0 && std::binary_search(first, end, info.overwriter);
    const bool input = p_.storage_class[s] == StorageClass::kInput;
    if (input) input_units_.push_back(unit);
    if (!input && p_.unit_writer[unit] < 0) initial_units_.push_back(unit);
    if (input) continue;
    for (auto reader = first; reader != end; ++reader) releases.emplace_back(*reader, unit);
  }
  const auto op_info = [this](int32_t op) -> OpInfo& { return op_info_[op]; };
  for (int32_t unit = 0; unit <= p_.units; ++unit) {
    unit_info_[unit].reader = p_.unit_readers_offset[unit];
  }
  for (int32_t op = 0; op <= p_.ops; ++op) op_info(op).unit = p_.op_first_unit[op];
  FillRows(p_.ops, std::move(releases), &release_,
           [&](int32_t op) -> int32_t& { return op_info(op).release; });
  FillRows(p_.ops, std::move(tokens), &token_,
           [&](int32_t op) -> int32_t& { return op_info(op).token; });
}

void Engine::BuildBaseNeeds() {
  std::vector<std::pair<int32_t, int32_t>> ends;
  base_need_.assign(p_.ops, 0);
  for (int32_t op = 0; op < p_.ops; ++op) {
    for (int32_t i = op_info_[op].release; i < op_info_[op + 1].release; ++i) {
      base_need_[op] += p_.unit_writer[release_[i]] >= 0;
    }
    for (int32_t i = p_.after_offset[op]; i < p_.after_offset[op + 1]; ++i) {
      ends.emplace_back(op, p_.after[i]);
    }
    any_workspace_ |= p_.workspace[op] > 0;
  }
  // An in-place writer also waits for the old version as a whole: until then it is not known how
  // many readers and transfers it has to wait for.
  for (size_t v = 0; v < p_.version_writer.size(); ++v) {
    if (p_.version_writer[v] >= 0 && p_.version_overwriter[v] >= 0) {
      ends.emplace_back(p_.version_writer[v], p_.version_overwriter[v]);
    }
  }
  for (const auto& [from, to] : ends) ++base_need_[to];
  FillRows(p_.ops, std::move(ends), &ends_,
           [this](int32_t op) -> int32_t& { return op_info_[op].end; });
  for (int32_t op = 0; op < p_.ops; ++op) {
    if (base_need_[op] == 0) first_ready_.push_back(op);
  }
}

int32_t Engine::HomeOf(int32_t storage, const Placement& placement) const {
  if (p_.fixed_home[storage] >= 0) return p_.fixed_home[storage];
  const int32_t op = p_.home_op[storage];
  return op < 0 ? -1 : placement[OpId(op)].value();
}

void Engine::PlaceOps(const Placement& placement) {
  const bool views = p_.ops != static_cast<int32_t>(placement.size());
  for (int32_t op = 0; op < p_.ops; ++op) {
    const int32_t device = placement[views ? p_.op_of[op] : OpId(op)].value();
    run_.ops[op] = {base_need_[op], static_cast<uint16_t>(device)};
    duration_[op] = p_.time[int64_t{op} * p_.devices + device];
  }
  CountOps();
}

void Engine::CountOps() {
  work_.assign(p_.devices, 0);
  workspace_.assign(p_.devices, 0);
  op_count_.assign(p_.devices, 0);
  for (int32_t op = 0; op < p_.ops; ++op) {
    const int32_t device = run_.ops[op].device;
    work_[device] = std::min(work_[device] + duration_[op], kMaxQuantity);
    ++op_count_[device];
  }
  if (!any_workspace_) return;
  for (int32_t op = 0; op < p_.ops; ++op) {
    int64_t& workspace = workspace_[run_.ops[op].device];
    workspace = std::max(workspace, p_.workspace[op]);
  }
}

void Engine::PlacePersistent(const Placement& placement) {
  for (int32_t storage : persistent_) {
    const int32_t home = HomeOf(storage, placement);
    if (home >= 0) run_.memory[home].now += p_.storage_bytes[storage];
  }
}

// Rule 9: an input lies on every device that reads it, once.
void Engine::PlaceInputs() {
  int32_t storage = -1;
  const auto next_storage = [&] {
    for (int32_t device : remote_devices_) remote_count_[device] = 0;
    remote_devices_.clear();
  };
  for (int32_t unit : input_units_) {
    if (p_.unit_storage[unit] != storage) next_storage();
    storage = p_.unit_storage[unit];
    for (int32_t i = p_.unit_readers_offset[unit]; i < p_.unit_readers_offset[unit + 1]; ++i) {
      const int32_t device = run_.ops[p_.unit_readers[i]].device;
      if (remote_count_[device]++ > 0) continue;
      remote_devices_.push_back(device);
      run_.memory[device].now += p_.storage_bytes[storage];
    }
  }
  next_storage();
  for (DeviceMemory& memory : run_.memory) memory.peak = memory.now;
}

// Rule 2. In-place writers wait for the readers beside them, so their paths count there.
void Engine::ComputePaths(const Placement& placement, std::vector<int64_t>* paths) const {
  if (!p_.waits_in_place) {
    if (paths->empty()) *paths = p_.least_path;
    return;
  }
  paths->assign(p_.ops, 0);
  std::vector<int64_t>& path = *paths;
  for (size_t i = p_.topological_order.size(); i-- > 0;) {
    const int32_t op = p_.topological_order[i];
    int64_t longest = 0;
    for (int32_t r = p_.unit_readers_offset[p_.op_first_unit[op]],
                 end = p_.unit_readers_offset[p_.op_first_unit[op + 1]];
         r < end; ++r) {
      longest = std::max(longest, path[p_.unit_readers[r]]);
    }
    for (int32_t e = op_info_[op].end; e < op_info_[op + 1].end; ++e) {
      longest = std::max(longest, path[ends_[e]]);
    }
    for (int32_t r = op_info_[op].release; r < op_info_[op + 1].release; ++r) {
      const int32_t writer = unit_info_[release_[r]].overwriter;
      if (writer < 0 || writer == op || placement[p_.op_of[writer]] != placement[p_.op_of[op]])
        continue;
      longest = std::max(longest, path[writer]);
    }
    path[op] = SaturatingAdd(p_.least_time[op], longest);
  }
}

}  // namespace placewright
