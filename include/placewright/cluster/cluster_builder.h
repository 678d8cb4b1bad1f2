// Builds a Cluster from a topology of devices, switches, CPUs and NICs, or from explicit routes.
//
// Peer to peer. A link carries it or does not: as stated; else a link between two GPUs does
// (NVLink), and one between a GPU and something else if the GPU's kind does (`DeviceKind::p2p`). The
// route between two GPUs takes such links alone where they lead from one to the other. Where they
// do not, copies go through host memory, as the driver and NCCL stage them:
//
//   on one host    GPU a - host memory - GPU b
//   across hosts   GPU a - [memory of its host] - NICs - [memory of its host] - GPU b,
//                  through one memory where the other GPU can be reached directly, else both
//
// each part by its own best path, and of several memories of a host the one with the best sum.
// Host memory lies at the forwarders that a CPU is joined to, and those that say so. A link is
// crossed in both directions where both GPUs hang below one switch, so that two of them at work at
// once have half of it each: NCCL's authors on two RTX 4090, github.com/NVIDIA/nccl/issues/1309 (and
// 1086). What memory itself can carry is not counted. Copies between a GPU and a CPU need no peer.
#ifndef PLACEWRIGHT_CLUSTER_CLUSTER_BUILDER_H_
#define PLACEWRIGHT_CLUSTER_CLUSTER_BUILDER_H_

#include <placewright/cluster/cluster.h>
#include <placewright/cluster/routes.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace placewright {

inline constexpr int32_t kMaxHost = 1'000'000;
// "host3/gpu0" lies on host 3; names of another shape on host 0.
int32_t HostOf(std::string_view name);

enum class Duplex : uint8_t { kFull, kHalf };

class ClusterBuilder {
 public:
  explicit ClusterBuilder(std::string name);

  // The index of the kind. Errors: kDuplicateName, kField (a negative or absurd figure).
  Result<int32_t> AddKind(DeviceKind kind);
  // The index of a kind added before, or -1.
  int32_t FindKindIndex(std::string_view name) const;
  // Errors: kDuplicateName; kField: capacity < 1, or < 0 for kOther, negative reserve or host,
  // unknown kind; kClusterInvalid: more than kMaxDevices CPUs, or others.
  Result<DeviceId> AddDevice(Device device);
  // Another reserve out of the same memory, stated. Errors: kUsage (nothing would be left).
  Status SetReserve(DeviceId id, Bytes reserve) { return cluster_.SetReserve(id, reserve); }
  // A node that forwards and computes nothing: a switch, a NIC, a CPU's root complex. `host_memory`:
  // of a host (the number in "hostN/...", else 0) whose memory copies can go through here.
  Status AddForwarder(std::string name, bool host_memory = false);
  // Joins two nodes (devices or forwarders) by name. Full duplex adds the links "a>b" and "b>a";
  // half duplex one link "a-b" that both directions share. One link per pair of nodes: parallel
  // lanes are stated as one with their sum. Errors: kUnknownName with near names, kDuplicateName,
  // kField (a link to itself, bandwidth < 1, negative latency).
  Status Connect(std::string_view a, std::string_view b, BytesPerSecond bandwidth, Nanos latency,
                 Duplex duplex, std::string source, std::optional<bool> p2p = std::nullopt);

  // Other figures of the link between two nodes, in both directions, wherever they are given: bandwidth,
  // whether it carries peer to peer. `source` is of the bandwidth. The link is one of a Connect call.
  struct LinkChange {
    std::optional<BytesPerSecond> bandwidth;
    std::optional<bool> p2p;
    std::string source;
  };
  void Amend(LinkId link, const LinkChange& change);

  // For cost graphs and resolved cluster files: a bare directed link, and the route of one ordered
  // pair. Errors: kDuplicateName, kField, kClusterInvalid (from = to, a route twice, no links, a
  // link twice).
  Result<LinkId> AddLink(Link link);
  Status AddRoute(DeviceId from, DeviceId to, std::vector<LinkId> links, bool through_host = false);
  // How collectives run; by default nothing is stated. Build adds the communicator's link behind all
  // others. Errors: kField (lines without one communicator or the bandwidth that they hold at, a
  // bandwidth < 1, a negative latency).
  Status SetCollectives(StatedCollectives collectives);
  const StatedCollectives& collectives() const { return cluster_.collectives_; }
  // A sentence about the cluster for its users (Cluster::notes); once, however often it is added.
  void AddNote(std::string note);
  LinkId FindLink(std::string_view name) const;  // invalid if absent

