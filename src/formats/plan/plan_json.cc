#include "formats/plan/plan_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/text.h"
#include "cost/precision.h"
#include "formats/plan/layouts_json.h"
#include "formats/plan/strategies_json.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

// The second has layouts and names a compiled step in place of a placement.
constexpr std::string_view kPlanSchema = "placewright.plan/1";
constexpr std::string_view kDistributedSchema = "placewright.plan/2";

// Members are appended, never looked up, and the map never grows (growing copies its values).
Json ObjectFor(size_t members) {
  Json object = Json::object();
  object.get_ref<Json::object_t&>().reserve(members);
  return object;
}

Json ClusterReferenceToJson(const Plan& plan) {
  Json json = Json::object();
  const std::string& path = plan.cluster.path;
  if (path == kClusterInGraph) {
    json["in_graph"] = true;
  } else if (path.starts_with(kPresetPrefix)) {
    json["preset"] = path.substr(kPresetPrefix.size());
  } else {
    json["path"] = path;
  }
  json["sha256"] = plan.cluster.sha256;
  json["name"] = plan.cluster_name;
  return json;
}

Json DeviceUseToJson(const DeviceUse& use) {
  Json json{{"name", use.name},
            {"kind", use.kind},
            {"class", ToString(use.device_class)},
            {"busy", use.busy},
            {"peak_memory_bytes", use.peak_memory.count},
            {"tensor_peak_bytes", use.tensor_peak.count},
            {"workspace_bytes", use.workspace.count},
            {"runtime_context_bytes", use.runtime_context.count},
            {"capacity_bytes", use.capacity.count}};
  if (use.reserve) json["reserve_bytes"] = use.reserve->count;
  json["ops"] = use.ops;
  return json;
}

Json HistoryToJson(const std::vector<HistoryPoint>& history) {
  Json json = Json::array();
  for (const HistoryPoint& point : history) {
    json.push_back(Json{{"algorithm", point.algorithm},
                        {"iterations", point.iterations},
                        {"seconds", point.seconds},
                        {"step_time_ns", point.step_time.count}});
  }
  return json;
}

Json BaselinesToJson(const std::vector<Baseline>& baselines) {
  Json json = Json::array();
  for (const Baseline& baseline : baselines) {
    json.push_back(Json{{"algorithm", baseline.algorithm},
                        {"feasible", baseline.feasible},
                        {"step_time_ns", baseline.step_time.count},
                        {"devices", baseline.devices},
                        {"search", baseline.search}});
  }
  return json;
}

Json PlacementToJson(const NamedPlacement& placement) {
  Json json = ObjectFor(placement.size());
  auto& members = json.get_ref<Json::object_t&>();
  for (const auto& [op, device] : placement) members.push_back({op, device});
  return json;
}

Json DimensionsToJson(const std::map<std::string, int64_t>& dimensions) {
  Json json = ObjectFor(dimensions.size());
  for (const auto& [name, value] : dimensions) json[name] = value;
  return json;
}

// A list of objects under `key`, each turned into an Item by `read(object, place)`.
template <class Item, class Read>
Result<std::vector<Item>> ReadList(const Json& document, std::string_view key, Read read) {
  PW_ASSIGN(const Json* list, GetArray(document, key, ""));
  std::vector<Item> items;
  items.reserve(list->size());
  for (const Json& element : *list) {
    PW_ASSIGN(Item item, read(element, fmt::format("{}[{}]", key, items.size())));
    items.push_back(std::move(item));
  }
  return items;
}

Result<double> GetShare(const Json& object, std::string_view key, std::string_view place) {
  PW_ASSIGN(const double share, GetNumber(object, key, place));
  if (share < 0 || share > 1) {
    return MakeError(ErrorCode::kField, fmt::format("{} is outside [0, 1]", share),
                     fmt::format("{}.{}", place, key));
  }
  return share;
}

