// What lies on a device whatever the plan: parameters and state whose home the file gives, or that
// belong to a placement unit which may run on one device only.
#ifndef PLACEWRIGHT_SEARCH_PROOF_SETTLED_H_
#define PLACEWRIGHT_SEARCH_PROOF_SETTLED_H_

#include <cstdint>
#include <vector>

#include "search/problem/problem.h"

namespace placewright {

struct Settled {
  std::vector<int32_t> device_of;  // [storage], -1: not settled
  std::vector<int64_t> bytes;      // [device]
};
// O(storages + units).
Settled FindSettled(const Problem& problem);

// Least bytes on `device` in some instant of the step if `unit` runs there: all that is settled,
// the unit's own parameters and state, and the inputs and outputs of its most demanding op, every
// storage once, and its largest workspace.
int64_t NeedBesideSettled(const Problem& problem, const Settled& settled, int32_t unit,
                          DeviceId device);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROOF_SETTLED_H_
