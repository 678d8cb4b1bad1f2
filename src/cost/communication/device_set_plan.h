// How the collectives of one set of devices can go, and what each way takes. With n devices, B
// bytes of the whole tensor, p bytes of the largest piece, W = n p (B in even pieces), and round(b)
// as in round.h:
//
//   ring          all-reduce   2 (n - 1) ring(B / n)
//                 gather       (n - 1) ring(p)
//                 broadcast    pipeline(n - 1, B)
//   tree          all-reduce   pipeline(2 depth, B) of both directions
//                 gather       Bruck's ceil(log2 n) rounds: 1, 2, 4, ... pieces go to the device as
//                              many places on (Thakur et al. 2005; NCCL: PAT)
//                 broadcast    pipeline(depth, B)
//   hierarchical  all-reduce   reduce-scatter inside each machine, all-reduce of the slices across
//                              machines (ring or tree), all-gather inside
//                 gather       across machines, then inside
//                 broadcast    to one device of each machine, then inside each
//
// "gather": an all-gather; a reduce-scatter is one backwards and takes as long. A ring all-reduce
// sends 2 B (n - 1) / n from each device, and no algorithm needs less (Patarasuk and Yuan 2009).
//
// A machine of k devices has s slices, s the smallest k of all machines. The others of a larger
// machine hand their pieces to its s holders, B / (k s) to each, in a round between.
//
// Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", J.
// Parallel Distrib. Comput. 69, 2009. Thakur, Rabenseifner, Gropp, "Optimization of collective
// communication operations in MPICH", Int. J. High Perform. Comput. Appl. 19, 2005. The two trees:
// tree.h.
//
// Deviations: additions take no time (NCCL's kernels add while they copy); machines start each
// phase together; which device is a broadcast's root makes no difference.
#ifndef PLACEWRIGHT_COST_COMMUNICATION_DEVICE_SET_PLAN_H_
#define PLACEWRIGHT_COST_COMMUNICATION_DEVICE_SET_PLAN_H_

#include <algorithm>
#include <array>
#include <vector>

#include "base/units.h"
#include "cost/communication/collective_kind.h"
#include "cost/communication/parallel_rings.h"
#include "cost/communication/tree.h"

namespace placewright {

// What a collective has to move.
struct CollectiveRequest {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes whole;  // the tensor of all devices
  // Of an all-gather or a reduce-scatter: what the device with the largest piece gives or keeps.
  Bytes largest_piece;
};

class DeviceSetPlan {
 public:
  // `devices`: ascending, distinct, connected both ways.
  DeviceSetPlan(const Cluster& cluster, std::vector<DeviceId> devices);

  const std::vector<DeviceId>& devices() const { return devices_; }
  const std::vector<Ring>& rings() const { return rings_; }

  // W: all pieces, each as large as the largest; of others the whole tensor.
  Bytes EvenBytes(const CollectiveRequest& request) const;
  // Infinite: there is no such way (hierarchical in one machine, or with one device in each).
  double NanosOf(CollectiveAlgorithm algorithm, const CollectiveRequest& request) const;
  // The links that it takes, ascending and distinct.
  const std::vector<LinkId>& LinksOf(CollectiveAlgorithm algorithm, CollectiveKind kind) const {
    return links_[static_cast<size_t>(kind)][static_cast<size_t>(algorithm)];
  }
  // The fastest; of equally fast ones the first of ring, tree, hierarchical. kNone: nothing moves.
  struct Choice {
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::kNone;
    Nanos time;
  };
  Choice Fastest(const CollectiveRequest& request) const;

 private:
  struct Machine {
    int devices = 0;
    Round ring;         // inside
    Round hands, back;  // from the devices without a slice to those with one, and back
    double HandsNanos(double bytes) const {
      return std::max(hands.NanosFor(bytes), back.NanosFor(bytes));
    }
  };
  double RingNanos(const CollectiveRequest& request) const;
  double TreeNanos(const CollectiveRequest& request) const;
  double HierarchicalNanos(const CollectiveRequest& request) const;
  double InsideMachines(double bytes) const;  // an all-gather or a reduce-scatter of so much
  double Broadcast(double bytes) const;       // hierarchical
  void PlanTrees(const Cluster& cluster);
  void PlanMachines(const Cluster& cluster, const Machines& machines);
  std::vector<LinkId> CollectLinks(CollectiveAlgorithm algorithm, CollectiveKind kind) const;

  std::vector<DeviceId> devices_;
  std::vector<Ring> rings_;
  Round ring_;
  TreePair trees_;
  struct BruckRound {
    Round round;
    int pieces;
  };
  std::vector<BruckRound> bruck_;
  std::vector<Machine> machines_;  // empty: not hierarchical
  int slices_ = 0;                 // s
  Round across_ring_;              // of every slice, one step
  TreePair across_trees_;          // of every slice
  TreePair leader_trees_;          // between one device of each machine
  std::array<std::array<std::vector<LinkId>, 4>, kCollectiveKinds.size()> links_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_COMMUNICATION_DEVICE_SET_PLAN_H_
