// The costs file: everything besides the graph and the placement that decides a simulated step.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/text.h"
#include "formats/plan/plan_json.h"
#include "formats/text/document_text.h"

namespace placewright {
namespace {

constexpr std::string_view kCostsSchema = "placewright.costs/1";

std::vector<std::string> RouteLinks(const Cluster& cluster, const Route& route) {
  std::vector<std::string> names;
  for (LinkId link : route.links) names.push_back(cluster.link(link).name);
  return names;
}

Json DevicesToJson(const Cluster& cluster) {
  Json json = Json::array();
  for (DeviceId id : cluster.devices()) {
    json.push_back(Json{{"name", cluster.device(id).name},
                        {"kind", cluster.kind(id).name},
                        {"capacity_bytes", cluster.device(id).capacity.count},
                        {"runtime_context_bytes", cluster.kind(id).runtime_context.count}});
  }
  return json;
}

Json LinksToJson(const Cluster& cluster) {
  Json json = Json::array();
  for (LinkId id : cluster.links()) {
    json.push_back(Json{{"name", cluster.link(id).name},
                        {"bandwidth", cluster.link(id).bandwidth.count},
                        {"latency_ns", cluster.link(id).latency.count}});
  }
  return json;
}

Json RouteToJson(const Cluster& cluster, DeviceId from, DeviceId to) {
  const Route& route = cluster.route(from, to);
  return Json{{"from", cluster.device(from).name},
              {"to", cluster.device(to).name},
              {"links", RouteLinks(cluster, route)},
              {"bandwidth", route.bandwidth.count},
              {"latency_ns", route.latency.count}};
}

using DevicePair = std::pair<DeviceId, DeviceId>;

// The connected pairs between which something moves.
std::set<DevicePair> PairsUsed(const Schedule& schedule, const Cluster& cluster) {
  std::set<DevicePair> pairs;
  for (const TransferSpan& transfer : schedule.transfers) {
    if (!cluster.Connected(transfer.from, transfer.to)) continue;
    pairs.emplace(transfer.from, transfer.to);
  }
  return pairs;
}

// One word, or a list by device where an override touched only some of them.
void AppendSource(std::string& out, const CostTable& costs, OpId id) {
  const auto devices = IdRange<DeviceId>(costs.device_count());
  bool same = true;
  for (DeviceId device : devices) {
    same = same && costs.source(id, device) == costs.source(id, DeviceId(0));
  }
  if (same) return AppendJson(out, ToString(costs.source(id)));
  const char* separator = "[";
  for (DeviceId device : devices) {
    out += std::exchange(separator, ",");
    AppendJson(out, ToString(costs.source(id, device)));
  }
  out += "]";
}

// The device of the only time that there is; none where there is none or another.
DeviceId OnlyDevice(const CostTable& costs, OpId op) {
  DeviceId only;
  for (DeviceId device : IdRange<DeviceId>(costs.device_count())) {
    if (!costs.Supports(op, device)) continue;
    if (only.valid()) return DeviceId();
    only = device;
  }
  return only;
}

void AppendOpCost(std::string& out, const CostTable& costs, const Op& op, OpId id,
                  const Cluster& cluster, bool compiled) {
  out += "{\"name\":";
  AppendJson(out, op.name);
  if (compiled) {
    const DeviceId only = OnlyDevice(costs, id);
    out += ",\"time_ns\":{";
    AppendJson(out, cluster.device(only).name);
    fmt::format_to(std::back_inserter(out), ":{}}},\"source\":", costs.time(id, only).count);
    AppendJson(out, ToString(costs.source(id, only)));
    fmt::format_to(std::back_inserter(out), ",\"workspace_bytes\":{}}}", costs.workspace(id).count);
    return;
  }
  out += ",\"time_ns\":[";
  const char* separator = "";
  for (DeviceId device : IdRange<DeviceId>(costs.device_count())) {
    out += std::exchange(separator, ",");
    const Nanos time = costs.time(id, device);
    time == CostTable::kUnsupported ? out.append("null") : out.append(fmt::to_string(time.count));
  }
  out += "],\"source\":";
  AppendSource(out, costs, id);
  fmt::format_to(std::back_inserter(out), ",\"workspace_bytes\":{}}}", costs.workspace(id).count);
}

Error ClusterHas(const Json& other, const std::string& place) {
  return MakeError(
      ErrorCode::kPlanMismatch,
      fmt::format("the cluster has {} here",
                  Printable(other.dump(-1, ' ', false, Json::error_handler_t::replace))),
      place);
}

// The file's copy of a part of the cluster must equal the cluster's own.
Status MatchCluster(const Json& document, std::string_view key, const Json& expected) {
  PW_ASSIGN(const Json* list, GetArray(document, key, ""));
  if (list->size() != expected.size()) {
    return MakeError(
        ErrorCode::kPlanMismatch,
        fmt::format("{} entries, but the cluster has {}", list->size(), expected.size()),
        std::string(key));
  }
  for (size_t i = 0; i < list->size(); ++i) {
    if ((*list)[i] != expected[i]) return ClusterHas(expected[i], fmt::format("{}[{}]", key, i));
  }
  return Ok();
}

// The pair of devices of an entry of `routes`, which must be as the cluster has it.
Result<DevicePair> ReadRoute(const Json& entry, const std::string& place, const Cluster& cluster) {
  PW_ASSIGN(const std::string from_name, GetString(entry, "from", place));
  PW_ASSIGN(const std::string to_name, GetString(entry, "to", place));
  const DevicePair pair{cluster.FindDevice(from_name), cluster.FindDevice(to_name)};
  const auto [from, to] = pair;
  if (!from.valid() || !to.valid() || from == to || !cluster.Connected(from, to)) {
    return MakeError(ErrorCode::kPlanMismatch,
                     fmt::format("the cluster has no route from \"{}\" to \"{}\"",
                                 Printable(from_name, 80), Printable(to_name, 80)),
                     place);
  }
  const Json route = RouteToJson(cluster, from, to);
  if (entry != route) return ClusterHas(route, place);
  return pair;
}

// {"host0/gpu0": 1200}
bool HasOnlyTime(const Json& object) {
  return object.is_object() && object.contains("time_ns") && object["time_ns"].is_object();
}

Status ReadOnlyTime(const Json& times, const std::string& place, OpId op, const Cluster& cluster,
                    CostTable& costs) {
  for (const auto& [name, value] : times.items()) {
    const DeviceId device = cluster.FindDevice(name);
    if (!device.valid()) {
      return MakeError(ErrorCode::kUnknownName,
                       fmt::format("the cluster has no device \"{}\"", Printable(name, 80)), place);
    }
    PW_ASSIGN(const int64_t count, AsInt(value, place, 0, kMaxQuantity));
    costs.SetTime(op, device, Nanos(count));
  }
  costs.SetCompiled();
  return Ok();
}

Status ReadTimes(const Json& object, const std::string& place, OpId op, const Cluster& cluster,
                 CostTable& costs) {
  if (HasOnlyTime(object)) {
    return ReadOnlyTime(object["time_ns"], place + ".time_ns", op, cluster, costs);
  }
  PW_ASSIGN(const Json* times, GetArray(object, "time_ns", place));
  if (times->size() != costs.device_count()) {
    return MakeError(ErrorCode::kField,
                     fmt::format("{} times for {} devices", times->size(), costs.device_count()),
                     fmt::format("{}.time_ns", place));
  }
  for (DeviceId device : IdRange<DeviceId>(costs.device_count())) {
    const Json& time = (*times)[device.index()];
    if (time.is_null()) continue;
    PW_ASSIGN(const int64_t count,
              AsInt(time, fmt::format("{}.time_ns[{}]", place, device.value()), 0, kMaxQuantity));
    costs.SetTime(op, device, Nanos(count));
  }
  return Ok();
}

Result<CostSource> AsSource(const Json& value, const std::string& place) {
  PW_ASSIGN(const std::string name, AsString(value, place));
  for (CostSource source : {CostSource::kGiven, CostSource::kMeasured, CostSource::kModelled}) {
    if (name == ToString(source)) return source;
  }
  return MakeError(ErrorCode::kField, "must be \"given\", \"measured\" or \"modelled\"", place);
}

Status ReadSources(const Json& object, const std::string& place, OpId op, CostTable& costs) {
  PW_ASSIGN(const Json* sources, GetField(object, "source", place));
  const std::string here = place + ".source";
  if (!sources->is_array()) {
    PW_ASSIGN(const CostSource source, AsSource(*sources, here));
    costs.SetSource(op, source);
    return Ok();
  }
  if (sources->size() != costs.device_count()) {
    return MakeError(
        ErrorCode::kField,
        fmt::format("{} sources for {} devices", sources->size(), costs.device_count()), here);
  }
  for (DeviceId device : IdRange<DeviceId>(costs.device_count())) {
    PW_ASSIGN(const CostSource source,
              AsSource((*sources)[device.index()], fmt::format("{}[{}]", here, device.value())));
    costs.SetSource(op, device, source);
  }
  return Ok();
}

Status ReadOpCost(const Json& object, const std::string& place, const Graph& graph, OpId op,
                  const Cluster& cluster, CostTable& costs) {
  PW_ASSIGN(const std::string name, GetString(object, "name", place));
  if (name != graph.op(op).name) {
    return MakeError(ErrorCode::kPlanMismatch,
                     fmt::format("\"{}\" stands where the graph has the op \"{}\"",
                                 Printable(name, 80), Printable(graph.op(op).name, 80)),
                     fmt::format("{}.name", place));
  }
  PW_RETURN_IF_ERROR(ReadTimes(object, place, op, cluster, costs));
  PW_RETURN_IF_ERROR(ReadSources(object, place, op, costs));
  PW_ASSIGN(const Bytes workspace, GetBytes(object, "workspace_bytes", place));
  costs.SetWorkspace(op, workspace);
  return Ok();
}

void AppendCollectiveCost(std::string& out, const CostTable::CollectiveCost& cost,
                          const std::string& name, const Cluster& cluster) {
  out += "{\"name\":";
  AppendJson(out, name);
  fmt::format_to(std::back_inserter(out),
                 R"(,"time_ns":{},"algorithm":"{}","source":"{}","links":[)", cost.time.count,
                 ToString(cost.algorithm), ToString(cost.source));
  const char* separator = "";
  for (const LinkId link : cost.links) {
    out += std::exchange(separator, ",");
    AppendJson(out, cluster.link(link).name);
  }
  out += "]}";
}

Result<CostTable::CollectiveCost> ReadCollectiveCost(const Json& object, const std::string& place,
                                                     const std::string& expected,
                                                     const Cluster& cluster) {
  PW_ASSIGN(const std::string name, GetString(object, "name", place));
  if (name != expected) {
    return MakeError(ErrorCode::kPlanMismatch,
                     fmt::format("\"{}\" stands where the step has the collective \"{}\"",
                                 Printable(name, 80), Printable(expected, 80)),
                     place + ".name");
  }
  CostTable::CollectiveCost cost;
  PW_ASSIGN(cost.time, GetNanos(object, "time_ns", place));
  PW_ASSIGN(const std::string algorithm, GetString(object, "algorithm", place));
  for (const CollectiveAlgorithm one : kCollectiveAlgorithms) {
    if (algorithm == ToString(one)) cost.algorithm = one;
  }
  if (algorithm != ToString(cost.algorithm)) {
    return MakeError(ErrorCode::kField, "is no algorithm of collectives", place + ".algorithm");
  }
  PW_ASSIGN(const Json* source, GetField(object, "source", place));
  PW_ASSIGN(cost.source, AsSource(*source, place + ".source"));
  PW_ASSIGN(const Json* links, GetArray(object, "links", place));
  for (size_t i = 0; i < links->size(); ++i) {
    const std::string here = fmt::format("{}.links[{}]", place, i);
    PW_ASSIGN(const std::string link_name, AsString((*links)[i], here));
    const LinkId link = cluster.FindLink(link_name);
    if (!link.valid() ||
        std::find(cost.links.begin(), cost.links.end(), link) != cost.links.end()) {
      return MakeError(ErrorCode::kPlanMismatch,
                       fmt::format("\"{}\" is no link of the cluster, or stands there twice",
                                   Printable(link_name, 80)),
                       here);
    }
    cost.links.push_back(link);
  }
  return cost;
}

Status ReadCollectiveCosts(const Json& document, const Graph& graph, const Cluster& cluster,
                           CostTable& costs) {
  if (graph.collective_count() == 0) return Ok();
  PW_ASSIGN(const Json* list, GetArray(document, "collectives", ""));
  if (list->size() != graph.collective_count()) {
    return MakeError(
        ErrorCode::kPlanMismatch,
        fmt::format("{} collectives, but the step has {}", list->size(), graph.collective_count()),
        "collectives");
  }
  IdVector<CollectiveId, CostTable::CollectiveCost> collectives;
  for (const CollectiveId id : graph.collectives()) {
    PW_ASSIGN(CostTable::CollectiveCost cost,
              ReadCollectiveCost((*list)[id.index()], fmt::format("collectives[{}]", id.value()),
                                 graph.collective(id).name, cluster));
    collectives.push_back(std::move(cost));
  }
  costs.SetCollectives(std::move(collectives));
  return Ok();
}

}  // namespace

std::string FormatCosts(const CostTable& costs, const Schedule& schedule, const Graph& graph,
                        const Cluster& cluster) {
  Json routes = Json::array();
  for (const auto& [from, to] : PairsUsed(schedule, cluster)) {
    routes.push_back(RouteToJson(cluster, from, to));
  }
  DocumentText text;
  text.AddMember("schema", kCostsSchema);
  text.AddMember("devices", DevicesToJson(cluster));
  text.AddMember("links", LinksToJson(cluster));
  text.AddMember("routes", routes);
  if (graph.collective_count() > 0) {
    text.StartList("collectives");
    for (const CollectiveId id : graph.collectives()) {
      AppendCollectiveCost(text.StartElement(), costs.collectives()[id], graph.collective(id).name,
                           cluster);
    }
    text.EndList();
  }
  const bool compiled = costs.compiled() && costs.device_count() > 1;
  text.StartList("ops");
  for (OpId op : graph.ops()) {
    AppendOpCost(text.StartElement(), costs, graph.op(op), op, cluster, compiled);
  }
  text.EndList();
  return std::move(text).Finish();
}

Result<CostTable> CostsFromJson(const Json& document, const Graph& graph, const Cluster& cluster) {
  PW_ASSIGN(const std::string schema, GetString(document, "schema", ""));
  if (schema != kCostsSchema) {
    return MakeError(
        ErrorCode::kField,
        fmt::format("\"{}\" is not the schema \"{}\"", Printable(schema, 80), kCostsSchema),
        "schema");
  }
  PW_RETURN_IF_ERROR(MatchCluster(document, "devices", DevicesToJson(cluster)));
  PW_RETURN_IF_ERROR(MatchCluster(document, "links", LinksToJson(cluster)));
  PW_ASSIGN(const Json* routes, GetArray(document, "routes", ""));
  for (size_t i = 0; i < routes->size(); ++i) {
    PW_RETURN_IF_ERROR(ReadRoute((*routes)[i], fmt::format("routes[{}]", i), cluster));
  }
  PW_ASSIGN(const Json* ops, GetArray(document, "ops", ""));
  if (ops->size() != graph.op_count()) {
    return MakeError(ErrorCode::kPlanMismatch,
                     fmt::format("{} ops, but the graph has {}", ops->size(), graph.op_count()),
                     "ops");
  }
  const bool one_each = !ops->empty() && HasOnlyTime(ops->front());
  CostTable costs = one_each ? CostTable::OfOneDeviceEach(graph.op_count(), cluster.device_count())
                             : CostTable(graph.op_count(), cluster.device_count());
  for (OpId op : graph.ops()) {
    PW_RETURN_IF_ERROR(ReadOpCost((*ops)[op.index()], fmt::format("ops[{}]", op.value()), graph, op,
                                  cluster, costs));
  }
  PW_RETURN_IF_ERROR(ReadCollectiveCosts(document, graph, cluster, costs));
  return costs;
}

Status CheckRoutesCovered(const Json& document, const Schedule& schedule, const Cluster& cluster) {
  PW_ASSIGN(const Json* routes, GetArray(document, "routes", ""));
  std::set<DevicePair> missing = PairsUsed(schedule, cluster);
  for (size_t i = 0; i < routes->size(); ++i) {
    PW_ASSIGN(const DevicePair pair,
              ReadRoute((*routes)[i], fmt::format("routes[{}]", i), cluster));
    missing.erase(pair);
  }
  if (missing.empty()) return Ok();
  const auto [from, to] = *missing.begin();
  return MakeError(
      ErrorCode::kPlanMismatch,
      fmt::format("the route from \"{}\" to \"{}\", which the schedule uses, is missing",
                  Printable(cluster.device(from).name, 80), Printable(cluster.device(to).name, 80)),
      "routes");
}

}  // namespace placewright
