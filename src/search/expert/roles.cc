#include "search/expert/roles.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace placewright {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::vector<std::string> Components(std::string_view path) {
  std::vector<std::string> components;
  std::string component;
  for (char c : Lower(path)) {
    if (c != '.' && c != '/') {
      component += c;
    } else if (!component.empty()) {
      components.push_back(std::exchange(component, {}));
    }
  }
  if (!component.empty()) components.push_back(component);
  return components;
}

bool Speaks(const std::string& component, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return component.find(word) != std::string::npos; });
}

bool SpeaksOfRecurrence(const std::string& component) {
  return Speaks(component, {"rnn", "lstm", "gru"});
}

bool IsNumber(const std::string& component) {
  return !component.empty() && component.size() < 9 &&
         component.find_first_not_of("0123456789") == std::string::npos;
}

bool IsRecurrent(const std::string& path) {
  return IsRecurrentModule(path) && !IsAttentionModule(path);
}

// A recurrent layer: the part of the model it is in, and its own name within that part.
struct LayerName {
  std::string part, layer;
  auto operator<=>(const LayerName&) const = default;
};

LayerName NameOf(std::string_view path) {
  const std::vector<std::string> components = Components(path);
  LayerName name;
  size_t i = 0;
  for (; i < components.size() && !SpeaksOfRecurrence(components[i]); ++i) {
    name.part += components[i] + ".";
  }
  if (i < components.size()) name.layer = components[i];
  if (i + 1 < components.size() && IsNumber(components[i + 1])) {
    name.layer += "." + components[i + 1];
  }
  return name;
}

bool IsParameter(const Graph& graph, TensorId tensor) {
  return graph.storage(graph.tensor(tensor).storage).kind == TensorKind::kParameter;
}

// The recurrent modules whose forward ops read parameters. A container of layers reads none: what
// lies between its layers (residual sums, dropout) is named after it, and is no layer.
std::set<LayerName> ModulesWithParameters(const PlacerInput& input) {
  const Graph& graph = *input.problem.graph;
  std::set<LayerName> modules;
  for (OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    const std::string& path = graph.module_path(op.module);
    if (op.phase != Phase::kForward || !IsRecurrent(path)) continue;
    if (std::any_of(op.inputs.begin(), op.inputs.end(),
                    [&](TensorId tensor) { return IsParameter(graph, tensor); })) {
      modules.insert(NameOf(path));
    }
  }
  return modules;
}

// The highest layer whose parameters an op, or one of its inputs from the same module, reads.
IdVector<ExecOpId, int32_t> LayersByParameter(const PlacerInput& input) {
  const Graph& graph = *input.problem.graph;
  IdVector<ExecOpId, int32_t> layer(input.graph.ops, 0);
  for (ExecOpId op : input.graph.order) {
    if (input.graph.phase[op] != Phase::kForward) continue;
    const Op& node = graph.op(input.problem.sim_graph.op_of[op]);
    if (!IsRecurrentModule(graph.module_path(node.module))) continue;
    for (TensorId tensor : node.inputs) {
      if (!IsParameter(graph, tensor)) continue;
      const Storage& storage = graph.storage(graph.tensor(tensor).storage);
      layer[op] = std::max(layer[op], LayerOfParameter(graph.tensor(storage.first).name));
    }
    for (const OpInput& read : input.graph.Inputs(op)) {
      if (!read.producer.valid()) continue;
      const Op& producer = graph.op(input.problem.sim_graph.op_of[read.producer]);
      if (producer.module == node.module) layer[op] = std::max(layer[op], layer[read.producer]);
    }
  }
  return layer;
}

