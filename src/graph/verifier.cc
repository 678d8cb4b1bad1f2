#include "graph/verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/aliasing/layout.h"
#include "graph/aliasing/storages.h"
#include "graph/edges.h"

namespace placewright {
namespace {

class Verifier {
 public:
  explicit Verifier(const GraphData& graph) : graph_(graph) {}

  Status Run() {
    PW_RETURN_IF_ERROR(CheckSizes());
    PW_RETURN_IF_ERROR(CheckNames());
    for (OpId id : IdRange<OpId>(graph_.ops.size())) PW_RETURN_IF_ERROR(CheckOp(id));
    for (TensorId id : IdRange<TensorId>(graph_.tensors.size())) {
      PW_RETURN_IF_ERROR(CheckTensor(id));
    }
    ListWrites();
    for (StorageId id : IdRange<StorageId>(graph_.storages.size())) {
      PW_RETURN_IF_ERROR(CheckStorage(id));
    }
    for (OpId id : IdRange<OpId>(graph_.ops.size())) PW_RETURN_IF_ERROR(CheckAliasing(id));
    PW_RETURN_IF_ERROR(CheckEdges());
    PW_RETURN_IF_ERROR(CheckOrder());
    PW_RETURN_IF_ERROR(CheckVersionsInOrder());
    PW_RETURN_IF_ERROR(CheckGroups());
    return CheckHomes();
  }

 private:
  static Error Fail(std::string place, std::string message) {
    return MakeError(ErrorCode::kGraphInconsistent, std::move(message), std::move(place));
  }
  Error AtOp(OpId id, std::string message) const {
    return Fail("op " + Printable(graph_.ops[id].name, 120), std::move(message));
  }
  Error AtTensor(TensorId id, std::string message) const {
    return Fail("tensor " + Printable(graph_.tensors[id].name, 120), std::move(message));
  }
  Error AtStorage(StorageId id, std::string message) const {
    return Fail(fmt::format("storage {}", id.value()), std::move(message));
  }

  static std::vector<TensorId> Sorted(std::vector<TensorId> tensors) {
    std::sort(tensors.begin(), tensors.end());
    return tensors;
  }
  std::vector<StorageId> StoragesOf(const std::vector<TensorId>& tensors) const {
    std::vector<StorageId> storages;
    for (TensorId tensor : tensors) storages.push_back(graph_.tensors[tensor].storage);
    std::sort(storages.begin(), storages.end());
    return storages;
  }

  bool IsOp(OpId id) const { return id.valid() && id.index() < graph_.ops.size(); }
  bool IsTensor(TensorId id) const { return id.valid() && id.index() < graph_.tensors.size(); }

  Status CheckSizes() const {
    const size_t ops = graph_.ops.size(), storages = graph_.storages.size();
    if (graph_.group_of.size() != ops || graph_.topological_order.size() != ops ||
        graph_.consumers.offsets.size() != ops + 1 || graph_.producers.offsets.size() != ops + 1) {
      return Fail("", "an array by op does not have one entry for each op");
    }
    if (graph_.collective_of.size() != (graph_.collectives.empty() ? 0 : ops)) {
      return Fail("", "the ops' collectives do not have one entry for each op");
    }
    if (graph_.home_op.size() != storages ||
        (!graph_.given_homes.empty() && graph_.given_homes.size() != storages)) {
      return Fail("", "an array by storage does not have one entry for each storage");
    }
    if (graph_.modules.empty() || !graph_.modules[ModuleId(0)].empty()) {
      return Fail("", "module 0 is not the root");
    }
    std::vector<std::string> paths = graph_.modules.raw();
    std::sort(paths.begin(), paths.end());
    if (std::adjacent_find(paths.begin(), paths.end()) != paths.end()) {
      return Fail("", "two modules have one path");
    }
    for (TensorId output : graph_.outputs) {
      if (!IsTensor(output)) return Fail("", "an output of the graph is no tensor");
    }
    return Ok();
  }