Result<double> GetSeconds(const Json& object, std::string_view key, std::string_view place) {
  PW_ASSIGN(const double seconds, GetNumber(object, key, place));
  if (seconds < 0) {
    return MakeError(ErrorCode::kField, fmt::format("{} s is negative", seconds),
                     place.empty() ? std::string(key) : fmt::format("{}.{}", place, key));
  }
  return seconds;
}

Result<std::string> GetHash(const Json& object, std::string_view place) {
  PW_ASSIGN(std::string hash, GetString(object, "sha256", place));
  if (hash.size() != 64 || hash.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return MakeError(ErrorCode::kField, "must be 64 lower-case hexadecimal digits",
                     fmt::format("{}.sha256", place));
  }
  return hash;
}

Result<FileReference> GetReference(const Json& document, std::string_view key) {
  PW_ASSIGN(const Json* object, GetObject(document, key, ""));
  FileReference reference;
  PW_ASSIGN(reference.path, GetString(*object, "path", key));
  PW_ASSIGN(reference.sha256, GetHash(*object, key));
  return reference;
}

Status ReadClusterReference(const Json& document, Plan& plan) {
  PW_ASSIGN(const Json* object, GetObject(document, "cluster", ""));
  PW_ASSIGN(plan.cluster_name, GetString(*object, "name", "cluster"));
  PW_ASSIGN(plan.cluster.sha256, GetHash(*object, "cluster"));
  const bool preset = object->contains("preset"), in_graph = object->contains("in_graph");
  if (preset + in_graph + object->contains("path") != 1) {
    return MakeError(ErrorCode::kField, "needs exactly one of path, preset and in_graph",
                     "cluster");
  }
  if (preset) {
    PW_ASSIGN(const std::string name, GetString(*object, "preset", "cluster"));
    plan.cluster.path = fmt::format("{}{}", kPresetPrefix, name);
  } else if (in_graph) {
    PW_ASSIGN(const bool yes, GetBool(*object, "in_graph", "cluster"));
    if (!yes) return MakeError(ErrorCode::kField, "must be true", "cluster.in_graph");
    plan.cluster.path = kClusterInGraph;
  } else {
    PW_ASSIGN(plan.cluster.path, GetString(*object, "path", "cluster"));
  }
  return Ok();
}

// Plans made before there was --dim have no such field.
Status ReadDimensions(const Json& graph, Plan& plan) {
  if (!graph.contains("dimensions")) return Ok();
  PW_ASSIGN(const Json* object, GetObject(graph, "dimensions", "graph"));
  for (const auto& [name, value] : object->items()) {
    PW_ASSIGN(plan.dimensions[name],
              AsInt(value, fmt::format("graph.dimensions.{}", name), 1, INT32_MAX));
  }
  return Ok();
}

Status ReadReferences(const Json& document, Plan& plan) {
  PW_ASSIGN(plan.graph, GetReference(document, "graph"));
  const Json& graph = document["graph"];
  PW_ASSIGN(plan.graph_name, GetString(graph, "name", "graph"));
  PW_ASSIGN(plan.batch_option, GetInt(graph, "batch_option", "graph", 0, kMaxQuantity));
  PW_RETURN_IF_ERROR(ReadDimensions(graph, plan));
  PW_RETURN_IF_ERROR(ReadClusterReference(document, plan));
  PW_ASSIGN(plan.costs, GetReference(document, "costs"));
  PW_ASSIGN(plan.cost_profile, GetString(document["costs"], "profile", "costs"));
  // Plans of before it was written had no TF32.
  plan.precision = "fp32";
  if (document["costs"].contains("precision")) {
    PW_ASSIGN(plan.precision, GetString(document["costs"], "precision", "costs"));
    if (!ParseFloatPrecision(plan.precision).ok()) {
      return MakeError(ErrorCode::kField,
                       "there is no precision \"" + Printable(plan.precision, 80) + "\"",
                       "costs.precision", "It is pytorch, fp32 or tf32.");
    }
  }
  PW_ASSIGN(plan.schedule, GetReference(document, "schedule"));
  return Ok();
}

