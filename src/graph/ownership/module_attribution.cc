#include "graph/ownership/module_attribution.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/aliasing/op_schema.h"
#include "graph/ownership/module_path.h"

namespace placewright {
namespace {

// A tensor saved by very many forward ops (a mask) is no evidence for any of them; neither are the
// later ones of very many tensors that one backward op reads.
constexpr size_t kMostReaders = 64;
constexpr size_t kMostSaved = 64;

class Attribution {
 public:
  Attribution(const GraphData& graph, std::span<const std::string> stated,
              const IdVector<OpId, StorageId>& served)
      : graph_(graph), served_(served), path_(graph.ops.size()), known_(graph.ops.size(), 0) {
    for (OpId id : IdRange<OpId>(graph.ops.size())) {
      if (!stated[id.index()].empty()) Set(id, stated[id.index()]);
    }
    ListForwardReaders();
    LookThroughBackwardViews();
  }

  // The paths; "" for the root. They point into `stated` and tensor names.
  const IdVector<OpId, std::string_view>& Run() {
    ForEach(Phase::kForward, &Attribution::FromOwnParametersOrProducers);
    ForEachBackwards(Phase::kForward, &Attribution::FromAllConsumers);
    ForEach(Phase::kOptimizer, &Attribution::FromParameter);
    ForEach(Phase::kBackward, &Attribution::FromSavedTensors);
    ForEachBackwards(Phase::kBackward, &Attribution::FromFirstConsumer);
    for (Phase phase : {Phase::kBackward, Phase::kOptimizer}) {
      ForEach(phase, &Attribution::FromProducers);
      ForEachBackwards(phase, &Attribution::FromAllConsumers);
    }
    return path_;
  }

 private:
  using Rule = void (Attribution::*)(OpId);

  void Set(OpId id, std::string_view path) {
    path_[id] = path;
    known_[id] = 1;
  }

  void ForEach(Phase phase, Rule rule) {
    for (OpId id : graph_.topological_order) {
      if (!known_[id] && graph_.ops[id].phase == phase) (this->*rule)(id);
    }
  }
  void ForEachBackwards(Phase phase, Rule rule) {
    for (size_t i = graph_.topological_order.size(); i-- > 0;) {
      const OpId id = graph_.topological_order[i];
      if (!known_[id] && graph_.ops[id].phase == phase) (this->*rule)(id);
    }
  }

  void FromCommon(OpId id, std::span<const OpId> neighbours) {
    std::optional<std::string_view> common;
    for (OpId other : neighbours) {
      if (known_[other]) common = common ? CommonModule(*common, path_[other]) : path_[other];
    }
    if (common) Set(id, *common);
  }
  // A view of a parameter counts as the parameter; it may know its module better than the name.
  void FromOwnParametersOrProducers(OpId id) {
    std::optional<std::string_view> common;
    for (TensorId input : graph_.ops[id].inputs) {
      const Tensor& tensor = graph_.tensors[input];
      const Storage& storage = graph_.storages[tensor.storage];
      if (storage.kind != TensorKind::kParameter) continue;
      const std::string_view module = tensor.producer.valid() && known_[tensor.producer]
                                          ? path_[tensor.producer]
                                          : ModuleOfParameter(graph_.tensors[storage.first].name);
      if (!module.empty()) common = common ? CommonModule(*common, module) : module;
    }
    if (common) return Set(id, *common);
    FromProducers(id);
  }
  void FromProducers(OpId id) { FromCommon(id, graph_.producers[id]); }
  void FromAllConsumers(OpId id) { FromCommon(id, graph_.consumers[id]); }

  void FromFirstConsumer(OpId id) {
    for (OpId consumer : graph_.consumers[id]) {
      if (known_[consumer]) return Set(id, path_[consumer]);
    }
  }

  void FromParameter(OpId id) {
    const StorageId parameter = served_[id];
    if (!parameter.valid()) return;
    Set(id, ModuleOfParameter(graph_.tensors[graph_.storages[parameter].first].name));
  }

  void ListForwardReaders() {
    readers_.resize(graph_.tensors.size());
    for (OpId id : IdRange<OpId>(graph_.ops.size())) {
      const Op& op = graph_.ops[id];
      if (op.phase != Phase::kForward) continue;
      for (TensorId input : op.inputs) {
        std::vector<OpId>& row = readers_[input.index()];
        if (row.size() < kMostReaders && (row.empty() || row.back() != id)) row.push_back(id);
      }
    }
  }

