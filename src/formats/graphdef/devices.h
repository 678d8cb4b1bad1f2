// TensorFlow's device names: "/job:worker/replica:0/task:1/device:GPU:3" and parts of it.
#ifndef PLACEWRIGHT_FORMATS_GRAPHDEF_DEVICES_H_
#define PLACEWRIGHT_FORMATS_GRAPHDEF_DEVICES_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/cluster.h"
#include "plan/placement.h"

namespace placewright {

// The device as TensorFlow calls it. The k-th CPU or other device of a host, in the cluster's
// order, is "device:CPU:k" or "device:GPU:k". On a cluster of one host, job, replica and task are
// those of `before`, the node's present device, if it names any; on several hosts they are
// "/job:worker/replica:0/task:H" for host H.
std::string GraphDefDevice(const Cluster& cluster, DeviceId device, std::string_view before);

// The reverse: the cluster's device that a full or partial name means. A missing task is host 0, a
// missing index (or '*') is 0; "/gpu:1" is the old form of "/device:GPU:1". Errors: kUnknownName
// (no such device in the cluster, or no device in the name).
Result<DeviceId> DeviceOfGraphDef(const Cluster& cluster, std::string_view name);

// The devices that the nodes of a GraphDef name, as a placement of `graph` (of that file or of one
// with the same nodes). Nodes whose ops are views may name none. Errors: those of the readers and
// of DeviceOfGraphDef, naming the node; kPlanMismatch (a node without a device).
Result<NamedPlacement> PlacementOfGraphDef(std::string_view file, const Graph& graph,
                                           const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_GRAPHDEF_DEVICES_H_