  // The topology so far, as it was described: for writing it as a file. Joins in the order of the
  // Connect calls; links and routes of their own are not among them.
  struct Join {
    std::string a, b;
    BytesPerSecond bandwidth;
    Nanos latency;
    Duplex duplex = Duplex::kFull;
    std::string source;
    std::optional<bool> p2p;  // where it is not what would be taken
  };
  const std::string& name() const { return cluster_.name_; }
  const std::vector<DeviceKind>& kinds() const { return cluster_.kinds_; }
  const IdVector<DeviceId, Device>& devices() const { return cluster_.devices_; }
  size_t link_count() const { return cluster_.links_.size(); }
  const std::vector<std::string>& notes() const { return cluster_.notes_; }
  bool HasGivenRoutes() const { return !explicit_routes_.empty(); }
  struct Forwarder {
    std::string name;
    bool host_memory = false;  // as stated
  };
  std::vector<Forwarder> Forwarders() const;
  std::vector<Join> Joins() const;

  // What has been added so far: devices and forwarders in their order; devices by name.
  std::vector<std::string> NodeNames() const;
  std::map<std::string, DeviceId, std::less<>> DeviceIds() const;

  // Routes of pairs without an explicit one: fewest links, then largest minimum bandwidth, then the
  // lexicographically smallest list of link ids, so that they depend on the order of Connect calls
  // and nothing else. Devices do not forward for others. A pair that no chain of links joins has
  // no route. Groups, ordered by their first device: same kind on the same host; where bandwidths between
  // their pairs differ, sets with one bandwidth between all pairs. Of devices not yet in a set the first one
  // with a pair of the greatest bandwidth begins one, and takes those that have it to all in the set, in the
  // order of devices. What is left without a pair is a set of one.
  // Errors: kDuplicateName (a link called as the communicator's is); kClusterInvalid (no devices; a topology
  // of absurd size or irregularity; copies through host memory that would cross a half-duplex link twice).
  // Complexity: O(devices * distinct bandwidths * links * log links).
  Result<Cluster> Build() &&;

 private:
  struct Node {
    std::string name;
    DeviceId device;           // invalid for forwarders
    bool host_memory = false;  // as stated
  };
  // What routes are made of, by number of the node that they start at.
  using Paths = std::map<int32_t, std::vector<std::vector<LinkId>>>;
  struct Ways {
    Paths any, direct;  // over all links, over those that carry peer to peer
    std::map<int32_t, std::vector<int32_t>> memories;  // nodes, by host
  };
  Result<int32_t> AddNode(std::string name, DeviceId device);
  Result<int32_t> FindNode(std::string_view name) const;
  Status CheckLink(const Link& link) const;
  LinkId PushLink(Link link);
  bool CarriesPeerToPeer(int32_t a, int32_t b) const;
  std::map<int32_t, std::vector<int32_t>> HostMemories() const;
  Status FindPaths(int32_t from, const std::vector<Hop>& hops, const std::vector<bool>& targets,
                   int64_t& work, Paths& paths) const;
  Status BuildRoutes();
  Status RoutePeers(Ways& ways);
  std::vector<LinkId> BestThroughHost(const Ways& ways, DeviceId from, DeviceId to) const;
  int64_t MinBandwidth(const std::vector<LinkId>& links) const;
  Status CheckCrossings(DeviceId from, DeviceId to, const std::vector<LinkId>& links) const;
  void FillRoute(DeviceId from, DeviceId to, std::vector<LinkId> links);
  void BuildGroups();
  std::vector<std::vector<DeviceId>> EqualSets(const std::vector<DeviceId>& devices) const;

  Cluster cluster_;
  std::vector<Node> nodes_;
  IdVector<DeviceId, int32_t> node_of_;  // filled by Build
  std::map<std::string, int32_t, std::less<>> node_by_name_;
  std::map<std::string, LinkId, std::less<>> link_by_name_;
  std::vector<Hop> hops_;                         // every direction that a link offers
  std::set<std::pair<int32_t, int32_t>> joined_;  // pairs of nodes, smaller first
  struct GivenRoute {
    std::vector<LinkId> links;
    bool through_host = false;
  };
  std::map<std::pair<int32_t, int32_t>, GivenRoute> explicit_routes_;  // by devices
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_CLUSTER_BUILDER_H_
