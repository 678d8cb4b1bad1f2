#include "graph/ownership/colocation.h"

#include "graph/ownership/union_find.h"

namespace placewright {
namespace {

// What is known of an op: nothing yet, one parameter, or that there are several.
class Served {
 public:
  void Meet(StorageId parameter) {
    if (!one_.valid()) {
      one_ = parameter;
    } else if (one_ != parameter) {
      several_ = true;
    }
  }
  bool nothing() const { return !one_.valid(); }
  bool several() const { return several_; }
  StorageId one() const { return several_ ? StorageId() : one_; }

 private:
  StorageId one_;
  bool several_ = false;
};

class ServiceFinder {
 public:
  ServiceFinder(const GraphData& graph, Ties ties)
      : graph_(graph),
        tied_(graph.storages.size()),
        is_parameter_(graph.storages.size(), 0),
        served_(graph.ops.size()) {
    for (const auto& [a, b] : ties) tied_.Join(graph.tensors[a].storage, graph.tensors[b].storage);
    for (StorageId id : IdRange<StorageId>(graph.storages.size())) {
      if (graph.storages[id].kind == TensorKind::kParameter) is_parameter_[tied_.Find(id)] = 1;
    }
  }

  IdVector<OpId, StorageId> Find() {
    for (OpId id : graph_.topological_order) {
      if (graph_.ops[id].phase == Phase::kOptimizer) FromInputs(id);
    }
    for (size_t i = graph_.topological_order.size(); i-- > 0;) {
      const OpId id = graph_.topological_order[i];
      if (graph_.ops[id].phase == Phase::kOptimizer) FromConsumers(id);
    }
    IdVector<OpId, StorageId> result(graph_.ops.size());
    for (OpId id : IdRange<OpId>(graph_.ops.size())) result[id] = served_[id].one();
    return result;
  }

 private:
  void FromInputs(OpId id) {
    for (TensorId input : graph_.ops[id].inputs) {
      const StorageId storage = tied_.Find(graph_.tensors[input].storage);
      if (is_parameter_[storage]) served_[id].Meet(storage);
    }
    if (!served_[id].nothing()) return;
    for (OpId producer : graph_.producers[id]) {
      if (served_[producer].one().valid()) served_[id].Meet(served_[producer].one());
    }
  }

  void FromConsumers(OpId id) {
    if (!served_[id].nothing()) return;
    for (OpId consumer : graph_.consumers[id]) {
      if (served_[consumer].one().valid()) served_[id].Meet(served_[consumer].one());
    }
  }

  const GraphData& graph_;
  UnionFind<StorageId> tied_;
  IdVector<StorageId, char> is_parameter_;
  IdVector<OpId, Served> served_;
};

void NumberGroups(GraphData& graph, UnionFind<OpId>& sets) {
  const size_t count = graph.ops.size();
  graph.group_of.assign(count, GroupId());
  size_t groups = 0;
  for (OpId id : IdRange<OpId>(count)) {  // a root is the smallest op id of its set
    const OpId root = sets.Find(id);
    if (root == id) graph.group_of[id] = GroupId(groups++);
    graph.group_of[id] = graph.group_of[root];
  }
  graph.group_count = groups;
}

}  // namespace

IdVector<OpId, StorageId> ServedParameters(const GraphData& graph, Ties ties) {
  return ServiceFinder(graph, ties).Find();
}

void DeriveHomes(GraphData& graph) {
  IdVector<StorageId, OpId>& home = graph.home_op;
  home.assign(graph.storages.size(), OpId());
  IdVector<StorageId, OpId> reader(graph.storages.size());
  const auto offer = [](OpId& slot, OpId id) {
    if (!slot.valid() || id < slot) slot = id;
  };
  for (OpId id : IdRange<OpId>(graph.ops.size())) {
    const Op& op = graph.ops[id];
    for (TensorId input : op.inputs) offer(reader[graph.tensors[input].storage], id);
    for (TensorId output : op.outputs) offer(home[graph.tensors[output].storage], id);
    for (TensorId written : op.writes) offer(home[graph.tensors[written].storage], id);
  }
  for (StorageId id : IdRange<StorageId>(graph.storages.size())) {
    const OpId maker = graph.storages[id].versions[0].writer;
    if (maker.valid()) {
      home[id] = maker;
    } else if (!home[id].valid()) {
      home[id] = reader[id];
    }
  }
}

void DeriveGroups(GraphData& graph, Ties ties, Colocated colocated,
                  const IdVector<OpId, StorageId>& served,
                  const IdVector<OpId, DeviceId>& devices) {
  UnionFind<OpId> sets(graph.ops.size());
  const auto join = [&](OpId op, StorageId storage) {
    if (graph.home_op[storage].valid()) sets.Join(op, graph.home_op[storage]);
  };
  for (OpId id : IdRange<OpId>(graph.ops.size())) {
    const Op& op = graph.ops[id];
    for (TensorId output : op.outputs) join(id, graph.tensors[output].storage);
    for (TensorId written : op.writes) join(id, graph.tensors[written].storage);
    const OpId home = served[id].valid() ? graph.home_op[served[id]] : OpId();
    if (home.valid() && devices[home] == devices[id]) sets.Join(id, home);
  }
  for (const auto& [a, b] : colocated) sets.Join(a, b);
  for (const auto& [a, b] : ties) {
    const OpId home = graph.home_op[graph.tensors[a].storage];
    if (home.valid()) join(home, graph.tensors[b].storage);
  }
  NumberGroups(graph, sets);
}

}  // namespace placewright
