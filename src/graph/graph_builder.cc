#include "graph/graph_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "graph/edges.h"
#include "graph/ownership/colocation.h"
#include "graph/ownership/module_attribution.h"
#include "graph/verifier.h"

namespace placewright {
namespace {

constexpr size_t kMaxRank = 64;
constexpr size_t kMaxName = 16384;  // characters; bounds the cost of comparing module paths
constexpr size_t kMaxItems = size_t{1} << 30;  // ids are 32 bits

Status CheckName(std::string_view kind, std::string_view name) {
  if (name.empty()) {
    return MakeError(ErrorCode::kField, fmt::format("{} has an empty name", kind));
  }
  if (name.size() <= kMaxName) return Ok();
  return MakeError(ErrorCode::kField,
                   fmt::format("the name of {} has {} characters, more than the limit of {}", kind,
                               name.size(), kMaxName),
                   Printable(name, 60));
}

std::string InName(std::string_view kind, std::string_view name) {
  return fmt::format("{} {}", kind, Printable(name, 120));
}

// elements * element size, or the given bytes of an opaque tensor.
Result<Bytes> BytesOf(std::string_view name, DType dtype, const std::vector<int64_t>& shape,
                      Bytes opaque_bytes) {
  if (shape.size() > kMaxRank) {
    return MakeError(ErrorCode::kField, fmt::format("has more than {} dimensions", kMaxRank),
                     InName("tensor", name));
  }
  __int128 bytes = SizeOf(dtype);
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0) {
      return MakeError(ErrorCode::kGraphShape, fmt::format("has a dimension of size {}", size),
                       InName("tensor", name));
    }
    empty |= size == 0;
    if (size > 0) bytes *= size;
    if (bytes > kMaxQuantity) bytes = static_cast<__int128>(kMaxQuantity) + 1;
  }
  if (dtype == DType::kOpaque) bytes = opaque_bytes.count;
  if (empty && dtype != DType::kOpaque) bytes = 0;
  if (bytes < 0 || bytes > kMaxQuantity) {
    return MakeError(ErrorCode::kField,
                     fmt::format("its size is outside [0, {}] bytes", kMaxQuantity),
                     InName("tensor", name));
  }
  return Bytes(static_cast<int64_t>(bytes));
}

bool IsAscending(const GraphData& graph) {
  for (OpId op : IdRange<OpId>(graph.ops.size())) {
    for (OpId to : graph.consumers[op]) {
      if (to <= op) return false;
    }
  }
  return true;
}

// What backward ops made and optimizer ops read, looking at storages: through views.
void MarkKinds(GraphData& graph) {
  IdVector<StorageId, char> read_by_optimizer(graph.storages.size(), 0);
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::kOptimizer || op.is_view) continue;
    for (TensorId input : op.inputs) read_by_optimizer[graph.tensors[input].storage] = 1;
  }
  for (StorageId id : IdRange<StorageId>(graph.storages.size())) {
    Storage& storage = graph.storages[id];
    const OpId maker = storage.versions[0].writer;
    if (maker.valid() && graph.ops[maker].phase == Phase::kBackward && read_by_optimizer[id]) {
      storage.kind = TensorKind::kGradient;
    }
  }
  for (Tensor& tensor : graph.tensors) tensor.kind = graph.storages[tensor.storage].kind;
}

// The first bytes of a name as a number that sorts as they do.
uint64_t BeginOf(std::string_view name) {
  uint64_t begin = 0;
  for (size_t i = 0; i < sizeof(begin); ++i) {
    begin = begin << 8 | (i < name.size() ? static_cast<uint8_t>(name[i]) : 0);
  }
  return begin;
}

template <class IdType, class Items>
std::vector<IdType> SortedByName(const Items& items) {
  std::vector<std::pair<uint64_t, IdType>> sorted;  // most names differ in their first bytes
  sorted.reserve(items.size());
  for (IdType id : IdRange<IdType>(items.size())) {
    sorted.emplace_back(BeginOf(items[id].name), id);
  }
  std::sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : items[a.second].name < items[b.second].name;
  });
  std::vector<IdType> ids;
  ids.reserve(items.size());
  for (const auto& [begin, id] : sorted) ids.push_back(id);
  return ids;
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name, std::string format) {
  data_.name = std::move(name);
  data_.format = std::move(format);
}