  // The index by name is a permutation in strictly ascending order of names.
  template <class IdType, class Items>
  static Status CheckIndex(const std::vector<IdType>& index, const Items& items,
                           std::string_view kind) {
    if (index.size() != items.size()) return Fail("", fmt::format("not every {} is indexed", kind));
    for (size_t i = 0; i < index.size(); ++i) {
      if (!index[i].valid() || index[i].index() >= items.size()) {
        return Fail("", fmt::format("the index by name holds no {}", kind));
      }
      const std::string& name = items[index[i]].name;
      if (name.empty()) return Fail("", fmt::format("a {} has an empty name", kind));
      if (i == 0 || items[index[i - 1]].name < name) continue;
      return Fail(fmt::format("{} {}", kind, Printable(name, 120)),
                  "its name is not unique, or the index by name is not sorted");
    }
    return Ok();
  }

  Status CheckNames() const {
    PW_RETURN_IF_ERROR(CheckIndex(graph_.ops_by_name, graph_.ops, "op"));
    return CheckIndex(graph_.tensors_by_name, graph_.tensors, "tensor");
  }

  bool RefersToInputs(const Value& value, size_t inputs) const {
    if (const InputRef* ref = value.AsInput()) {
      return ref->index >= 0 && static_cast<size_t>(ref->index) < inputs;
    }
    const Value::List* list = value.AsList();
    return list == nullptr || std::all_of(list->begin(), list->end(), [&](const Value& item) {
             return RefersToInputs(item, inputs);
           });
  }

  // Each once.
  static bool WritesItsInputs(const Op& op) {
    if (op.writes.empty()) return true;
    const std::vector<TensorId> inputs = Sorted(op.inputs), writes = Sorted(op.writes);
    return std::adjacent_find(writes.begin(), writes.end()) == writes.end() &&
           std::includes(inputs.begin(), inputs.end(), writes.begin(), writes.end());
  }

