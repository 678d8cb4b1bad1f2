// A placed step without views, versions and byte ranges: ops of known times that read and make
// tensors of known bytes, as cost graphs have them (docs/formats/costgraph.md). Simulated, it is
// the step that it was made of, for its placement alone:
//
//   views            vanish: their readers read the storage
//   a storage        one tensor at home, which every reader beside it reads
//   a part of it     that crosses to another device is a tensor of its own, so that as many bytes
//                    cross; the storage's tensor has what is left of it, and readers beside it read
//                    both
//   a write in place makes no tensor: it comes `after` the ops that read the old version beside it,
//                    and readers beside it come after the write. Where the new version crosses,
//                    that is a tensor
//   transfers that a write waits for: an op of no time on their destination reads what crosses,
//                    alone in a collective without links, so that it occupies no device; the write
//                    comes after it
//
// Times and step time are those of the step. But such an op ends one phase of rule 6 later than the
// transfer: a write may come behind another op that becomes ready at the same nanosecond. Tensor
// peaks are the step's, too, unless parts or new versions cross (`parts`, `new_versions`): the
// former may leave their home earlier than the whole storage does (or lie there beside it, where it
// crosses as a whole, too), the latter lie there beside the old version.
#ifndef PLACEWRIGHT_SIM_PLAIN_STEP_H_
#define PLACEWRIGHT_SIM_PLAIN_STEP_H_

#include <cstdint>

#include "base/result.h"
#include "cost/cost_table.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

struct PlainStep {
  Graph graph;          // ops: the executed ones in their order and by their names, then `arrivals`
  CostTable costs;      // without workspaces
  Placement placement;  // of `graph`
  int64_t writes = 0;   // in place
  int64_t parts = 0;    // tensors that are a part of a storage
  int64_t new_versions = 0;  // tensors that are a storage after a write
  int64_t arrivals = 0;      // ops that say when a copy has arrived
};

// `sim_graph` is of `graph` and `costs`, `placement` one that can be run (CheckPlacementLegal).
// Errors: those of GraphBuilder. Complexity: O(slices * readers + ops).
Result<PlainStep> MakePlainStep(const SimGraph& sim_graph, const Graph& graph,
                                const CostTable& costs, const Placement& placement);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_PLAIN_STEP_H_