std::string_view GraphBuilder::Intern(const std::string& type) {
  const auto it = types_.find(type);
  if (it != types_.end()) return it->second;
  data_.interned.push_back(std::make_unique<std::string>(type));
  return types_.emplace(type, *data_.interned.back()).first->second;
}

Result<TensorId> GraphBuilder::AddTensor(std::string name, DType dtype, std::vector<int64_t> shape,
                                         Bytes opaque_bytes) {
  PW_RETURN_IF_ERROR(CheckName("a tensor", name));
  if (data_.tensors.size() >= kMaxItems) {
    return MakeError(ErrorCode::kField, "more tensors than the program can number");
  }
  PW_ASSIGN(const Bytes bytes, BytesOf(name, dtype, shape, opaque_bytes));
  const TensorId id(data_.tensors.size());
  if (Lookup(name).valid()) {
    return MakeError(ErrorCode::kDuplicateName, "two tensors have this name",
                     InName("tensor", name));
  }
  tensor_ids_.Add(name, id.value());
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.bytes = bytes;
  data_.tensors.push_back(std::move(tensor));
  aliases_.push_back(TensorAlias());
  declared_.push_back(false);
  given_homes_.push_back(DeviceId());
  return id;
}

Result<TensorId> GraphBuilder::AddInput(std::string name, TensorKind kind, DType dtype,
                                        std::vector<int64_t> shape, Bytes opaque_bytes,
                                        DeviceId given_home) {
  PW_ASSIGN(const TensorId id, AddTensor(std::move(name), dtype, std::move(shape), opaque_bytes));
  data_.tensors[id].kind = kind;
  given_homes_[id] = given_home;
  has_given_homes_ |= given_home.valid();
  return id;
}

Result<TensorId> GraphBuilder::DeclareTensor(std::string name, DType dtype,
                                             std::vector<int64_t> shape, Bytes opaque_bytes) {
  PW_ASSIGN(const TensorId id, AddTensor(std::move(name), dtype, std::move(shape), opaque_bytes));
  declared_[id] = true;
  return id;
}

Status GraphBuilder::CheckAlias(const OutputSpec& output, const OpSpec& spec) const {
  if (output.alias == AliasKind::kFresh) return Ok();
  if (output.alias_of < 0 || static_cast<size_t>(output.alias_of) >= spec.inputs.size()) {
    return MakeError(ErrorCode::kField,
                     fmt::format("an output is a view of, or writes, input {}, but the op has {} "
                                 "inputs",
                                 output.alias_of, spec.inputs.size()),
                     InName("op", spec.name));
  }
  return Ok();
}

// Checks and adds the op without its outputs; its lists move out of `spec`.
Result<OpId> GraphBuilder::StartOp(OpSpec& spec) {
  PW_RETURN_IF_ERROR(CheckName("an op", spec.name));
  if (!spec.module.empty()) PW_RETURN_IF_ERROR(CheckName("a module", spec.module));
  if (spec.type.empty()) {
    return MakeError(ErrorCode::kField, "it has no type", InName("op", spec.name));
  }
  if (data_.ops.size() >= kMaxItems) {
    return MakeError(ErrorCode::kField, "more ops than the program can number");
  }
  for (const OutputSpec& output : spec.outputs) PW_RETURN_IF_ERROR(CheckAlias(output, spec));
  for (int32_t index : spec.writes) {
    if (index < 0 || static_cast<size_t>(index) >= spec.inputs.size()) {
      return MakeError(
          ErrorCode::kField,
          fmt::format("it writes input {}, but has {} inputs", index, spec.inputs.size()),
          InName("op", spec.name));
    }
  }
  for (TensorId input : spec.inputs) {
    PW_CHECK(input.valid() && input.index() < data_.tensors.size());
  }
  const OpId id(data_.ops.size());
  if (LookupOp(spec.name).valid()) {
    return MakeError(ErrorCode::kDuplicateName, "two ops have this name", InName("op", spec.name));
  }
  op_ids_.Add(spec.name, id.value());
  Op op;
  RecordWrites(op, spec);
  op.name = std::move(spec.name);
  op.type = Intern(spec.type);
  op.phase = spec.phase;
  op.inputs = std::move(spec.inputs);
  op.args = std::move(spec.args);
  op.attributes = std::move(spec.attributes);
  data_.ops.push_back(std::move(op));
  after_.push_back(std::move(spec.after));
  devices_.push_back(spec.device);
  module_names_.emplace_back();
  if (spec.in_root || !spec.module.empty()) module_names_.back() = std::move(spec.module);
  return id;
}

