#include "formats/costs/costgraph_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <limits>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "cluster/cluster_builder.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

constexpr std::string_view kSchema = "placewright.costgraph/1";
constexpr std::string_view kSchema2 = "placewright.costgraph/2";

// They are never there as a whole: what there is of them is the graph, however long the text.
std::vector<std::string> LongLists() { return {"tensors", "ops"}; }
constexpr JsonLimits kLimits = {.streamed = std::numeric_limits<int64_t>::max()};

Error InPlace(std::string_view place, Error error) {
  if (error.place.empty()) {
    error.place = place;
  } else if (!error.place.starts_with(place)) {
    error.place = fmt::format("{} ({})", place, error.place);
  }
  return error;
}

std::vector<std::string> KeysOf(const std::unordered_map<std::string, size_t>& names) {
  constexpr size_t kMaxCandidates = 20'000;  // each costs an edit distance
  std::vector<std::string> keys;
  for (const auto& [name, id] : names) {
    if (keys.size() < kMaxCandidates) keys.push_back(name);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

class CostGraphReader {
 public:
  // `text`: of which the lists of tensors and ops are read, element by element; empty: of the document.
  explicit CostGraphReader(const Json& document, std::string_view text = {})
      : document_(document),
        text_(text),
        cluster_(NameOf(document)),
        graph_(NameOf(document), "costgraph") {}

  Result<CostGraph> Read();

 private:
  using Names = std::unordered_map<std::string, size_t>;

  static std::string NameOf(const Json& document) {
    const auto it = document.is_object() ? document.find("name") : document.end();
    const bool given = document.is_object() && it != document.end() && it->is_string();
    return given ? it->get<std::string>() : "costgraph";
  }

  using Element = std::function<Status(const Json& element, const std::string& place)>;
  Status ForEach(const char* list, const Element& read) const;
  Status ReadTop();
  Status ReadDevices();
  Status ReadLinks();
  Status ReadRoutes();
  Status ReadHomes();
  Status ReadTensors();
  Status ReadTensor(const Json& tensor, const std::string& place);
  Status ReadOps();
  Status ReadOp(const Json& op, const std::string& place);
  Status ReadTimes(const Json& op, const std::string& place);
  Result<std::vector<std::string>> ReadAfter(const Json& op, const std::string& name,
                                             const std::string& place) const;
  Status ReadCollectives();
  Status ReadCollective(const Json& collective, const std::string& place);
  Status CheckMember(size_t op, const std::string& place) const;
  Status ReadSequences();
  Status ReadPlacement();
  Result<std::vector<size_t>> ReadNames(const Json& object, std::string_view key,
                                        const std::string& place, const Names& names,
                                        std::string_view what) const;
  CostTable MakeCosts() const;

  const Json& document_;
  const std::string_view text_;
  bool version2_ = false;
  ClusterBuilder cluster_;
  GraphBuilder graph_;
  Names devices_, links_, tensors_, ops_, collectives_;
  IdVector<CollectiveId, CostTable::CollectiveCost> collective_costs_;
  std::unordered_map<std::string, DeviceId> homes_;
  std::vector<std::string> home_names_;      // in file order
  std::vector<bool> is_input_;               // by tensor
  std::vector<std::vector<int64_t>> times_;  // by op; -1: not supported
  std::optional<NamedPlacement> placement_;
  NamedSequences sequences_;
};

// An object without fields that the format does not know.
Status CheckFields(const Json& object, std::initializer_list<std::string_view> known,
                   const std::string& place) {
  if (!object.is_object()) {
    return MakeError(ErrorCode::kField,
                     fmt::format("must be an object, not {}", object.type_name()), place);
  }
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    std::string hint = DidYouMean(key, names);
    if (hint.empty()) hint = fmt::format("; known are {}", fmt::join(names, ", "));
    return MakeError(ErrorCode::kField,
                     fmt::format("no field is called \"{}\"{}", Printable(key, 80), hint), place);
  }
  return Ok();
}

// The position that the name stands for.
Result<size_t> Resolve(const Json& value, const std::unordered_map<std::string, size_t>& names,
                       std::string_view what, const std::string& place) {
  PW_ASSIGN(const std::string name, AsString(value, place));
  const auto it = names.find(name);
  if (it != names.end()) return it->second;
  return MakeError(ErrorCode::kUnknownName,
                   fmt::format("no {} is called \"{}\"{}", what, Printable(name, 80),
                               DidYouMean(name, KeysOf(names))),
                   place);
}

// The name of a new thing; names of one list are distinct and not empty.
Result<std::string> NewName(const Json& object, std::unordered_map<std::string, size_t>& names,
                            std::string_view what, const std::string& place) {
  PW_ASSIGN(std::string name, GetString(object, "name", place));
  if (name.empty()) return MakeError(ErrorCode::kField, "the name is empty", place + ".name");
  if (!names.emplace(name, names.size()).second) {
    return MakeError(ErrorCode::kDuplicateName,
                     fmt::format("two {}s are called \"{}\"", what, Printable(name, 80)),
                     place + ".name");
  }
  return name;
}

Result<std::vector<size_t>> CostGraphReader::ReadNames(const Json& object, std::string_view key,
                                                       const std::string& place, const Names& names,
                                                       std::string_view what) const {
  PW_ASSIGN(const Json* list, GetArray(object, key, place));
  std::vector<size_t> positions;
  for (size_t i = 0; i < list->size(); ++i) {
    PW_ASSIGN(const size_t position,
              Resolve((*list)[i], names, what, fmt::format("{}.{}[{}]", place, key, i)));
    positions.push_back(position);
  }
  return positions;
}

Status CostGraphReader::ForEach(const char* list, const Element& read) const {
  PW_ASSIGN(const Json* elements, GetArray(document_, list, ""));
  const auto place = [&](size_t i) { return fmt::format("{}[{}]", list, i); };
  for (size_t i = 0; i < elements->size(); ++i) {
    PW_RETURN_IF_ERROR(read((*elements)[i], place(i)));
  }
  if (text_.empty()) return Ok();
  const auto each = [&](std::string_view key, size_t i, Json& element) {
    return key == list ? read(element, place(i)) : Ok();
  };
  PW_RETURN_IF_ERROR(ParseJsonStreaming(text_, LongLists(), each, kLimits));
  return Ok();
}

// Unknown fields at the top are other programs' business, unless one stands for an optional field
// that would silently go missing.
Status CostGraphReader::ReadTop() {
  if (!document_.is_object()) {
    return MakeError(ErrorCode::kField, "the file is no JSON object", "");
  }
  PW_ASSIGN(const std::string schema, GetString(document_, "schema", ""));
  if (schema != kSchema && schema != kSchema2) {
    return MakeError(ErrorCode::kField,
                     fmt::format("is \"{}\"; this program reads {} and {}", Printable(schema, 60),
                                 kSchema, kSchema2),
                     "schema");
  }
  version2_ = schema == kSchema2;
  if (document_.contains("name")) PW_RETURN_IF_ERROR(GetString(document_, "name", ""));
  for (const auto& [key, value] : document_.items()) {
    for (const std::string_view optional : {"homes", "placement", "collectives", "sequence"}) {
      const bool of_version2 = optional == "collectives" || optional == "sequence";
      if (key == optional && of_version2 && !version2_) {
        return MakeError(ErrorCode::kField,
                         fmt::format("belongs to {}, and the file says {}", kSchema2, kSchema),
                         key);
      }
      if (key == optional || (of_version2 && !version2_) || EditDistance(key, optional) > 2) {
        continue;
      }
      return MakeError(ErrorCode::kField, fmt::format("did you mean \"{}\"?", optional), key);
    }
  }
  return Ok();
}

Status CostGraphReader::ReadDevices() {
  PW_ASSIGN(const Json* devices, GetArray(document_, "devices", ""));
  DeviceKind kind;
  kind.name = "given";
  kind.architecture = "given";
  kind.source = "cost graph";
  PW_RETURN_IF_ERROR(cluster_.AddKind(std::move(kind)));
  for (size_t i = 0; i < devices->size(); ++i) {
    const std::string place = fmt::format("devices[{}]", i);
    const Json& device = (*devices)[i];
    PW_RETURN_IF_ERROR(CheckFields(device, {"name", "memory_bytes"}, place));
    PW_ASSIGN(std::string name, NewName(device, devices_, "device", place));
    PW_ASSIGN(const int64_t memory, GetInt(device, "memory_bytes", place, 0, kMaxQuantity));
    auto added = cluster_.AddDevice({std::move(name), 0, 0, Bytes(memory), Bytes(0)});
    if (!added.ok()) return InPlace(place, std::move(added.error()));
  }
  if (devices->empty()) return MakeError(ErrorCode::kClusterInvalid, "no devices", "devices");
  return Ok();
}

Status CostGraphReader::ReadLinks() {
  PW_ASSIGN(const Json* links, GetArray(document_, "links", ""));
  for (size_t i = 0; i < links->size(); ++i) {
    const std::string place = fmt::format("links[{}]", i);
    const Json& link = (*links)[i];
    PW_RETURN_IF_ERROR(CheckFields(link, {"name", "bandwidth", "latency_ns"}, place));
    PW_ASSIGN(std::string name, NewName(link, links_, "link", place));
    PW_ASSIGN(const int64_t bandwidth, GetInt(link, "bandwidth", place, 1, kMaxQuantity));
    PW_ASSIGN(const int64_t latency, GetInt(link, "latency_ns", place, 0, kMaxQuantity));
    auto added =
        cluster_.AddLink({std::move(name), BytesPerSecond(bandwidth), Nanos(latency), "given"});
    if (!added.ok()) return InPlace(place, std::move(added.error()));
  }
  return Ok();
}

Status CostGraphReader::ReadRoutes() {
  PW_ASSIGN(const Json* routes, GetArray(document_, "routes", ""));
  for (size_t i = 0; i < routes->size(); ++i) {
    const std::string place = fmt::format("routes[{}]", i);
    const Json& route = (*routes)[i];
    PW_RETURN_IF_ERROR(CheckFields(route, {"from", "to", "links"}, place));
    PW_ASSIGN(const Json* from_name, GetField(route, "from", place));
    PW_ASSIGN(const size_t from, Resolve(*from_name, devices_, "device", place + ".from"));
    PW_ASSIGN(const Json* to_name, GetField(route, "to", place));
    PW_ASSIGN(const size_t to, Resolve(*to_name, devices_, "device", place + ".to"));
    PW_ASSIGN(const std::vector<size_t> positions,
              ReadNames(route, "links", place, links_, "link"));
    std::vector<LinkId> links;
    for (const size_t position : positions) links.push_back(LinkId(position));
    Status added = cluster_.AddRoute(DeviceId(from), DeviceId(to), std::move(links));
    if (!added.ok()) return InPlace(place, std::move(added.error()));
  }
  return Ok();
}

Status CostGraphReader::ReadHomes() {
  if (!document_.contains("homes")) return Ok();
  PW_ASSIGN(const Json* homes, GetObject(document_, "homes", ""));
  for (const auto& [tensor, device] : homes->items()) {
    PW_ASSIGN(const size_t position,
              Resolve(device, devices_, "device", fmt::format("homes.{}", Printable(tensor, 80))));
    homes_.emplace(tensor, DeviceId(position));
    home_names_.push_back(tensor);
  }
  return Ok();
}

Status CostGraphReader::ReadTensors() {
  PW_RETURN_IF_ERROR(ForEach("tensors", [&](const Json& tensor, const std::string& place) {
    return ReadTensor(tensor, place);
  }));
  for (const std::string& name : home_names_) {
    if (tensors_.count(name) > 0) continue;
    return MakeError(ErrorCode::kUnknownName,
                     fmt::format("no tensor is called \"{}\"{}", Printable(name, 80),
                                 DidYouMean(name, KeysOf(tensors_))),
                     fmt::format("homes.{}", Printable(name, 80)));
  }
  return Ok();
}

Status CostGraphReader::ReadTensor(const Json& tensor, const std::string& place) {
  PW_RETURN_IF_ERROR(CheckFields(tensor, {"name", "bytes", "kind"}, place));
  PW_ASSIGN(std::string name, NewName(tensor, tensors_, "tensor", place));
  PW_ASSIGN(const int64_t bytes, GetInt(tensor, "bytes", place, 0, kMaxQuantity));
  std::string kind = "activation";
  if (tensor.contains("kind")) {
    PW_ASSIGN(kind, GetString(tensor, "kind", place));
  }
  const bool parameter = kind == "parameter", input = kind == "input";
  if (!parameter && !input && kind != "activation") {
    return MakeError(
        ErrorCode::kField,
        fmt::format("is \"{}\", not parameter, input or activation", Printable(kind, 40)),
        place + ".kind");
  }
  is_input_.push_back(parameter || input);
  const auto home = homes_.find(name);
  if (home != homes_.end() && !parameter) {
    return MakeError(ErrorCode::kField, "only parameters have homes",
                     fmt::format("homes.{}", Printable(name, 80)));
  }
  const DeviceId given = home == homes_.end() ? DeviceId() : home->second;
  auto added = !is_input_.back()
                   ? graph_.DeclareTensor(std::move(name), DType::kOpaque, {}, Bytes(bytes))
                   : graph_.AddInput(std::move(name),
                                     parameter ? TensorKind::kParameter : TensorKind::kInput,
                                     DType::kOpaque, {}, Bytes(bytes), given);
  if (!added.ok()) return InPlace(place, std::move(added.error()));
  return Ok();
}

Status CostGraphReader::ReadOps() {
  return ForEach("ops",
                 [&](const Json& op, const std::string& place) { return ReadOp(op, place); });
}

Status CostGraphReader::ReadOp(const Json& op, const std::string& place) {
  if (version2_) {
    PW_RETURN_IF_ERROR(CheckFields(op, {"name", "time_ns", "inputs", "outputs", "after"}, place));
  } else {
    PW_RETURN_IF_ERROR(CheckFields(op, {"name", "time_ns", "inputs", "outputs"}, place));
  }
  OpSpec spec;
  PW_ASSIGN(spec.name, NewName(op, ops_, "op", place));
  if (op.contains("after")) {
    PW_ASSIGN(spec.after, ReadAfter(op, spec.name, place));
  }
  spec.type = "op";
  PW_RETURN_IF_ERROR(ReadTimes(op, place));
  PW_ASSIGN(const std::vector<size_t> inputs, ReadNames(op, "inputs", place, tensors_, "tensor"));
  for (const size_t position : inputs) spec.inputs.push_back(TensorId(position));
  PW_ASSIGN(const std::vector<size_t> made, ReadNames(op, "outputs", place, tensors_, "tensor"));
  std::vector<TensorId> outputs;
  std::set<size_t> distinct;
  for (size_t i = 0; i < made.size(); ++i) {
    const std::string output = fmt::format("{}.outputs[{}]", place, i);
    if (is_input_[made[i]]) {
      return MakeError(ErrorCode::kField, "a parameter or input is produced by no op", output);
    }
    if (!distinct.insert(made[i]).second) {
      return MakeError(ErrorCode::kDuplicateName, "the op produces this tensor twice", output);
    }
    outputs.push_back(TensorId(made[i]));
  }
  Status added = graph_.AddOpWithDeclaredOutputs(std::move(spec), std::move(outputs));
  if (!added.ok()) return InPlace(place, std::move(added.error()));
  return Ok();
}

Status CostGraphReader::ReadTimes(const Json& op, const std::string& place) {
  PW_ASSIGN(const Json* times, GetArray(op, "time_ns", place));
  if (times->size() != devices_.size()) {
    return MakeError(ErrorCode::kField,
                     fmt::format("{} times for {} devices", times->size(), devices_.size()),
                     place + ".time_ns");
  }
  std::vector<int64_t> row;
  for (size_t d = 0; d < times->size(); ++d) {
    if ((*times)[d].is_null()) {
      row.push_back(CostTable::kUnsupported.count);
      continue;
    }
    PW_ASSIGN(const int64_t time,
              AsInt((*times)[d], fmt::format("{}.time_ns[{}]", place, d), 0, kMaxQuantity));
    row.push_back(time);
  }
  times_.push_back(std::move(row));
  return Ok();
}

// Names of ops, which may come later in the list: the graph's builder looks them up.
Result<std::vector<std::string>> CostGraphReader::ReadAfter(const Json& op, const std::string& name,
                                                            const std::string& place) const {
  PW_ASSIGN(const Json* list, GetArray(op, "after", place));
  std::vector<std::string> names;
  std::set<std::string> distinct;
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string item = fmt::format("{}.after[{}]", place, i);
    PW_ASSIGN(std::string before, AsString((*list)[i], item));
    if (before == name) {
      return MakeError(ErrorCode::kGraphCycle, "the op comes after itself", item);
    }
    if (!distinct.insert(before).second) {
      return MakeError(ErrorCode::kDuplicateName,
                       fmt::format("\"{}\" is listed twice", Printable(before, 80)), item,
                       "Remove one of them.");
    }
    names.push_back(std::move(before));
  }
  return names;
}

