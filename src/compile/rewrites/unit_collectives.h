// Collectives by unit: what gathers the parameters of one layer becomes one collective of all of them, and so does what
// adds up its gradients over devices, as engines gather into one flat buffer and scatter out of one (PyTorch's
// FullyShardedDataParallel, Zhao et al., VLDB 2023, sec. 3.2.3; FSDP2's parameter groups). A ring over hundreds of GPUs takes
// longer to go round than the bytes of a norm do.
//
//   gathers of a unit (fetch_units.h)           one of all parameters, where the first of them stood; casts of shards that
//                                               it reads stand before it
//   reduce-scatters, then all-reduces of the    one of all, where the last of them stood; what reads their sums stands
//   gradients of a layer and a micro-batch      behind it
//
// Sums over micro-batches stand behind the next layer's collective: what computes does not wait for the one before it, as
// FSDP2's waits, before it scatters the gradients of a layer, for those of the layer before to be there.
//
// They are of one kind, over the same devices in one order, and of one type. Members are ops of several tensors
// (cost/communication/coalesced_types.h).
//
// Why it preserves the step: of each tensor a member makes what its own member made. Parameters are the same wherever they are
// gathered before the update. What a sum reads nothing writes before the place where it stands now, or it is written
// later, too; of a unit in which one sum waits for another none are joined.
#ifndef PLACEWRIGHT_COMPILE_REWRITES_UNIT_COLLECTIVES_H_
#define PLACEWRIGHT_COMPILE_REWRITES_UNIT_COLLECTIVES_H_

#include "compile/array_changes.h"
#include "compile/part_prices.h"
#include "graph/graph.h"

namespace placewright {

// Before fetches are delayed (prefetch.h) and copied (flat_copies.h). O(ops + edges), times units that cannot be joined.
void JoinUnits(const Graph& original, const PartPrices& prices, ArrayWriter& writer,
               ArrayChanges& changes);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_REWRITES_UNIT_COLLECTIVES_H_
