// A batch norm in training, and its backward, in parts of what the statistics are over (the batch, or places
// in an image): every part is normalised by the statistics of all parts together.
//
// Forward. Part d has n_d of the n elements of a channel. It computes mean m_d and biased variance v_d of its
// own (aten.batch_norm_update_stats). One AllGather of [m_d, v_d, n_d / n] brings them to all devices, where
//
//   m = m_0 + sum_d n_d / n (m_d - m_0)        v = sum_d n_d / n (v_d + (m_d - m)^2)
//
// (Chan, Golub, LeVeque 1979, "Updating formulae and a pairwise algorithm for computing sample variances",
// their pairwise step for all parts at once, divided by n). Nothing is subtracted but means of means: where
// all values are far from 0 no digits cancel, as they would with the sums of x and x^2 that one AllReduce
// could carry; two AllReduces, of the mean and then of (x - m)^2, would be as stable, but are two latencies
// and another pass over x. The part is normalised by aten.native_batch_norm with m and v given. Running
// statistics follow the momentum with m and v n / (n - 1), on every device alike.
//
// Backward. With xhat = (x - m) invstd, partial sums of grad xhat and of grad over a part are what
// aten.native_batch_norm_backward gives as gradients of weight and bias. One AllReduce of both makes them
// whole: they are the gradients of weight and bias, on every device, and
//
//   grad_x = a grad + (-a / n sum grad) + (-a invstd / n sum (grad xhat)) (x - m),   a = invstd weight
//
// Sums of 16-bit tensors are made in float32. Outputs that nothing reads are not made.
//
// Every op is one that a CPU has as well. GPUs have kernels that do several of them (PyTorch's SyncBatchNorm:
// torch/nn/modules/_functions.py): of x one pass for statistics and one that normalises, of x and grad one for both
// sums and one for the gradient, one for the statistics of all parts and the running ones. The ops that have a time
// there are marked `kernel`; DistributedStep::in_kernel are the others.
#ifndef PLACEWRIGHT_COMPILE_REWRITES_BATCH_NORM_H_
#define PLACEWRIGHT_COMPILE_REWRITES_BATCH_NORM_H_

#include "compile/emitter.h"
#include "compile/rewrites/part_writer.h"
#include "sharding/batch_norm_call.h"

namespace placewright {

// `collectives`: as CompileOptions has it. Of the outputs y and grad_x are parts, all others are whole.
// Precondition: `call` is the op's, in training; there are at least two parts.
MadeInParts EmitBatchNorm(Emitter& emitter, const OpInParts& op, const BatchNormCall& call,
                          bool collectives);
MadeInParts EmitBatchNormBackward(Emitter& emitter, const OpInParts& op, const BatchNormCall& call,
                                  bool collectives);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_REWRITES_BATCH_NORM_H_
