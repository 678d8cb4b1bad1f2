// Further plans to start a search from: the constructive methods confined to part of the machines.
//
// A method that spreads over all accelerators often loses to itself on four devices with fast links
// between them. Parts are the first 2, 4, 8, ... devices and all devices of each device group (same
// kind, same host), equal parts of other hosts left out, and the accelerators of each host.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_INITIAL_PLACEMENTS_H_
#define PLACEWRIGHT_SEARCH_LOCAL_INITIAL_PLACEMENTS_H_

#include <cstdint>
#include <vector>

#include "base/stop.h"
#include "search/constructive/placer.h"

namespace placewright {

// The parts, each an ascending list of accelerators, at least two and not all of them.
std::vector<std::vector<DeviceId>> MachineParts(const Cluster& cluster,
                                                const CandidateDevices& candidates);

// The candidates with `part` in place of its accelerators. Groups that may run on none of the part
// keep their preferred devices.
CandidateDevices Confine(const CandidateDevices& candidates, const std::vector<DeviceId>& part);

// One plan for every part (and all accelerators) and each of layered, m-topo, m-etf, heft, and heft
// with transfers that count 3, 10 and 30 times. Empty if the budget expires
// meanwhile, so that what is found does not depend on time. `threads` never changes the result.
std::vector<GroupPlacement> PlansOnParts(const PlacerInput& input, const Budget& budget,
                                         int threads);

// Every group on the accelerator with the smallest work, or where it may not run there on its first
// preferred device; whether or not that fits. A search that repairs it keeps what no constructive
// method keeps: one device full, and the others with what does not matter.
GroupPlacement AllOnFastest(const CandidateDevices& candidates);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_INITIAL_PLACEMENTS_H_
