// Machines that are sold or rented as they are. Each is a preset of its name ("dgx-1"), and so are
// several of them joined by their network cards: "4x dgx-1".
#ifndef PLACEWRIGHT_CLUSTER_MACHINE_PRESETS_H_
#define PLACEWRIGHT_CLUSTER_MACHINE_PRESETS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "cluster/catalogue.h"
#include "cluster/machine.h"

namespace placewright {

struct MachinePreset {
  Preset preset;
  HostSpec (*host)();        // host 0
  int64_t nic_mbps = 0;      // of each NIC, Mb/s
  std::string_view network;  // source of that figure
};
std::span<const MachinePreset> MachinePresets();

inline constexpr int32_t kMaxMachines = 128;
// "dgx-1" or "4x dgx-1" (1 to kMaxMachines); nullptr and 0 for other names.
struct NamedMachines {
  const MachinePreset* machine = nullptr;
  int32_t count = 0;
};
NamedMachines FindMachines(std::string_view name);

// `count` hosts; of several, all NICs hang on one switch.
Result<Cluster> AssembleMachines(std::string_view name, const NamedMachines& machines);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_MACHINE_PRESETS_H_