// Ranks the layers of each part by first position.
class Stacks {
 public:
  void Add(const LayerName& name, int32_t layer, int32_t position) {
    auto [at, added] = first_.try_emplace({name, layer}, position);
    if (!added) at->second = std::min(at->second, position);
    last_ = std::max(last_, position);
  }
  void Rank() {
    for (const auto& [key, position] : first_) {
      parts_[key.first.part].emplace_back(position, key);
    }
    for (auto& [part, layers] : parts_) {
      std::sort(layers.begin(), layers.end());
      for (size_t i = 0; i < layers.size(); ++i) {
        rank_[layers[i].second] = static_cast<int32_t>(i);
      }
    }
  }
  int32_t RankOf(const LayerName& name, int32_t layer) const { return rank_.at({name, layer}); }
  // Of the last layer that begins at or before `position` in the part that the module lies in, or
  // the first layer.
  int32_t RankBeside(std::string_view path, int32_t position) const {
    std::string prefix;
    for (const std::string& component : Components(path)) prefix += component + ".";
    int32_t rank = 0;
    for (const auto& [part, layers] : parts_) {
      if (prefix.compare(0, part.size(), part) != 0) continue;
      for (size_t i = 0; i < layers.size(); ++i) {
        if (layers[i].first <= position) rank = static_cast<int32_t>(i);
      }
    }
    return rank;
  }
  bool empty() const { return first_.empty(); }
  int32_t last() const { return last_; }

 private:
  using Key = std::pair<LayerName, int32_t>;
  std::map<Key, int32_t> first_, rank_;
  std::map<std::string, std::vector<std::pair<int32_t, Key>>> parts_;
  int32_t last_ = -1;
};

}  // namespace

bool IsRecurrentModule(std::string_view path) {
  const std::vector<std::string> components = Components(path);
  return std::any_of(components.begin(), components.end(), &SpeaksOfRecurrence);
}

bool IsAttentionModule(std::string_view path) {
  const std::vector<std::string> components = Components(path);
  return std::any_of(components.begin(), components.end(), [](const std::string& component) {
    return Speaks(component, {"attn", "attention"});
  });
}

int32_t LayerOfParameter(std::string_view name) {
  const size_t at = name.rfind("_l");
  if (at == std::string_view::npos) return -1;
  size_t end = at + 2;
  int32_t layer = 0;
  for (; end < name.size() && end < at + 8 && name[end] >= '0' && name[end] <= '9'; ++end) {
    layer = 10 * layer + (name[end] - '0');
  }
  const bool whole = end == name.size() || name[end] == '_';
  return end > at + 2 && whole ? layer : -1;
}

IdVector<ColocationGroupId, Role> RecurrentRoles(const PlacerInput& input) {
  const Graph& graph = *input.problem.graph;
  const IdVector<ExecOpId, int32_t> layer_of_op = LayersByParameter(input);
  IdVector<ColocationGroupId, int32_t> layer(input.groups.size(), 0);
  for (ExecOpId op : input.graph.exec_ops()) {
    int32_t& group_layer = layer[input.graph.group_of[op]];
    group_layer = std::max(group_layer, layer_of_op[op]);
  }
  const auto path = [&](ColocationGroupId group) {
    return graph.module_path(input.groups[group].module);
  };
  const auto leads = [&](ColocationGroupId group) {
    return input.groups[group].forward && input.groups[group].leader == group;
  };
  const std::set<LayerName> with_parameters = ModulesWithParameters(input);
  const auto in_layer = [&](ColocationGroupId group) {
    return IsRecurrent(path(group)) &&
           (with_parameters.empty() || with_parameters.count(NameOf(path(group))) > 0);
  };
  Stacks stacks;
  for (ColocationGroupId u : IdsOf(input.groups)) {
    if (leads(u) && in_layer(u)) stacks.Add(NameOf(path(u)), layer[u], input.groups[u].position);
  }
  if (stacks.empty()) return {};
  stacks.Rank();
  IdVector<ColocationGroupId, Role> roles(input.groups.size());
  for (ColocationGroupId u : IdsOf(input.groups)) {
    if (!leads(u)) continue;
    const int32_t position = input.groups[u].position;
    if (IsAttentionModule(path(u))) {
      roles[u] = {Role::Kind::kAttention, 0};
    } else if (in_layer(u)) {
      roles[u] = {Role::Kind::kRecurrent, stacks.RankOf(NameOf(path(u)), layer[u])};
    } else if (position > stacks.last() && !IsRecurrent(path(u))) {
      roles[u] = {Role::Kind::kSoftmax, 0};
    } else {
      roles[u] = {Role::Kind::kOther, stacks.RankBeside(path(u), position)};
    }
  }
  return roles;
}

}  // namespace placewright