// Behind the ops. Rule 15.
Status CostGraphReader::ReadCollectives() {
  if (!document_.contains("collectives")) return Ok();
  PW_ASSIGN(const Json* collectives, GetArray(document_, "collectives", ""));
  for (size_t i = 0; i < collectives->size(); ++i) {
    PW_RETURN_IF_ERROR(ReadCollective((*collectives)[i], fmt::format("collectives[{}]", i)));
  }
  return Ok();
}

Status CostGraphReader::ReadCollective(const Json& collective, const std::string& place) {
  PW_RETURN_IF_ERROR(CheckFields(collective, {"name", "members", "links", "time_ns"}, place));
  PW_ASSIGN(std::string name, NewName(collective, collectives_, "collective", place));
  PW_ASSIGN(const std::vector<size_t> positions,
            ReadNames(collective, "members", place, ops_, "op"));
  std::vector<OpId> members;
  for (size_t i = 0; i < positions.size(); ++i) {
    PW_RETURN_IF_ERROR(CheckMember(positions[i], fmt::format("{}.members[{}]", place, i)));
    members.push_back(OpId(positions[i]));
  }
  CostTable::CollectiveCost cost;
  PW_ASSIGN(const std::vector<size_t> links, ReadNames(collective, "links", place, links_, "link"));
  std::set<size_t> distinct;
  for (size_t i = 0; i < links.size(); ++i) {
    if (!distinct.insert(links[i]).second) {
      return MakeError(ErrorCode::kDuplicateName, "the link is listed twice",
                       fmt::format("{}.links[{}]", place, i), "Remove one of them.");
    }
    cost.links.push_back(LinkId(links[i]));
  }
  PW_ASSIGN(const int64_t time, GetInt(collective, "time_ns", place, 0, kMaxQuantity));
  cost.time = Nanos(time);
  Status added = graph_.AddCollective(std::move(name), std::move(members));
  if (!added.ok()) return InPlace(place + ".members", std::move(added.error()));
  collective_costs_.push_back(std::move(cost));
  return Ok();
}

