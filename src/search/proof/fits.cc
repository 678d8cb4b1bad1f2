// ProveFits: what memory alone rules out.
#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "search/domain.h"
#include "search/op_graph.h"
#include "search/problem.h"
#include "search/proof/memory_cut.h"

namespace placewright {
namespace {

// What any device needs at least to run each unit.
struct UnitNeed {
  int64_t bytes = 0;  // persistent + one op's inputs and outputs + largest workspace
  int32_t op = -1;    // exec op that needs most
};

// Inputs and outputs of one op, every storage once, those that persist in `unit` not at all.
int64_t WorkingSet(const Problem& problem, int32_t unit, int32_t op) {
  const StepProgram& program = problem.program;
  std::map<int32_t, int64_t> bytes;  // by storage
  const auto counted_already = [&](int32_t storage) {
    return program.storage_class[storage] == StorageClass::kPersistent &&
           program.fixed_home[storage] < 0 && program.home_op[storage] >= 0 &&
           problem.unit_of[OpId(program.home_op[storage])] == unit;
  };
  for (int32_t i = program.op_units_offset[op]; i < program.op_units_offset[op + 1]; ++i) {
    const int32_t crossing = program.op_units[i];
    const int32_t storage = program.version_storage[program.unit_version[crossing]];
    if (counted_already(storage)) continue;
    bytes[storage] = std::max(bytes[storage], program.unit_bytes[crossing]);
  }
  for (int32_t i = program.op_makes_offset[op]; i < program.op_makes_offset[op + 1]; ++i) {
    const int32_t storage = program.version_storage[program.op_makes[i]];
    if (program.storage_class[storage] != StorageClass::kTransient) continue;
    bytes[storage] = std::max(bytes[storage], program.storage_bytes[storage]);
  }
  int64_t sum = 0;
  for (const auto& [storage, b] : bytes) sum = SaturatingAdd(sum, b);
  return sum;
}

std::vector<UnitNeed> UnitNeeds(const Problem& problem) {
  const StepProgram& program = problem.program;
  std::vector<UnitNeed> needs(problem.units.size());
  std::vector<int64_t> workspace(problem.units.size(), 0);
  for (int32_t op = 0; op < program.ops; ++op) {
    const int32_t unit = problem.unit_of[program.op_of[op]];
    const int64_t bytes = WorkingSet(problem, unit, op);
    if (needs[unit].op < 0 || bytes > needs[unit].bytes) needs[unit] = {bytes, op};
    workspace[unit] = std::max(workspace[unit], program.workspace[op]);
  }
  for (size_t u = 0; u < needs.size(); ++u) {
    needs[u].bytes = SaturatingAdd(needs[u].bytes,
                                   SaturatingAdd(problem.units[u].persistent.count, workspace[u]));
  }
  return needs;
}

std::string Size(int64_t bytes) {
  const std::string exact = FormatCount(bytes) + " B";
  return bytes < 1024 ? exact : FormatBytes(Bytes(bytes)) + " (" + exact + ")";
}

std::string NameOf(const Problem& problem, int32_t unit) {
  const PlacementUnit& group = problem.units[unit];
  return "the colocation group of op " + Printable(problem.graph->op(group.ops.front()).name, 80) +
         " (" + FormatCount(static_cast<int64_t>(group.ops.size())) +
         (group.ops.size() == 1 ? " op)" : " ops)");
}

std::string LargestGroup(const Problem& problem, const std::vector<UnitNeed>& needs) {
  if (needs.empty()) return "";
  size_t largest = 0;
  for (size_t u = 1; u < needs.size(); ++u) {
    if (needs[u].bytes > needs[largest].bytes) largest = u;
  }
  return "; the largest indivisible group is " + NameOf(problem, static_cast<int32_t>(largest)) +
         " with " + Size(needs[largest].bytes);
}

std::string DeviceNames(const Problem& problem, const std::vector<DeviceId>& devices) {
  std::string names;
  for (size_t i = 0; i < devices.size() && i < 8; ++i) {
    names += (i > 0 ? ", " : "") + problem.cluster->device(devices[i]).name;
  }
  if (devices.size() > 8) names += ", ...";
  return names;
}

Status ProveUnit(const Problem& problem, const std::vector<int64_t>& capacity, int32_t unit,
                 const UnitNeed& need) {
  DeviceId best = problem.units[unit].allowed.front();
  for (DeviceId device : problem.units[unit].allowed) {
    if (capacity[device.index()] > capacity[best.index()]) best = device;
  }
  const int64_t missing = need.bytes - capacity[best.index()];
  if (missing <= 0) return Ok();
  const int64_t persistent = problem.units[unit].persistent.count;
  std::string why = persistent > 0 ? Size(persistent) + " of parameters and state" : "";
  if (need.op >= 0) {
    why += why.empty() ? "" : ", and ";
    why += "the inputs, outputs and workspace of op " +
           Printable(problem.graph->op(problem.program.op_of[need.op]).name, 80);
  }
  return MakeError(ErrorCode::kInfeasible,
                   "no device can hold " + NameOf(problem, unit) +
                       ", the largest indivisible group: it needs " + Size(need.bytes) +
                       " at once on one device (" + why +
                       "), and the most that a device it may use offers to tensors is " +
                       Size(capacity[best.index()]) + " on " + problem.cluster->device(best).name,
                   "op " + Printable(problem.graph->op(problem.units[unit].ops.front()).name, 80),
                   "Add at least " + Size(missing) + " to " + problem.cluster->device(best).name +
                       ", or add a device with " + Size(need.bytes) + " free for tensors");
}

// `needed` bytes must lie on `devices` together.
Status ProveTotal(const Problem& problem, const std::vector<int64_t>& capacity, int64_t needed,
                  const std::vector<DeviceId>& devices, const std::string& what,
                  const std::vector<UnitNeed>& needs) {
  if (devices.empty()) return Ok();
  int64_t available = 0;
  DeviceId largest = devices.front();
  for (DeviceId device : devices) {
    available = SaturatingAdd(available, capacity[device.index()]);
    if (capacity[device.index()] > capacity[largest.index()]) largest = device;
  }
  if (needed <= available) return Ok();
  return MakeError(
      ErrorCode::kInfeasible,
      what + " need " + Size(needed) + " at once, but " + DeviceNames(problem, devices) +
          " together offer " + Size(available) + " to tensors" + LargestGroup(problem, needs),
      "",
      "Add at least " + Size(needed - available) + " to " + problem.cluster->device(largest).name +
          ", or another device with at least that much free for tensors");
}

// Where anything may lie at all: devices that some unit may use, and homes that the file gives.
std::vector<DeviceId> UsableDevices(const Problem& problem) {
  std::set<DeviceId> usable;
  for (const PlacementUnit& unit : problem.units) {
    usable.insert(unit.allowed.begin(), unit.allowed.end());
  }
  for (int32_t home : problem.program.fixed_home) {
    if (home >= 0) usable.insert(DeviceId(home));
  }
  return {usable.begin(), usable.end()};
}

// Units that are confined to the same devices, and what persists with them, must fit on these.
Status ProveConfined(const Problem& problem, const std::vector<int64_t>& capacity,
                     const std::vector<UnitNeed>& needs) {
  std::map<std::vector<DeviceId>, int64_t> confined;
  for (const PlacementUnit& unit : problem.units) {
    int64_t& sum = confined[unit.allowed];
    sum = SaturatingAdd(sum, unit.persistent.count);
  }
  for (const auto& [devices, unused] : confined) {
    if (devices.size() == problem.cluster->device_count()) continue;  // no confinement
    int64_t needed = 0;
    for (const auto& [others, bytes] : confined) {
      if (std::includes(devices.begin(), devices.end(), others.begin(), others.end())) {
        needed = SaturatingAdd(needed, bytes);
      }
    }
    PW_RETURN_IF_ERROR(ProveTotal(problem, capacity, needed, devices,
                                  "the parameters and state of the ops that may run only there",
                                  needs));
  }
  return Ok();
}

}  // namespace

Status ProveFits(const Problem& problem) {
  const OpGraph graph = BuildOpGraph(problem);
  const std::vector<int64_t> capacity = TensorCapacity(problem.program);
  const std::vector<UnitNeed> needs = UnitNeeds(problem);
  // The unit that misses most first: its message carries the largest indivisible group.
  std::vector<int32_t> order(needs.size());
  for (size_t u = 0; u < order.size(); ++u) order[u] = static_cast<int32_t>(u);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return needs[a].bytes > needs[b].bytes; });
  for (int32_t unit : order) {
    PW_RETURN_IF_ERROR(ProveUnit(problem, capacity, unit, needs[unit]));
  }
  PW_RETURN_IF_ERROR(ProveConfined(problem, capacity, needs));
  const std::vector<DeviceId> all = UsableDevices(problem);
  const int64_t persistent = TotalPersistent(problem);
  PW_RETURN_IF_ERROR(ProveTotal(problem, capacity, persistent, all,
                                "parameters, optimizer state, buffers and constants", needs));
  for (const MemoryCut& cut : LargestCuts(problem, graph, 16, 1)) {
    const std::string op = Printable(problem.graph->op(problem.program.op_of[cut.op]).name, 80);
    PW_RETURN_IF_ERROR(ProveTotal(problem, capacity, SaturatingAdd(persistent, cut.live_bytes), all,
                                  Size(persistent) + " of parameters and state and " +
                                      Size(cut.live_bytes) + " of activations that op " + op +
                                      " or a later one still reads when it starts",
                                  needs));
  }
  return Ok();
}

}  // namespace placewright
