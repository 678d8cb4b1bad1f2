// Proves how a step follows its batch size: compares it, op by op, with recordings of the same
// model at two other sizes.
#ifndef PLACEWRIGHT_GRAPH_BATCH_PROOF_H_
#define PLACEWRIGHT_GRAPH_BATCH_PROOF_H_

#include "graph/batch/batch_scaling.h"
#include "graph/graph_builder.h"

namespace placewright {

// `second` and `third` are the same step at two other batches, all three different and stated;
// they need not be built. Ops, operators, phases, stated modules, inputs, views, writes and
// arguments that are no numbers must be the same in all three; every number that changes must
// follow one of the laws (batch_scaling.h): the law that the first two recordings leave open is
// decided, and proven, at the third. Otherwise the result has a reason, which names the first op
// or tensor that differs and its three values.
// Complexity: O(ops + tensors + numbers among the arguments).
BatchScaling DeriveBatchScaling(const Graph& graph, const GraphBuilder& second,
                                const GraphBuilder& third);

// Whether the same step at one more batch follows `laws`, which DeriveBatchScaling found of
// `graph`, `second` and another. Same complexity.
bool FollowsLaws(const BatchScaling& laws, const Graph& graph, const GraphBuilder& second,
                 const GraphBuilder& further);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_BATCH_PROOF_H_