// The fields `class`, `devices` and `search` are absent in plans of before they were written.
Result<DeviceClass> ReadClass(const Json& object, const std::string& place) {
  PW_ASSIGN(const std::string text, GetString(object, "class", place));
  for (const DeviceClass c : {DeviceClass::kCpu, DeviceClass::kGpu, DeviceClass::kOther}) {
    if (text == ToString(c)) return c;
  }
  return MakeError(ErrorCode::kField,
                   fmt::format("\"{}\" is none of cpu, gpu and other", Printable(text, 80)),
                   place + ".class");
}

Result<DeviceUse> ReadDeviceUse(const Json& object, const std::string& place) {
  DeviceUse use;
  PW_ASSIGN(use.name, GetString(object, "name", place));
  PW_ASSIGN(use.kind, GetString(object, "kind", place));
  if (object.contains("class")) {
    PW_ASSIGN(use.device_class, ReadClass(object, place));
  }
  PW_ASSIGN(use.busy, GetShare(object, "busy", place));
  PW_ASSIGN(use.peak_memory, GetBytes(object, "peak_memory_bytes", place));
  PW_ASSIGN(use.tensor_peak, GetBytes(object, "tensor_peak_bytes", place));
  PW_ASSIGN(use.workspace, GetBytes(object, "workspace_bytes", place));
  PW_ASSIGN(use.runtime_context, GetBytes(object, "runtime_context_bytes", place));
  PW_ASSIGN(use.capacity, GetBytes(object, "capacity_bytes", place));
  if (object.contains("reserve_bytes")) {
    PW_ASSIGN(use.reserve, GetBytes(object, "reserve_bytes", place));
  }
  PW_ASSIGN(use.ops, GetInt(object, "ops", place, 0, kMaxQuantity));
  return use;
}

Result<Baseline> ReadBaseline(const Json& object, const std::string& place) {
  Baseline baseline;
  PW_ASSIGN(baseline.algorithm, GetString(object, "algorithm", place));
  PW_ASSIGN(baseline.feasible, GetBool(object, "feasible", place));
  PW_ASSIGN(baseline.step_time, GetNanos(object, "step_time_ns", place));
  if (object.contains("search")) {
    PW_ASSIGN(baseline.search, GetBool(object, "search", place));
  }
  if (!object.contains("devices")) return baseline;
  PW_ASSIGN(const Json* devices, GetArray(object, "devices", place));
  for (size_t i = 0; i < devices->size(); ++i) {
    PW_ASSIGN(std::string name, AsString((*devices)[i], fmt::format("{}.devices[{}]", place, i)));
    baseline.devices.push_back(std::move(name));
  }
  return baseline;
}

Result<HistoryPoint> ReadHistoryPoint(const Json& object, const std::string& place) {
  HistoryPoint point;
  PW_ASSIGN(point.algorithm, GetString(object, "algorithm", place));
  PW_ASSIGN(point.iterations, GetInt(object, "iterations", place, 0, kMaxQuantity));
  PW_ASSIGN(point.seconds, GetSeconds(object, "seconds", place));
  PW_ASSIGN(point.step_time, GetNanos(object, "step_time_ns", place));
  return point;
}

// Plans made before there was more than one space do not say it.
Result<PlanSpace> ReadSpace(const Json& document, const char* key) {
  if (!document.contains(key)) return PlanSpace::kPlaced;
  PW_ASSIGN(const std::string text, GetString(document, key, ""));
  Result<PlanSpace> space = ParsePlanSpace(text);
  if (!space.ok()) space.error().place = key;
  return space;
}

