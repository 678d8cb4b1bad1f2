#include "graph/ownership/module_attribution.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/ownership/differentiated_ops.h"
#include "graph/ownership/module_path.h"

namespace placewright {
namespace {

class Attribution {
 public:
  Attribution(const GraphData& graph, StatedModules stated, const IdVector<OpId, StorageId>& served)
      : graph_(graph), served_(served), path_(graph.ops.size()), known_(graph.ops.size(), 0) {
    for (OpId id : IdRange<OpId>(graph.ops.size())) {
      if (!stated[id.index()]) continue;
      Set(id, *stated[id.index()]);
      if (graph.ops[id].phase == Phase::kForward) stated_paths_.insert(path_[id]);
    }
    if (graph.format == "aten" && !stated_paths_.empty()) FindEnclosing();
  }

  // The paths; "" for the root. They point into `stated` and tensor names.
  const IdVector<OpId, std::string_view>& Run() {
    ForEach(Phase::kForward, &Attribution::FromOwnParametersOrProducers);
    ForEachBackwards(Phase::kForward, &Attribution::FromAllConsumers);
    for (size_t i = graph_.topological_order.size(); i-- > 0 && !enclosing_.empty();) {
      if (is_enclosing_[graph_.topological_order[i]]) FromOnlyConsumer(graph_.topological_order[i]);
    }
    ForEach(Phase::kOptimizer, &Attribution::FromParameter);
    FromDifferentiatedOps();
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
    if (enclosing_.empty() || (known_[id] && MayRun(path_[id], id))) return;
    Set(id, enclosing_[id]);
    is_enclosing_[id] = 1;
  }
  // True for a module that may run the op, in a file that states modules.
  bool MayRun(std::string_view module, OpId id) const {
    return IsWithinModule(module, enclosing_[id]) && stated_paths_.count(module) == 0;
  }
  // What a module does first with its argument.
  void FromOnlyConsumer(OpId id) {
    OpId only;
    for (OpId consumer : graph_.consumers[id]) {
      if (graph_.ops[consumer].phase != Phase::kForward) continue;
      if (only.valid()) return;
      only = consumer;
    }
    if (only.valid() && MayRun(path_[only], id)) Set(id, path_[only]);
  }

  // The deepest module that surely runs while the op does: it holds the last op before it and the
  // first one after it of which the file states a module.
  void FindEnclosing() {
    enclosing_.resize(graph_.ops.size());
    is_enclosing_.assign(graph_.ops.size(), 0);
    std::string_view last;
    for (OpId id : graph_.topological_order) {
      if (graph_.ops[id].phase != Phase::kForward) continue;
      if (known_[id]) last = path_[id];
      enclosing_[id] = last;
    }
    std::string_view next;
    for (size_t i = graph_.topological_order.size(); i-- > 0;) {
      const OpId id = graph_.topological_order[i];
      if (graph_.ops[id].phase != Phase::kForward) continue;
      if (known_[id]) next = path_[id];
      enclosing_[id] = CommonModule(enclosing_[id], next);
    }
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

  void FromDifferentiatedOps() {
    const bool any =
        std::any_of(path_.begin(), path_.end(), [](auto path) { return !path.empty(); });
    if (!any) return;
    const Differentiated differentiated = DifferentiatedOps(graph_, served_);
    for (OpId id : IdRange<OpId>(graph_.ops.size())) {
      if (known_[id] || graph_.ops[id].phase != Phase::kBackward) continue;
      const StorageId parameter = differentiated.parameter[id];
      if (parameter.valid()) {
        Set(id, ModuleOfParameter(graph_.tensors[graph_.storages[parameter].first].name));
      } else if (differentiated.summed[id].valid()) {
        Set(id, ModuleOfSum(differentiated.summed[id]));
      } else if (differentiated.op[id].valid()) {
        Set(id, path_[differentiated.op[id]]);
      }
    }
  }

  // Of the sum of the gradients of a tensor that a forward op made.
  std::string_view ModuleOfSum(TensorId tensor) const {
    const OpId maker = graph_.tensors[tensor].producer;
    std::optional<std::string_view> readers;
    for (OpId consumer : graph_.consumers[maker]) {
      const Op& op = graph_.ops[consumer];
      const bool reads = std::find(op.inputs.begin(), op.inputs.end(), tensor) != op.inputs.end();
      if (op.phase != Phase::kForward || !reads) continue;
      readers = readers ? CommonModule(*readers, path_[consumer]) : path_[consumer];
    }
    return readers && !IsWithinModule(path_[maker], *readers) ? *readers : path_[maker];
  }

  const GraphData& graph_;
  const IdVector<OpId, StorageId>& served_;
  IdVector<OpId, std::string_view> path_;
  IdVector<OpId, char> known_;
  std::unordered_set<std::string_view> stated_paths_;  // of forward ops; looked up, never iterated
  IdVector<OpId, std::string_view> enclosing_;         // of forward ops; empty: not known
  IdVector<OpId, char> is_enclosing_;                  // that is what its path_ is
};

}  // namespace

void AttributeModules(GraphData& graph, StatedModules stated,
                      const IdVector<OpId, StorageId>& served) {
  IdVector<OpId, std::string_view> paths;
  if (std::all_of(stated.begin(), stated.end(), [](const auto& one) { return one.has_value(); })) {
    for (const std::optional<std::string>& one : stated) paths.push_back(*one);
  } else {
    paths = Attribution(graph, stated, served).Run();
  }
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
