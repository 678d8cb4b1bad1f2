// Machines that clouds rent out and that people own or build, by the names that they go by:
// "p5.48xlarge", "a3-highgpu-8g", "ND96isr_H100_v5", "8xH100", "2x4090", and any other "NxKIND".
#ifndef PLACEWRIGHT_CLUSTER_RENTED_MACHINES_H_
#define PLACEWRIGHT_CLUSTER_RENTED_MACHINES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cluster/catalogue.h"
#include "cluster/machine.h"

namespace placewright {

struct RentedMachine {
  HostSpec host;              // host 0
  int64_t nic_mbps = 0;       // of each NIC, Mb/s
  double nic_efficiency = 1;  // the share that is left for what is sent
  std::string network;        // source of that figure
  std::string assumed;        // a sentence about what the name leaves open; empty: nothing
};

// Names without regard to case, dashes, underscores and Azure's "Standard_". nullopt: no such
// machine.
std::optional<RentedMachine> FindRentedMachine(std::string_view name);

// "8xL40S", "4 x RTX 4090", "2x5090": 1 to 16 GPUs of a kind of the catalogue with CPUs, memory and
// NICs as such machines usually have. nullopt: no number, no such kind.
std::optional<RentedMachine> UsualMachine(std::string_view name);

// Those that FindRentedMachine knows, for lists.
std::span<const Preset> RentedMachines();

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_RENTED_MACHINES_H_
