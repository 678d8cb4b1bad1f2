// Draws from, and probabilities of, softmax distributions.
#ifndef PLACEWRIGHT_LEARN_POLICY_CATEGORICAL_H_
#define PLACEWRIGHT_LEARN_POLICY_CATEGORICAL_H_

#include "learn/policy/policy.h"

namespace placewright {

// Independent draws of the standard Gumbel distribution, -log(-log(u)), by our generator: the
// largest of logits plus noise is a draw from the softmax of the logits, and all draws of a sequence
// can be made before it begins.
at::Tensor GumbelNoise(at::IntArrayRef sizes, const at::TensorOptions& options, Random& random);

// The distribution of the logits [..., choices] mixed with the uniform one over the choices that are
// not minus infinity, as logits again (they are log-probabilities):
//
//   log((1 - share) softmax(logits) + share / choices)
//
// Post mixes its table so (Gao et al. 2018, sec. 3). A policy that has settled still tries changes
// of single decisions, and learns from them.
at::Tensor MixUniform(const at::Tensor& logits, double share);
// The share with which `drawn` of so many decisions are uniform on average; at most a fifth of them.
double UniformShare(double drawn, int64_t decisions);

// What is added to logits [..., choices] before the largest is taken, so that choices are drawn as
// `exploration` says: Gumbel noise unless it is greedy, and normal noise; of a choice in `uniform`,
// drawn at random, so much of it that nothing else counts, as MixUniform would have it.
at::Tensor ExplorationNoise(at::IntArrayRef sizes, const at::TensorOptions& options, Random& random,
                            const Exploration& exploration, double uniform);

// `count` draws [count, N] from the softmax of each row of logits [N, choices], from one uniform
// number each: far fewer than Gumbel noise needs where choices are many.
at::Tensor DrawChoices(const at::Tensor& logits, int64_t count, Random& random);

// `row` [D] on the CPU with one decision changed: one of those that begin at `first` and may take the
// choices that are not minus infinity in `forbidden` [decisions, choices].
at::Tensor VaryDecision(const at::Tensor& row, int64_t first, const at::Tensor& forbidden,
                        Random& random);

// Of choices [...] under logits [..., choices], some of them minus infinity (never chosen).
Policy::Evaluated EvaluateChoices(const at::Tensor& logits, const at::Tensor& choices);

// Of choices [K, N] under logits [N, choices] that all K share.
Policy::Evaluated EvaluateSharedChoices(const at::Tensor& logits, const at::Tensor& choices);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_POLICY_CATEGORICAL_H_
