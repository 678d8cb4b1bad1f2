// Fusion: all-reduces of several gradients, of which nothing but the update waits, become one of a buffer that holds them behind one another, as
// Horovod (Sergeev and Del Balso 2018, sec. 4.3) and PyTorch's DistributedDataParallel (Li et al., VLDB
// 2020) do it. Members pack their pieces into a buffer (a copy), reduce it, and read views of it.
//
// Why it preserves the step: a sum of buffers is the buffer of the sums, element by element in the same order
// of devices; packing and unpacking move elements. Tensors are joined only where all of them are there before
// the first of their all-reduces stands in the graph, and where no op between there and their own all-reduce
// writes them, so that what is read is the same. What writes a sum in place then writes its part of the buffer.
#ifndef PLACEWRIGHT_COMPILE_REWRITES_FUSE_ALL_REDUCES_H_
#define PLACEWRIGHT_COMPILE_REWRITES_FUSE_ALL_REDUCES_H_

#include "base/units.h"
#include "compile/array_changes.h"

namespace placewright {

// Buckets of up to `limit` bytes, of tensors of one type on the same devices, in the order in which they are
// ready; a tensor that is larger stays alone. kAllTogether (plan/step_switches.h): one bucket of each type and
// devices, and each all-reduce of gradients that stands behind the op that makes the last gradient on one of its
// devices waits for that op.
void FuseAllReduces(Bytes limit, const PartPrices& prices, ArrayWriter& writer,
                    ArrayChanges& changes);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_REWRITES_FUSE_ALL_REDUCES_H_
