#include "report/graph_summary.h"

#include <algorithm>
#include <map>

#include "cost/cost_model.h"
#include "cost/work.h"
#include "graph/ownership/module_path.h"

namespace placewright {
namespace {

int64_t Elements(const Tensor& tensor) {
  if (tensor.dtype == DType::kOpaque) return 0;
  int64_t elements = 1;
  for (int64_t extent : tensor.shape) elements = SaturatingMultiply(elements, extent);
  return elements;
}

Bytes& TotalOf(MemorySummary& memory, TensorKind kind) {
  switch (kind) {
    case TensorKind::kParameter: return memory.parameters;
    case TensorKind::kGradient: return memory.gradients;
    case TensorKind::kOptimizerState: return memory.optimizer_state;
    case TensorKind::kBuffer: return memory.buffers;
    case TensorKind::kConstant: return memory.constants;
    case TensorKind::kInput: return memory.inputs;
    case TensorKind::kActivation: break;
  }
  return memory.activations;
}

MemorySummary SummariseMemory(const Graph& graph) {
  MemorySummary memory;
  IdVector<GroupId, Bytes> group_bytes(graph.group_count());
  for (StorageId id : graph.storages()) {
    const Storage& storage = graph.storage(id);
    AddSaturating(TotalOf(memory, storage.kind), storage.bytes);
    memory.largest_tensor = std::max(memory.largest_tensor, storage.bytes);
    const OpId home = graph.home_op(id);
    if (!IsPersistent(storage.kind)) continue;
    AddSaturating(memory.persistent, RoundUpToGranule(storage.bytes));
    if (home.valid())
      AddSaturating(group_bytes[graph.group(home)], RoundUpToGranule(storage.bytes));
  }
  for (const Bytes bytes : group_bytes)
    memory.largest_group = std::max(memory.largest_group, bytes);
  return memory;
}

}  // namespace

int64_t GraphSummary::TotalMacs() const {
  int64_t total = 0;
  for (int64_t macs : phase_macs) total = SaturatingAdd(total, macs);
  return total;
}

GraphSummary Summarise(const Graph& graph) {
  GraphSummary summary;
  summary.ops = static_cast<int64_t>(graph.op_count());
  summary.edges = static_cast<int64_t>(graph.edge_count());
  summary.order_edges = static_cast<int64_t>(graph.order_edges().size());
  summary.colocation_groups = static_cast<int64_t>(graph.group_count());
  for (OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    const Work work = WorkOf(graph, id);
    const auto phase = static_cast<size_t>(op.phase);
    ++summary.phase_ops[phase];
    summary.phase_macs[phase] = SaturatingAdd(summary.phase_macs[phase], work.macs);
    summary.views += op.is_view ? 1 : 0;
  }
  summary.unknown_types = UnknownTypes(graph);
  for (StorageId id : graph.storages()) {
    const Storage& storage = graph.storage(id);
    if (storage.kind != TensorKind::kParameter) continue;
    ++summary.parameter_tensors;
    summary.parameters = SaturatingAdd(summary.parameters, Elements(graph.tensor(storage.first)));
  }
  summary.memory = SummariseMemory(graph);
  return summary;
}

std::vector<std::string> ModuleComponents(const std::string& path) {
  const char separator = path.find('/') != std::string::npos ? '/' : '.';
  std::vector<std::string> components;
  std::string component;
  for (char c : path) {
    if (c != separator) {
      component += c;
    } else if (!component.empty()) {
      components.push_back(std::move(component));
      component.clear();
    }
  }
  if (!component.empty()) components.push_back(std::move(component));
  return components;
}

namespace {

// Rows as a tree, so that parents come before children and children in the order first met.
class ModuleTree {
 public:
  explicit ModuleTree(const Graph& graph, int depth) : nodes_(1) {
    // Chain of nodes from the root to each module, cut at `depth`.
    for (size_t m = 0; m < graph.module_count(); ++m) {
      const std::string& path = graph.module_path(ModuleId(m));
      std::vector<size_t> chain = {0};
      const char separator = path.find('/') != std::string::npos ? '/' : '.';
      std::string prefix = path.rfind(separator, 0) == 0 ? std::string(1, separator) : "";
      for (const std::string& component : ModuleComponents(path)) {
        if (static_cast<int>(chain.size()) > depth) break;
        prefix += (chain.size() > 1 ? std::string(1, separator) : "") + component;
        chain.push_back(ChildOf(chain.back(), prefix, static_cast<int>(chain.size())));
      }
      chains_.push_back(std::move(chain));
    }
  }

  template <class Change>
  void Visit(ModuleId module, const Change& change) {
    for (size_t node : chains_[module.index()]) change(nodes_[node].row);
  }

  ModuleRow& Innermost(ModuleId module) { return nodes_[chains_[module.index()].back()].row; }

  std::vector<ModuleRow> Rows() const {
    std::vector<ModuleRow> rows;
    Append(0, rows);
    return rows;
  }

 private:
  struct Node {
    ModuleRow row;
    std::map<std::string, size_t> by_path;
    std::vector<size_t> children;
  };

  size_t ChildOf(size_t parent, const std::string& path, int depth) {
    const auto [it, added] = nodes_[parent].by_path.emplace(path, nodes_.size());
    const size_t child = it->second;
    if (added) {
      nodes_[parent].children.push_back(child);
      nodes_.emplace_back();
      nodes_.back().row.path = path;
      nodes_.back().row.depth = depth;
    }
    return child;
  }

  void Append(size_t node, std::vector<ModuleRow>& rows) const {
    rows.push_back(nodes_[node].row);
    for (size_t child : nodes_[node].children) Append(child, rows);
  }

  std::vector<Node> nodes_;
  std::vector<std::vector<size_t>> chains_;  // by module
};

}  // namespace

ParameterModules::ParameterModules(const Graph& graph) : graph_(graph) {
  for (size_t m = 0; m < graph.module_count(); ++m) {
    by_path_.emplace(graph.module_path(ModuleId(m)), ModuleId(m));
  }
}

ModuleId ParameterModules::Of(StorageId storage) const {
  const Storage& held = graph_.storage(storage);
  if (held.kind == TensorKind::kParameter) {
    const std::string_view module = ModuleOfParameter(graph_.tensor(held.first).name);
    const auto named = module.empty() ? by_path_.end() : by_path_.find(module);
    if (named != by_path_.end()) return named->second;
  }
  return graph_.op(graph_.home_op(storage)).module;
}

std::vector<ModuleRow> SummariseModules(const Graph& graph, int depth) {
  ModuleTree tree(graph, depth);
  const ParameterModules parameters(graph);
  for (OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    const int64_t macs = WorkOf(graph, id).macs;
    ++tree.Innermost(op.module).own_ops;
    tree.Visit(op.module, [&](ModuleRow& row) {
      ++row.ops;
      ++row.phase_ops[static_cast<size_t>(op.phase)];
      row.views += op.is_view ? 1 : 0;
      row.macs = SaturatingAdd(row.macs, macs);
    });
  }
  for (StorageId id : graph.storages()) {
    const Storage& storage = graph.storage(id);
    const bool parameter = storage.kind == TensorKind::kParameter;
    const OpId maker = parameter ? graph.home_op(id) : graph.tensor(storage.first).producer;
    if (!maker.valid() || (!parameter && IsPersistent(storage.kind))) continue;
    tree.Visit(parameter ? parameters.Of(id) : graph.op(maker).module, [&](ModuleRow& row) {
      AddSaturating(parameter ? row.parameters : row.activations, storage.bytes);
    });
  }
  return tree.Rows();
}

}  // namespace placewright
