// A recurrent decoder whose context enters before its LSTM (EAGLE, Fig. 4a; Bahdanau, Cho, Bengio
// 2015): at step t, with W_q h_(t-1) as query,
//
//   context_t = attention(h_(t-1));   h_t = LSTM(x_t, [context_t, h_(t-1)])
//
// over known inputs: what an update with given actions needs. One autograd function with a backward
// of its own; the gradient of each weight is one product over all steps. S sequences of memory are
// decoded side by side, R times each: row s R + r reads sequence s.
#ifndef PLACEWRIGHT_LEARN_NN_ATTENTION_DECODER_H_
#define PLACEWRIGHT_LEARN_NN_ATTENTION_DECODER_H_

#include "learn/nn/attention.h"
#include "learn/nn/lstm.h"

namespace placewright {

struct AttentionDecoderWeights {
  at::Tensor recurrent;  // [4 H, D + H]: of context and h
  at::Tensor query;      // [A, H]
};

// Outputs h [T, S R, H]. `gates` [T, S R, 4 H]: what x_t gives, bias included.
at::Tensor RunAttentionDecoder(const AttentionDecoderWeights& weights,
                               const AttentionMemory& memory, const at::Tensor& gates,
                               const LstmState& start);

// The weights for many single steps.
struct PackedDecoder {
  explicit PackedDecoder(const AttentionDecoderWeights& weights)
      : recurrent(weights.recurrent.t()), query(weights.query.t()) {}
  PackedMatrix recurrent, query;
};

// One step without gradients; `gates` [S R, 4 H] is written on.
void StepAttentionDecoder(const PackedDecoder& weights, const AttentionMemory& memory,
                          at::Tensor gates, LstmState& state);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_NN_ATTENTION_DECODER_H_
