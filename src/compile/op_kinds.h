// Which ops are alike (internal to the module).
#ifndef PLACEWRIGHT_COMPILE_OP_KINDS_H_
#define PLACEWRIGHT_COMPILE_OP_KINDS_H_

#include <cstdint>

#include "base/ids.h"
#include "graph/graph.h"
#include "sharding/named_axes.h"

namespace placewright {

// By op: a number that it shares with those that differ from it in names, phases and tensors alone. Split in the
// same way they have equal instances, where these read equal types: layers and time steps that repeat are
// priced once.
IdVector<OpId, int32_t> KindsOfOps(const Graph& graph, const NamedAxes& axes);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_OP_KINDS_H_
