// Machines that are sold or rented as they are. Each is a preset of its name ("dgx-1", "8xH100"), and
// so are several of them joined by their network cards: "4x dgx-1", "4x8xH100".
#ifndef PLACEWRIGHT_CLUSTER_MACHINE_PRESETS_H_
#define PLACEWRIGHT_CLUSTER_MACHINE_PRESETS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/catalogue.h"
#include "cluster/machine.h"
#include "cluster/rented_machines.h"

namespace placewright {

std::vector<Preset> MachinePresets();

inline constexpr int32_t kMaxMachines = 128;
// "dgx-1", "p5.48xlarge" or "8xL40S", and 1 to kMaxMachines of them: "4x dgx-1", "4x8xL40S"; a count
// of 0 for other names.
struct NamedMachines {
  RentedMachine machine;
  int32_t count = 0;
  bool rails = false;  // NICs of several hang on a switch for each of a host's
};
NamedMachines FindMachines(std::string_view name);

// `count` hosts; of several, all NICs hang on one switch or on rails.
Result<ClusterBuilder> AssembleMachines(std::string_view name, const NamedMachines& machines);

// The name of a preset without "+one-communicator" behind it: the same machines, all of whose collectives run one
// after another.
std::string_view WithoutCommunicator(std::string_view name);
// Of presets.cc: whole clusters that are no machine to have several of.
bool IsWholeCluster(std::string_view name);
// A preset as it is described, before routes are made: for what amends it. Errors: as MakePreset.
Result<ClusterBuilder> DescribePreset(std::string_view name);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_MACHINE_PRESETS_H_
