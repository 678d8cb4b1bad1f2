#include "formats/plan/layouts_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

Status CheckKeys(const Json& object, const std::vector<std::string>& known,
                 const std::string& place) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return MakeError(
        ErrorCode::kField,
        fmt::format("there is no field \"{}\"{}", Printable(key, 60), DidYouMean(key, known)),
        place, fmt::format("The fields are {}.", fmt::join(known, ", ")));
  }
  return Ok();
}

Result<LayoutSpec::Device> ReadShare(const Json& json, const std::string& place) {
  LayoutSpec::Device device;
  if (json.is_string()) {
    device.name = json.get<std::string>();
    return device;
  }
  if (!json.is_object()) {
    return MakeError(ErrorCode::kField, "must be a device's name, or an object with one", place);
  }
  PW_RETURN_IF_ERROR(CheckKeys(json, {"name", "from", "to", "box"}, place));
  PW_ASSIGN(device.name, GetString(json, "name", place));
  const auto has = [&](const char* key) { return json.contains(key) && !json[key].is_null(); };
  LayoutSpec::Interval only;
  if (has("from")) {
    PW_ASSIGN(only.from, GetInt(json, "from", place, 0, kMaxQuantity));
  }
  if (has("to")) {
    PW_ASSIGN(only.to, GetInt(json, "to", place, 0, kMaxQuantity));
  }
  if (has("from") != has("to")) {
    return MakeError(ErrorCode::kField, "a share has both from and to, or neither", place,
                     "Leave both out for equal shares.");
  }
  if (has("from")) device.box.push_back(only);
  if (!has("box")) return device;
  PW_ASSIGN(const Json* box, GetObject(json, "box", place));
  if (has("from") || box->empty()) {
    return MakeError(ErrorCode::kField, "a box names an axis or more, without from and to beside",
                     place + ".box", "Leave it out for equal shares.");
  }
  for (const auto& [axis, ends] : box->items()) {
    const std::string of_axis = fmt::format("{}.box.{}", place, Printable(axis, 60));
    if (axis.empty() || !ends.is_array() || ends.size() != 2) {
      return MakeError(ErrorCode::kField, "a box has [from, to) for each of its axes", of_axis,
                       "Give the name of an axis and [from, to].");
    }
    device.box.push_back({.axis = axis});
    PW_ASSIGN(device.box.back().from, AsInt(ends[0], of_axis, 0, kMaxQuantity));
    PW_ASSIGN(device.box.back().to, AsInt(ends[1], of_axis, 0, kMaxQuantity));
  }
  return device;
}

Result<LayoutOption> ReadOption(const Json& json, const std::string& place,
                                const LayoutSpec& spec) {
  if (!json.contains("option")) {
    const bool shares =
        !spec.mesh.empty() || std::any_of(spec.devices.begin(), spec.devices.end(),
                                          [](const auto& device) { return !device.box.empty(); });
    if (!spec.axis.empty() || shares) return LayoutOption::kAllReduce;
    // A glob may name several.
    const bool one = spec.devices.size() == 1 &&
                     spec.devices.front().name.find_first_of("*?[") == std::string::npos;
    return one ? LayoutOption::kPlace : LayoutOption::kDuplicate;
  }
  PW_ASSIGN(const std::string text, GetString(json, "option", place));
  std::vector<std::string> words;
  for (const LayoutOption option : kLayoutOptions) {
    if (text == ToString(option)) return option;
    words.emplace_back(ToString(option));
  }
  return MakeError(
      ErrorCode::kField,
      fmt::format("there is no option \"{}\"{}", Printable(text, 60), DidYouMean(text, words)),
      place + ".option", fmt::format("The options are {}.", fmt::join(words, ", ")));
}

// {"axis": "batch", "over": "hosts"}, {"axis": "batch", "parts": 4}, or {"parts": 2} for replicas.
Result<LayoutSpec::MeshAxis> ReadMeshAxis(const Json& json, const std::string& place) {
  if (!json.is_object()) return MakeError(ErrorCode::kField, "must be an object", place);
  PW_RETURN_IF_ERROR(CheckKeys(json, {"axis", "over", "parts"}, place));
  LayoutSpec::MeshAxis of;
  if (json.contains("axis")) {
    PW_ASSIGN(of.axis, GetString(json, "axis", place));
  }
  if (json.contains("over") == json.contains("parts")) {
    return MakeError(ErrorCode::kField, "an axis of a mesh goes over something, or has parts",
                     place, R"(Give "over": "hosts" or "gpus of a host", or "parts": a number.)");
  }
  if (json.contains("parts")) {
    PW_ASSIGN(of.parts, GetInt(json, "parts", place, 1, kMaxQuantity));
    return of;
  }
  PW_ASSIGN(const std::string over, GetString(json, "over", place));
  for (const MeshOver one : {MeshOver::kHosts, MeshOver::kGpusOfHost}) {
    if (over != ToString(one)) continue;
    of.over = one;
    return of;
  }
  return MakeError(ErrorCode::kField,
                   fmt::format("a mesh does not go over \"{}\"", Printable(over, 60)),
                   place + ".over", "It goes over hosts, or gpus of a host.");
}

