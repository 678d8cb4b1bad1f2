#include "search/problem/op_graph.h"

#include <algorithm>

namespace placewright {
namespace {

OpInput MakeInput(const Problem& problem, int32_t crossing) {
  const StepProgram& program = problem.program;
  const int32_t version = program.unit_version[crossing];
  const int32_t storage = program.version_storage[version];
  OpInput input{crossing};
  input.length = program.unit_length[crossing];
  input.bytes = program.unit_bytes[crossing];
  input.producer = program.version_writer[version];
  if (input.producer >= 0 || program.storage_class[storage] == StorageClass::kInput) return input;
  input.home_device = program.fixed_home[storage];
  if (input.home_device < 0 && program.home_op[storage] >= 0) {
    input.home_unit = problem.unit_of[OpId(program.home_op[storage])];
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
  const StepProgram& program = problem.program;
  OpGraph graph;
  graph.ops = program.ops;
  graph.devices = program.devices;
  graph.unit_of.resize(program.ops);
  graph.phase.resize(program.ops);
  graph.input_offset.assign(1, 0);
  std::vector<std::pair<int32_t, int32_t>> before;
  for (int32_t op = 0; op < program.ops; ++op) {
    graph.unit_of[op] = problem.unit_of[program.op_of[op]];
    graph.phase[op] = problem.graph->op(program.op_of[op]).phase;
    for (int32_t i = program.op_units_offset[op]; i < program.op_units_offset[op + 1]; ++i) {
      const OpInput input = MakeInput(problem, program.op_units[i]);
      if (input.producer != op) graph.input_items.push_back(input);
    }
    graph.input_offset.push_back(static_cast<int32_t>(graph.input_items.size()));
    for (int32_t i = program.after_offset[op]; i < program.after_offset[op + 1]; ++i) {
      before.emplace_back(program.after[i], op);
    }
  }
  for (const OrderEdge& edge : problem.graph->order_edges()) {
    const int32_t from = program.exec_of[edge.from.index()];
    const int32_t to = program.exec_of[edge.to.index()];
    if (from < 0 || to < 0 || graph.unit_of[from] != graph.unit_of[to]) continue;
    before.emplace_back(to, from);
  }
  SetBefore(graph, std::move(before));
  SetFollowers(graph);
  for (OpId op : problem.graph->topological_order()) {
    if (program.exec_of[op.index()] >= 0) graph.order.push_back(program.exec_of[op.index()]);
  }
  return graph;
}

}  // namespace placewright
