#include "cost/measured_links.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cost/transfer_fit.h"

namespace placewright {

std::vector<LinkId> SetMeasuredLinks(const std::vector<MeasuredTransfers>& measured,
                                     Cluster& cluster) {
  const auto is_of = [&](const MeasuredOn& on, DeviceId device) {
    const DeviceKind& kind = cluster.kind(device);
    return on.kind == kind.name && on.cores == kind.cores;
  };
  // Of pairs that the same measurement stands for, the links have to be described alike.
  using Pair = std::pair<DeviceId, DeviceId>;
  std::vector<int> routes_over(cluster.link_count(), 0);
  std::map<const MeasuredTransfers*, std::vector<Pair>> pairs_of;
  for (const DeviceId from : cluster.devices()) {
    for (const DeviceId to : cluster.devices()) {
      if (from == to) continue;
      const std::vector<LinkId>& links = cluster.route(from, to).links;
      for (const LinkId link : links) ++routes_over[link.index()];
      if (links.size() != 1 || cluster.device(from).host != cluster.device(to).host) continue;
      const auto pair =
          std::find_if(measured.begin(), measured.end(), [&](const MeasuredTransfers& one) {
            return is_of(one.from, from) && is_of(one.to, to) && one.sizes.size() >= 2;
          });
      if (pair != measured.end()) pairs_of[&*pair].emplace_back(from, to);
    }
  }
  const auto link_of = [&](const Pair& pair) {
    return cluster.route(pair.first, pair.second).links.front();
  };
  std::vector<LinkId> set;
  for (const auto& [transfers, pairs] : pairs_of) {
    const Link first = cluster.link(link_of(pairs.front()));
    const bool alike = std::all_of(pairs.begin(), pairs.end(), [&](const Pair& pair) {
      const LinkId id = link_of(pair),
                   back = cluster.Connected(pair.second, pair.first)
                              ? cluster.route(pair.second, pair.first).links.front()
                              : LinkId();
      const Link& link = cluster.link(id);
      const bool own = routes_over[id.index()] <= (back == id ? 2 : 1);
      return own && link.bandwidth == first.bandwidth && link.latency == first.latency;
    });
    if (!alike) continue;
    std::vector<SizeAndTime> sizes;
    for (const MeasuredTransfer& size : transfers->sizes) sizes.emplace_back(size.bytes, size.time);
    const TransferSegment line = FitLine(sizes);
    for (const Pair& pair : pairs) {
      const LinkId id = link_of(pair);
      if (std::find(set.begin(), set.end(), id) == set.end()) set.push_back(id);
    }
    for (const Pair& pair : pairs) {
      cluster.SetLink(link_of(pair), line.bandwidth, line.latency, "measured");
    }
  }
  std::sort(set.begin(), set.end());
  return set;
}

namespace {

// Of a route between two machines: the links that a measurement of it describes.
struct NetworkRoute {
  std::vector<LinkId> narrowest;
  Nanos others;  // latency of its other links
  BytesPerSecond bandwidth;
  Nanos latency;
  bool IsLike(const NetworkRoute& other) const {
    return narrowest.size() == other.narrowest.size() && others == other.others &&
           bandwidth == other.bandwidth && latency == other.latency;
  }
};

NetworkRoute DescribeRoute(const Cluster& cluster, const Route& route) {
  NetworkRoute described{{}, Nanos(0), route.bandwidth, route.latency};
  for (const LinkId link : route.links) {
    if (cluster.link(link).bandwidth == route.bandwidth) {
      described.narrowest.push_back(link);
    } else {
      described.others += cluster.link(link).latency;
    }
  }
  return described;
}

}  // namespace

std::vector<LinkId> SetMeasuredNetwork(const std::vector<MeasuredCollectives>& measured,
                                       Cluster& cluster) {
  std::vector<bool> taken(cluster.link_count(), false);  // by a machine itself, or set
  std::map<std::string, std::vector<NetworkRoute>> routes_of;
  for (const DeviceId from : cluster.devices()) {
    for (const DeviceId to : cluster.devices()) {
      if (from == to || !cluster.Connected(from, to)) continue;
      const Route& route = cluster.route(from, to);
      if (cluster.device(from).host == cluster.device(to).host) {
        for (const LinkId link : route.links) taken[link.index()] = true;
      } else {
        routes_of[MeasuredTransferKey(cluster, from, to)].push_back(DescribeRoute(cluster, route));
      }
    }
  }
  std::vector<LinkId> set;
  // A link that several have keeps what the first says: devices of one kind come before mixed ones.
  std::vector<const MeasuredCollectives*> order;
  for (const MeasuredCollectives& one : measured) order.push_back(&one);
  std::stable_partition(order.begin(), order.end(), [](const MeasuredCollectives* one) {
    return one->devices.find(',') == std::string::npos;
  });
  for (const MeasuredCollectives* const row : order) {
    const MeasuredCollectives& one = *row;
    const auto found = routes_of.find(one.devices);
    if (found == routes_of.end() || one.sizes.size() < 2) continue;
    const std::vector<NetworkRoute> routes = std::move(found->second);
    routes_of.erase(found);
    const bool alike = std::all_of(routes.begin(), routes.end(), [&](const NetworkRoute& route) {
      return route.IsLike(routes.front()) &&
             std::none_of(route.narrowest.begin(), route.narrowest.end(),
                          [&](LinkId link) { return taken[link.index()]; });
    });
    if (!alike) continue;
    std::vector<SizeAndTime> sizes;
    for (const MeasuredCollective& size : one.sizes) sizes.emplace_back(size.bytes, size.time);
    const TransferSegment line = FitLine(sizes);
    const auto count = static_cast<int64_t>(routes.front().narrowest.size());
    const int64_t share =
        std::max<int64_t>(0, line.latency.count - routes.front().others.count) / count;
    for (const NetworkRoute& route : routes) {
      for (const LinkId link : route.narrowest) {
        if (taken[link.index()]) continue;
        taken[link.index()] = true;
        cluster.SetLink(link, line.bandwidth, Nanos(share), "measured");
        set.push_back(link);
      }
    }
  }
  std::sort(set.begin(), set.end());
  return set;
}

}  // namespace placewright