Status CostGraphReader::CheckMember(size_t op, const std::string& place) const {
  for (const int64_t time : times_[op]) {
    if (time <= 0) continue;
    return MakeError(ErrorCode::kField,
                     "a member of a collective takes no time of its own: its time_ns is 0 or null "
                     "everywhere",
                     place);
  }
  return Ok();
}

// Rule 16; whether a list fits the placement is for those to say who use it (ResolveSequences).
Status CostGraphReader::ReadSequences() {
  if (!document_.contains("sequence")) return Ok();
  PW_ASSIGN(const Json* sequences, GetObject(document_, "sequence", ""));
  PW_ASSIGN(sequences_, SequencesFromJson(*sequences, "sequence"));
  if (sequences_.empty() || placement_) return Ok();
  return MakeError(ErrorCode::kField, "a sequence belongs to a placement, and the file has none",
                   "sequence");
}

Status CostGraphReader::ReadPlacement() {
  if (!document_.contains("placement")) return Ok();
  PW_ASSIGN(const Json* placement, GetObject(document_, "placement", ""));
  NamedPlacement named;
  for (const auto& [op, device] : placement->items()) {
    const std::string place = fmt::format("placement.{}", Printable(op, 80));
    if (ops_.count(op) == 0) {
      return MakeError(
          ErrorCode::kUnknownName,
          fmt::format("no op is called \"{}\"{}", Printable(op, 80), DidYouMean(op, KeysOf(ops_))),
          place);
    }
    PW_RETURN_IF_ERROR(Resolve(device, devices_, "device", place));
    named.emplace_back(op, device.get<std::string>());
  }
  placement_ = std::move(named);
  return Ok();
}

