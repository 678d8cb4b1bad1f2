// Keeps plans connected where some devices cannot reach each other.
#ifndef PLACEWRIGHT_SEARCH_CONNECTIVITY_H_
#define PLACEWRIGHT_SEARCH_CONNECTIVITY_H_

#include <cstdint>
#include <vector>

#include "search/op_graph.h"
#include "search/problem.h"

namespace placewright {

bool FullyConnected(const Cluster& cluster);

// Narrows `candidates` ([unit] ascending devices) so that every combination of what is left is
// connected, if that can be done; `work` ([device]) ranks devices, least first.
//
// Units that communicate, directly or through others, form a component. A component takes the
// candidates within one set of devices that all reach each other: the largest that a greedy growth
// from each device finds and that leaves every unit of the component a device. Where there is none
// (pins force unlike devices), each of its units keeps one device, found by arc consistency and a
// greedy assignment in breadth-first order; where that fails, too, the first device is kept and
// VerifyPlacement will name the pair.
void KeepConnected(const Problem& problem, const OpGraph& graph, const std::vector<int64_t>& work,
                   std::vector<std::vector<int32_t>>& candidates);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_CONNECTIVITY_H_
