// Keeps plans connected where some devices cannot reach each other.
#ifndef PLACEWRIGHT_SEARCH_PROBLEM_CONNECTIVITY_H_
#define PLACEWRIGHT_SEARCH_PROBLEM_CONNECTIVITY_H_

#include <cstdint>
#include <vector>

#include "search/problem/connections.h"
#include "search/problem/problem.h"

namespace placewright {

// Narrows `candidates` so that every combination of what is left is connected, if that can be done;
// `work` ranks devices, smallest first.
//
// Groups that communicate, directly or through others, form a component. A component takes the
// candidates within one set of devices that all reach each other: the largest that a greedy growth
// from each device finds and that leaves every group of the component a device. Where there is none
// (pins force unlike devices), each of its groups keeps one device, found by arc consistency and a
// greedy assignment in breadth-first order; where that fails, too, the first device is kept and
// CheckPlacementLegal will name the pair.
void KeepConnected(const Connections& connections, const IdVector<DeviceId, int64_t>& work,
                   GroupDevices& candidates);

// A placement near `wanted` that has a route for all that crosses, if greedy assignment
// in `order` (of all groups) with arc consistency finds one: CheckPlacementLegal decides. A group
// that may not stay where it wants to be goes to a device that reaches that one, or is reached by
// it.
GroupPlacement ConnectedNear(const Connections& connections, const GroupDevices& candidates,
                             const GroupPlacement& wanted,
                             const std::vector<ColocationGroupId>& order);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROBLEM_CONNECTIVITY_H_
