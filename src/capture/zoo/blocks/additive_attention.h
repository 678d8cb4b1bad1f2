// Attention by a network of one hidden layer (Bahdanau et al. 2015, eq. 6), normalised as Wu et al.
// 2016's public implementations do:
//   score(q, k) = g v/|v| . tanh(W_q q + W_k k + b),  context = softmax(scores) K
#ifndef PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_ADDITIVE_ATTENTION_H_
#define PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_ADDITIVE_ATTENTION_H_

#include "capture/zoo/blocks/basic.h"

namespace placewright {

class AdditiveAttention : public Module {
 public:
  // What is the same for all queries.
  struct Keys {
    at::Tensor values, projected;  // [batch, time, width]
    at::Tensor vector;             // g v/|v|, [width]
    at::Tensor masked;             // [batch, 1, time]: true beyond a text's end
  };

  explicit AdditiveAttention(int64_t width);
  // `states` [time, batch, width]; `lengths` [batch].
  Keys Prepare(const at::Tensor& states, const at::Tensor& lengths);
  // Contexts [batch, queries, width] of `query`, of the same shape.
  at::Tensor Forward(const at::Tensor& query, const Keys& keys);

 private:
  at::Tensor vector_, scale_, bias_;
  std::shared_ptr<Linear> query_, key_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_ADDITIVE_ATTENTION_H_