  Status CheckOp(OpId id) const {
    const Op& op = graph_.ops[id];
    if (op.type.empty()) return AtOp(id, "it has no type");
    if (!op.module.valid() || op.module.index() >= graph_.modules.size()) {
      return AtOp(id, "it belongs to no module");
    }
    if (op.input_versions.size() != op.inputs.size()) {
      return AtOp(id, "not every input has a version");
    }
    for (const std::vector<TensorId>* tensors : {&op.inputs, &op.outputs, &op.writes}) {
      if (!std::all_of(tensors->begin(), tensors->end(), [&](TensorId t) { return IsTensor(t); })) {
        return AtOp(id, "it reads, makes or writes something that is no tensor");
      }
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {  // ascending indices: each listed once
      const Tensor& output = graph_.tensors[op.outputs[i]];
      if (output.producer != id) {
        return AtOp(id, "its output " + Printable(output.name, 80) + " names another producer");
      }
      if (i > 0 && graph_.tensors[op.outputs[i - 1]].output_index >= output.output_index) {
        return AtOp(id, "its outputs are not in the order of their indices");
      }
    }
    if (!WritesItsInputs(op)) {
      return AtOp(id, "it writes a tensor twice, or one that is none of its inputs");
    }
    for (OpId before : op.after) {
      if (!IsOp(before)) return AtOp(id, "it comes after something that is no op");
    }
    for (const Value& value : op.args) {
      if (!RefersToInputs(value, op.inputs.size())) {
        return AtOp(id, "an argument refers to none of its inputs");
      }
    }
    for (const NamedValue& named : op.attributes) {
      if (!RefersToInputs(named.value, op.inputs.size())) {
        return AtOp(id, "an attribute refers to none of its inputs");
      }
    }
    return Ok();
  }

  static bool BytesMatchShape(const Tensor& tensor) {
    if (tensor.dtype == DType::kOpaque) return tensor.bytes >= Bytes(0);
    int64_t bytes = SizeOf(tensor.dtype);
    bool empty = false;
    for (int64_t size : tensor.shape) {
      if (size < 0) return false;
      empty |= size == 0;
      bytes = SaturatingMultiply(bytes, std::max<int64_t>(size, 1));
    }
    return tensor.bytes == Bytes(empty ? 0 : bytes);
  }

  Status CheckTensor(TensorId id) const {
    const Tensor& tensor = graph_.tensors[id];
    if (!tensor.storage.valid() || tensor.storage.index() >= graph_.storages.size()) {
      return AtTensor(id, "it has no storage");
    }
    const Storage& storage = graph_.storages[tensor.storage];
    if (tensor.version < 0 || static_cast<size_t>(tensor.version) >= storage.versions.size()) {
      return AtTensor(id, fmt::format("its storage has no version {}", tensor.version));
    }
    if (tensor.held_until.valid() &&
        (!IsOp(tensor.held_until) || !(tensor.producer < tensor.held_until))) {
      return AtTensor(id, "it is held by something that is no op behind it");
    }
    if (tensor.kind != storage.kind) return AtTensor(id, "its kind is not that of its storage");
    if (!BytesMatchShape(tensor)) return AtTensor(id, "its bytes are not those of its shape");
    if (tensor.offset < Bytes(0) || tensor.length < Bytes(0) || tensor.bytes < Bytes(0) ||
        tensor.length > storage.bytes || tensor.offset > storage.bytes - tensor.length) {
      return AtTensor(id, "its bytes lie outside its storage");
    }
    if (!tensor.strides.empty()) {
      const int64_t size = std::max<int64_t>(1, SizeOf(tensor.dtype));
      if (tensor.strides.size() != tensor.shape.size() || tensor.offset.count % size != 0) {
        return AtTensor(id, "its strides do not match its shape");
      }
      const std::optional<ByteRange> hull =
          HullOf({tensor.dtype, tensor.shape, tensor.strides, tensor.offset.count / size});
      if (!hull || *hull != ByteRange{tensor.offset, tensor.length}) {
        return AtTensor(id, "its strides do not touch the bytes that it claims");
      }
    }
    if (!tensor.producer.valid()) return Ok();
    if (!IsOp(tensor.producer)) return AtTensor(id, "its producer is no op");
    const std::vector<TensorId>& outputs = graph_.ops[tensor.producer].outputs;
    const auto listed = std::lower_bound(
        outputs.begin(), outputs.end(), tensor.output_index,
        [&](TensorId t, int32_t index) { return graph_.tensors[t].output_index < index; });
    if (listed == outputs.end() || *listed != id) {
      return AtTensor(id, "its producer does not list it among its outputs");
    }
    return Ok();
  }

  void ListWrites() {
    for (OpId id : IdRange<OpId>(graph_.ops.size())) {
      for (TensorId tensor : graph_.ops[id].writes) {
        writes_.emplace_back(id, graph_.tensors[tensor].storage);
      }
    }
    std::sort(writes_.begin(), writes_.end());
  }

  Status CheckStorage(StorageId id) const {
    const Storage& storage = graph_.storages[id];
    if (!IsTensor(storage.first) || storage.versions.empty()) {
      return AtStorage(id, "it has no first tensor or no version");
    }
    const Tensor& first = graph_.tensors[storage.first];
    if (first.storage != id || first.version != 0 || first.offset != Bytes(0) ||
        first.length != storage.bytes || storage.versions[0].writer != first.producer) {
      return AtStorage(id, "its first tensor is not its whole first content");
    }
    if (id.valid() && id.index() > 0 &&
        graph_.storages[StorageId(id.index() - 1)].first >= storage.first) {
      return AtStorage(id, "storages are not in the order of their first tensors");
    }
    if (storage.kind == TensorKind::kInput && storage.versions.size() > 1) {
      return AtStorage(id, "it is an input of the graph, yet an op writes it");
    }
    for (size_t v = 1; v < storage.versions.size(); ++v) {
      const OpId writer = storage.versions[v].writer;
      if (!IsOp(writer) ||
          !std::binary_search(writes_.begin(), writes_.end(), std::make_pair(writer, id))) {
        return AtStorage(id, fmt::format("version {} has no op that writes it", v));
      }
    }
    return Ok();
  }

  // Reads, writes and views name versions that fit together.
  Status CheckAliasing(OpId id) const {
    const Op& op = graph_.ops[id];
    const std::vector<TensorId> writes = Sorted(op.writes);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Tensor& tensor = graph_.tensors[op.inputs[i]];
      const std::vector<Version>& versions = graph_.storages[tensor.storage].versions;
      const int32_t version = op.input_versions[i];
      if (version < tensor.version || static_cast<size_t>(version) >= versions.size()) {
        return AtOp(id, fmt::format("it reads version {} of {}, which cannot be", version,
                                    Printable(tensor.name, 80)));
      }
      const bool written = std::binary_search(writes.begin(), writes.end(), op.inputs[i]);
      if (written && (static_cast<size_t>(version) + 1 >= versions.size() ||
                      versions[static_cast<size_t>(version) + 1].writer != id)) {
        return AtOp(id, "it writes " + Printable(tensor.name, 80) + ", but made no version of it");
      }
    }
    bool all_alias = !op.outputs.empty();
    const std::vector<StorageId> read = StoragesOf(op.inputs);
    for (TensorId output : op.outputs) {
      const bool shares =
          std::binary_search(read.begin(), read.end(), graph_.tensors[output].storage);
      all_alias &= shares;
      if (!shares && graph_.storages[graph_.tensors[output].storage].first != output) {
        return AtOp(id, "an output has the storage of something that it does not read");
      }
    }
    if (op.is_view != (all_alias && op.writes.empty())) {
      return AtOp(id, op.is_view ? "it is marked as a view, but makes or writes bytes"
                                 : "it is a view, but not marked as one");
    }
    return Ok();
  }

