// A softmax, its logarithm, or the backward of one, in parts of the dimension that it is along, as the classes of a
// vocabulary-parallel loss.
//
// Forward. Part d computes the logarithm of the sum of exp(x) over its elements (aten.logsumexp, which takes out their
// maximum). One AllGather brings all of these to all devices: a number for each row and part. Theirs in turn is that of
// the whole row, l, and
//
//   log softmax = x - l        softmax = exp(x - l)
//
// Megatron-LM (Shoeybi et al. 2019, section 3) has two AllReduces in this place, of the maximum and then of the sum:
// two latencies, where a gather has one and, of few parts, about as many bytes.
//
// Backward, of the gradient g and the result y. One AllReduce of a number for each row:
//
//   of log softmax: g - exp(y) sum(g)        of softmax: y (g - sum(g y))
//
// Megatron's loss knows that g is -1 / n at the target alone, so that its backward has no AllReduce. Sums of 16-bit
// tensors are made in float32. What a GPU has kernels for is marked as in batch_norm.h: one pass over x for the sums and
// one that makes the result, likewise in the backward.
#ifndef PLACEWRIGHT_COMPILE_REWRITES_SOFTMAX_H_
#define PLACEWRIGHT_COMPILE_REWRITES_SOFTMAX_H_

#include "compile/emitter.h"
#include "compile/rewrites/part_writer.h"
#include "sharding/softmax_call.h"

namespace placewright {

// `collectives`: as CompileOptions has it. What is made are parts, as what is read. Precondition: `call` is the op's;
// there are at least two parts.
MadeInParts EmitSoftmax(Emitter& emitter, const OpInParts& op, const SoftmaxCall& call,
                        bool collectives);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_REWRITES_SOFTMAX_H_