// The written inputs in the order of first mention, each once.
void GraphBuilder::RecordWrites(Op& op, const OpSpec& spec) {
  const auto in_place = [](const OutputSpec& o) { return o.alias == AliasKind::kInPlace; };
  if (spec.writes.empty() && std::none_of(spec.outputs.begin(), spec.outputs.end(), in_place)) {
    return;
  }
  std::vector<char> written(spec.inputs.size(), 0);
  const auto write = [&](int32_t index) {
    if (std::exchange(written[static_cast<size_t>(index)], 1) == 0) {
      op.writes.push_back(spec.inputs[static_cast<size_t>(index)]);
    }
  };
  for (const OutputSpec& output : spec.outputs) {
    if (output.alias == AliasKind::kInPlace) write(output.alias_of);
  }
  for (int32_t index : spec.writes) write(index);
  // One tensor may stand in several places.
  std::vector<TensorId> distinct = op.writes;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.size() < op.writes.size()) op.writes = std::move(distinct);
}

Result<std::vector<TensorId>> GraphBuilder::AddOp(OpSpec spec) {
  PW_ASSIGN(const OpId id, StartOp(spec));
  std::vector<TensorId> outputs;
  outputs.reserve(spec.outputs.size());
  for (OutputSpec& output : spec.outputs) {
    PW_ASSIGN(const TensorId tensor, AddTensor(std::move(output.name), output.dtype,
                                               std::move(output.shape), output.opaque_bytes));
    data_.tensors[tensor].producer = id;
    data_.tensors[tensor].output_index =
        output.output_index >= 0 ? output.output_index : static_cast<int32_t>(outputs.size());
    if (output.alias != AliasKind::kFresh) {
      aliases_[tensor] = {output.alias, data_.ops[id].inputs[static_cast<size_t>(output.alias_of)]};
    }
    outputs.push_back(tensor);
  }
  data_.ops[id].outputs = outputs;
  return outputs;
}

Status GraphBuilder::AddOpWithDeclaredOutputs(OpSpec spec, std::vector<TensorId> outputs) {
  const auto in_place = [](const OutputSpec& o) { return o.alias == AliasKind::kInPlace; };
  PW_CHECK(spec.outputs.empty() || spec.outputs.size() == outputs.size());
  if (!spec.writes.empty() || std::any_of(spec.outputs.begin(), spec.outputs.end(), in_place)) {
    return MakeError(ErrorCode::kField, "an op that writes its inputs must be listed in file order",
                     InName("op", spec.name));
  }
  PW_ASSIGN(const OpId id, StartOp(spec));
  for (size_t i = 0; i < outputs.size(); ++i) {
    Tensor& tensor = data_.tensors[outputs[i]];
    if (tensor.producer.valid() || !declared_[outputs[i]]) {
      return MakeError(ErrorCode::kDuplicateName,
                       tensor.producer.valid()
                           ? fmt::format("both {} and {} produce it",
                                         Printable(data_.ops[tensor.producer].name, 80),
                                         Printable(data_.ops[id].name, 80))
                           : fmt::format("it is an input of the graph, yet {} produces it",
                                         Printable(data_.ops[id].name, 80)),
                       InName("tensor", tensor.name));
    }
    tensor.producer = id;
    tensor.output_index = static_cast<int32_t>(i);
    if (!spec.outputs.empty() && spec.outputs[i].alias != AliasKind::kFresh) {
      aliases_[outputs[i]] = {spec.outputs[i].alias,
                              data_.ops[id].inputs[static_cast<size_t>(spec.outputs[i].alias_of)]};
    }
  }
  data_.ops[id].outputs = std::move(outputs);
  return Ok();
}

