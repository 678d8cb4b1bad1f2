#include "formats/cluster/link_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/text.h"
#include "formats/cluster/kind_fields.h"

namespace placewright {
namespace {

using DeviceIds = std::map<std::string, DeviceId, std::less<>>;

Result<std::vector<std::string>> MatchNodes(const YamlNode& node, const ClusterBuilder& builder) {
  PW_ASSIGN(const std::string pattern, node.AsText("an end of a link"));
  if (pattern.find_first_of("*?[") == std::string::npos) return std::vector{pattern};
  std::vector<std::string> matches;
  for (const std::string& name : builder.NodeNames()) {
    if (GlobMatch(pattern, name)) matches.push_back(name);
  }
  if (matches.empty()) {
    return MakeError(ErrorCode::kUnknownName,
                     fmt::format("\"{}\" matches no device and no switch", Printable(pattern, 80)),
                     node.Place());
  }
  return matches;
}

// Joins every match of one end with every match of the other; a node is never joined with itself,
// and two equal patterns join each pair once.
Status Connect(const YamlNode& map, const YamlNode& between, const Link& link,
               const std::optional<bool>& p2p, ClusterBuilder& builder) {
  const YamlNode* stated = map.Find("duplex");
  const bool half = stated != nullptr && stated->text == "half";
  if (stated != nullptr && !half && stated->text != "full") {
    return stated->Fail(
        fmt::format("duplex is \"{}\", not full or half", Printable(stated->text, 40)));
  }
  const Duplex duplex = half ? Duplex::kHalf : Duplex::kFull;
  if (!between.IsList() || between.items.size() != 2) {
    return between.Fail("between must list two nodes, as in [host0/gpu0, host0/pcie0]");
  }
  PW_ASSIGN(const std::vector<std::string> left, MatchNodes(between.items[0], builder));
  PW_ASSIGN(const std::vector<std::string> right, MatchNodes(between.items[1], builder));
  const bool same = between.items[0].text == between.items[1].text && left.size() > 1;
  for (size_t i = 0; i < left.size(); ++i) {
    for (size_t j = same ? i + 1 : 0; j < right.size(); ++j) {
      if (left[i] == right[j] && left.size() + right.size() > 2) continue;
      Status joined = builder.Connect(left[i], right[j], link.bandwidth, link.latency, duplex,
                                      link.source, p2p);
      if (!joined.ok()) return At(between, std::move(joined.error()));
    }
  }
  return Ok();
}

Status ReadLink(const YamlNode& map, ClusterBuilder& builder) {
  PW_RETURN_IF_ERROR(
      map.CheckKeys("a link", {"between", "name", "bandwidth", "bandwidth_bytes_per_s", "latency",
                               "latency_ns", "duplex", "p2p", "efficiency", "source"}));
  Link link;
  link.source = "given";
  PW_RETURN_IF_ERROR(map.CheckHas(
      {{"bandwidth", "12 GB/s", "bandwidth_bytes_per_s"}, {"latency", "5 us", "latency_ns"}}));
  PW_ASSIGN(const auto bandwidth, ReadBandwidth(map, "bandwidth"));
  PW_ASSIGN(const auto latency, ReadNanos(map, "latency"));
  link.bandwidth = *bandwidth;
  link.latency = *latency;
  if (const YamlNode* source = map.Find("source")) {
    if (!source->IsScalar()) return source->Fail("source must be text");
    link.source = source->text;
  }
  PW_ASSIGN(const double efficiency, ReadEfficiency(map));
  if (efficiency < 1) {
    const double left = static_cast<double>(link.bandwidth.count) * efficiency;
    link.bandwidth = BytesPerSecond(std::max<int64_t>(1, static_cast<int64_t>(left)));
    link.source += fmt::format("; {:.4g}% of it", 100 * efficiency);
  }
  std::optional<bool> p2p;
  if (const YamlNode* stated = map.Find("p2p")) {
    PW_ASSIGN(p2p, stated->AsBool("p2p"));
  }
  const YamlNode* between = map.Find("between");
  const YamlNode* name = map.Find("name");
  if ((between != nullptr) == (name != nullptr)) {
    return map.Fail(
        "a link has either \"between\" (two nodes) or \"name\" (one direction that "
        "routes take by this name)");
  }
  if (between != nullptr) return Connect(map, *between, link, p2p, builder);
  if (const YamlNode* duplex = map.Find("duplex")) {
    return duplex->Fail("a link with a name is one direction and has no duplex");
  }
  PW_ASSIGN(link.name, name->AsText("name"));
  link.p2p = p2p.value_or(true);
  auto added = builder.AddLink(std::move(link));
  if (!added.ok()) return At(*name, std::move(added.error()));
  return Ok();
}

Status ReadRoute(const YamlNode& map, const DeviceIds& devices, ClusterBuilder& builder) {
  PW_RETURN_IF_ERROR(map.CheckKeys(
      "a route", {"from", "to", "links", "latency_ns", "bandwidth_bytes_per_s", "through_host"}));
  PW_RETURN_IF_ERROR(map.CheckHas({{"from"}, {"to"}, {"links"}}));
  std::array<DeviceId, 2> ends;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    PW_ASSIGN(const YamlNode* node, map.Get(i == 0 ? "from" : "to"));
    PW_ASSIGN(const std::string name, node->AsText("a device"));
    const auto it = devices.find(name);
    if (it == devices.end()) {
      std::vector<std::string> names;
      for (const auto& [known, id] : devices) names.push_back(known);
      return MakeError(
          ErrorCode::kUnknownName,
          fmt::format("no device is called \"{}\"{}", Printable(name, 80), DidYouMean(name, names)),
          node->Place());
    }
    ends[i] = it->second;
  }
  PW_ASSIGN(const YamlNode* links, map.Get("links"));
  PW_RETURN_IF_ERROR(links->CheckList("links"));
  std::vector<LinkId> ids;
  for (const YamlNode& node : links->items) {
    PW_ASSIGN(const std::string name, node.AsText("a link"));
    ids.push_back(builder.FindLink(name));
    if (ids.back().valid()) continue;
    return MakeError(ErrorCode::kUnknownName,
                     fmt::format("no link is called \"{}\"", Printable(name, 80)), node.Place());
  }
  bool through_host = false;
  if (const YamlNode* stated = map.Find("through_host")) {
    PW_ASSIGN(through_host, stated->AsBool("through_host"));
  }
  Status added = builder.AddRoute(ends[0], ends[1], std::move(ids), through_host);
  if (!added.ok()) return At(map, std::move(added.error()));
  return Ok();
}

}  // namespace