Result<LayoutSpec> ReadSpec(const Json& json, const std::string& place) {
  if (!json.is_object()) return MakeError(ErrorCode::kField, "must be an object", place);
  PW_RETURN_IF_ERROR(CheckKeys(json, {"groups", "axis", "devices", "mesh", "option"}, place));
  LayoutSpec spec;
  PW_ASSIGN(const Json* groups, GetField(json, "groups", place));
  if (groups->is_string()) {
    spec.groups = groups->get<std::string>();
  } else {
    PW_ASSIGN(const int64_t group, AsInt(*groups, place + ".groups", 0, INT32_MAX));
    spec.group = GroupId(static_cast<size_t>(group));
  }
  if (json.contains("axis") && !json["axis"].is_null()) {
    PW_ASSIGN(spec.axis, GetString(json, "axis", place));
    if (spec.axis.empty()) {
      return MakeError(ErrorCode::kField, "an axis has a name", place + ".axis",
                       "Name one that `placewright inspect --axes` lists, or leave it out.");
    }
  }
  PW_ASSIGN(const Json* devices, GetArray(json, "devices", place));
  for (size_t i = 0; i < devices->size(); ++i) {
    PW_ASSIGN(LayoutSpec::Device device,
              ReadShare((*devices)[i], fmt::format("{}.devices[{}]", place, i)));
    spec.devices.push_back(std::move(device));
  }
  if (json.contains("mesh")) {
    PW_ASSIGN(const Json* mesh, GetArray(json, "mesh", place));
    for (size_t i = 0; i < mesh->size(); ++i) {
      PW_ASSIGN(LayoutSpec::MeshAxis axis,
                ReadMeshAxis((*mesh)[i], fmt::format("{}.mesh[{}]", place, i)));
      spec.mesh.push_back(std::move(axis));
    }
    if (spec.mesh.empty()) {
      return MakeError(ErrorCode::kField, "a mesh has an axis or more", place + ".mesh",
                       "Leave it out for shares of one axis.");
    }
  }
  PW_ASSIGN(spec.option, ReadOption(json, place, spec));
  return spec;
}

constexpr std::string_view kSynchronised = "synchronised", kLocal = "local";

Json LayoutSpecsToJson(const LayoutSpecs& specs) {
  Json list = Json::array();
  for (const LayoutSpec& spec : specs) {
    Json json;
    if (spec.group.valid()) {
      json["groups"] = spec.group.value();
    } else {
      json["groups"] = spec.groups;
    }
    json["axis"] = nullptr;
    if (!spec.axis.empty()) json["axis"] = spec.axis;
    json["devices"] = Json::array();
    for (const LayoutSpec::Device& device : spec.devices) {
      Json share = {{"name", device.name}, {"from", nullptr}, {"to", nullptr}};
      for (const auto& [axis, from, to] : device.box) {
        if (!axis.empty()) {
          share["box"][axis] = {from, to};
          continue;
        }
        share["from"] = from;
        share["to"] = to;
      }
      json["devices"].push_back(std::move(share));
    }
    for (const LayoutSpec::MeshAxis& of : spec.mesh) {
      Json axis = Json::object();
      if (!of.axis.empty()) axis["axis"] = of.axis;
      if (of.over == MeshOver::kParts) {
        axis["parts"] = of.parts;
      } else {
        axis["over"] = ToString(of.over);
      }
      json["mesh"].push_back(std::move(axis));
    }
    json["option"] = ToString(spec.option);
    list.push_back(std::move(json));
  }
  return list;
}

