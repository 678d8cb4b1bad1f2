// Attention by products, and its part by the places of queries under a causal mask, for LibTorch: library "placewright".
//
//   causal_attention_part(query, key, value, dropout_p, is_causal, place, attn_mask, scale)  what the places of a part
//                          give of aten._scaled_dot_product_flash_attention_for_cpu: query [batch heads places width],
//                          keys and values of all places, of which a query sees those up to its own
//   causal_attention_backward_part(grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, place, attn_mask,
//                          scale)
//                          the gradients of these queries, and what they add to those of all keys and values
//
// `place` is [2, 1, size, from, to]: all places are `size` runs, of which the part has [from, to). Dropout is 0, and there
// is no other mask. The parts' outputs together are the whole's, and gradients of keys and values are
// sums over parts.
//
// Source: Dubey et al. 2024, "The Llama 3 Herd of Models", section 3.3.2 (context parallelism: keys and values are
// gathered). Deviation: a part has places behind one another, not a chunk from each end.
#ifndef PLACEWRIGHT_RUNTIME_OPS_ATTENTION_OPS_H_
#define PLACEWRIGHT_RUNTIME_OPS_ATTENTION_OPS_H_

#include <ATen/ATen.h>

#include <cstdint>
#include <tuple>

#include "aten/torch_version.h"

namespace placewright {

struct AttentionMask {
  bool causal = false;
  int64_t first = 0;  // among the places of keys the first query's
  TorchOptional<at::Tensor> mask;
  TorchOptional<double> scale;  // none: one over the root of the width
};

// softmax(q k' scale + mask) v and the logarithms of the sums, [batch heads places]: the matrix of scores is made.
std::tuple<at::Tensor, at::Tensor> AttentionByProducts(const at::Tensor& query,
                                                       const at::Tensor& key,
                                                       const at::Tensor& value,
                                                       const AttentionMask& mask);
// The gradients of query, key and value.
std::tuple<at::Tensor, at::Tensor, at::Tensor> AttentionBackwardByProducts(
    const at::Tensor& grad_out, const at::Tensor& query, const at::Tensor& key,
    const at::Tensor& value, const at::Tensor& out, const at::Tensor& logsumexp,
    const AttentionMask& mask);

// Once in a process; further calls do nothing.
void RegisterAttentionOps();

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_OPS_ATTENTION_OPS_H_
