// Builds a Cluster from a topology of devices, switches, CPUs and NICs, or from explicit routes.
#ifndef PLACEWRIGHT_CLUSTER_CLUSTER_BUILDER_H_
#define PLACEWRIGHT_CLUSTER_CLUSTER_BUILDER_H_

#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster.h"

namespace placewright {

enum class Duplex : uint8_t { kFull, kHalf };

class ClusterBuilder {
 public:
  explicit ClusterBuilder(std::string name);

  // Errors: kDuplicateName, kField (capacity < 1, reserve above capacity, ...).
  Result<int32_t> AddKind(DeviceKind kind);
  Result<DeviceId> AddDevice(Device device);
  // A node that forwards and computes nothing: a switch, a NIC, a CPU's root complex.
  Status AddForwarder(std::string name);
  // Joins two nodes (devices or forwarders) by name. Full duplex adds the links "a>b" and "b>a";
  // half duplex one link "a-b" that both directions share.
  Status Connect(std::string_view a, std::string_view b, BytesPerSecond bandwidth, Nanos latency,
                 Duplex duplex, std::string source);

  // For cost graphs: a bare directed link, and the route of one ordered pair.
  Result<LinkId> AddLink(Link link);
  Status AddRoute(DeviceId from, DeviceId to, std::vector<LinkId> links);

  // Routes of pairs without an explicit one: fewest links, then largest least-bandwidth, then the
  // lexicographically least list of link ids. Devices do not forward for others. Groups: same kind
  // on the same host. Errors: kClusterInvalid (no devices, a route twice, ...).
  Result<Cluster> Build() &&;

 private:
  Cluster cluster_;
  // (implementation state)
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_CLUSTER_BUILDER_H_