  // Rows of ops, as many as there are ops.
  bool AreRows(const Csr<OpId, OpId>& rows) const {
    return rows.offsets.front() == 0 && std::is_sorted(rows.offsets.begin(), rows.offsets.end()) &&
           rows.offsets.back() == static_cast<int32_t>(rows.items.size()) &&
           std::all_of(rows.items.begin(), rows.items.end(), [&](OpId id) { return IsOp(id); });
  }

  // The consumers are the producers read the other way round.
  bool ConsumersMatch() const {
    if (!AreRows(graph_.consumers)) return false;
    std::vector<int32_t> next(graph_.consumers.offsets.begin(), graph_.consumers.offsets.end() - 1);
    for (OpId id : IdRange<OpId>(graph_.ops.size())) {
      for (OpId producer : graph_.producers[id]) {
        const int32_t at = next[producer.index()]++;
        if (at == graph_.consumers.offsets[producer.index() + 1]) return false;
        if (graph_.consumers.items[static_cast<size_t>(at)] != id) return false;
      }
    }
    return graph_.consumers.items.size() == graph_.producers.items.size();
  }

  Status CheckEdges() const {
    bool good = AreRows(graph_.producers);
    std::vector<OpId> expected;
    for (OpId id : IdRange<OpId>(good ? graph_.ops.size() : 0)) {
      const Op& op = graph_.ops[id];
      expected.assign(op.after.begin(), op.after.end());
      for (TensorId input : op.inputs) {
        const OpId producer = graph_.tensors[input].producer;
        if (producer.valid()) expected.push_back(producer);
      }
      std::sort(expected.begin(), expected.end());
      expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
      const std::span<const OpId> row = graph_.producers[id];
      good = good && std::equal(row.begin(), row.end(), expected.begin(), expected.end());
    }
    if (!good) return Fail("", "the producers of the ops do not follow from their inputs");
    if (!ConsumersMatch()) {
      return Fail("", "the consumers of the ops do not follow from their inputs");
    }
    if (graph_.order_edges != RequiredOrderEdges(graph_)) {
      return Fail("", "the order edges do not follow from the storages");
    }
    return Ok();
  }

  Status CheckOrder() {
    position_.assign(graph_.ops.size(), -1);
    int32_t next = 0;
    for (OpId op : graph_.topological_order) {
      if (!IsOp(op) || position_[op] >= 0) {
        return Fail("", "the topological order does not hold every op once");
      }
      position_[op] = next++;
    }
    OpId from, to;
    const auto check = [&](OpId a, OpId b) {
      if (position_[a] < position_[b]) return true;
      from = a;
      to = b;
      return false;
    };
    bool good = true;
    for (OpId op : IdRange<OpId>(graph_.ops.size())) {
      for (OpId consumer : graph_.consumers[op]) good = good && check(op, consumer);
    }
    for (const OrderEdge& edge : graph_.order_edges) good = good && check(edge.from, edge.to);
    if (good) return CheckCollectives();
    PW_RETURN_IF_ERROR(TopologicalOrder(graph_));  // a cycle is the better message
    return AtOp(to, "the topological order lists it before " +
                        Printable(graph_.ops[from].name, 80) + ", which it needs");
  }