  // For each tensor the one behind views that backward ops made of it.
  void LookThroughBackwardViews() {
    behind_.resize(graph_.tensors.size());
    for (TensorId id : IdRange<TensorId>(graph_.tensors.size())) behind_[id] = id;
    for (OpId id : graph_.topological_order) {
      const Op& op = graph_.ops[id];
      if (op.phase == Phase::kForward || !op.is_view) continue;
      for (TensorId output : op.outputs) behind_[output] = behind_[op.inputs[0]];
    }
  }

  struct Candidate {
    OpId op;
    int matches = 0;     // how many of the tensors read are inputs or outputs of it
    bool named = false;  // "gelu_backward" names "gelu"
    bool role = false;   // maker for a `*_backward` op, reader for any other
  };

  static bool Better(const Candidate& a, const Candidate& b) {
    if (a.matches != b.matches) return a.matches > b.matches;
    if (a.named != b.named) return a.named;
    if (a.role != b.role) return a.role;
    return a.op < b.op;
  }

  void Meet(std::vector<Candidate>& candidates, OpId op, std::string_view name, bool role) const {
    if (!known_[op]) return;
    auto it = std::find_if(candidates.begin(), candidates.end(),
                           [&](const Candidate& c) { return c.op == op; });
    if (it == candidates.end()) {
      const std::string_view other = AtenBaseName(graph_.ops[op].type);
      const bool named = !other.empty() && name.size() > other.size() && name.starts_with(other);
      it = candidates.insert(candidates.end(), Candidate{op, 0, named, false});
    }
    ++it->matches;
    it->role |= role;
  }

  void FromSavedTensors(OpId id) {
    const Op& op = graph_.ops[id];
    const std::string_view name = AtenBaseName(op.type);
    const bool is_backward_op = name.find("_backward") != std::string_view::npos;
    std::vector<Candidate> candidates;
    std::vector<TensorId> seen;
    TensorId parameter;
    for (TensorId input : op.inputs) {
      const TensorId saved = behind_[input];
      if (seen.size() == kMostSaved) break;
      if (std::find(seen.begin(), seen.end(), saved) != seen.end()) continue;
      seen.push_back(saved);
      const Tensor& tensor = graph_.tensors[saved];
      const bool forward =
          tensor.producer.valid() && graph_.ops[tensor.producer].phase == Phase::kForward;
      if (tensor.producer.valid() && !forward) continue;  // a gradient
      const bool is_parameter = graph_.storages[tensor.storage].kind == TensorKind::kParameter;
      if (is_parameter && !parameter.valid()) parameter = saved;
      if (forward) Meet(candidates, tensor.producer, name, is_backward_op);
      for (OpId reader : readers_[saved.index()]) Meet(candidates, reader, name, !is_backward_op);
    }
    if (parameter.valid() && SetFromParameter(id, parameter)) return;
    if (candidates.empty()) return;
    Set(id, path_[std::min_element(candidates.begin(), candidates.end(), Better)->op]);
  }

  // A forward view of the parameter belongs to the op that uses it; of the readers of the parameter
  // itself (a tied weight has several), one in the module that the parameter's name states.
  bool SetFromParameter(OpId id, TensorId parameter) {
    const Tensor& tensor = graph_.tensors[parameter];
    if (tensor.producer.valid()) {
      if (known_[tensor.producer]) Set(id, path_[tensor.producer]);
      return known_[id];
    }
    const std::string_view own = ModuleOfParameter(tensor.name);
    OpId chosen;
    for (OpId reader : readers_[parameter.index()]) {
      if (!known_[reader]) continue;
      if (path_[reader] == own) return Set(id, own), true;
      if (!chosen.valid()) chosen = reader;
    }
    if (chosen.valid()) Set(id, path_[chosen]);
    return chosen.valid();
  }

  const GraphData& graph_;
  const IdVector<OpId, StorageId>& served_;
  IdVector<OpId, std::string_view> path_;
  IdVector<OpId, char> known_;
  IdVector<TensorId, TensorId> behind_;
  std::vector<std::vector<OpId>> readers_;  // by tensor: forward ops, ascending
};

}  // namespace

void AttributeModules(GraphData& graph, std::span<const std::string> stated,
                      const IdVector<OpId, StorageId>& served) {
  Attribution attribution(graph, stated, served);
  const IdVector<OpId, std::string_view>& paths = attribution.Run();
  std::unordered_map<std::string_view, ModuleId> ids;  // looked up, never iterated
  graph.modules.push_back("");
  ids.emplace("", ModuleId(0));
  for (OpId id : IdRange<OpId>(graph.ops.size())) {
    const auto [it, added] = ids.emplace(paths[id], ModuleId(graph.modules.size()));
    if (added) graph.modules.push_back(std::string(paths[id]));
    graph.ops[id].module = it->second;
  }
}

}  // namespace placewright
