// Builds a Cluster from a topology of devices, switches, CPUs and NICs, or from explicit routes.
#ifndef PLACEWRIGHT_CLUSTER_CLUSTER_BUILDER_H_
#define PLACEWRIGHT_CLUSTER_CLUSTER_BUILDER_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/cluster.h"
#include "cluster/routes.h"

namespace placewright {

enum class Duplex : uint8_t { kFull, kHalf };

class ClusterBuilder {
 public:
  explicit ClusterBuilder(std::string name);

  // The index of the kind. Errors: kDuplicateName, kField (a negative or absurd figure).
  Result<int32_t> AddKind(DeviceKind kind);
  // The index of a kind added before, or -1.
  int32_t FindKindIndex(std::string_view name) const;
  // Errors: kDuplicateName; kField: capacity < 1, or < 0 for kOther, negative reserve or host,
  // unknown kind; kClusterInvalid: more than kMaxDevices.
  Result<DeviceId> AddDevice(Device device);
  // A node that forwards and computes nothing: a switch, a NIC, a CPU's root complex.
  Status AddForwarder(std::string name);
  // Joins two nodes (devices or forwarders) by name. Full duplex adds the links "a>b" and "b>a";
  // half duplex one link "a-b" that both directions share. One link per pair of nodes: parallel
  // lanes are stated as one with their sum. Errors: kUnknownName with near names, kDuplicateName,
  // kField (a link to itself, bandwidth < 1, negative latency).
  Status Connect(std::string_view a, std::string_view b, BytesPerSecond bandwidth, Nanos latency,
                 Duplex duplex, std::string source);

  // For cost graphs and resolved cluster files: a bare directed link, and the route of one ordered
  // pair. Errors: kDuplicateName, kField, kClusterInvalid (from = to, a route twice, no links, a
  // link twice).
  Result<LinkId> AddLink(Link link);
  Status AddRoute(DeviceId from, DeviceId to, std::vector<LinkId> links);
  LinkId FindLink(std::string_view name) const;  // invalid if absent

  // The topology so far, as it was described: for writing it as a file. Joins in the order of the
  // Connect calls; links and routes of their own are not among them.
  struct Join {
    std::string a, b;
    BytesPerSecond bandwidth;
    Nanos latency;
    Duplex duplex = Duplex::kFull;
    std::string source;
  };
  const std::string& name() const { return cluster_.name_; }
  const std::vector<DeviceKind>& kinds() const { return cluster_.kinds_; }
  const IdVector<DeviceId, Device>& devices() const { return cluster_.devices_; }
  std::vector<std::string> ForwarderNames() const;
  std::vector<Join> Joins() const;

  // What has been added so far: devices and forwarders in their order; devices by name.
  std::vector<std::string> NodeNames() const;
  std::map<std::string, DeviceId, std::less<>> DeviceIds() const;

  // Routes of pairs without an explicit one: fewest links, then largest minimum bandwidth, then the
  // lexicographically smallest list of link ids, so that they depend on the order of Connect calls
  // and nothing else. Devices do not forward for others. A pair that no chain of links joins has
  // no route. Groups: same kind on the same host, ordered by their first device.
  // Errors: kClusterInvalid (no devices; a topology of absurd size or irregularity).
  // Complexity: O(devices * distinct bandwidths * links * log links).
  Result<Cluster> Build() &&;

 private:
  struct Node {
    std::string name;
    DeviceId device;  // invalid for forwarders
  };
  Result<int32_t> AddNode(std::string name, DeviceId device);
  Result<int32_t> FindNode(std::string_view name) const;
  Status CheckLink(const Link& link) const;
  LinkId PushLink(Link link);
  Status BuildRoutes();
  void FillRoute(DeviceId from, DeviceId to, std::vector<LinkId> links);
  void BuildGroups();

  Cluster cluster_;
  std::vector<Node> nodes_;
  std::map<std::string, int32_t, std::less<>> node_by_name_;
  std::map<std::string, LinkId, std::less<>> link_by_name_;
  std::vector<Hop> hops_;                         // every direction that a link offers
  std::set<std::pair<int32_t, int32_t>> joined_;  // pairs of nodes, smaller first
  std::map<std::pair<int32_t, int32_t>, std::vector<LinkId>> explicit_routes_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_CLUSTER_BUILDER_H_
