#include "sim/placeto/from_step.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace placewright {
namespace {

// An edge that carries nothing: of an output beyond those that the op has.
PlacetoEdge WaitEdge(const PlacetoCase& problem, int32_t from, int32_t to) {
  return {from, static_cast<int32_t>(problem.ops[from].output_bytes.size()), to};
}

void AddOps(const StepProgram& program, const Graph& graph, const Placement& placement,
            PlacetoCase& problem) {
  for (int32_t exec = 0; exec < program.ops; ++exec) {
    const OpId id = program.op_of[exec];
    const int32_t device = placement[id].value();
    const int64_t time =
        program.time[static_cast<size_t>(exec) * static_cast<size_t>(program.devices) + device];
    PlacetoOp op;
    op.name = graph.op(id).name;
    op.cost_us = static_cast<double>(time) / 1000;
    op.no_rest = time == 0;
    for (int32_t u = program.op_first_unit[exec]; u < program.op_first_unit[exec + 1]; ++u) {
      op.output_bytes.push_back(static_cast<double>(program.unit_length[u]));
    }
    problem.ops.push_back(std::move(op));
    problem.placement.push_back(device);
  }
}

// Of two edges between the same ops the last one counts, so these come before those of the data.
void AddWaits(const StepProgram& program, PlacetoCase& problem) {
  for (int32_t exec = 0; exec < program.ops; ++exec) {
    for (int32_t i = program.after_offset[exec]; i < program.after_offset[exec + 1]; ++i) {
      problem.edges.push_back(WaitEdge(problem, exec, program.after[i]));
    }
  }
  for (size_t version = 0; version < program.version_writer.size(); ++version) {
    const int32_t writer = program.version_writer[version];
    const int32_t overwriter = program.version_overwriter[version];
    if (writer < 0 || overwriter < 0) continue;
    problem.edges.push_back(WaitEdge(problem, writer, overwriter));
  }
  for (int32_t unit = 0; unit < program.units; ++unit) {
    const int32_t overwriter = program.version_overwriter[program.unit_version[unit]];
    if (overwriter < 0) continue;
    for (int32_t i = program.unit_readers_offset[unit]; i < program.unit_readers_offset[unit + 1];
         ++i) {
      const int32_t reader = program.unit_readers[i];
      if (reader == overwriter || problem.placement[reader] != problem.placement[overwriter]) {
        continue;
      }
      problem.edges.push_back(WaitEdge(problem, reader, overwriter));
    }
  }
}

// The unit among those that `exec` reads, which are sorted by these fields.
int32_t UnitRead(const StepProgram& program, int32_t exec, int32_t version, const Tensor& tensor) {
  const auto wanted = std::tuple(program.version_writer[version], program.version_storage[version],
                                 version, tensor.offset.count, tensor.length.count);
  const auto before = [&](int32_t unit, const auto& key) {
    return std::tuple(program.unit_writer[unit], program.unit_storage[unit],
                      program.unit_version[unit], program.unit_offset[unit],
                      program.unit_length[unit]) < key;
  };
  const int32_t* units = program.op_units.data();
  return *std::lower_bound(units + program.op_units_offset[exec],
                           units + program.op_units_offset[exec + 1], wanted, before);
}

// In the order in which an op lists its inputs, which decides between several of one parent.
void AddData(const StepProgram& program, const Graph& graph, PlacetoCase& problem) {
  for (int32_t exec = 0; exec < program.ops; ++exec) {
    const Op& op = graph.op(program.op_of[exec]);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Tensor& tensor = graph.tensor(op.inputs[i]);
      const int32_t version =
          program.storage_versions.offsets[tensor.storage.index()] + op.input_versions[i];
      const int32_t writer = program.version_writer[version];
      if (writer < 0) continue;
      const int32_t unit = UnitRead(program, exec, version, tensor);
      problem.edges.push_back({writer, unit - program.op_first_unit[writer], exec});
    }
  }
}

}  // namespace

PlacetoCase MakePlacetoCase(const StepProgram& program, const Graph& graph, const Cluster& cluster,
                            const Placement& placement, const PlacetoParams& params) {
  PlacetoCase problem;
  problem.params = params;
  for (DeviceId device : cluster.devices()) problem.devices.push_back(cluster.device(device).name);
  AddOps(program, graph, placement, problem);
  AddWaits(program, problem);
  AddData(program, graph, problem);
  return problem;
}

}  // namespace placewright
