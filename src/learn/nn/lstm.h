// A layer of long short-term memory over whole sequences.
//
//   z_t = W_x x_t + W_h h_(t-1) + b, in four parts i, f, g, o (LibTorch's order)
//   c_t = sigmoid(f) c_(t-1) + sigmoid(i) tanh(g)
//   h_t = sigmoid(o) tanh(c_t)
//
// Hochreiter, Schmidhuber 1997; with a forget gate: Gers et al. 2000. W_x x_t of all steps is one
// product; the loop over the rest is one autograd function with a backward of its own, in which the
// gradient of W_h is one product, too.
#ifndef PLACEWRIGHT_LEARN_NN_LSTM_H_
#define PLACEWRIGHT_LEARN_NN_LSTM_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "learn/nn/packed_matrix.h"
#include "learn/nn/parameters.h"

namespace placewright {

struct LstmWeights {
  at::Tensor input;   // [4 H, I]
  at::Tensor hidden;  // [4 H, H]
  at::Tensor bias;    // [4 H]

  int64_t width() const { return hidden.size(1); }
};

// Weights with the first values that LibTorch gives: uniform in 1 / sqrt(width), bias 0.
LstmWeights MakeLstm(const std::string& name, int64_t inputs, int64_t width,
                     Parameters& parameters);

struct LstmState {
  at::Tensor h, c;  // [B, H]
};

struct LstmResult {
  at::Tensor outputs;  // [T, B, H]
  LstmState last;      // after the last step taken: that of t = 0 where reversed
};

// `inputs` [T, B, I], T >= 1. `reversed`: from the last step to the first; outputs[t] still belongs
// to inputs[t].
LstmResult RunLstm(const LstmWeights& weights, const at::Tensor& inputs, const LstmState& start,
                   bool reversed = false);

// The same on what W_x x + b came to: `gates` [T, B, 4 H].
LstmResult RunLstmOnGates(const at::Tensor& hidden_weight, const at::Tensor& gates,
                          const LstmState& start, bool reversed = false);

// The state of zeros.
LstmState ZeroState(int64_t batch, const LstmWeights& weights);

// One step on what W_x x + b came to, without gradients: `gates` [B, 4 H] without the part of h,
// which is added in place. `hidden`: W_h transposed.
void StepLstm(const PackedMatrix& hidden, at::Tensor gates, LstmState& state);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_NN_LSTM_H_
