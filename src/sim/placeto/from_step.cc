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

void AddOps(const SimGraph& sim_graph, const Graph& graph, const Placement& placement,
            PlacetoCase& problem) {
  for (int32_t exec = 0; exec < sim_graph.ops; ++exec) {
    const OpId id = sim_graph.op_of[exec];
    const int32_t device = placement[id].value();
    const int64_t time =
        sim_graph.time[static_cast<size_t>(exec) * static_cast<size_t>(sim_graph.devices) + device];
    PlacetoOp op;
    op.name = graph.op(id).name;
    op.cost_us = static_cast<double>(time) / 1000;
    op.no_rest = time == 0;
    for (int32_t u = sim_graph.op_first_slice[exec]; u < sim_graph.op_first_slice[exec + 1]; ++u) {
      op.output_bytes.push_back(static_cast<double>(sim_graph.slice_length[u]));
    }
    problem.ops.push_back(std::move(op));
    problem.placement.push_back(device);
  }
}

// Of two edges between the same ops the last one counts, so these come before those of the data.
void AddWaits(const SimGraph& sim_graph, PlacetoCase& problem) {
  for (int32_t exec = 0; exec < sim_graph.ops; ++exec) {
    for (int32_t i = sim_graph.after_offset[exec]; i < sim_graph.after_offset[exec + 1]; ++i) {
      problem.edges.push_back(WaitEdge(problem, exec, sim_graph.after[i]));
    }
  }
  for (size_t version = 0; version < sim_graph.version_writer.size(); ++version) {
    const int32_t writer = sim_graph.version_writer[version];
    const int32_t overwriter = sim_graph.version_overwriter[version];
    if (writer < 0 || overwriter < 0) continue;
    problem.edges.push_back(WaitEdge(problem, writer, overwriter));
  }
  for (int32_t slice = 0; slice < sim_graph.slices; ++slice) {
    const int32_t overwriter = sim_graph.version_overwriter[sim_graph.slice_version[slice]];
    if (overwriter < 0) continue;
    for (int32_t i = sim_graph.slice_readers_offset[slice];
         i < sim_graph.slice_readers_offset[slice + 1]; ++i) {
      const int32_t reader = sim_graph.slice_readers[i];
      if (reader == overwriter || problem.placement[reader] != problem.placement[overwriter]) {
        continue;
      }
      problem.edges.push_back(WaitEdge(problem, reader, overwriter));
    }
  }
}

// The slice among those that `exec` reads, which are sorted by these fields.
int32_t SliceRead(const SimGraph& sim_graph, int32_t exec, int32_t version, const Tensor& tensor) {
  const auto wanted =
      std::tuple(sim_graph.version_writer[version], sim_graph.version_storage[version], version,
                 tensor.offset.count, tensor.length.count);
  const auto before = [&](int32_t slice, const auto& key) {
    return std::tuple(sim_graph.slice_writer[slice], sim_graph.slice_storage[slice],
                      sim_graph.slice_version[slice], sim_graph.slice_offset[slice],
                      sim_graph.slice_length[slice]) < key;
  };
  const int32_t* slices = sim_graph.op_slices.data();
  return *std::lower_bound(slices + sim_graph.op_slices_offset[exec],
                           slices + sim_graph.op_slices_offset[exec + 1], wanted, before);
}

// In the order in which an op lists its inputs, which decides between several of one parent.
void AddData(const SimGraph& sim_graph, const Graph& graph, PlacetoCase& problem) {
  for (int32_t exec = 0; exec < sim_graph.ops; ++exec) {
    const Op& op = graph.op(sim_graph.op_of[exec]);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Tensor& tensor = graph.tensor(op.inputs[i]);
      const int32_t version =
          sim_graph.storage_versions.offsets[tensor.storage.index()] + op.input_versions[i];
      const int32_t writer = sim_graph.version_writer[version];
      if (writer < 0) continue;
      const int32_t slice = SliceRead(sim_graph, exec, version, tensor);
      problem.edges.push_back({writer, slice - sim_graph.op_first_slice[writer], exec});
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
