#include "search/proof/needs.h"

#include <algorithm>

#include "base/text.h"

namespace placewright {

std::map<int32_t, int64_t> WorkingSet(const Problem& problem, int32_t unit, int32_t op) {
  const StepProgram& program = problem.program;
  std::map<int32_t, int64_t> bytes;
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
  return bytes;
}

std::vector<UnitNeed> UnitNeeds(const Problem& problem) {
  const StepProgram& program = problem.program;
  std::vector<UnitNeed> needs(problem.units.size());
  std::vector<int64_t> workspace(problem.units.size(), 0);
  for (int32_t op = 0; op < program.ops; ++op) {
    const int32_t unit = problem.unit_of[program.op_of[op]];
    int64_t bytes = 0;
    for (const auto& [storage, size] : WorkingSet(problem, unit, op)) {
      bytes = SaturatingAdd(bytes, size);
    }
    if (needs[unit].op < 0 || bytes > needs[unit].bytes) needs[unit] = {bytes, op};
    workspace[unit] = std::max(workspace[unit], program.workspace[op]);
  }
  for (size_t u = 0; u < needs.size(); ++u) {
    needs[u].bytes = SaturatingAdd(needs[u].bytes,
                                   SaturatingAdd(problem.units[u].persistent.count, workspace[u]));
  }
  return needs;
}

std::string FormatSize(int64_t bytes) {
  if (bytes >= kMaxQuantity) return "at least 2^60 B";  // counting stops there
  const std::string exact = FormatCount(bytes) + " B";
  return bytes < 1024 ? exact : FormatBytes(Bytes(bytes)) + " (" + exact + ")";
}

std::string KeptInReserve(const Problem& problem, DeviceId device) {
  const int64_t reserve = problem.cluster->device(device).reserve.count;
  return reserve == 0 ? "" : ", keeping " + FormatSize(reserve) + " in reserve";
}

std::string GroupName(const Problem& problem, int32_t unit) {
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
  return "; the largest indivisible group is " + GroupName(problem, static_cast<int32_t>(largest)) +
         " with " + FormatSize(needs[largest].bytes);
}

}  // namespace placewright