void GraphBuilder::Tie(TensorId a, TensorId b) { ties_.emplace_back(a, b); }

void GraphBuilder::TieStateByName(TensorId state) {
  constexpr std::string_view kPrefix = "opt_state:";
  const Tensor& tensor = data_.tensors[state];
  if (tensor.kind != TensorKind::kOptimizerState || !tensor.name.starts_with(kPrefix)) return;
  // A slot's name may have dots as a parameter's has: the longest prefix that is a parameter is its own.
  constexpr int kMaxComponents = 8;  // of a slot's name
  std::string path = tensor.name.substr(kPrefix.size());
  for (int i = 0; i < kMaxComponents; ++i) {
    const size_t dot = path.rfind('.');
    if (dot == std::string::npos) return;
    path.resize(dot);
    const TensorId parameter = Lookup("param:" + path);
    if (!parameter.valid()) continue;
    Tie(parameter, state);
    return;
  }
}

void GraphBuilder::Colocate(std::string a, std::string b) {
  colocated_.emplace_back(std::move(a), std::move(b));
}

Status GraphBuilder::AddCollective(std::string name, std::vector<OpId> members) {
  PW_RETURN_IF_ERROR(CheckName("a collective", name));
  const std::string place = InName("collective", name);
  if (members.empty()) return MakeError(ErrorCode::kField, "it has no members", place);
  const CollectiveId id(data_.collectives.size());
  data_.collective_of.resize(data_.ops.size());
  for (const OpId op : members) {
    PW_CHECK(op.valid() && op.index() < data_.ops.size());
    const CollectiveId other = std::exchange(data_.collective_of[op], id);
    if (!other.valid()) continue;
    return MakeError(
        ErrorCode::kField,
        fmt::format(
            "{} is a member {}", Printable(data_.ops[op].name, 80),
            other == id ? "twice" : "of " + Printable(data_.collectives[other].name, 80) + ", too"),
        place);
  }
  if (!collective_names_.insert(name).second) {
    return MakeError(ErrorCode::kDuplicateName, "two collectives have this name", place);
  }
  data_.collectives.push_back({std::move(name), std::move(members)});
  return Ok();
}

TensorId GraphBuilder::Lookup(std::string_view tensor_name) const {
  const auto name_of = [&](int32_t i) { return std::string_view(data_.tensors[TensorId(i)].name); };
  return TensorId(tensor_ids_.Find(tensor_name, name_of));
}

OpId GraphBuilder::LookupOp(std::string_view name) const {
  const auto name_of = [&](int32_t i) { return std::string_view(data_.ops[OpId(i)].name); };
  return OpId(op_ids_.Find(name, name_of));
}

Result<TensorId> GraphBuilder::Find(std::string_view tensor_name) const {
  const TensorId found = Lookup(tensor_name);
  if (found.valid()) return found;
  constexpr size_t kMaxCandidates = 20000;  // each costs an edit distance
  std::vector<std::string> candidates;
  for (const Tensor& tensor : data_.tensors) {
    if (candidates.size() == kMaxCandidates) break;
    candidates.push_back(tensor.name);
  }
  return MakeError(ErrorCode::kUnknownName,
                   fmt::format("there is no tensor \"{}\"{}", Printable(tensor_name, 120),
                               DidYouMean(tensor_name, candidates)));
}

