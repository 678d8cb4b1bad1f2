// Copies between parameters and the flat buffers of collectives: engines that shard parameters (PyTorch's
// FullyShardedDataParallel) gather into one buffer and copy the parameters out of it, and copy gradients into the
// buffer that is scattered. Both run where the device computes, so that they are not hidden behind it.
//
//   gather of parameters           each gathered tensor is copied directly before the first reader of any, whose readers
//                                  read the copy; what held it holds the copy
//   reduce-scatter of a gradient   what it reads is a copy of the gradient, or its cast (transforms/precision.h)
//
// Why it preserves the step: a copy is equal to what it is of, and nothing writes either of the two. Gradients are those
// for whose sum nothing but the update waits, through views, casts of pieces and further collectives.
#ifndef PLACEWRIGHT_COMPILE_REWRITES_FLAT_COPIES_H_
#define PLACEWRIGHT_COMPILE_REWRITES_FLAT_COPIES_H_

#include "compile/array_changes.h"
#include "graph/graph.h"

namespace placewright {

// O(ops + edges).
void CopyFlatBuffers(const Graph& original, ArrayWriter& writer, ArrayChanges& changes);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_REWRITES_FLAT_COPIES_H_