CostTable CostGraphReader::MakeCosts() const {
  CostTable costs(times_.size(), devices_.size());
  costs.SetCollectives(collective_costs_);
  for (const OpId op : IdRange<OpId>(times_.size())) {
    costs.SetSource(op, CostSource::kGiven);
    for (const DeviceId device : IdRange<DeviceId>(devices_.size())) {
      costs.SetTime(op, device, Nanos(times_[op.index()][device.index()]));
    }
  }
  return costs;
}

Result<CostGraph> CostGraphReader::Read() {
  PW_RETURN_IF_ERROR(ReadTop());
  PW_RETURN_IF_ERROR(ReadDevices());
  PW_RETURN_IF_ERROR(ReadLinks());
  PW_RETURN_IF_ERROR(ReadRoutes());
  PW_RETURN_IF_ERROR(ReadHomes());
  PW_RETURN_IF_ERROR(ReadTensors());
  PW_RETURN_IF_ERROR(ReadOps());
  PW_RETURN_IF_ERROR(ReadCollectives());
  PW_RETURN_IF_ERROR(ReadPlacement());
  PW_RETURN_IF_ERROR(ReadSequences());
  Result<Cluster> cluster = std::move(cluster_).Build();
  if (!cluster.ok()) return InPlace("devices", std::move(cluster.error()));
  Result<Graph> graph = std::move(graph_).Build();
  if (!graph.ok()) return InPlace("ops", std::move(graph.error()));
  return CostGraph{graph.Take(), cluster.Take(), MakeCosts(), std::move(placement_),
                   std::move(sequences_)};
}

}  // namespace

