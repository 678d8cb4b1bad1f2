// Norms, extrema and layer norms in parts of the dimensions that they are over, as of gradients that lie in shards and of
// activations whose hidden axis is split. Part d computes numbers of its elements, one for each row; what is summed over
// all parts takes an AllReduce of a number for each row, S, an extremum a gather of them.
//
//   norm of order 2     sqrt(S(|x_d|^2)), |x_d| by the operator itself
//   of order 1 and 0    S(|x_d|), of order inf and -inf the largest, and smallest, of the gathered |x_d|
//   largest, smallest   of the gathered ones of the parts
//   layer norm          m = S(sum x) / n, then v = S(sum (x - m)^2) / n, r = 1 / sqrt(v + eps): y = (x - m) r w + b
//   RMS norm            v = S(sum x^2) / n, r likewise: y = x r w
//
// Two AllReduces one after the other, not one of sum x and sum x^2, whose difference loses digits where the mean is large.
// Backward, of the gradient g, with h = (x - m) r (of the RMS norm x r) and k = g w; S(sum k) is 0 of the RMS norm:
//
//   grad x = r (k - S(sum k) / n - h S(sum k h) / n),    grad w = sum of g h over rows,    grad b = sum of g over rows
//
// (Ba et al., "Layer normalization", 2016; Zhang and Sennrich, "Root mean square layer normalization", 2019.) Sums of
// 16-bit tensors are made in float32. What a GPU has kernels for is marked as in batch_norm.h.
#ifndef PLACEWRIGHT_COMPILE_REWRITES_STATISTICS_H_
#define PLACEWRIGHT_COMPILE_REWRITES_STATISTICS_H_

#include "compile/emitter.h"
#include "compile/rewrites/part_writer.h"
#include "sharding/statistics_call.h"

namespace placewright {

// `collectives`: as CompileOptions has it. Precondition: `call` is the op's; there are at least two parts.
MadeInParts EmitStatistics(Emitter& emitter, const OpInParts& op, const StatisticsCall& call,
                           bool collectives);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_REWRITES_STATISTICS_H_