// Its name alone, or under its name what it takes.
Result<Transform> ReadTransform(const Json& json, const std::string& place) {
  Transform transform;
  const bool takes = json.is_object() && json.size() == 1;
  const std::string name = takes              ? json.begin().key()
                           : json.is_string() ? json.get<std::string>()
                                              : std::string();
  const auto known = std::find_if(kTransformKinds.begin(), kTransformKinds.end(),
                                  [&](Transform::Kind kind) { return name == ToString(kind); });
  if (known == kTransformKinds.end()) {
    std::vector<std::string_view> names;
    for (const Transform::Kind kind : kTransformKinds) names.push_back(ToString(kind));
    return MakeError(ErrorCode::kField,
                     fmt::format("there is no transform {}", Printable(json.dump(), 60)), place,
                     fmt::format("The transforms are {}.", fmt::join(names, ", ")));
  }
  transform.kind = *known;
  const bool bare =
      transform.kind == Transform::kCountedDraws || transform.kind == Transform::kSplitBackward;
  if (takes == bare) {
    return MakeError(
        ErrorCode::kField, fmt::format("{} is not stated so", name), place,
        R"(Give "counted-draws", "split-backward", {"accumulate": 4}, {"recompute": ["layers.*"]}, )"
        R"({"offload": ["layers.*"]}, {"pipeline": {"schedule": "1f1b", "stages": 4}}, )"
        R"({"precision": ["param=bf16", "master=f32"]}.)");
  }
  if (transform.kind == Transform::kAccumulate) {
    PW_ASSIGN(transform.micro_batches, GetInt(json, name, place, 2, INT32_MAX));
  }
  const bool words = transform.kind == Transform::kPrecision;
  if (words || transform.kind == Transform::kRecompute || transform.kind == Transform::kOffload) {
    PW_ASSIGN(const Json* list, GetArray(json, name, place));
    for (const Json& module : *list) {
      if (!module.is_string()) {
        return MakeError(
            ErrorCode::kField, words ? "types are stated as text" : "modules are named by globs",
            place + "." + name,
            fmt::format(R"(Give {{"{}": ["{}"]}}.)", name, words ? "param=bf16" : "layers.*"));
      }
      transform.modules.push_back(module.get<std::string>());
    }
  }
  if (transform.kind == Transform::kPipeline) {
    PW_ASSIGN(const Json* object, GetObject(json, name, place));
    const std::string inside = place + "." + name;
    PW_ASSIGN(transform.schedule, GetString(*object, "schedule", inside));
    PW_ASSIGN(transform.stages, GetInt(*object, "stages", inside, 1, INT32_MAX));
    if (object->contains("chunks")) {
      PW_ASSIGN(transform.chunks, GetInt(*object, "chunks", inside, 1, INT32_MAX));
    }
    if (object->contains("layers")) {
      PW_ASSIGN(transform.layers, GetInts(*object, "layers", inside, 1, INT32_MAX));
    }
  }
  return transform;
}

Status ReadFetching(const Json& document, StepSwitches& switches) {
  if (document.contains("regather")) {
    PW_ASSIGN(const Json* list, GetArray(document, "regather", ""));
    for (const Json& glob : *list) {
      PW_ASSIGN(std::string text,
                AsString(glob, fmt::format("regather[{}]", switches.regather.size())));
      switches.regather.push_back(std::move(text));
    }
  }
  if (document.contains("prefetch")) {
    PW_ASSIGN(const int64_t distance, GetInt(document, "prefetch", "", 0, INT32_MAX));
    switches.prefetch = static_cast<int32_t>(distance);
  }
  if (document.contains("unit_collectives")) {
    PW_ASSIGN(switches.unit_collectives, GetBool(document, "unit_collectives", ""));
  }
  return Ok();
}

}  // namespace

Json TransformsToJson(const Transforms& transforms) {
  Json list = Json::array();
  for (const Transform& transform : transforms) {
    const std::string name(ToString(transform.kind));
    switch (transform.kind) {
      case Transform::kCountedDraws:
      case Transform::kSplitBackward: list.push_back(name); break;
      case Transform::kAccumulate: list.push_back({{name, transform.micro_batches}}); break;
      case Transform::kRecompute:
      case Transform::kOffload:
      case Transform::kPrecision: list.push_back({{name, transform.modules}}); break;
      case Transform::kPipeline:
        list.push_back({{name,
                         {{"schedule", transform.schedule},
                          {"stages", transform.stages},
                          {"chunks", transform.chunks}}}});
        if (!transform.layers.empty()) list.back()[name]["layers"] = transform.layers;
        break;
    }
  }
  return list;
}

Result<Transforms> TransformsFromJson(const Json& document) {
  PW_ASSIGN(const Json* list, GetArray(document, "transforms", ""));
  Transforms transforms;
  for (const Json& json : *list) {
    PW_ASSIGN(Transform transform,
              ReadTransform(json, fmt::format("transforms[{}]", transforms.size())));
    transforms.push_back(std::move(transform));
  }
  return transforms;
}

