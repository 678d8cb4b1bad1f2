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

}  // namespace placewright
