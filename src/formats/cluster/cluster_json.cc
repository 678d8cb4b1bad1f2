#include "formats/cluster/cluster_reader.h"

namespace placewright {
namespace {

Json KindToJson(const DeviceKind& kind) {
  Json object = {{"class", ToString(kind.device_class)},
                 {"architecture", kind.architecture},
                 {"peak_flops",
                  {{"f64", kind.peak.f64},
                   {"f32", kind.peak.f32},
                   {"f16", kind.peak.f16},
                   {"bf16", kind.peak.bf16},
                   {"i8", kind.peak.i8}}},
                 {"memory_bandwidth_bytes_per_s", kind.memory_bandwidth.count},
                 {"memory_bytes", kind.memory.count},
                 {"launch_overhead_ns", kind.launch_overhead.count},
                 {"runtime_context_bytes", kind.runtime_context.count},
                 {"source", kind.source}};
  if (kind.cores > 0) object["cores"] = kind.cores;
  if (!kind.p2p) object["p2p"] = false;
  if (kind.channels > 0) {
    object["multiprocessors"] = kind.multiprocessors;
    object["channels"] = kind.channels;
  }
  if (kind.nvls) object["nvls"] = true;
  return object;
}

Json RoutesToJson(const Cluster& cluster, bool& partial) {
  Json routes = Json::array();
  for (const DeviceId from : cluster.devices()) {
    for (const DeviceId to : cluster.devices()) {
      if (from == to) continue;
      if (!cluster.Connected(from, to)) {
        partial = true;
        continue;
      }
      const Route& route = cluster.route(from, to);
      Json links = Json::array();
      for (const LinkId id : route.links) links.push_back(cluster.link(id).name);
      routes.push_back({{"from", cluster.device(from).name},
                        {"to", cluster.device(to).name},
                        {"links", std::move(links)},
                        {"latency_ns", route.latency.count},
                        {"bandwidth_bytes_per_s", route.bandwidth.count}});
      if (route.through_host) routes.back()["through_host"] = true;
    }
  }
  return routes;
}

Json CollectivesToJson(const StatedCollectives& collectives) {
  Json object = {{"one_communicator", collectives.one_communicator}};
  if (collectives.lines.empty()) return object;
  Json lines = Json::array();
  for (const StatedCollectives::Line& line : collectives.lines) {
    lines.push_back(
        {{"latency_ns", line.latency.count}, {"bandwidth_bytes_per_s", line.bandwidth.count}});
  }
  object["lines"] = std::move(lines);
  object["measured_at_bytes_per_s"] = collectives.measured_at.count;
  if (!collectives.source.empty()) object["source"] = collectives.source;
  return object;
}

}  // namespace

Json ClusterToJson(const Cluster& cluster) {
  Json kinds = Json::object(), devices = Json::array(), links = Json::array();
  for (const DeviceKind& kind : cluster.kinds()) kinds[kind.name] = KindToJson(kind);
  for (const DeviceId id : cluster.devices()) {
    const Device& device = cluster.device(id);
    devices.push_back({{"name", device.name},
                       {"kind", cluster.kind(id).name},
                       {"host", device.host},
                       {"memory_bytes", device.capacity.count + device.reserve.count},
                       {"reserve_bytes", device.reserve.count},
                       {"capacity_bytes", device.capacity.count}});
  }
  for (const LinkId id : cluster.links()) {
    if (id == cluster.communicator()) continue;  // follows from `collectives`
    const Link& link = cluster.link(id);
    links.push_back({{"name", link.name},
                     {"bandwidth_bytes_per_s", link.bandwidth.count},
                     {"latency_ns", link.latency.count},
                     {"source", link.source}});
    if (!link.p2p) links.back()["p2p"] = false;
  }
  Json groups = Json::array();
  for (const DeviceGroup& group : cluster.groups()) {
    Json names = Json::array();
    for (const DeviceId id : group.devices) names.push_back(cluster.device(id).name);
    groups.push_back({{"name", group.name}, {"devices", std::move(names)}});
  }
  bool partial = false;
  Json routes = RoutesToJson(cluster, partial);
  Json document = {{"schema", "placewright.cluster/1"}, {"name", cluster.name()},
                   {"kinds", std::move(kinds)},         {"devices", std::move(devices)},
                   {"links", std::move(links)},         {"routes", std::move(routes)},
                   {"groups", std::move(groups)}};
  if (cluster.collectives() != StatedCollectives()) {
    document["collectives"] = CollectivesToJson(cluster.collectives());
  }
  if (partial) document["partial"] = true;
  return document;
}

}  // namespace placewright