void AddDistributionSpec(const DistributionSpec& spec, Json* object) {
  (*object)["layouts"] = LayoutSpecsToJson(spec.layouts);
  (*object)["fusion_bytes"] = spec.switches.fusion.count;
  (*object)["batch_norm"] = spec.switches.local_batch_norm ? kLocal : kSynchronised;
  (*object)["broadcasts"] = spec.switches.broadcasts;
  if (spec.switches.gradients_apart) {
    (*object)["gradients_apart"] = *spec.switches.gradients_apart;
  }
  if (!spec.switches.regather.empty()) (*object)["regather"] = spec.switches.regather;
  if (spec.switches.prefetch) (*object)["prefetch"] = *spec.switches.prefetch;
  if (spec.switches.unit_collectives) (*object)["unit_collectives"] = true;
  if (spec.transforms) (*object)["transforms"] = TransformsToJson(*spec.transforms);
}

Result<DistributionSpec> DistributionSpecFromJson(const Json& document) {
  PW_ASSIGN(const Json* list, GetArray(document, "layouts", ""));
  DistributionSpec spec;
  for (const Json& json : *list) {
    PW_ASSIGN(LayoutSpec one, ReadSpec(json, fmt::format("layouts[{}]", spec.layouts.size())));
    spec.layouts.push_back(std::move(one));
  }
  if (document.contains("fusion_bytes")) {
    PW_ASSIGN(spec.switches.fusion, GetBytes(document, "fusion_bytes", ""));
  }
  if (document.contains("batch_norm")) {
    PW_ASSIGN(const std::string text, GetString(document, "batch_norm", ""));
    if (text != kLocal && text != kSynchronised) {
      return MakeError(ErrorCode::kField,
                       fmt::format("\"{}\" is no way to compute batch norms", Printable(text, 60)),
                       "batch_norm", "It is synchronised or local.");
    }
    spec.switches.local_batch_norm = text == kLocal;
  }
  if (document.contains("broadcasts")) {
    PW_ASSIGN(spec.switches.broadcasts, GetBool(document, "broadcasts", ""));
  }
  if (document.contains("gradients_apart")) {
    PW_ASSIGN(spec.switches.gradients_apart, GetBool(document, "gradients_apart", ""));
  }
  PW_RETURN_IF_ERROR(ReadFetching(document, spec.switches));
  if (document.contains("transforms")) {
    PW_ASSIGN(spec.transforms, TransformsFromJson(document));
  }
  return spec;
}

Json CommunicationToJson(const std::vector<CommunicationUse>& uses) {
  Json list = Json::array();
  for (const CommunicationUse& use : uses) {
    list.push_back({{"kind", use.kind},
                    {"algorithm", use.algorithm},
                    {"bytes", use.bytes.count},
                    {"time_ns", use.time.count},
                    {"count", use.count}});
  }
  return list;
}

Result<std::vector<CommunicationUse>> CommunicationFromJson(const Json& document) {
  PW_ASSIGN(const Json* list, GetArray(document, "communication", ""));
  std::vector<CommunicationUse> uses;
  for (const Json& json : *list) {
    const std::string place = fmt::format("communication[{}]", uses.size());
    CommunicationUse use;
    PW_ASSIGN(use.kind, GetString(json, "kind", place));
    PW_ASSIGN(use.algorithm, GetString(json, "algorithm", place));
    PW_ASSIGN(use.bytes, GetBytes(json, "bytes", place));
    PW_ASSIGN(use.time, GetNanos(json, "time_ns", place));
    PW_ASSIGN(use.count, GetInt(json, "count", place, 0, kMaxQuantity));
    uses.push_back(std::move(use));
  }
  return uses;
}

Result<DistributionSpec> ReadDistributionSpec(const std::string& path) {
  PW_ASSIGN(const std::string text, ReadFile(path));
  PW_ASSIGN(const Json document, ParseJson(text).InFile(path));
  if (!document.is_object() || !document.contains("layouts")) {
    Error error = MakeError(ErrorCode::kField, "the list \"layouts\" is missing", "layouts",
                            "Give {\"layouts\": [{\"groups\": \"*\", \"axis\": \"batch\", "
                            "\"devices\": [\"*gpu*\"]}]} or the like.");
    error.file = path;
    return error;
  }
  // Besides plans, which have much else, nothing but what is known: a misspelt field would be ignored.
  if (document.contains("schema")) {
    PW_ASSIGN(const std::string schema, GetString(document, "schema", "").InFile(path));
    if (schema != "placewright.plan/2") {
      Error error =
          MakeError(ErrorCode::kField, fmt::format("\"{}\" has no layouts", Printable(schema, 80)),
                    "schema", "Give a plan that splits or copies ops, or a file without a schema.");
      error.file = path;
      return error;
    }
  } else {
    PW_RETURN_IF_ERROR(
        CheckKeys(document,
                  {"layouts", "fusion_bytes", "batch_norm", "broadcasts", "gradients_apart",
                   "regather", "prefetch", "unit_collectives", "transforms"},
                  "")
            .InFile(path));
  }
  return DistributionSpecFromJson(document).InFile(path);
}

}  // namespace placewright
