// What the collectives of a compiled step do, as its member ops say
// (compile/rewrites/all_reduce.cc, all_gather.cc, reduce_scatter.cc, broadcast.cc, all_to_all.cc):
//
//   placewright.all_reduce.default(x)                                    the sum of the members' x
//   placewright.all_gather.default(x, dimension, outer, size, from, to)  all of a tensor whose part x is
//   placewright.reduce_scatter.default(x, dimension, outer, size, from, to)  that part of the members' sum
//   placewright.broadcast.default(x), placewright.broadcast.default()    the root's; what the others get
//   placewright.all_to_all.default(x, dimension, outer, size, from, to, dimension, outer, size, from, to)
//                                       what x is the first part of, and of that the second, as it lies in x
//
// and of several tensors at once, each as above (cost/communication/coalesced_types.h).
#ifndef PLACEWRIGHT_RUNTIME_EXECUTOR_COLLECTIVE_SPECS_H_
#define PLACEWRIGHT_RUNTIME_EXECUTOR_COLLECTIVE_SPECS_H_

#include "base/result.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "runtime/transport/collective_spec.h"

namespace placewright {

// Ranks are the devices' numbers, members in the graph's order. Errors, with the member as place:
// kField (members of different or unknown types, two on one device, one that reads or makes more
// than one tensor, or not as many as the others, or writes, shapes that do not fit, parts that do not make a whole, a broadcast
// without one root).
Result<CollectiveSpec> SpecOf(const Graph& graph, const Placement& placement, CollectiveId id);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_EXECUTOR_COLLECTIVE_SPECS_H_
