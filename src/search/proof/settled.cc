#include "search/proof/settled.h"

#include <algorithm>

#include "search/proof/needs.h"

namespace placewright {

Settled FindSettled(const Problem& problem) {
  const StepProgram& program = problem.program;
  Settled settled{std::vector<int32_t>(program.storage_class.size(), -1),
                  std::vector<int64_t>(program.devices, 0)};
  for (size_t s = 0; s < program.storage_class.size(); ++s) {
    if (program.storage_class[s] != StorageClass::kPersistent) continue;
    int32_t device = program.fixed_home[s];
    if (device < 0 && program.home_op[s] >= 0) {
      const PlacementUnit& unit = problem.units[problem.unit_of[OpId(program.home_op[s])]];
      if (unit.allowed.size() == 1) device = unit.allowed.front().value();
    }
    if (device < 0) continue;
    settled.device_of[s] = device;
    settled.bytes[device] = SaturatingAdd(settled.bytes[device], program.storage_bytes[s]);
  }
  return settled;
}

int64_t NeedBesideSettled(const Problem& problem, const Settled& settled, int32_t unit,
                          DeviceId device) {
  const StepProgram& program = problem.program;
  const PlacementUnit& group = problem.units[unit];
  int64_t most = 0, workspace = 0;
  for (OpId op : group.ops) {
    const int32_t exec = program.exec_of[op.index()];
    if (exec < 0) continue;
    int64_t bytes = 0;
    for (const auto& [storage, size] : WorkingSet(problem, unit, exec)) {
      if (settled.device_of[storage] != device.value()) bytes = SaturatingAdd(bytes, size);
    }
    most = std::max(most, bytes);
    workspace = std::max(workspace, program.workspace[exec]);
  }
  // A unit that may run here only is settled itself.
  const int64_t own = group.allowed.size() == 1 ? 0 : group.persistent.count;
  const int64_t lying = SaturatingAdd(settled.bytes[device.index()], own);
  return SaturatingAdd(lying, SaturatingAdd(most, workspace));
}

}  // namespace placewright