Result<NamedSequences> SequencesFromJson(const Json& object, const std::string& place) {
  NamedSequences sequences;
  for (const auto& [device, list] : object.items()) {
    const std::string of_device = fmt::format("{}.{}", place, Printable(device, 80));
    if (!list.is_array()) {
      return MakeError(ErrorCode::kField,
                       fmt::format("must be a list of ops, not {}", list.type_name()), of_device);
    }
    std::vector<std::string> ops;
    for (size_t i = 0; i < list.size(); ++i) {
      PW_ASSIGN(std::string op, AsString(list[i], fmt::format("{}[{}]", of_device, i)));
      ops.push_back(std::move(op));
    }
    sequences.emplace_back(device, std::move(ops));
  }
  return sequences;
}

Result<CostGraph> ReadCostGraph(const Json& document) { return CostGraphReader(document).Read(); }

// Tensors are named by ops, and devices by both, wherever the lists stand: what is left without the two is read first.
Result<CostGraph> ReadCostGraphText(std::string_view text) {
  const auto skip = [](std::string_view, size_t, Json&) { return Ok(); };
  PW_ASSIGN(const Json document, ParseJsonStreaming(text, LongLists(), skip, kLimits));
  return CostGraphReader(document, text).Read();
}

}  // namespace placewright
