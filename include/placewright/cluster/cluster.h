// The machines: devices, directed links, routes between devices, device groups. Built once by a
// ClusterBuilder (presets, YAML and JSON files, cost graphs), then const.
#ifndef PLACEWRIGHT_CLUSTER_CLUSTER_H_
#define PLACEWRIGHT_CLUSTER_CLUSTER_H_

#include <placewright/base/ids.h>
#include <placewright/base/result.h>
#include <placewright/base/units.h>
#include <placewright/cluster/memory_reserve.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

enum class DeviceClass : uint8_t { kCpu, kGpu, kOther };  // kOther: a TPU, a cost graph's device
std::string_view ToString(DeviceClass device_class);      // "cpu", "gpu", "other"

// Peak arithmetic rates in FLOP/s (one multiply-accumulate is two); 0: not supported.
struct PeakRates {
  double f64 = 0, f32 = 0, f16 = 0, bf16 = 0, i8 = 0;
};

// A hardware model of the catalogue, or one that a file describes.
struct DeviceKind {
  std::string name;  // "P100-12GB"; unique
  DeviceClass device_class = DeviceClass::kOther;
  std::string architecture;  // "pascal", "volta", "turing", ...; efficiency tables key on it
  PeakRates peak;
  BytesPerSecond memory_bandwidth;
  Bytes memory;           // what the device has
  Nanos launch_overhead;  // per op, on the device's own queue
  Bytes runtime_context;  // taken by driver and libraries before the first tensor
  std::string source;     // where the figures come from
  // CPUs: how many of the machine's cores compute; 0: not stated. What is measured holds for as many.
  int64_t cores = 0;
  // Of each device of the kind whose description states none of its own. Not of the catalogue's.
  std::optional<MemoryReserve> reserve;
  // GPUs: whether others may read and write its memory over PCIe (peer to peer). Links of a GPU that
  // is none carry it no further than host memory (cluster_builder.h); NVLink is peer to peer always.
  bool p2p = true;
  // GPUs whose collectives go as NCCL reckons (cost/communication/nccl_model.h): their multiprocessors, and
  // how many of these a collective keeps busy, a channel each. 0: not stated.
  int32_t multiprocessors = 0, channels = 0;
  bool nvls = false;  // an NVSwitch adds up for them (NVLink SHARP)
};

struct Device {
  std::string name;   // "host0/gpu1", "host0/cpu0"
  int32_t kind = -1;  // index into Cluster::kinds()
  int32_t host = 0;
  Bytes capacity;               // usable: what it has less the reserve
  Bytes reserve;                // of its memory, kept free (cluster/memory_reserve.h)
  bool reserve_stated = false;  // by its description or by SetReserve
};

// One direction. A half-duplex link is one Link that both directions' routes name.
struct Link {
  std::string name;          // "host0/gpu0>host0/pcie0"
  BytesPerSecond bandwidth;  // >= 1
  Nanos latency;
  std::string source;  // where the figure comes from, or "given"
  bool p2p = true;     // GPUs reach each other over it without host memory
};

struct Route {
  std::vector<LinkId> links;  // empty: no route, or the device itself
  Nanos latency;              // sum over the links
  BytesPerSecond bandwidth;   // minimum over the links
  bool through_host = false;  // between GPUs without peer to peer: by way of host memory
};

// How collectives run, where the description says it (docs/formats/cluster.md); else each takes what it
// is modelled or measured to take, and those over one set of devices run one after another.
struct StatedCollectives {
  // Any two collectives run one after the other, whatever their devices. They all hold the link
  // Cluster::communicator() then.
  bool one_communicator = false;
  // Takes max over the lines (latency + bytes / bandwidth) * measured_at / the smallest bandwidth of any
  // route between two of its devices, for all bytes of its tensor, and holds no links but the
  // communicator. Empty: modelled over the routes.
  struct Line {
    Nanos latency;
    BytesPerSecond bandwidth;  // >= 1
    friend bool operator==(const Line&, const Line&) = default;
  };
  std::vector<Line> lines;
  BytesPerSecond measured_at;  // >= 1 where there are lines
  std::string source;          // of the lines
  friend bool operator==(const StatedCollectives&, const StatedCollectives&) = default;
  // The time of so many bytes where the smallest bandwidth is `slowest` >= 1; saturates at 2^60 ns.
  Nanos TimeOf(Bytes bytes, BytesPerSecond slowest) const;
};

