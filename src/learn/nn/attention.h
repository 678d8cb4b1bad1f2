// Additive attention (Bahdanau, Cho, Bengio 2015): of a query q over the positions of a sequence,
//
//   a_l = softmax_l( v . tanh(k_l + q) ),   context = sum_l a_l e_l
//
// with k_l = W_k e_l and q = W_q h, which callers make. The activations [queries, L, A] are never
// kept: the backward computes them again.
#ifndef PLACEWRIGHT_LEARN_NN_ATTENTION_H_
#define PLACEWRIGHT_LEARN_NN_ATTENTION_H_

#include <ATen/core/Tensor.h>

namespace placewright {

// What is attended to: S sequences side by side, each of at most L positions.
struct AttentionMemory {
  at::Tensor keys;    // [S, L, A]
  at::Tensor values;  // [S, L, D]
  at::Tensor scores;  // [A], the v above
  at::Tensor
      padding;  // [S, 1, L], 0 or minus infinity where a sequence has ended; may be undefined

  // For autograd functions, which take no undefined tensors: one without elements instead.
  at::Tensor PaddingArgument() const;
};

// Contexts [S, Q, D] of `queries` [S, Q, A], with gradients.
at::Tensor Attend(const AttentionMemory& memory, const at::Tensor& queries);

// The parts, for autograd functions with loops of their own; without gradients.
//
// Weights a [S, Q, L].
at::Tensor AttentionWeights(const AttentionMemory& memory, const at::Tensor& queries);
// From the gradient of the contexts to that of the queries, which it returns, [S, Q, A]. Adds to
// d_scores [A] and d_keys [S, L, A]; that of the values is weights^T d_contexts.
at::Tensor AttentionBackward(const AttentionMemory& memory, const at::Tensor& queries,
                             const at::Tensor& weights, const at::Tensor& d_contexts,
                             at::Tensor d_scores, at::Tensor d_keys);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_NN_ATTENTION_H_