  // Every collective's members name it, no other op does, and they are neighbours in the order.
  Status CheckCollectives() const {
    size_t members = 0;
    for (CollectiveId id : IdRange<CollectiveId>(graph_.collectives.size())) {
      const Collective& collective = graph_.collectives[id];
      members += collective.members.size();
      bool good = !collective.members.empty();
      for (size_t i = 0; good && i < collective.members.size(); ++i) {
        const OpId op = collective.members[i];
        good = IsOp(op) && graph_.collective_of[op] == id && !graph_.ops[op].is_view &&
               position_[op] == position_[collective.members[0]] + static_cast<int32_t>(i);
      }
      if (good) continue;
      return Fail(collective.name, "its members are not ops of its own, one behind the other");
    }
    for (const CollectiveId id : graph_.collective_of) members -= id.valid() ? 1 : 0;
    if (members == 0) return Ok();
    return Fail("", "an op is a member of a collective that does not list it");
  }

  // A version is read between its own write and the next.
  Status CheckVersionsInOrder() const {
    for (OpId id : IdRange<OpId>(graph_.ops.size())) {
      const Op& op = graph_.ops[id];
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const std::vector<Version>& versions =
            graph_.storages[graph_.tensors[op.inputs[i]].storage].versions;
        const size_t version = static_cast<size_t>(op.input_versions[i]);
        const OpId writer = versions[version].writer;
        const OpId next = version + 1 < versions.size() ? versions[version + 1].writer : OpId();
        if (writer.valid() && position_[writer] >= position_[id]) {
          return AtOp(id, "it reads a version before that is written");
        }
        if (next.valid() && next != id && !op.is_view && position_[next] <= position_[id]) {
          return AtOp(id, "it reads a version after that is overwritten");
        }
      }
    }
    return Ok();
  }

  Status CheckGroups() const {
    size_t seen = 0;
    for (OpId id : IdRange<OpId>(graph_.ops.size())) {
      const GroupId group = graph_.group_of[id];
      if (!group.valid() || group.index() > seen || group.index() >= graph_.group_count) {
        return AtOp(id, "groups are not numbered densely by their smallest op id");
      }
      if (group.index() == seen) ++seen;
      const Op& op = graph_.ops[id];
      for (const std::vector<TensorId>* tensors : {&op.outputs, &op.writes}) {
        for (TensorId tensor : *tensors) {
          const OpId home = graph_.home_op[graph_.tensors[tensor].storage];
          if (IsOp(home) && graph_.group_of[home] == group) continue;
          return AtOp(id, "it makes, views or writes a storage whose home is another group's");
        }
      }
    }
    if (seen != graph_.group_count) return Fail("", "there are groups without ops");
    return Ok();
  }

  Status CheckHomes() const {
    IdVector<StorageId, char> touched(graph_.storages.size(), 0);
    for (const Op& op : graph_.ops) {
      for (TensorId input : op.inputs) touched[graph_.tensors[input].storage] = 1;
      for (TensorId output : op.outputs) touched[graph_.tensors[output].storage] = 1;
    }
    for (StorageId id : IdRange<StorageId>(graph_.storages.size())) {
      if (IsOp(graph_.home_op[id]) == (touched[id] != 0)) continue;
      return AtStorage(id, touched[id] ? "it has no home, though ops touch it"
                                       : "it has a home, though no op touches it");
    }
    return Ok();
  }

  const GraphData& graph_;
  std::vector<std::pair<OpId, StorageId>> writes_;  // sorted
  IdVector<OpId, int32_t> position_;                // in the topological order
};

}  // namespace

Status CheckGraphConsistent(const GraphData& graph) { return Verifier(graph).Run(); }

}  // namespace placewright