// The first version holds placed plans, the second replicated ones.
Status CheckSpace(PlanSpace space, bool distributed) {
  const PlanSpace expected = distributed ? PlanSpace::kReplicated : PlanSpace::kPlaced;
  if (space == expected) return Ok();
  return MakeError(ErrorCode::kField,
                   fmt::format("this is a {} plan; of this schema this version reads {} ones alone",
                               ToString(space), ToString(expected)),
                   "space", "Update Placewright, or make the plan again.");
}

Result<std::optional<Nanos>> ReadBound(const Json& document) {
  PW_ASSIGN(const Json* bound, GetField(document, "lower_bound_ns", ""));
  if (bound->is_null()) return std::optional<Nanos>();
  PW_ASSIGN(const Nanos value, GetNanos(document, "lower_bound_ns", ""));
  PW_RETURN_IF_ERROR(GetNumber(document, "gap", ""));
  return std::optional<Nanos>(value);
}

// Plans of all devices have none.
Result<std::vector<std::vector<std::string>>> LanesFromJson(const Json& document) {
  std::vector<std::vector<std::string>> lanes;
  if (!document.contains("lanes")) return lanes;
  PW_ASSIGN(const Json* const classes, GetArray(document, "lanes", ""));
  for (size_t i = 0; i < classes->size(); ++i) {
    const Json& names = (*classes)[i];
    const bool right =
        names.is_array() && names.size() > 1 &&
        std::all_of(names.begin(), names.end(), [](const Json& name) { return name.is_string(); });
    if (!right) {
      return MakeError(ErrorCode::kField, "a class is names of two devices or more",
                       fmt::format("lanes[{}]", i));
    }
    lanes.push_back(names.get<std::vector<std::string>>());
  }
  return lanes;
}

Status ReadDistribution(const Json& document, Plan& plan) {
  PW_ASSIGN(plan.step, GetReference(document, "step"));
  PW_ASSIGN(plan.distribution, DistributionSpecFromJson(document));
  PW_ASSIGN(plan.communication, CommunicationFromJson(document));
  PW_ASSIGN(plan.samples, GetInt(document, "samples", "", 0, kMaxQuantity));
  PW_ASSIGN(plan.lanes, LanesFromJson(document));
  return Ok();
}

constexpr std::string_view kPlanFamily = "placewright.plan/";

bool IsNewerPlan(std::string_view schema) {
  if (!schema.starts_with(kPlanFamily)) return false;
  schema.remove_prefix(kPlanFamily.size());
  const auto version = [](std::string_view text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? number : -1;
  };
  return version(schema) > version(kDistributedSchema.substr(kPlanFamily.size()));
}

Error WrongSchema(const std::string& schema) {
  if (IsNewerPlan(schema)) {
    return MakeError(ErrorCode::kField,
                     fmt::format("this plan is of the schema \"{}\", which a newer Placewright "
                                 "writes; this one reads \"{}\" and \"{}\"",
                                 Printable(schema, 80), kPlanSchema, kDistributedSchema),
                     "schema", "Update Placewright, or make the plan again with this version.");
  }
  return MakeError(ErrorCode::kField,
                   fmt::format("\"{}\" is neither the schema \"{}\" nor \"{}\"",
                               Printable(schema, 80), kPlanSchema, kDistributedSchema),
                   "schema", "Give a plan that this version of the program reads.");
}

Json CostStoreUseToJson(const CostStoreUse& use) {
  Json object = {{"path", use.path}};
  Json& environments = object["environments"] = Json::array();
  for (const CostStoreUse::Environment& one : use.environments) {
    environments.push_back({{"kind", one.kind},
                            {"cores", one.cores},
                            {"loaded", one.loaded},
                            {"libtorch", one.libtorch},
                            {"blas", one.blas},
                            {"rows", one.rows}});
    if (!one.rows_sha256.empty()) environments.back()["rows_sha256"] = one.rows_sha256;
  }
  return object;
}

