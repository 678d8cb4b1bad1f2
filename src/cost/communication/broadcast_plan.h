// How a broadcast of B bytes from one root can go, what each way takes and which links it holds.
//
//   ring          pipeline(n - 1, B) from the root along every ring, each with its share
//   tree          a binomial tree's ceil(log2 n) rounds of B, from the root in the order of the
//                 first ring
//   hierarchical  to one device of each machine by a binomial tree, then a pipeline along the rings
//                 inside each; of its own machine that device is the root
//   direct        to all others at once, one round of B
//
// No way sends back to the root's machine, but for rings: NCCL's start at the root, wherever it is
// in them, and so come back to the devices of its machine that stand before it. Here these devices
// come before the other machines, as long as the rings are no slower for it; otherwise (machines
// with several NICs, which the rings leave at several devices) it is as NCCL does.
#ifndef PLACEWRIGHT_COST_COMMUNICATION_BROADCAST_PLAN_H_
#define PLACEWRIGHT_COST_COMMUNICATION_BROADCAST_PLAN_H_

#include <array>
#include <span>
#include <vector>

#include "cost/communication/collective_kind.h"
#include "cost/communication/parallel_rings.h"
#include "cost/communication/round.h"

namespace placewright {

struct MachineRings {
  std::vector<DeviceId> devices;  // the first one gets the bytes for all, where none is the root
  std::vector<Ring> rings;        // inside; none of one device
};

// The rings as a broadcast from the root takes them: each begins at the root.
std::vector<Ring> RingsFrom(const Cluster& cluster, std::span<const Ring> rings, DeviceId root);

class BroadcastPlan {
 public:
  // `rings`: one or more, the root in each. `machines`: of the hierarchical way, in the order in
  // which they hand on; none: there is no such way.
  BroadcastPlan(const Cluster& cluster, std::span<const Ring> rings,
                std::span<const MachineRings> machines, DeviceId root);

  // Infinite: there is no such way. 0 of kNone.
  double NanosOf(CollectiveAlgorithm algorithm, double bytes) const;
  // Ascending, distinct.
  const std::vector<LinkId>& LinksOf(CollectiveAlgorithm algorithm) const {
    return links_[static_cast<size_t>(algorithm)];
  }

 private:
  struct Pipeline {
    Round round;
    int fill = 0;
  };
  static Pipeline PipelineOf(const Cluster& cluster, std::span<const Ring> rings, DeviceId root);
  void PlanMachines(const Cluster& cluster, std::span<const MachineRings> machines, DeviceId root);
  double HierarchicalNanos(double bytes) const;
  void CollectLinks(LinkId communicator);

  Pipeline ring_;
  std::vector<Round> tree_;
  std::vector<Round> over_leaders_;  // empty: not hierarchical
  std::vector<Pipeline> inside_;     // of the machines with two devices or more
  Round direct_;
  std::array<std::vector<LinkId>, kCollectiveAlgorithms.size()> links_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_COMMUNICATION_BROADCAST_PLAN_H_
