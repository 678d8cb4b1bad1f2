// How long a collective over some devices of a cluster holds which links (simulator rule 15).
//
// Modelled: the fastest of several algorithms over the cluster's routes
// (communication/device_set_plan.h has the formulas and their sources), and once the largest launch
// overhead of the devices, unless it is counted in (communication/nccl_model.h). Measured, where the same collective was on machines of the same kinds:
// communication/measured_collectives.h; the links are then those of the fastest algorithm, too. Else
// stated, where the cluster's description says how long collectives take (Cluster::collectives()); what
// is stated or measured there then holds the communicator alone.
#ifndef PLACEWRIGHT_COST_COMMUNICATION_H_
#define PLACEWRIGHT_COST_COMMUNICATION_H_

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "cost/communication/device_set_plan.h"
#include "cost/communication/measured_collectives.h"
#include "cost/cost_table.h"
#include "graph/graph.h"

namespace placewright {

struct CollectiveEstimate {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kNone;
  Nanos time;
  std::span<const LinkId> links;  // ascending, distinct; of the Communication, as long as it lives
  CostSource source = CostSource::kModelled;
};

// Any number of threads may ask at once. What is found out of a set of devices (rings, trees, loads
// of links) is kept, so that further questions cost a look-up: well under a microsecond.
class Communication {
 public:
  // The cluster must outlive it and stay as it is.
  explicit Communication(const Cluster& cluster,
                         const std::vector<MeasuredCollectives>& measured = {});
  ~Communication();
  Communication(const Communication&) = delete;
  Communication& operator=(const Communication&) = delete;

  // `devices`: one or more, distinct, in any order. Errors: kUnreachable (two of them without a
  // route, in either direction: both are named), kField (none, a device twice).
  Result<CollectiveEstimate> Estimate(const CollectiveRequest& request,
                                      std::span<const DeviceId> devices) const;
  // The plan of a set of devices, as long as this lives: its rings, the time of each algorithm. The
  // same errors.
  Result<const DeviceSetPlan*> PlanOf(std::span<const DeviceId> devices) const;

  const Cluster& cluster() const { return cluster_; }

 private:
  struct DeviceSet;
  struct Less;
  Result<const DeviceSet*> Find(std::span<const DeviceId> devices) const;
  Result<std::shared_ptr<const DeviceSet>> Make(std::vector<DeviceId> devices) const;

  const Cluster& cluster_;
  const CollectiveFits fits_;
  const std::vector<LinkId> communicator_;  // of the cluster, where its lines are stated
  mutable std::mutex mutex_;                // of the maps
  struct Sets;
  std::unique_ptr<Sets> sets_;
};

// What its members ask for, whose largest inputs and outputs have so many bytes. `root`: of a broadcast, the
// device that has what the others get.
CollectiveRequest RequestOfMembers(CollectiveKind kind, Bytes inputs, Bytes outputs, DeviceId root);

// What each collective of a compiled graph holds, for CostTable::SetCollectives: of members of one
// type (CollectiveKindOf), whose inputs and outputs say how many bytes. `device_of`: where every op
// runs. Errors: kField (members of another type, or of several), those of Estimate.
Result<IdVector<CollectiveId, CostTable::CollectiveCost>> CollectiveCosts(
    const Graph& graph, const IdVector<OpId, DeviceId>& device_of,
    const Communication& communication);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_COMMUNICATION_H_
