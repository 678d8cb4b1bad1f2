// The best ring through some devices: the order in which data goes round, each device sending to
// the next one over the cluster's routes.
//
// A ring's rate is the bytes a second that each device can pass on while all do:
//
//   rate = min over links of capacity(link) / (routes of the ring that take the link)
//
// The best ring has the largest rate, then the smallest latency of its slowest route, then the
// smallest ids. Up to 8 devices: by trying all orders with pruning, exact. More: from each device
// on to the next one that the widest route leads to, then, up to 32 devices, by reversing
// stretches (2-opt) while the rate grows.
#ifndef PLACEWRIGHT_COST_COMMUNICATION_RING_SEARCH_H_
#define PLACEWRIGHT_COST_COMMUNICATION_RING_SEARCH_H_

#include <span>
#include <vector>

#include "cluster/cluster.h"

namespace placewright {

struct Ring {
  std::vector<DeviceId> order;  // at least two; the last one sends to the first
  double rate = 0;              // bytes a second; 0: no ring has any capacity
  Nanos latency;                // of its slowest route
};

// What is left of the links, bytes a second.
using LinkCapacities = IdVector<LinkId, double>;
LinkCapacities AllCapacities(const Cluster& cluster);

// Rate and latency of an order.
Ring MeasureRing(const Cluster& cluster, std::vector<DeviceId> order,
                 const LinkCapacities& capacities);
// Takes `rate` from each link for each route of the ring that takes it.
void TakeCapacity(const Cluster& cluster, const Ring& ring, LinkCapacities& capacities);

// `devices`: at least two, ascending, distinct, connected both ways.
Ring BestRing(const Cluster& cluster, std::span<const DeviceId> devices,
              const LinkCapacities& capacities);
// All rings of the best rate and latency, the first `limit` of them. Up to 8 devices.
std::vector<Ring> BestRings(const Cluster& cluster, std::span<const DeviceId> devices,
                            const LinkCapacities& capacities, size_t limit);
inline constexpr size_t kExactRing = 8;

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_COMMUNICATION_RING_SEARCH_H_
