#include "sim/placeto/from_step.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <tuple>

namespace placewright {
namespace {

// An edge that carries nothing: of an output beyond those that the op has. The ops of the case are
// the exec ops, in their order.
PlacetoEdge WaitEdge(const PlacetoCase& problem, ExecOpId from, ExecOpId to) {
  return {from.value(), static_cast<int32_t>(problem.ops[from.index()].output_bytes.size()),
          to.value()};
}

void AddOps(const SimGraph& sim_graph, const Graph& graph, const Placement& placement,
            PlacetoCase& problem) {
  for (ExecOpId exec : sim_graph.exec_ops()) {
    const OpId id = sim_graph.op_of[exec];
    const int64_t time = sim_graph.Time(exec, placement[id]);
    PlacetoOp op;
    op.name = graph.op(id).name;
    op.cost_us = static_cast<double>(time) / 1000;
    op.no_rest = time == 0;
    const int32_t end = sim_graph.op_first_slice[exec.index() + 1];
    for (int32_t u = sim_graph.op_first_slice[exec.index()]; u < end; ++u) {
      op.output_bytes.push_back(static_cast<double>(sim_graph.slice_length[SliceId(u)]));
    }
    problem.ops.push_back(std::move(op));
    problem.placement.push_back(placement[id].value());
  }
}

// Of two edges between the same ops the last one counts, so these come before those of the data.
void AddWaits(const SimGraph& sim_graph, PlacetoCase& problem) {
  for (ExecOpId exec : sim_graph.exec_ops()) {
    for (ExecOpId later : sim_graph.explicit_successors[exec]) {
      problem.edges.push_back(WaitEdge(problem, exec, later));
    }
  }
  for (VersionId version : sim_graph.version_ids()) {
    const ExecOpId writer = sim_graph.version_writer[version];
    const ExecOpId overwriter = sim_graph.version_overwriter[version];
    if (!writer.valid() || !overwriter.valid()) continue;
    problem.edges.push_back(WaitEdge(problem, writer, overwriter));
  }
  for (SliceId slice : sim_graph.slice_ids()) {
    const ExecOpId overwriter = sim_graph.version_overwriter[sim_graph.slice_version[slice]];
    if (!overwriter.valid()) continue;
    const int32_t device = problem.placement[overwriter.index()];
    for (ExecOpId reader : sim_graph.slice_readers[slice]) {
      if (reader == overwriter || problem.placement[reader.index()] != device) continue;
      problem.edges.push_back(WaitEdge(problem, reader, overwriter));
    }
  }
}

// The slice among those that `exec` reads, which are sorted by these fields.
SliceId SliceRead(const SimGraph& sim_graph, ExecOpId exec, VersionId version,
                  const Tensor& tensor) {
  const auto wanted =
      std::tuple(sim_graph.version_writer[version], sim_graph.version_storage[version], version,
                 tensor.offset.count, tensor.length.count);
  const auto before = [&](SliceId slice, const auto& key) {
    return std::tuple(sim_graph.slice_writer[slice], sim_graph.slice_storage[slice],
                      sim_graph.slice_version[slice], sim_graph.slice_offset[slice],
                      sim_graph.slice_length[slice]) < key;
  };
  const std::span<const SliceId> slices = sim_graph.op_slices[exec];
  return *std::lower_bound(slices.begin(), slices.end(), wanted, before);
}

// In the order in which an op lists its inputs, which decides between several of one parent.
void AddData(const SimGraph& sim_graph, const Graph& graph, PlacetoCase& problem) {
  for (ExecOpId exec : sim_graph.exec_ops()) {
    const Op& op = graph.op(sim_graph.op_of[exec]);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Tensor& tensor = graph.tensor(op.inputs[i]);
      const VersionId version = sim_graph.VersionOf(tensor.storage, op.input_versions[i]);
      const ExecOpId writer = sim_graph.version_writer[version];
      if (!writer.valid()) continue;
      const SliceId slice = SliceRead(sim_graph, exec, version, tensor);
      const int32_t output = slice.value() - sim_graph.op_first_slice[writer.index()];
      problem.edges.push_back({writer.value(), output, exec.value()});
    }
  }
}

}  // namespace

PlacetoCase MakePlacetoCase(const SimGraph& sim_graph, const Graph& graph, const Cluster& cluster,
                            const Placement& placement, const PlacetoParams& params) {
  PlacetoCase problem;
  problem.params = params;
  for (DeviceId device : cluster.devices()) problem.devices.push_back(cluster.device(device).name);
  AddOps(sim_graph, graph, placement, problem);
  AddWaits(sim_graph, problem);
  AddData(sim_graph, graph, problem);
  return problem;
}

}  // namespace placewright
