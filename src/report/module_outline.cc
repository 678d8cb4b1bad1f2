#include "report/module_outline.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "report/graph_summary.h"

namespace placewright {

ModuleOutline::ModuleOutline(const Graph& graph) {
  AddNode("", -1);
  std::map<std::string, int32_t> by_path;
  for (size_t m = 0; m < graph.module_count(); ++m) {
    const std::string& path = graph.module_path(ModuleId(m));
    const char separator = path.find('/') != std::string::npos ? '/' : '.';
    std::string prefix = path.starts_with(separator) ? std::string(1, separator) : "";
    int32_t node = 0;
    for (const std::string& component : ModuleComponents(path)) {
      prefix += (node > 0 ? std::string(1, separator) : "") + component;
      const auto [it, added] = by_path.emplace(prefix, static_cast<int32_t>(nodes_.size()));
      if (added) AddNode(prefix, node);
      node = it->second;
    }
    node_of_.push_back(node);
  }
}

void ModuleOutline::AddNode(const std::string& path, int32_t parent) {
  ModuleNode node;
  node.path = node.stem = path;
  node.parent = parent;
  const size_t digits = path.size() - (path.find_last_not_of("0123456789") + 1);
  if (digits > 0 && digits < 10) {
    node.stem = path.substr(0, path.size() - digits);
    node.number = std::stoll(path.substr(path.size() - digits));
  }
  if (parent >= 0) {
    ModuleNode& above = nodes_[static_cast<size_t>(parent)];
    node.depth = above.depth + 1;
    above.children.push_back(static_cast<int32_t>(nodes_.size()));
  }
  nodes_.push_back(std::move(node));
}

bool ModuleOutline::InOneSeries(int32_t a, int32_t b) const {
  const ModuleNode &x = (*this)[a], &y = (*this)[b];
  return x.parent == y.parent && x.number >= 0 && y.number >= 0 && x.stem == y.stem;
}

bool ModuleOutline::Follows(int32_t a, int32_t b) const {
  return InOneSeries(a, b) && (*this)[b].number == (*this)[a].number + 1;
}

std::string NameOfRow(const ModuleOutline& tree, const ModulePart& first, const ModulePart& last) {
  const ModuleNode& begin = tree[first.node];
  if (begin.path.empty()) return "(no module)";
  std::string name = begin.path;
  if (last.node != first.node) name += fmt::format("-{}", tree[last.node].number);
  return first.itself ? name + " (itself)" : name;
}

}  // namespace placewright
