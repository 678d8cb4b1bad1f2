// Long short-term memory (Hochreiter, Schmidhuber 1997) over a sequence, unrolled: a step is
// written out in ops that all devices know, so that CPU, CUDA and meta record one graph.
#ifndef PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_LSTM_H_
#define PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_LSTM_H_

#include <vector>

#include "capture/zoo/blocks/basic.h"

namespace placewright {

// A sequence: one tensor [time, batch, width] for all steps, or a tensor [batch, width] for each.
// In the second form a layer's step waits for the same step of the layer below only, so that
// layers on different devices overlap; in the first one, its products with the inputs are one.
using Sequence = std::vector<at::Tensor>;

// The two forms of one [time, batch, width].
Sequence SequenceOf(const at::Tensor& whole, bool by_step);
at::Tensor WholeOf(const Sequence& sequence);

// One piece from one piece of each.
Sequence Joined(const Sequence& a, const Sequence& b);  // widths one after the other
Sequence Sum(const Sequence& a, const Sequence& b);
Sequence Dropped(Dropout& dropout, const Sequence& sequence);

struct LstmCellState {
  at::Tensor hidden, cell;  // [batch, width]
};
LstmCellState ZeroState(int64_t batch, int64_t width);

enum class Direction { kForward, kBackward };

// One layer in one direction:
//   i, f, g, o = split(W_ih x_t + b_ih + W_hh h + b_hh)
//   c' = sigmoid(f) c + sigmoid(i) tanh(g),  h' = sigmoid(o) tanh(c')
// with two biases, as cuDNN and PyTorch keep them.
class Lstm : public Module {
 public:
  Lstm(int64_t in, int64_t width);
  // The hidden states, in the form and order of `x`; `state` becomes that after the last step.
  Sequence Forward(const Sequence& x, LstmCellState& state,
                   Direction direction = Direction::kForward);
  LstmCellState Step(const at::Tensor& x, const LstmCellState& state);

 private:
  at::Tensor InputGates(const at::Tensor& x) const;
  LstmCellState Advance(const at::Tensor& input_gates, const LstmCellState& state) const;

  at::Tensor input_weight_, hidden_weight_, input_bias_, hidden_bias_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_LSTM_H_
