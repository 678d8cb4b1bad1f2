// How the collectives of one set of devices can go, and what each way takes. With n devices, B
// bytes of the whole tensor, p bytes of the largest piece, W = n p (B in even pieces), and round(b)
// as in round.h:
//
//   ring          all-reduce   2 (n - 1) ring(B / n)
//                 gather       (n - 1) ring(p)
//   tree          all-reduce   pipeline(2 depth, B) of both directions
//                 gather       Bruck's ceil(log2 n) rounds: 1, 2, 4, ... pieces go to the device as
//                              many places on (Thakur et al. 2005; NCCL: PAT)
//   hierarchical  all-reduce   reduce-scatter inside each machine, all-reduce of the slices across
//                              machines (ring or tree), all-gather inside
//                 gather       across machines, then inside
//
// Broadcasts, whose times and links depend on the root: broadcast_plan.h. All-to-alls: all_to_all_plan.h. Of GPUs whose
// kinds state channels the others go as NCCL reckons: nccl_model.h.
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
// phase together.
#ifndef PLACEWRIGHT_COST_COMMUNICATION_DEVICE_SET_PLAN_H_
#define PLACEWRIGHT_COST_COMMUNICATION_DEVICE_SET_PLAN_H_

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/units.h"
#include "cost/communication/all_to_all_plan.h"
#include "cost/communication/broadcast_plan.h"
#include "cost/communication/collective_kind.h"
#include "cost/communication/nccl_model.h"
#include "cost/communication/parallel_rings.h"
#include "cost/communication/tree.h"

namespace placewright {

// What a collective has to move.
struct CollectiveRequest {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes whole;  // the tensor of all devices
  // Of an all-gather or a reduce-scatter: what the device with the largest piece gives or keeps; of an all-to-all: what
  // the one with the most has before or behind it.
  Bytes largest_piece;
  DeviceId root = DeviceId();  // of a broadcast; none: the first of the devices
};

// Any number of threads may ask at once. What broadcasts from one root and all-to-alls take is made when it is
// first asked for, and kept; it depends on nothing else that was asked for.
class DeviceSetPlan {
 public:
  // `devices`: ascending, distinct, connected both ways. The cluster must outlive it and stay as it
  // is.
  DeviceSetPlan(const Cluster& cluster, std::vector<DeviceId> devices);

  const std::vector<DeviceId>& devices() const { return devices_; }
  const std::vector<Ring>& rings() const { return rings_; }
  // Whether its times are NCCL's, which count the launch.
  bool ByNccl(CollectiveKind kind) const {
    return nccl_.has_value() && kind != CollectiveKind::kBroadcast;
  }

  // W: all pieces, each as large as the largest; of others the whole tensor.
  Bytes EvenBytes(const CollectiveRequest& request) const;
  // Infinite: there is no such way (hierarchical in one machine, or with one device in each; direct,
  // of all but a broadcast and an all-to-all, which goes in no other; those that NCCL has not, of its GPUs).
  double NanosOf(CollectiveAlgorithm algorithm, const CollectiveRequest& request) const;
  // The links that it takes, ascending and distinct, as long as this lives; the communicator's among them
  // where all collectives have one. `root`: as
  // CollectiveRequest has it.
  const std::vector<LinkId>& LinksOf(CollectiveAlgorithm algorithm, CollectiveKind kind,
                                     DeviceId root = DeviceId()) const;
  // The fastest; of equally fast ones the first of ring, tree, hierarchical, direct, nvls, nvls-tree. kNone: nothing
  // moves.
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
  void PlanTrees(const Cluster& cluster);
  const BroadcastPlan& BroadcastFrom(DeviceId root) const;  // of two devices or more
  const AllToAllPlan& AllToAll() const;                     // the same
  void PlanMachines(const Cluster& cluster, const Machines& machines);
  void PlanNccl(const Cluster& cluster, const Machines& machines);
  std::vector<LinkId> CollectLinks(CollectiveAlgorithm algorithm, CollectiveKind kind) const;

  struct Asked {
    std::mutex mutex;                                                     // of both
    std::map<DeviceId, std::unique_ptr<const BroadcastPlan>> broadcasts;  // by root
    std::unique_ptr<const AllToAllPlan> all_to_all;
  };

  const Cluster* cluster_;
  std::vector<DeviceId> devices_;
  std::vector<Ring> rings_;
  Round ring_;
  TreePair trees_;
  struct BruckRound {
    Round round;
    int pieces;
  };
  std::vector<BruckRound> bruck_;
  std::vector<Machine> machines_;       // empty: not hierarchical
  std::vector<MachineRings> in_order_;  // in the order of the ring over them
  int slices_ = 0;                      // s
  Round across_ring_;                   // of every slice, one step
  TreePair across_trees_;               // of every slice
  std::optional<NcclModel> nccl_;
  using LinksByWay = std::array<std::vector<LinkId>, kCollectiveAlgorithms.size()>;
  // But for broadcasts and all-to-alls.
  std::array<LinksByWay, kCollectiveKinds.size()> links_;
  std::unique_ptr<Asked> asked_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_COMMUNICATION_DEVICE_SET_PLAN_H_
