#include "formats/accelerate/module_tree.h"

namespace placewright {

void ModuleTree::Add(std::string_view path, std::optional<int32_t> device) {
  size_t at = 0;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    const std::string_view name = path.substr(0, dot);
    path = dot == path.npos ? std::string_view() : path.substr(dot + 1);
    const auto found = nodes_[at].by_name.find(name);
    if (found != nodes_[at].by_name.end()) {
      at = found->second;
      continue;
    }
    const size_t child = nodes_.size();
    nodes_[at].children.push_back(child);
    nodes_[at].by_name.emplace(std::string(name), child);
    nodes_.emplace_back().name = name;
    at = child;
  }
  Node& node = nodes_[at];
  node.mixed = node.mixed || (node.device && device && *node.device != *device);
  if (device) node.device = device;
}

// Every node with the device of all that is at or below it.
std::vector<ModuleTree::Node> ModuleTree::WithDevices() const {
  std::vector<Node> nodes = nodes_;
  for (size_t i = nodes.size(); i-- > 0;) {
    Node& node = nodes[i];
    for (size_t child : node.children) {
      const Node& below = nodes[child];
      if (below.mixed || (node.device && below.device && *node.device != *below.device)) {
        node.mixed = true;
      }
      if (below.device && !node.device) node.device = below.device;
    }
  }
  return nodes;
}

std::vector<std::pair<std::string, int32_t>> ModuleTree::Cover() const {
  const std::vector<Node> nodes = WithDevices();
  struct Visit {
    size_t node;
    std::string path;
    int32_t beside;  // device of what is beside it
  };
  std::vector<std::pair<std::string, int32_t>> entries;
  std::vector<Visit> stack{{0, "", 0}};
  while (!stack.empty()) {
    const Visit visit = std::move(stack.back());
    stack.pop_back();
    const Node& node = nodes[visit.node];
    if (!node.mixed || node.children.empty()) {
      entries.emplace_back(visit.path, node.device.value_or(visit.beside));
      continue;
    }
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
      const std::string& name = nodes[*child].name;
      stack.push_back({*child, visit.path.empty() ? name : visit.path + "." + name,
                       node.device.value_or(visit.beside)});
    }
  }
  return entries;
}

}  // namespace placewright
