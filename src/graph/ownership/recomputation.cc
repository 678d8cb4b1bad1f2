#include "graph/ownership/recomputation.h"

#include <functional>
#include <unordered_map>

namespace placewright {
namespace {

constexpr size_t kMaxEqual = 64;

class Finder {
 public:
  explicit Finder(const GraphData& graph)
      : graph_(graph), same_(graph.tensors.size()), uses_(graph.ops.size(), 0) {
    found_.repeats.resize(graph.ops.size());
    found_.behind.resize(graph.tensors.size());
    for (TensorId id : IdRange<TensorId>(graph.tensors.size())) {
      found_.behind[id] = same_[id] = id;
    }
  }

  Recomputation Find() {
    for (OpId id : graph_.topological_order) {
      const Op& op = graph_.ops[id];
      if (op.phase == Phase::kForward && !op.inputs.empty()) {
        std::vector<OpId>& equal = forward_[KeyOf(op)];
        if (equal.size() < kMaxEqual) equal.push_back(id);
      }
    }
    for (OpId id : graph_.topological_order) {
      if (graph_.ops[id].phase == Phase::kBackward) Visit(id);
    }
    return std::move(found_);
  }

 private:
  bool IsForward(TensorId tensor) const {
    const OpId producer = graph_.tensors[tensor].producer;
    return !producer.valid() || graph_.ops[producer].phase == Phase::kForward;
  }

  size_t KeyOf(const Op& op) const {
    size_t key = std::hash<std::string_view>()(op.type);
    for (TensorId input : op.inputs) key = key * 1000003 + same_[input].index();
    return key;
  }

  bool IsEqual(const Op& again, const Op& op) const {
    if (again.type != op.type || again.inputs.size() != op.inputs.size() ||
        again.outputs.size() != op.outputs.size()) {
      return false;
    }
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (same_[again.inputs[i]] != op.inputs[i]) return false;
    }
    return again.args == op.args && again.attributes == op.attributes;
  }

  // The nth op that runs the same takes the nth forward op.
  OpId Original(const Op& op) {
    for (TensorId input : op.inputs) {
      if (!IsForward(same_[input])) return OpId();
    }
    const auto found = op.inputs.empty() ? forward_.end() : forward_.find(KeyOf(op));
    if (found == forward_.end()) return OpId();
    std::vector<OpId> equal;
    for (OpId other : found->second) {
      if (IsEqual(op, graph_.ops[other])) equal.push_back(other);
    }
    return equal.empty() ? OpId() : equal[uses_[equal[0]]++ % equal.size()];
  }

  void Visit(OpId id) {
    const Op& op = graph_.ops[id];
    const bool view = op.is_view && !op.inputs.empty();
    bool remade = false;
    for (TensorId input : op.inputs) {
      const OpId producer = graph_.tensors[input].producer;
      remade = remade || (producer.valid() && found_.repeats[producer].valid());
    }
    if (view) {
      for (TensorId output : op.outputs) found_.behind[output] = found_.behind[op.inputs[0]];
    }
    const OpId original = Original(op);
    if (!original.valid()) return;
    const std::vector<TensorId>& outputs = graph_.ops[original].outputs;
    const bool repeats = !view || remade;
    for (size_t i = 0; i < outputs.size(); ++i) {
      same_[op.outputs[i]] = outputs[i];
      if (repeats) found_.behind[op.outputs[i]] = outputs[i];
    }
    if (repeats) found_.repeats[id] = original;
  }

  const GraphData& graph_;
  Recomputation found_;
  IdVector<TensorId, TensorId> same_;  // the forward tensor of the same content, or itself
  IdVector<OpId, size_t> uses_;        // of a forward op, the first of its equals
  std::unordered_map<size_t, std::vector<OpId>> forward_;  // looked up, never iterated
};

}  // namespace

Recomputation FindRecomputation(const GraphData& graph) { return Finder(graph).Find(); }

}  // namespace placewright
