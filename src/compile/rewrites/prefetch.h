// When fetches of parameters begin: a layer or so before what they bring is read, as engines issue them (PyTorch's
// FullyShardedDataParallel, Zhao et al., VLDB 2023, sec. 3.3.2), not as soon as there is room on the links. Copies of
// all layers at once would need the memory that shards save.
//
// With distance d each member of what fetches unit u (fetch_units.h) waits, by a control edge, for the op that precedes
// the first reader of unit u - d on its device: 0 fetches when it is wanted.
//
// Parameters outside of layers are the root's: they stay on a device, and so do their gradients before they are scattered,
// until its last op of the backward pass has ended (FSDP2 does not reshard its root module behind the forward pass, and
// ends its backward pass where that of the whole step ends, since its inputs have no gradients).
//
// Why it is no deadlock: such an op stands before the fetch in the order of the step.
//
// What crosses in single transfers waits for nothing: a control edge needs an op.
#ifndef PLACEWRIGHT_COMPILE_REWRITES_PREFETCH_H_
#define PLACEWRIGHT_COMPILE_REWRITES_PREFETCH_H_

#include <cstdint>

#include "compile/array_changes.h"
#include "graph/graph.h"

namespace placewright {

// The last pass over a step. `distance`: 0 or more. O(ops + edges).
void DelayFetches(int32_t distance, const Graph& original, ArrayWriter& writer,
                  ArrayChanges& changes);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_REWRITES_PREFETCH_H_
