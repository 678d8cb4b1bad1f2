#include "check_plan/placement_check.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"

namespace placewright::check {
namespace {

// Disjoint sets with path halving; the smallest op id represents its set.
class Sets {
 public:
  explicit Sets(size_t count) : parent_(count) {
    for (size_t i = 0; i < count; ++i) parent_[OpId(i)] = OpId(i);
  }
  OpId Find(OpId op) {
    while (parent_[op] != op) op = parent_[op] = parent_[parent_[op]];
    return op;
  }
  void Join(OpId a, OpId b) {
    a = Find(a);
    b = Find(b);
    if (a < b) parent_[b] = a;
    if (b < a) parent_[a] = b;
  }

 private:
  IdVector<OpId, OpId> parent_;
};

// The smallest op id that makes, writes or views each storage.
IdVector<StorageId, OpId> JoinOwners(const Graph& graph, Sets& sets, bool views_of_inputs) {
  IdVector<StorageId, OpId> owner(graph.storage_count());
  const auto own = [&](OpId op, StorageId storage) {
    const Storage& owned = graph.storage(storage);
    const bool input = owned.kind == TensorKind::kInput && owned.versions.size() == 1;
    if (input && !views_of_inputs) return;
    if (owner[storage].valid()) sets.Join(owner[storage], op);
    if (!owner[storage].valid()) owner[storage] = op;
  };
  for (OpId op : graph.ops()) {
    for (TensorId id : graph.op(op).outputs) own(op, graph.tensor(id).storage);
    for (TensorId id : graph.op(op).writes) own(op, graph.tensor(id).storage);
  }
  for (StorageId id : graph.storages()) {
    for (const Version& version : graph.storage(id).versions) {
      if (version.writer.valid()) own(version.writer, id);
    }
  }
  return owner;
}

// One parameter storage or none (invalid) or several.
struct OneOrSeveral {
  StorageId one;
  bool several = false;
  void Add(StorageId id) {
    if (one.valid() && one != id) several = true;
    one = id;
  }
  bool exactly_one() const { return one.valid() && !several; }
};

// The storages of one kind that an op reads or writes.
std::vector<StorageId> Touched(const Graph& graph, OpId op, TensorKind kind) {
  std::vector<StorageId> storages;
  for (const auto* ids : {&graph.op(op).inputs, &graph.op(op).writes}) {
    for (TensorId id : *ids) {
      const StorageId storage = graph.tensor(id).storage;
      if (graph.storage(storage).kind == kind) storages.push_back(storage);
    }
  }
  return storages;
}

// Optimizer ops that touch the same parameter or state, or of which one made what the other reads:
// each such chain updates one parameter, or (a norm over all gradients) several.
Sets UpdateChains(const Graph& graph) {
  Sets chains(graph.op_count());
  IdVector<StorageId, OpId> last(graph.storage_count());
  for (OpId op : graph.ops()) {
    if (graph.op(op).phase != Phase::kOptimizer) continue;
    for (const auto* ids : {&graph.op(op).inputs, &graph.op(op).outputs}) {
      for (TensorId id : *ids) {
        const Storage& storage = graph.storage(graph.tensor(id).storage);
        const OpId maker = storage.versions.front().writer;
        const bool own = maker.valid() ? graph.op(maker).phase == Phase::kOptimizer
                                       : storage.kind == TensorKind::kParameter ||
                                             storage.kind == TensorKind::kOptimizerState;
        if (!own) continue;
        OpId& other = last[graph.tensor(id).storage];
        if (other.valid()) chains.Join(other, op);
        other = op;
      }
    }
  }
  return chains;
}

// Joins each parameter with the ops that touch it and no other, and with the state that its chain
// alone touches.
void JoinUpdates(const Graph& graph, const IdVector<StorageId, OpId>& owner, Sets& sets) {
  Sets chains = UpdateChains(graph);
  IdVector<OpId, OneOrSeveral> parameter_of_chain(graph.op_count());
  for (OpId op : graph.ops()) {
    if (graph.op(op).phase != Phase::kOptimizer) continue;
    OneOrSeveral parameter;
    for (StorageId id : Touched(graph, op, TensorKind::kParameter)) {
      parameter.Add(id);
      parameter_of_chain[chains.Find(op)].Add(id);
    }
    if (parameter.exactly_one() && owner[parameter.one].valid()) {
      sets.Join(op, owner[parameter.one]);
    }
  }
  for (OpId op : graph.ops()) {
    if (graph.op(op).phase != Phase::kOptimizer) continue;
    const OneOrSeveral& parameter = parameter_of_chain[chains.Find(op)];
    if (!parameter.exactly_one() || !owner[parameter.one].valid()) continue;
    for (StorageId state : Touched(graph, op, TensorKind::kOptimizerState)) {
      if (owner[state].valid()) sets.Join(owner[state], owner[parameter.one]);
    }
  }
}

Violation Apart(const Graph& graph, const Cluster& cluster, const Placement& placement, OpId a,
                OpId b, std::string_view why) {
  return {ViolationKind::kColocation,
          fmt::format("\"{}\" lies on {} and \"{}\" on {}, but {}", Printable(graph.op(a).name, 80),
                      cluster.device(placement[a]).name, Printable(graph.op(b).name, 80),
                      cluster.device(placement[b]).name, why),
          fmt::format("placement[\"{}\"]", Printable(graph.op(b).name, 80))};
}

}  // namespace

IdVector<OpId, OpId> SharedStorageSets(const Graph& graph, bool views_of_inputs) {
  Sets sets(graph.op_count());
  const IdVector<StorageId, OpId> owner = JoinOwners(graph, sets, views_of_inputs);
  JoinUpdates(graph, owner, sets);
  IdVector<OpId, OpId> min(graph.op_count());
  for (OpId op : graph.ops()) min[op] = sets.Find(op);
  return min;
}

MaybeViolation CheckCoverage(const NamedPlacement& named, const Graph& graph,
                             const Cluster& cluster, const CostTable& costs, Placement& placement) {
  placement.assign(graph.op_count(), DeviceId());
  for (const auto& [op_name, device_name] : named) {
    const std::string place = fmt::format("placement[\"{}\"]", Printable(op_name, 80));
    const auto wrong = [&place](ViolationKind kind, std::string message) {
      return Violation{kind, std::move(message), place};
    };
    const OpId op = graph.FindOp(op_name);
    if (!op.valid()) return wrong(ViolationKind::kCoverage, "the graph has no such op");
    if (placement[op].valid()) return wrong(ViolationKind::kCoverage, "the op is placed twice");
    const DeviceId device = cluster.FindDevice(device_name);
    if (!device.valid()) {
      return wrong(ViolationKind::kCoverage,
                   fmt::format("the cluster has no device \"{}\"", Printable(device_name, 80)));
    }
    if (!graph.op(op).is_view && !costs.Supports(op, device)) {
      return wrong(ViolationKind::kUnsupported,
                   fmt::format("the op has no time on {}", device_name));
    }
    placement[op] = device;
  }
  for (OpId op : graph.ops()) {
    if (placement[op].valid()) continue;
    return Violation{ViolationKind::kCoverage, "the op has no device",
                     fmt::format("placement[\"{}\"]", Printable(graph.op(op).name, 80))};
  }
  return std::nullopt;
}

MaybeViolation CheckColocation(const Graph& graph, const Cluster& cluster,
                               const Placement& placement, bool distributed) {
  const IdVector<OpId, OpId> min = SharedStorageSets(graph, !distributed);
  IdVector<GroupId, OpId> first_of_group(graph.group_count());
  for (OpId op : graph.ops()) {
    if (placement[op] != placement[min[op]]) {
      return Apart(graph, cluster, placement, min[op], op,
                   "they share a storage or serve one parameter");
    }
  }
  if (distributed) return std::nullopt;
  for (OpId op : graph.ops()) {
    OpId& first = first_of_group[graph.group(op)];
    if (!first.valid()) first = op;
    if (placement[op] != placement[first]) {
      return Apart(graph, cluster, placement, first, op, "they form one colocation group");
    }
  }
  return std::nullopt;
}

}  // namespace placewright::check