Result<CostStoreUse::Environment> ReadEnvironment(const Json& object, const std::string& place) {
  CostStoreUse::Environment one;
  PW_ASSIGN(one.kind, GetString(object, "kind", place));
  PW_ASSIGN(one.cores, GetInt(object, "cores", place, 0, kMaxQuantity));
  PW_ASSIGN(one.loaded, GetBool(object, "loaded", place));
  PW_ASSIGN(one.libtorch, GetString(object, "libtorch", place));
  PW_ASSIGN(one.blas, GetString(object, "blas", place));
  PW_ASSIGN(one.rows, GetInt(object, "rows", place, 0, kMaxQuantity));
  if (object.contains("rows_sha256")) {
    PW_ASSIGN(one.rows_sha256, GetString(object, "rows_sha256", place));
  }
  return one;
}

Status ReadCostStoreUse(const Json& document, Plan& plan) {
  if (!document.contains("cost_store")) return Ok();
  PW_ASSIGN(const Json* use, GetObject(document, "cost_store", ""));
  plan.cost_store.emplace();
  PW_ASSIGN(plan.cost_store->path, GetString(*use, "path", "cost_store"));
  PW_ASSIGN(plan.cost_store->environments,
            ReadList<CostStoreUse::Environment>(*use, "environments", ReadEnvironment));
  return Ok();
}

Result<Plan::LinkFigures> ReadLinkFigures(const Json& object, const std::string& place) {
  Plan::LinkFigures link;
  PW_ASSIGN(link.name, GetString(object, "name", place));
  PW_ASSIGN(const int64_t bandwidth,
            GetInt(object, "bandwidth_bytes_per_second", place, 1, kMaxQuantity));
  link.bandwidth = BytesPerSecond(bandwidth);
  PW_ASSIGN(link.latency, GetNanos(object, "latency_ns", place));
  return link;
}

Status ReadOutcome(const Json& document, bool distributed, Plan& plan) {
  PW_ASSIGN(const std::string order, GetString(document, "order", ""));
  const std::optional<SchedulingPolicy> policy = FindSchedulingPolicy(order);
  if (!policy) {
    return MakeError(ErrorCode::kField, "must be \"program\", \"fifo\" or \"critical-path\"",
                     "order");
  }
  plan.policy = *policy;
  PW_ASSIGN(plan.algorithm, GetString(document, "algorithm", ""));
  PW_ASSIGN(plan.objective, GetString(document, "objective", ""));
  PW_ASSIGN(plan.feasible, GetBool(document, "feasible", ""));
  PW_ASSIGN(plan.step_time, GetNanos(document, "step_time_ns", ""));
  if (plan.step_time.count >= kMaxQuantity) {
    return MakeError(ErrorCode::kTooLarge, "must be below 2^60 ns", "step_time_ns");
  }
  if (document.contains("measured_step_time_ns")) {
    PW_ASSIGN(plan.measured_step_time, GetNanos(document, "measured_step_time_ns", ""));
  }
  PW_ASSIGN(plan.lower_bound, ReadBound(document));
  PW_ASSIGN(plan.space, ReadSpace(document, "space"));
  PW_RETURN_IF_ERROR(CheckSpace(plan.space, distributed));
  PW_ASSIGN(plan.bound_space, ReadSpace(document, "bound_space"));
  PW_ASSIGN(plan.devices, ReadList<DeviceUse>(document, "devices", ReadDeviceUse));
  PW_ASSIGN(plan.baselines, ReadList<Baseline>(document, "baselines", ReadBaseline));
  if (document.contains("strategies")) {
    PW_ASSIGN(plan.strategies, ReadList<StrategyResult>(document, "strategies", StrategyFromJson));
  }
  PW_ASSIGN(const Json* sources, GetObject(document, "cost_sources", ""));
  PW_ASSIGN(plan.share_given, GetShare(*sources, "given", "cost_sources"));
  PW_ASSIGN(plan.share_measured, GetShare(*sources, "measured", "cost_sources"));
  PW_ASSIGN(plan.share_modelled, GetShare(*sources, "modelled", "cost_sources"));
  return ReadCostStoreUse(document, plan);
}