Status ReadLinks(const YamlNode& root, ClusterBuilder& builder) {
  const YamlNode* links = root.Find("links");
  if (links == nullptr) return Ok();
  PW_RETURN_IF_ERROR(links->CheckList("links"));
  for (const YamlNode& map : links->items) PW_RETURN_IF_ERROR(ReadLink(map, builder));
  return Ok();
}

Status ReadRoutes(const YamlNode& root, ClusterBuilder& builder) {
  const YamlNode* routes = root.Find("routes");
  if (routes == nullptr) return Ok();
  PW_RETURN_IF_ERROR(routes->CheckList("routes"));
  const DeviceIds devices = builder.DeviceIds();
  for (const YamlNode& map : routes->items) PW_RETURN_IF_ERROR(ReadRoute(map, devices, builder));
  return Ok();
}

namespace {

Result<StatedCollectives::Line> ReadLine(const YamlNode& map) {
  PW_RETURN_IF_ERROR(
      map.CheckKeys("a line", {"latency", "latency_ns", "bandwidth", "bandwidth_bytes_per_s"}));
  PW_RETURN_IF_ERROR(map.CheckHas(
      {{"latency", "200 us", "latency_ns"}, {"bandwidth", "10 GB/s", "bandwidth_bytes_per_s"}}));
  PW_ASSIGN(const auto latency, ReadNanos(map, "latency"));
  PW_ASSIGN(const auto bandwidth, ReadBandwidth(map, "bandwidth"));
  return StatedCollectives::Line{*latency, *bandwidth};
}

}  // namespace

Status ReadCollectives(const YamlNode& root, ClusterBuilder& builder) {
  const YamlNode* map = root.Find("collectives");
  if (map == nullptr) return Ok();
  PW_RETURN_IF_ERROR(map->CheckKeys("collectives", {"one_communicator", "lines", "measured_at",
                                                    "measured_at_bytes_per_s", "source"}));
  StatedCollectives collectives;
  if (const YamlNode* one = map->Find("one_communicator")) {
    PW_ASSIGN(collectives.one_communicator, one->AsBool("one_communicator"));
  }
  if (const YamlNode* lines = map->Find("lines")) {
    PW_RETURN_IF_ERROR(lines->CheckList("lines"));
    if (lines->items.empty()) return lines->Fail("lines must list one line or more");
    for (const YamlNode& node : lines->items) {
      PW_ASSIGN(const StatedCollectives::Line line, ReadLine(node));
      collectives.lines.push_back(line);
    }
    if (!collectives.one_communicator) {
      return lines->Fail(
          "lines are of collectives that run one after another: say \"one_communicator: true\"");
    }
    PW_RETURN_IF_ERROR(map->CheckHas({{"measured_at", "10 GB/s", "measured_at_bytes_per_s"}}));
  }
  PW_ASSIGN(const auto measured_at, ReadBandwidth(*map, "measured_at"));
  collectives.measured_at = measured_at.value_or(BytesPerSecond());
  if (const YamlNode* source = map->Find("source")) {
    PW_ASSIGN(collectives.source, source->AsText("source"));
  }
  if (collectives.lines.empty() && (measured_at || !collectives.source.empty())) {
    return map->Fail("\"measured_at\" and \"source\" are of \"lines\", which are missing");
  }
  Status set = builder.SetCollectives(std::move(collectives));
  if (!set.ok()) return At(*map, std::move(set.error()));
  return Ok();
}

// Derived figures that a file repeats must be right.
Status CheckStatedFigures(const YamlNode& root, const Cluster& cluster) {
  const YamlNode* routes = root.Find("routes");
  if (routes == nullptr) return Ok();
  for (const YamlNode& map : routes->items) {
    const Route& route = cluster.route(cluster.FindDevice(map.Find("from")->text),
                                       cluster.FindDevice(map.Find("to")->text));
    const std::pair<std::string_view, int64_t> derived[] = {
        {"latency_ns", route.latency.count}, {"bandwidth_bytes_per_s", route.bandwidth.count}};
    for (const auto& [key, value] : derived) {
      const YamlNode* node = map.Find(key);
      if (node == nullptr) continue;
      PW_ASSIGN(const int64_t stated, node->AsInt(key, 0, kMaxQuantity));
      if (stated != value) {
        return node->Fail(
            fmt::format("{} is {}, but the route's links give {}", key, stated, value));
      }
    }
  }
  return Ok();
}

}  // namespace placewright
