#include "search/problem/op_graph.h"

#include <algorithm>

namespace placewright {
namespace {

OpInput MakeInput(const Problem& problem, int32_t crossing) {
  const SimGraph& sim_graph = problem.sim_graph;
  const int32_t version = sim_graph.slice_version[crossing];
  const int32_t storage = sim_graph.version_storage[version];
  OpInput input{crossing};
  input.length = sim_graph.slice_length[crossing];
  input.bytes = sim_graph.slice_bytes[crossing];
  input.producer = sim_graph.version_writer[version];
  if (input.producer >= 0 || sim_graph.storage_class[storage] == StorageClass::kInput) return input;
  input.home_device = sim_graph.fixed_home[storage];
  if (input.home_device < 0 && sim_graph.home_op[storage] >= 0) {
    input.home_group = problem.group_of[OpId(sim_graph.home_op[storage])];
  }
  return input;
}

// Rows of `before` from pairs (op that waits, op that must end first).
void SetBefore(OpGraph& graph, std::vector<std::pair<int32_t, int32_t>> pairs) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  graph.before_offset.assign(graph.ops + 1, 0);
  for (const auto& [op, first] : pairs) {
    ++graph.before_offset[op + 1];
    graph.before_items.push_back(first);
  }
  for (int32_t op = 0; op < graph.ops; ++op) graph.before_offset[op + 1] += graph.before_offset[op];
}

void SetFollowers(OpGraph& graph) {
  std::vector<std::pair<int32_t, int32_t>> pairs;
  for (int32_t op = 0; op < graph.ops; ++op) {
    for (const OpInput& input : graph.Inputs(op)) {
      if (input.producer >= 0) pairs.emplace_back(input.producer, op);
    }
    for (int32_t first : graph.Before(op)) pairs.emplace_back(first, op);
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  graph.reader_offset.assign(graph.ops + 1, 0);
  for (const auto& [producer, reader] : pairs) {
    ++graph.reader_offset[producer + 1];
    graph.reader_items.push_back(reader);
  }
  for (int32_t op = 0; op < graph.ops; ++op) graph.reader_offset[op + 1] += graph.reader_offset[op];
}

}  // namespace

OpGraph BuildOpGraph(const Problem& problem) {
  const SimGraph& sim_graph = problem.sim_graph;
  OpGraph graph;
  graph.ops = sim_graph.ops;
  graph.devices = sim_graph.devices;
  graph.group_of.resize(sim_graph.ops);
  graph.phase.resize(sim_graph.ops);
  graph.input_offset.assign(1, 0);
  std::vector<std::pair<int32_t, int32_t>> before;
  for (int32_t op = 0; op < sim_graph.ops; ++op) {
    graph.group_of[op] = problem.group_of[sim_graph.op_of[op]];
    graph.phase[op] = problem.graph->op(sim_graph.op_of[op]).phase;
    for (int32_t i = sim_graph.op_slices_offset[op]; i < sim_graph.op_slices_offset[op + 1]; ++i) {
      const OpInput input = MakeInput(problem, sim_graph.op_slices[i]);
      if (input.producer != op) graph.input_items.push_back(input);
    }
    graph.input_offset.push_back(static_cast<int32_t>(graph.input_items.size()));
    for (int32_t i = sim_graph.after_offset[op]; i < sim_graph.after_offset[op + 1]; ++i) {
      before.emplace_back(sim_graph.after[i], op);
    }
  }
  for (const OrderEdge& edge : problem.graph->order_edges()) {
    const int32_t from = sim_graph.exec_of[edge.from.index()];
    const int32_t to = sim_graph.exec_of[edge.to.index()];
    if (from < 0 || to < 0 || graph.group_of[from] != graph.group_of[to]) continue;
    before.emplace_back(to, from);
  }
  SetBefore(graph, std::move(before));
  SetFollowers(graph);
  for (OpId op : problem.graph->topological_order()) {
    if (sim_graph.exec_of[op.index()] >= 0) graph.order.push_back(sim_graph.exec_of[op.index()]);
  }
  return graph;
}

}  // namespace placewright
