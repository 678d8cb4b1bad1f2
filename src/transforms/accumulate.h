// The transform `accumulate K`: the step with its batch in K micro-batches, one after the other, whose gradients
// are added up before the update. It needs the memory of one micro-batch's activations.
//
//   op X that has the batch            X@1, ..., X@K, each of its interval of the batch: all of the first micro-batch,
//                                      forward and backward, then all of the second
//   input or tensor T before them      T@1, ..., T@K: slices of it
//   sum S over the batch               S@1, S.sum@2 = S@1 + S@2, ..., S.sum@K, which is read in the place of S
//   mean over the batch                sums, each divided by what the whole batch's is divided by (X@k.mean)
//   class loss with weights            its total weight (X.weight), of the targets, before the first micro-batch
//   all else                           once: before what micro-batches read of it, else behind the last one
//
// Sums go on through what is linear in them (views, casts, additions) and are added up before any other reader, so that
// a parameter has one accumulator, of its gradient's type. Under a pipeline the gradient of a weight that two chunks read
// has an accumulator in each of them, and these are added once, behind the last micro-batch. Accumulators are made out of place and have colocation groups
// of their own; all copies of an op are in its colocation group, so that they have one layout.
//
// A counted draw is the slice of the whole batch's. What a kernel draws inside (attention with dropout) is another
// draw, as of parts on devices. A batch norm has statistics of each micro-batch and follows its running statistics K times,
// as in PyTorch: the step is another one then.
//
// Of the transformed step batch() is the size of a micro-batch, and its laws say how it follows that.
#ifndef PLACEWRIGHT_TRANSFORMS_ACCUMULATE_H_
#define PLACEWRIGHT_TRANSFORMS_ACCUMULATE_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"
#include "graph/graph.h"
#include "graph/transform.h"

namespace placewright {

// nullptr for one micro-batch: the step stays. `pipeline` (kPipeline): what orders the micro-batches later, or nullptr. Errors: kTransform for a number that does not divide the batch, and
// for ops that cannot be computed in micro-batches (micro_batch_roles.h); kBatchScaling for a step that does not prove
// how it follows its batch.
// `written`: only the first so many micro-batches, as if these were all; what is computed is another step then, and an
// output that has parts of all of them is refused (kTransform).
// Complexity: O(K (ops + edges)).
Result<std::unique_ptr<Graph>> WithAccumulation(const Graph& step, int64_t micro_batches,
                                                const Transform* pipeline = nullptr,
                                                std::optional<int64_t> written = {});

// Of which micro-batch an op of such a step is, from 1: the number behind the first "@" of its name; 0: it is there once.
int32_t MicroBatchOf(const Op& op);
// Whether it adds a micro-batch's part to those before.
bool IsMicroBatchSum(const Op& op);

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_ACCUMULATE_H_
