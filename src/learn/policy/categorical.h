// Draws from, and probabilities of, softmax distributions.
#ifndef PLACEWRIGHT_LEARN_POLICY_CATEGORICAL_H_
#define PLACEWRIGHT_LEARN_POLICY_CATEGORICAL_H_

#include "learn/policy/policy.h"

namespace placewright {

// Independent draws of the standard Gumbel distribution, -log(-log(u)), by our generator: the
// largest of logits plus noise is a draw from the softmax of the logits, and all draws of a sequence
// can be made before it begins.
at::Tensor GumbelNoise(at::IntArrayRef sizes, const at::TensorOptions& options, Random& random);

// Of choices [...] under logits [..., choices], some of them minus infinity (never chosen).
Policy::Evaluated EvaluateChoices(const at::Tensor& logits, const at::Tensor& choices);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_POLICY_CATEGORICAL_H_
