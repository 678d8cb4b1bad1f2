// The parts of transformers (Vaswani et al. 2017), on tensors [batch, tokens, hidden].
#ifndef PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_TRANSFORMER_H_
#define PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_TRANSFORMER_H_

#include "capture/zoo/blocks/basic.h"

namespace placewright {

// softmax(Q K^T / sqrt(d) + mask) V by heads, between dense layers (section 3.2).
class MultiHeadAttention : public Module {
 public:
  // Throws c10::Error unless `hidden` is a multiple of `heads`.
  MultiHeadAttention(int64_t hidden, int64_t heads);
  // Tokens of `asking` look at those of `seen`. `mask` is added to the scores, an undefined one is
  // none: 0 where a token may look, -infinity where not.
  at::Tensor Forward(const at::Tensor& asking, const at::Tensor& seen, const at::Tensor& mask = {});

 private:
  int64_t heads_, head_width_;
  std::shared_ptr<Linear> query_, key_, value_, output_;
};

// relu(x W1 + b1) W2 + b2 (section 3.3).
class FeedForward : public Module {
 public:
  FeedForward(int64_t hidden, int64_t inner);
  at::Tensor Forward(const at::Tensor& x);

 private:
  std::shared_ptr<Linear> inner_, output_;
};

// The mask under which a token sees itself and those before it, [tokens, tokens].
at::Tensor CausalMask(int64_t tokens);

// Sines and cosines of every position, [tokens, hidden] (section 3.5).
at::Tensor PositionalEncoding(int64_t tokens, int64_t hidden);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_TRANSFORMER_H_
