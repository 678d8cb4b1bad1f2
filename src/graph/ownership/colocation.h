// Colocation groups and homes of storages. A part of GraphBuilder::Build.
//
// Joined are: the views and writers of a storage and, if it has any, the op that made it; ops of
// tied storages; ops that the file colocates; an optimizer op and the parameter that it serves. An
// optimizer op serves the one parameter
//   1. whose storage, or whose tied state, it reads or writes;
//   2. else, that the optimizer ops serve whose results it reads (sqrt, div of Adam);
//   3. else, that the optimizer ops serve that read its result (a clipped gradient).
// If a rule names several parameters (a norm over all gradients), the op serves none of them. In a compiled step, whose
// ops have devices, it is joined with a parameter of its own device only: of an op that all parameters share, a device
// that updates one of them has an instance that serves this one.
#ifndef PLACEWRIGHT_GRAPH_OWNERSHIP_COLOCATION_H_
#define PLACEWRIGHT_GRAPH_OWNERSHIP_COLOCATION_H_

#include <span>
#include <utility>

#include "graph/graph.h"

namespace placewright {

using Ties = std::span<const std::pair<TensorId, TensorId>>;
using Colocated = std::span<const std::pair<OpId, OpId>>;

// The parameter storage that each optimizer op serves, or an invalid id. Tied parameters count as
// one: the smallest storage id among them.
IdVector<OpId, StorageId> ServedParameters(const GraphData& graph, Ties ties);

// Fills in home_op. Needs storages.
void DeriveHomes(GraphData& graph);

// Fills in group_of and group_count. Needs storages, homes and a topological order. `devices`: of a compiled step's
// ops; invalid ids otherwise.
void DeriveGroups(GraphData& graph, Ties ties, Colocated colocated,
                  const IdVector<OpId, StorageId>& served, const IdVector<OpId, DeviceId>& devices);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_OWNERSHIP_COLOCATION_H_
