// What `profile --ranks` measures: exchanges of tensors between the machines of a cluster.
#ifndef PLACEWRIGHT_CLI_REQUEST_RANK_PROFILE_H_
#define PLACEWRIGHT_CLI_REQUEST_RANK_PROFILE_H_

#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "torch_api/profiling_service.h"

namespace placewright {

// Transfers between two devices of each pair of machines with kinds of their own, and all collectives over the
// first 2, 4, 8, ... machines and over all: of one device of each, and of all their devices. What the store
// would call alike stands there once. Empty: all devices are on one machine.
std::vector<Exchange> ExchangesOf(const Cluster& cluster);

// How the store names it.
std::string KeyOf(const Exchange& exchange, const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_RANK_PROFILE_H_