Status ReadSearch(const Json& document, Plan& plan) {
  PW_ASSIGN(const Json* seed, GetField(document, "seed", ""));
  if (!seed->is_number_unsigned()) {
    return MakeError(ErrorCode::kField, "must be an integer from 0 to 2^64 - 1", "seed");
  }
  plan.seed = seed->get<uint64_t>();
  PW_ASSIGN(plan.iterations, GetInt(document, "iterations", "", 0, kMaxQuantity));
  PW_ASSIGN(plan.seconds, GetSeconds(document, "seconds", ""));
  PW_ASSIGN(const Json* first, GetField(document, "first_feasible_seconds", ""));
  if (!first->is_null()) {
    PW_ASSIGN(plan.first_feasible_seconds, GetSeconds(document, "first_feasible_seconds", ""));
  }
  if (document.contains("links")) {
    PW_ASSIGN(plan.links, ReadList<Plan::LinkFigures>(document, "links", ReadLinkFigures));
  }
  PW_ASSIGN(plan.history, ReadList<HistoryPoint>(document, "history", ReadHistoryPoint));
  return Ok();
}

}  // namespace

std::string PlanDigest(const Json& document) {
  nlohmann::json canonical = document;  // keys sorted
  if (canonical.is_object()) canonical.erase("digest");
  return Sha256(canonical.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

Json PlanToJson(const Plan& plan) {
  const bool distributed = plan.space != PlanSpace::kPlaced;
  Json json = ObjectFor(41);
  json["schema"] = distributed ? kDistributedSchema : kPlanSchema;
  json["graph"] = Json{{"path", plan.graph.path},
                       {"sha256", plan.graph.sha256},
                       {"name", plan.graph_name},
                       {"batch_option", plan.batch_option},
                       {"dimensions", DimensionsToJson(plan.dimensions)}};
  json["cluster"] = ClusterReferenceToJson(plan);
  json["costs"] = Json{{"path", plan.costs.path},
                       {"sha256", plan.costs.sha256},
                       {"profile", plan.cost_profile},
                       {"precision", plan.precision}};
  json["schedule"] = Json{{"path", plan.schedule.path}, {"sha256", plan.schedule.sha256}};
  json["order"] = ToString(plan.policy);
  json["algorithm"] = plan.algorithm;
  json["objective"] = plan.objective;
  json["space"] = ToString(plan.space);
  json["feasible"] = plan.feasible;
  json["step_time_ns"] = plan.step_time.count;
  if (plan.measured_step_time) json["measured_step_time_ns"] = plan.measured_step_time->count;
  json["lower_bound_ns"] = nullptr;
  if (plan.lower_bound) json["lower_bound_ns"] = plan.lower_bound->count;
  json["bound_space"] = ToString(plan.bound_space);
  json["gap"] = nullptr;
  if (plan.lower_bound) json["gap"] = plan.Gap();
  json["devices"] = Json::array();
  for (const DeviceUse& use : plan.devices) json["devices"].push_back(DeviceUseToJson(use));
  json["baselines"] = BaselinesToJson(plan.baselines);
  if (!plan.strategies.empty()) json["strategies"] = StrategiesToJson(plan.strategies);
  json["cost_sources"] = Json{{"given", plan.share_given},
                              {"measured", plan.share_measured},
                              {"modelled", plan.share_modelled}};
  if (plan.cost_store) json["cost_store"] = CostStoreUseToJson(*plan.cost_store);
  for (const Plan::LinkFigures& link : plan.links) {
    json["links"].push_back({{"name", link.name},
                             {"bandwidth_bytes_per_second", link.bandwidth.count},
                             {"latency_ns", link.latency.count}});
  }
  json["seed"] = plan.seed;
  json["iterations"] = plan.iterations;
  json["seconds"] = plan.seconds;
  json["first_feasible_seconds"] = nullptr;
  if (plan.first_feasible_seconds) json["first_feasible_seconds"] = *plan.first_feasible_seconds;
  json["history"] = HistoryToJson(plan.history);
  if (distributed) {
    json["step"] = Json{{"path", plan.step.path}, {"sha256", plan.step.sha256}};
    AddDistributionSpec(plan.distribution, &json);
    json["communication"] = CommunicationToJson(plan.communication);
    json["samples"] = plan.samples;
    json["samples_per_second"] = plan.SamplesPerSecond();
    if (!plan.lanes.empty()) json["lanes"] = plan.lanes;
  } else {
    json["placement"] = PlacementToJson(plan.placement);
    if (plan.distribution.transforms) {
      json["transforms"] = TransformsToJson(*plan.distribution.transforms);
    }
  }
  json["digest"] = PlanDigest(json);
  return json;
}

Result<Plan> PlanFromJson(const Json& document) {
  PW_ASSIGN(const std::string schema, GetString(document, "schema", ""));
  const bool distributed = schema == kDistributedSchema;
  if (schema != kPlanSchema && !distributed) return WrongSchema(schema);
  Plan plan;
  PW_RETURN_IF_ERROR(ReadReferences(document, plan));
  PW_RETURN_IF_ERROR(ReadOutcome(document, distributed, plan));
  PW_RETURN_IF_ERROR(ReadSearch(document, plan));
  if (distributed) {
    PW_RETURN_IF_ERROR(ReadDistribution(document, plan));
  } else {
    PW_RETURN_IF_ERROR(GetObject(document, "placement", ""));
    PW_ASSIGN(plan.placement, PlacementFromJson(document));
    if (document.contains("transforms")) {
      PW_ASSIGN(plan.distribution.transforms, TransformsFromJson(document));
    }
  }
  PW_RETURN_IF_ERROR(GetString(document, "digest", ""));
  return plan;
}

Result<NamedPlacement> PlacementFromJson(const Json& document) {
  if (!document.is_object()) {
    return MakeError(ErrorCode::kField, "a placement must be an object {op: device}");
  }
  const auto inner = document.find("placement");
  // A map may well place an op called "placement": then the value is a device's name.
  const bool nested = inner != document.end() && inner->is_object();
  const Json& map = nested ? *inner : document;
  const auto schema = document.find("schema");
  if (schema != document.end() && schema->is_string()) {
    const auto& name = schema->get_ref<const std::string&>();
    // A plan of another version may mean something else by the same words.
    if (name == kDistributedSchema) {
      return MakeError(ErrorCode::kField,
                       "this plan splits or copies ops: it is no placement of whole ones",
                       "layouts", "Give a plan made with --space placed.");
    }
    if (name.starts_with(kPlanFamily) && name != kPlanSchema) return WrongSchema(name);
    if (!nested && name.starts_with("placewright.")) {
      return MakeError(ErrorCode::kField,
                       fmt::format("this {} has no placement", Printable(name, 80)), "placement");
    }
    if (name == kPlanSchema) {
      PW_ASSIGN(const PlanSpace space, ReadSpace(document, "space"));
      PW_RETURN_IF_ERROR(CheckSpace(space, false));
    }
  }
  NamedPlacement placement;
  placement.reserve(map.size());
  for (const auto& [op, device] : map.get_ref<const Json::object_t&>()) {
    if (!device.is_string()) {
      return MakeError(ErrorCode::kField,
                       fmt::format("must be a device's name, not {}", device.type_name()),
                       fmt::format("{}{}", nested ? "placement." : "", op));
    }
    placement.emplace_back(op, device.get_ref<const std::string&>());
  }
  return placement;
}

}  // namespace placewright
