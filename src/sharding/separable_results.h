// Ops whose results can be computed apart: each by the same op with a mask of fewer results, and all of them
// together by as many multiply-accumulates as the op itself needs.
//
// Of the ops with an `output_mask` these are the backward ops of convolutions: the gradients of input and
// weight are two convolutions, which libraries compute by a function for each (Chetlur et al. 2014, cuDNN,
// section 2). The backward ops of norms are not: their gradients come of the same sums over all elements,
// and apart they would read everything twice.
#ifndef PLACEWRIGHT_SHARDING_SEPARABLE_RESULTS_H_
#define PLACEWRIGHT_SHARDING_SEPARABLE_RESULTS_H_

#include <array>
#include <cstddef>
#include <optional>

#include "graph/graph.h"
#include "sharding/op_rule.h"

namespace placewright {

// Of the input, the weight and the bias.
using GradientMask = std::array<bool, 3>;

// The place of the mask among the arguments of such an op.
inline constexpr size_t kMaskOfResults = 10;

// Which gradients an op makes; nothing where they cannot be computed apart, or its arguments are not those of
// its operator.
std::optional<GradientMask> SeparableResults(const Op& op);

// The op with that mask, and of `op.outputs` those that are of it; `rule` with the same outputs.
// Precondition: SeparableResults(op) has a mask, and it holds `mask`; `rule` is the op's.
Op WithResults(const Graph& graph, const Op& op, const GradientMask& mask);
OpRule RuleWithResults(const Graph& graph, const Op& op, const OpRule& rule,
                       const GradientMask& mask);

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_SEPARABLE_RESULTS_H_
