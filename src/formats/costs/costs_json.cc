// The costs file: everything besides the graph and the placement that decides a simulated step.
#include <fmt/format.h>

#include "base/text.h"
#include "formats/plan/plan_json.h"

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

Json RoutesToJson(const Cluster& cluster) {
  Json json = Json::array();
  for (DeviceId from : cluster.devices()) {
    for (DeviceId to : cluster.devices()) {
      if (from == to || !cluster.Connected(from, to)) continue;
      const Route& route = cluster.route(from, to);
      json.push_back(Json{{"from", cluster.device(from).name},
                          {"to", cluster.device(to).name},
                          {"links", RouteLinks(cluster, route)},
                          {"bandwidth", route.bandwidth.count},
                          {"latency_ns", route.latency.count}});
    }
  }
  return json;
}

// One word, or a list by device where an override touched only some of them.
Json SourceToJson(const CostTable& costs, OpId id) {
  Json by_device = Json::array();
  bool same = true;
  for (DeviceId device : IdRange<DeviceId>(costs.device_count())) {
    same = same && costs.source(id, device) == costs.source(id, DeviceId(0));
    by_device.push_back(ToString(costs.source(id, device)));
  }
  return same ? Json(ToString(costs.source(id))) : by_device;
}

Json OpCostToJson(const CostTable& costs, const Op& op, OpId id) {
  Json times = Json::array();
  times.get_ref<Json::array_t&>().reserve(costs.device_count());
  for (DeviceId device : IdRange<DeviceId>(costs.device_count())) {
    const Nanos time = costs.time(id, device);
    times.push_back(time == CostTable::kUnsupported ? Json(nullptr) : Json(time.count));
  }
  return Json{{"name", op.name},
              {"time_ns", std::move(times)},
              {"source", SourceToJson(costs, id)},
              {"workspace_bytes", costs.workspace(id).count}};
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
    if ((*list)[i] == expected[i]) continue;
    return MakeError(
        ErrorCode::kPlanMismatch,
        fmt::format("the cluster has {} here",
                    Printable(expected[i].dump(-1, ' ', false, Json::error_handler_t::replace))),
        fmt::format("{}[{}]", key, i));
  }
  return Ok();
}

Status ReadTimes(const Json& object, const std::string& place, OpId op, CostTable& costs) {
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
                  CostTable& costs) {
  PW_ASSIGN(const std::string name, GetString(object, "name", place));
  if (name != graph.op(op).name) {
    return MakeError(ErrorCode::kPlanMismatch,
                     fmt::format("\"{}\" stands where the graph has the op \"{}\"",
                                 Printable(name, 80), Printable(graph.op(op).name, 80)),
                     fmt::format("{}.name", place));
  }
  PW_RETURN_IF_ERROR(ReadTimes(object, place, op, costs));
  PW_RETURN_IF_ERROR(ReadSources(object, place, op, costs));
  PW_ASSIGN(const Bytes workspace, GetBytes(object, "workspace_bytes", place));
  costs.SetWorkspace(op, workspace);
  return Ok();
}

}  // namespace

Json CostsToJson(const CostTable& costs, const Graph& graph, const Cluster& cluster) {
  Json json = Json::object();
  json.get_ref<Json::object_t&>().reserve(8);
  json["schema"] = kCostsSchema;
  json["devices"] = DevicesToJson(cluster);
  json["links"] = LinksToJson(cluster);
  json["routes"] = RoutesToJson(cluster);
  Json& ops = json["ops"] = Json::array();
  ops.get_ref<Json::array_t&>().reserve(graph.op_count());
  for (OpId op : graph.ops()) ops.push_back(OpCostToJson(costs, graph.op(op), op));
  return json;
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
  PW_RETURN_IF_ERROR(MatchCluster(document, "routes", RoutesToJson(cluster)));
  PW_ASSIGN(const Json* ops, GetArray(document, "ops", ""));
  if (ops->size() != graph.op_count()) {
    return MakeError(ErrorCode::kPlanMismatch,
                     fmt::format("{} ops, but the graph has {}", ops->size(), graph.op_count()),
                     "ops");
  }
  CostTable costs(graph.op_count(), cluster.device_count());
  for (OpId op : graph.ops()) {
    PW_RETURN_IF_ERROR(
        ReadOpCost((*ops)[op.index()], fmt::format("ops[{}]", op.value()), graph, op, costs));
  }
  return costs;
}

}  // namespace placewright
