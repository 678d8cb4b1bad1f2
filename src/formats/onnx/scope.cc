#include "formats/onnx/scope.h"

#include <fmt/format.h>

#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "formats/onnx/attributes.h"

namespace placewright::onnx_import {
namespace {

using Names = std::unordered_set<std::string_view>;

// Every name that the graph itself defines.
Names DefinedNames(const onnx::GraphProto& graph) {
  Names names;
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) names.insert(tensor.values().name());
  for (const auto& node : graph.node()) {
    for (const auto& output : node.output()) names.insert(output);
  }
  return names;
}

// Names that `graph` reads and does not define, in order of appearance, each once.
void AddFreeNames(const onnx::GraphProto& graph, std::vector<std::string_view>* names,
                  Names* seen) {
  const Names defined = DefinedNames(graph);
  std::vector<std::string_view> read;
  Names inner_seen;
  const auto add = [&](std::string_view name) {
    if (!name.empty() && inner_seen.insert(name).second) read.push_back(name);
  };
  for (const auto& node : graph.node()) {
    for (const auto& input : node.input()) add(input);
    for (const onnx::GraphProto* sub : SubGraphs(node)) AddFreeNames(*sub, &read, &inner_seen);
  }
  for (const auto& output : graph.output()) add(output.name());
  for (const std::string_view name : read) {
    if (defined.count(name) == 0 && seen->insert(name).second) names->push_back(name);
  }
}

using Producers = std::unordered_map<std::string_view, int>;

// Producers of this graph's tensors: node indices, -1 for inputs and initializers.
Result<Producers> FindProducers(const onnx::GraphProto& graph) {
  Producers producers;
  const auto duplicate = [&](std::string_view name, std::string place) {
    return MakeError(ErrorCode::kDuplicateName,
                     fmt::format("tensor '{}' has two producers", Printable(name)),
                     std::move(place));
  };
  for (const auto& input : graph.input()) {
    if (!producers.emplace(input.name(), -1).second) return duplicate(input.name(), "graph.input");
  }
  Names initializers;  // an initializer may also be a graph input: its default value
  for (const auto& tensor : graph.initializer()) {
    producers.emplace(tensor.name(), -1);
    if (!initializers.insert(tensor.name()).second) {
      return duplicate(tensor.name(), "graph.initializer");
    }
  }
  for (const auto& tensor : graph.sparse_initializer()) {
    producers.emplace(tensor.values().name(), -1);
    if (!initializers.insert(tensor.values().name()).second) {
      return duplicate(tensor.values().name(), "graph.sparse_initializer");
    }
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const auto& output : graph.node(i).output()) {
      if (!output.empty() && !producers.emplace(output, i).second) {
        return duplicate(output, NodePlace(graph, i));
      }
    }
  }
  return producers;
}

struct Dependencies {
  std::vector<std::vector<int>> readers;  // of each node's outputs; may repeat
  std::vector<int> missing;               // inputs of each node that are not made yet
};

Dependencies FindDependencies(const onnx::GraphProto& graph, const Producers& producers) {
  const auto count = static_cast<size_t>(graph.node_size());
  Dependencies found{std::vector<std::vector<int>>(count), std::vector<int>(count, 0)};
  for (size_t i = 0; i < count; ++i) {
    const onnx::NodeProto& node = graph.node(static_cast<int>(i));
    const auto depend = [&](std::string_view name) {
      const auto producer = producers.find(name);
      if (producer == producers.end() || producer->second < 0) return;
      found.readers[static_cast<size_t>(producer->second)].push_back(static_cast<int>(i));
      ++found.missing[i];
    };
    for (const auto& input : node.input()) depend(input);
    for (const std::string_view name : CapturedNames(node).captured) depend(name);
  }
  return found;
}

// Walks from an unordered node to unordered producers until one repeats: that one is on a cycle.
Error CycleError(const onnx::GraphProto& graph, const Producers& producers,
                 const std::vector<int>& missing) {
  int at = 0;
  while (missing[static_cast<size_t>(at)] == 0) ++at;
  std::vector<bool> seen(missing.size(), false);
  while (!seen[static_cast<size_t>(at)]) {
    seen[static_cast<size_t>(at)] = true;
    const onnx::NodeProto& node = graph.node(at);
    std::vector<std::string_view> names(node.input().begin(), node.input().end());
    const Reads reads = CapturedNames(node);
    names.insert(names.end(), reads.captured.begin(), reads.captured.end());
    for (const std::string_view name : names) {
      const auto producer = producers.find(name);
      if (producer == producers.end() || producer->second < 0) continue;
      if (missing[static_cast<size_t>(producer->second)] == 0) continue;
      at = producer->second;
      break;
    }
  }
  return MakeError(
      ErrorCode::kGraphCycle,
      fmt::format("node '{}' depends on its own output", Printable(graph.node(at).name())),
      NodePlace(graph, at));
}

}  // namespace

std::string NodePlace(const onnx::GraphProto& graph, int index) {
  const onnx::NodeProto& node = graph.node(index);
  if (node.name().empty()) return fmt::format("nodes[{}] ({})", index, Printable(node.op_type()));
  return fmt::format("node {} ({})", Printable(node.name()), Printable(node.op_type()));
}

std::vector<const onnx::GraphProto*> SubGraphs(const onnx::NodeProto& node) {
  std::vector<const onnx::GraphProto*> graphs;
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) graphs.push_back(&attribute.g());
    for (const auto& graph : attribute.graphs()) graphs.push_back(&graph);
  }
  return graphs;
}

Reads CapturedNames(const onnx::NodeProto& node) {
  Reads reads;
  const auto graphs = SubGraphs(node);
  if (graphs.empty()) return reads;
  Names seen(node.input().begin(), node.input().end());
  for (const onnx::GraphProto* graph : graphs) AddFreeNames(*graph, &reads.captured, &seen);
  return reads;
}

Result<std::vector<int>> SortNodes(const onnx::GraphProto& graph) {
  PW_ASSIGN(const Producers producers, FindProducers(graph));
  for (const auto& node : graph.node()) {
    for (const onnx::GraphProto* sub : SubGraphs(node)) {
      PW_RETURN_IF_ERROR(SortNodes(*sub));
    }
  }
  Dependencies dependencies = FindDependencies(graph, producers);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (dependencies.missing[static_cast<size_t>(i)] == 0) ready.push(i);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const int reader : dependencies.readers[static_cast<size_t>(node)]) {
      if (--dependencies.missing[static_cast<size_t>(reader)] == 0) ready.push(reader);
    }
  }
  if (static_cast<int>(order.size()) != graph.node_size()) {
    return CycleError(graph, producers, dependencies.missing);
  }
  return order;
}

}  // namespace placewright::onnx_import
