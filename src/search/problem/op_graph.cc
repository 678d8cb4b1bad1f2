#include "search/problem/op_graph.h"

#include <algorithm>

namespace placewright {
namespace {

OpInput MakeInput(const Problem& problem, SliceId crossing) {
  const SimGraph& sim_graph = problem.sim_graph;
  const VersionId version = sim_graph.slice_version[crossing];
  const StorageId storage = sim_graph.version_storage[version];
  OpInput input{crossing};
  input.length = sim_graph.slice_length[crossing];
  input.bytes = sim_graph.slice_bytes[crossing];
  input.producer = sim_graph.version_writer[version];
  const bool read_only = sim_graph.storage_class[storage] == StorageClass::kInput;
  if (input.producer.valid() || read_only) return input;
  input.home_device = sim_graph.fixed_home[storage];
  if (!input.home_device.valid() && sim_graph.home_op[storage].valid()) {
    input.home_group = problem.group_of[sim_graph.home_op[storage]];
  }
  return input;
}

// Rows of distinct pairs (row, item).
Csr<ExecOpId, ExecOpId> MakeRows(size_t rows, std::vector<std::pair<ExecOpId, ExecOpId>> pairs) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  Csr<ExecOpId, ExecOpId> csr;
  csr.offsets.assign(rows + 1, 0);
  for (const auto& [row, item] : pairs) {
    ++csr.offsets[row.index() + 1];
    csr.items.push_back(item);
  }
  for (size_t row = 0; row < rows; ++row) csr.offsets[row + 1] += csr.offsets[row];
  return csr;
}

Csr<ExecOpId, ExecOpId> MakeSuccessors(const OpGraph& graph) {
  std::vector<std::pair<ExecOpId, ExecOpId>> pairs;
  for (ExecOpId op : graph.exec_ops()) {
    for (const OpInput& input : graph.Inputs(op)) {
      if (input.producer.valid()) pairs.emplace_back(input.producer, op);
    }
    for (ExecOpId first : graph.Before(op)) pairs.emplace_back(first, op);
  }
  return MakeRows(graph.group_of.size(), std::move(pairs));
}

}  // namespace

OpGraph BuildOpGraph(const Problem& problem) {
  const SimGraph& sim_graph = problem.sim_graph;
  OpGraph graph;
  graph.ops = sim_graph.ops;
  graph.devices = sim_graph.devices;
  graph.group_of.resize(sim_graph.ops);
  graph.phase.resize(sim_graph.ops);
  std::vector<std::pair<ExecOpId, ExecOpId>> before;  // what waits, what must end first
  for (ExecOpId op : sim_graph.exec_ops()) {
    graph.group_of[op] = problem.group_of[sim_graph.op_of[op]];
    graph.phase[op] = problem.graph->op(sim_graph.op_of[op]).phase;
    for (SliceId slice : sim_graph.op_slices[op]) {
      const OpInput input = MakeInput(problem, slice);
      if (input.producer != op) graph.inputs.items.push_back(input);
    }
    graph.inputs.offsets.push_back(static_cast<int32_t>(graph.inputs.items.size()));
    for (ExecOpId later : sim_graph.explicit_successors[op]) before.emplace_back(later, op);
  }
  for (const OrderEdge& edge : problem.graph->order_edges()) {
    const ExecOpId from = sim_graph.exec_of[edge.from];
    const ExecOpId to = sim_graph.exec_of[edge.to];
    if (!from.valid() || !to.valid() || graph.group_of[from] != graph.group_of[to]) continue;
    before.emplace_back(to, from);
  }
  graph.before = MakeRows(graph.group_of.size(), std::move(before));
  graph.successors = MakeSuccessors(graph);
  for (OpId op : problem.graph->topological_order()) {
    if (sim_graph.exec_of[op].valid()) graph.order.push_back(sim_graph.exec_of[op]);
  }
  return graph;
}

}  // namespace placewright