void GraphBuilder::Hold(TensorId tensor, OpId until) {
  PW_CHECK(tensor.valid() && until.index() < data_.ops.size());
  PW_CHECK(data_.tensors[tensor].producer < until);
  data_.tensors[tensor].held_until = until;
}

void GraphBuilder::SetOutputs(std::vector<TensorId> outputs) { data_.outputs = std::move(outputs); }

Status GraphBuilder::ResolveAfter() {
  for (OpId id : IdRange<OpId>(data_.ops.size())) {
    for (const std::string& name : after_[id.index()]) {
      const OpId before = LookupOp(name);
      if (!before.valid()) {
        return MakeError(
            ErrorCode::kUnknownName,
            fmt::format("it comes after \"{}\", but there is no such op", Printable(name, 120)),
            InName("op", data_.ops[id].name));
      }
      data_.ops[id].after.push_back(before);
    }
  }
  return Ok();
}

Result<std::vector<std::pair<OpId, OpId>>> GraphBuilder::ResolveColocated() const {
  std::vector<std::pair<OpId, OpId>> pairs;
  for (const auto& [a, b] : colocated_) {
    const OpId first = LookupOp(a), second = LookupOp(b);
    if (!first.valid() || !second.valid()) {
      const std::string& missing = first.valid() ? b : a;
      return MakeError(ErrorCode::kUnknownName,
                       fmt::format("there is no op \"{}\" to colocate", Printable(missing, 120)));
    }
    pairs.emplace_back(first, second);
  }
  return pairs;
}

Status GraphBuilder::CheckAllDeclaredProduced() const {
  for (TensorId id : IdRange<TensorId>(data_.tensors.size())) {
    if (declared_[id] && !data_.tensors[id].producer.valid()) {
      return MakeError(ErrorCode::kField, "no op produces it, and it is no input of the graph",
                       InName("tensor", data_.tensors[id].name));
    }
  }
  return Ok();
}

Status GraphBuilder::CheckNoWrites() const {
  for (const Op& op : data_.ops) {
    if (op.writes.empty()) continue;
    return MakeError(ErrorCode::kGraphOrder,
                     "it writes its inputs, but the ops are not listed in an order in which they "
                     "can run",
                     InName("op", op.name));
  }
  return Ok();
}

Result<Graph> GraphBuilder::Build() && {
  PW_RETURN_IF_ERROR(CheckAllDeclaredProduced());
  PW_RETURN_IF_ERROR(ResolveAfter());
  if (!data_.collectives.empty()) data_.collective_of.resize(data_.ops.size());
  DeriveDataEdges(data_);
  // Each of what follows reads what stands before it: data edges, storages with their versions, the edges that versions
  // require, an order of all; homes and groups go by these.
  // Versions are resolved in file order; where the file has none, nothing is written in place.
  std::vector<OpId> order;
  if (IsAscending(data_)) {
    for (OpId id : IdRange<OpId>(data_.ops.size())) order.push_back(id);
  } else {
    PW_RETURN_IF_ERROR(CheckNoWrites());
    PW_ASSIGN(order, TopologicalOrder(data_));
  }
  DeriveStorages(data_, aliases_, order);
  data_.order_edges = RequiredOrderEdges(data_);
  PW_ASSIGN(data_.topological_order, TopologicalOrder(data_));
  MarkKinds(data_);
  DeriveHomes(data_);
  const IdVector<OpId, StorageId> served = ServedParameters(data_, ties_);
  PW_ASSIGN(const auto colocated, ResolveColocated());
  DeriveGroups(data_, ties_, colocated, served, devices_);
  AttributeModules(data_, module_names_, served);
  if (has_given_homes_) {
    for (const Storage& storage : data_.storages) {
      data_.given_homes.push_back(given_homes_[storage.first]);
    }
  }
  data_.ops_by_name = SortedByName<OpId>(data_.ops);
  data_.tensors_by_name = SortedByName<TensorId>(data_.tensors);
  PW_RETURN_IF_ERROR(CheckGraphConsistent(data_));
  Graph graph;
  graph.data_ = std::move(data_);
  return graph;
}

}  // namespace placewright