// A cluster has at most this many devices that are no CPUs, and so many CPUs: routes are a table of all ordered pairs.
inline constexpr size_t kMaxDevices = 1024;

// Devices that the strategy level treats as one (TAG sec. 4.1): same kind, same host and, but for CPUs,
// the same bandwidth of the routes between each two of them, both ways.
struct DeviceGroup {
  // "host0/V100-16GB"; of several of a kind on a host "host0/V100-16GB#0", "host0/V100-16GB#1"
  std::string name;
  std::vector<DeviceId> devices;
};

class Cluster {
 public:
  const std::string& name() const { return name_; }
  size_t device_count() const { return devices_.size(); }
  size_t link_count() const { return links_.size(); }
  const Device& device(DeviceId id) const { return devices_[id]; }
  const DeviceKind& kind(DeviceId id) const { return kinds_[devices_[id].kind]; }
  const std::vector<DeviceKind>& kinds() const { return kinds_; }
  const Link& link(LinkId id) const { return links_[id]; }
  // `from` != `to`. A pair without a route has no links and cannot communicate.
  const Route& route(DeviceId from, DeviceId to) const {
    return routes_[from.index() * devices_.size() + to.index()];
  }
  bool Connected(DeviceId from, DeviceId to) const {
    return from == to || !route(from, to).links.empty();
  }
  const std::vector<DeviceGroup>& groups() const { return groups_; }
  // Of one kind on one host, whatever their links: of one or several of groups().
  const std::vector<DeviceGroup>& host_groups() const { return host_groups_; }
  const StatedCollectives& collectives() const { return collectives_; }
  // The last link, which no route takes: collectives that hold it run one after another. Invalid
  // unless there is one communicator for all.
  LinkId communicator() const {
    return collectives_.one_communicator ? LinkId(links_.size() - 1) : LinkId();
  }
  // Whether collectives share links and slow down the ops beside them (simulator rule 18): all its GPUs are of
  // kinds that state channels, and there is not one communicator for all.
  bool collectives_share() const { return collectives_share_; }
  IdRange<DeviceId> devices() const { return IdRange<DeviceId>(devices_.size()); }
  IdRange<LinkId> links() const { return IdRange<LinkId>(links_.size()); }
  DeviceId FindDevice(std::string_view name) const;  // invalid if absent; O(log n)
  LinkId FindLink(std::string_view name) const;      // invalid if absent; O(links)
  // Another reserve out of the same memory. Errors: kUsage (negative, or nothing would be left).
  Status SetReserve(DeviceId id, Bytes reserve);
  // Other figures of a link, and of the routes over it. `bandwidth` >= 1, `latency` >= 0; which links a
  // route takes stays as it is.
  void SetLink(LinkId id, BytesPerSecond bandwidth, Nanos latency, std::string source);
  std::vector<std::string> DeviceNames() const;
  // What its description left open and how it was taken: sentences for those who plan on it.
  const std::vector<std::string>& notes() const { return notes_; }

  // ceil(bytes * 1e9 / minimum bandwidth) + sum of latencies (simulator rule 4). Connected only.
  Nanos TransferDuration(DeviceId from, DeviceId to, Bytes size) const {
    const Route& r = route(from, to);
    return r.latency + TransferTime(size, r.bandwidth);
  }

 private:
  friend class ClusterBuilder;
  std::string name_;
  std::vector<DeviceKind> kinds_;
  IdVector<DeviceId, Device> devices_;
  IdVector<LinkId, Link> links_;
  std::vector<Route> routes_;  // device_count^2
  std::vector<DeviceGroup> groups_, host_groups_;
  StatedCollectives collectives_;
  bool collectives_share_ = false;
  std::vector<DeviceId> devices_by_name_;
  std::vector<std::string> notes_;

  void SumRoute(Route& route) const;  // its figures, from those of its links
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_CLUSTER_H_
