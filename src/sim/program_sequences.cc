#include "sim/program_sequences.h"

#include <fmt/format.h>

#include "base/text.h"
#include "sim/engine/packed_step.h"
#include "sim/engine/program_order.h"

namespace placewright {

Status CheckProgramOrder(const SimGraph& sim_graph, const Graph& graph) {
  const ExecOpId op = FirstOutOfProgram(sim_graph);
  if (!op.valid()) return Ok();
  const std::string name = Printable(graph.op(sim_graph.op_of[op]).name, 80);
  return MakeError(ErrorCode::kGraphOrder,
                   fmt::format("the step cannot be run in the order of its file: op \"{}\" is "
                               "listed before something that it "
                               "waits for",
                               name),
                   fmt::format("op \"{}\"", name),
                   "List ops behind what they wait for, or give --order fifo.");
}

Sequences ProgramSequences(const SimGraph& sim_graph, const Placement& placement) {
  IdVector<ExecOpId, OpState> ops(static_cast<size_t>(sim_graph.ops));
  for (const ExecOpId op : sim_graph.exec_ops()) {
    ops[op].device = placement[sim_graph.op_of[op]];
  }
  ProgramOrder program;
  program.Find(sim_graph, PackedStep(sim_graph), ops);
  Sequences sequences(static_cast<size_t>(sim_graph.devices));
  for (std::optional<std::vector<OpId>>& sequence : sequences) sequence.emplace();
  const auto add = [&](ExecOpId op) { sequences[ops[op].device]->push_back(sim_graph.op_of[op]); };
  if (program.by_id()) {
    for (const ExecOpId op : sim_graph.exec_ops()) add(op);
  } else {
    for (const ExecOpId op : program.order()) add(op);
  }
  return sequences;
}

}  // namespace placewright
