// TensorFlow's device names: "/job:worker/replica:0/task:1/device:GPU:3" and parts of it.
#ifndef PLACEWRIGHT_FORMATS_GRAPHDEF_DEVICES_H_
#define PLACEWRIGHT_FORMATS_GRAPHDEF_DEVICES_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "cluster/cluster.h"
#include "plan/placement.h"

namespace placewright {

// The process of a name: its job, replica and task, as far as it names them.
struct TensorFlowTask {
  std::array<std::string, 3> parts;  // "job:worker", "replica:0", "task:1"; empty: not named

  // Takes over what `other` names and this does not. False, with nothing changed, if both name a
  // part and differ: two processes.
  bool Unite(const TensorFlowTask& other);
  std::string ToString() const;  // "/job:worker/task:1"; "" if nothing is named
};

// The parts of a name before its device. '*' names nothing.
TensorFlowTask TaskOf(std::string_view name);

// The devices of a cluster under TensorFlow's names. The k-th CPU of a host, in the cluster's
// order, is "device:CPU:k", its k-th other device "device:GPU:k". A host is one process.
class DeviceNames {
 public:
  explicit DeviceNames(const Cluster& cluster);

  bool several_hosts() const { return several_hosts_; }

  // On a cluster of one host of the process `task`; on several hosts the process of host H is
  // "/job:worker/replica:0/task:H".
  std::string Of(DeviceId device, const TensorFlowTask& task) const;

  // The reverse, for full and partial names in O(log devices). On several hosts the task is the
  // host, 0 if it is missing; on one host it is not looked at. A missing index (or '*') is 0;
  // "/gpu:1" is the old form of "/device:GPU:1". Errors: kUnknownName (no such device in the
  // cluster, a sort other than CPU and GPU, or no device in the name).
  Result<DeviceId> Find(std::string_view name) const;

 private:
  struct Entry {
    int32_t host = 0;
    bool cpu = false;
    int64_t index = 0;  // among the devices of its host and sort
    auto operator<=>(const Entry&) const = default;
  };
  IdVector<DeviceId, Entry> entries_;
  std::map<Entry, DeviceId> devices_;
  bool several_hosts_ = false;
};

// The devices that the nodes of a GraphDef name, as a placement of `graph` (of that file or of one
// with the same nodes). Nodes whose ops are views may name none. Errors: those of the readers and
// of DeviceNames::Find, naming the node; kUnknownName (nodes on one host that name two processes),
// kPlanMismatch (a node without a device).
Result<NamedPlacement> PlacementOfGraphDef(std::string_view file, const Graph& graph,
                                           const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_GRAPHDEF_DEVICES_H_
