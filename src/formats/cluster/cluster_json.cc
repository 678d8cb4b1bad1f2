#include <fmt/format.h>
#include <nettle/sha2.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "formats/cluster/cluster_reader.h"
#include "formats/input.h"

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

template <class Visit>
void ForEachRoute(const Cluster& cluster, const Visit& visit) {
  for (const DeviceId from : cluster.devices()) {
    for (const DeviceId to : cluster.devices()) {
      if (from != to && cluster.Connected(from, to)) visit(from, to, cluster.route(from, to));
    }
  }
}

Json RoutesToJson(const Cluster& cluster) {
  Json routes = Json::array();
  ForEachRoute(cluster, [&](DeviceId from, DeviceId to, const Route& route) {
    Json links = Json::array();
    for (const LinkId id : route.links) links.push_back(cluster.link(id).name);
    routes.push_back({{"from", cluster.device(from).name},
                      {"to", cluster.device(to).name},
                      {"links", std::move(links)},
                      {"latency_ns", route.latency.count},
                      {"bandwidth_bytes_per_s", route.bandwidth.count}});
    if (route.through_host) routes.back()["through_host"] = true;
  });
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

// `routes`: with which it is filled.
Json ClusterWithRoutes(const Cluster& cluster, Json routes) {
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
  for (const DeviceId from : cluster.devices()) {
    for (const DeviceId to : cluster.devices()) {
      partial = partial || (from != to && !cluster.Connected(from, to));
    }
  }
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

std::string CanonicalText(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Json ClusterToJson(const Cluster& cluster) {
  return ClusterWithRoutes(cluster, RoutesToJson(cluster));
}

// Of the canonical text, without having all of it: the routes between 1,024 GPUs and their CPUs are 400 MB.
std::string ClusterHash(const Cluster& cluster) {
  constexpr std::string_view kRoutes = "\"routes\":[";
  sha256_ctx context;
  sha256_init(&context);
  const auto add = [&](std::string_view text) {
    sha256_update(&context, text.size(), reinterpret_cast<const uint8_t*>(text.data()));
  };
  const std::string text = CanonicalText(ClusterWithRoutes(cluster, Json::array()));
  // No string holds that: quotes within one have a backslash before them.
  const size_t at = text.rfind(std::string(kRoutes) + "]") + kRoutes.size();
  add(std::string_view(text).substr(0, at));
  IdVector<DeviceId, std::string> devices;
  IdVector<LinkId, std::string> links;
  for (const DeviceId id : cluster.devices()) {
    devices.push_back(CanonicalText(cluster.device(id).name));
  }
  for (const LinkId id : cluster.links()) links.push_back(CanonicalText(cluster.link(id).name));
  std::string one;
  ForEachRoute(cluster, [&](DeviceId from, DeviceId to, const Route& route) {
    // Pieces of text are joined without a format: there may be a million routes.
    one.assign(one.empty() ? "{" : ",{");
    one.append("\"bandwidth_bytes_per_s\":").append(fmt::format_int(route.bandwidth.count).c_str());
    one.append(",\"from\":").append(devices[from]);
    one.append(",\"latency_ns\":").append(fmt::format_int(route.latency.count).c_str());
    one.append(",\"links\":[");
    for (const LinkId link : route.links) {
      if (one.back() != '[') one += ',';
      one += links[link];
    }
    one += ']';
    if (route.through_host) one += ",\"through_host\":true";
    one.append(",\"to\":").append(devices[to]).append("}");
    add(one);
  });
  add(std::string_view(text).substr(at));
  std::array<uint8_t, SHA256_DIGEST_SIZE> digest;
  sha256_digest(&context, digest.size(), digest.data());
  std::string hash;
  for (const uint8_t byte : digest) hash += fmt::format("{:02x}", byte);
  return hash;
}

}  // namespace placewright
