// What lies on a device whatever the plan: parameters and state whose home the file gives, or that
// belong to a colocation group which may run on one device only.
#ifndef PLACEWRIGHT_SEARCH_PROOF_FIXED_MEMORY_H_
#define PLACEWRIGHT_SEARCH_PROOF_FIXED_MEMORY_H_

#include <cstdint>
#include <vector>

#include "search/problem/problem.h"

namespace placewright {

struct FixedMemory {
  IdVector<StorageId, DeviceId> device_of;  // none: not fixed
  IdVector<DeviceId, int64_t> bytes;
};
// O(storages + groups).
FixedMemory FindFixedMemory(const Problem& problem);

// Minimum of bytes on `device` in some instant of the step if `group` runs there: all that is
// fixed, the group's own parameters and state, and the inputs and outputs of its most demanding op,
// every storage once, and its largest workspace.
int64_t MinMemoryBesideFixed(const Problem& problem, const FixedMemory& fixed,
                             ColocationGroupId group, DeviceId device);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROOF_FIXED_MEMORY_H_
