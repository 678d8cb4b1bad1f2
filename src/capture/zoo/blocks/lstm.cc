#include "capture/zoo/blocks/lstm.h"

#include <algorithm>

namespace placewright {
namespace {

bool IsWhole(const Sequence& sequence) { return sequence[0].dim() == 3; }

}  // namespace

Sequence SequenceOf(const at::Tensor& whole, bool by_step) {
  return by_step ? whole.unbind(0) : Sequence{whole};
}

at::Tensor WholeOf(const Sequence& sequence) {
  return IsWhole(sequence) ? sequence[0] : at::stack(sequence);
}

Sequence Joined(const Sequence& a, const Sequence& b) {
  Sequence joined;
  for (size_t i = 0; i < a.size(); ++i) joined.push_back(at::cat({a[i], b[i]}, -1));
  return joined;
}

Sequence Sum(const Sequence& a, const Sequence& b) {
  Sequence sum;
  for (size_t i = 0; i < a.size(); ++i) sum.push_back(a[i] + b[i]);
  return sum;
}

Sequence Dropped(Dropout& dropout, const Sequence& sequence) {
  Sequence dropped;
  for (const at::Tensor& piece : sequence) dropped.push_back(dropout.Forward(piece));
  return dropped;
}

LstmCellState ZeroState(int64_t batch, int64_t width) {
  return {at::zeros({batch, width}), at::zeros({batch, width})};
}

Lstm::Lstm(int64_t in, int64_t width) {
  input_weight_ = register_parameter("weight_ih", SmallRandom({4 * width, in}));
  hidden_weight_ = register_parameter("weight_hh", SmallRandom({4 * width, width}));
  input_bias_ = register_parameter("bias_ih", SmallRandom({4 * width}));
  hidden_bias_ = register_parameter("bias_hh", SmallRandom({4 * width}));
}

at::Tensor Lstm::InputGates(const at::Tensor& x) const {
  return at::linear(x, input_weight_, input_bias_);
}

LstmCellState Lstm::Advance(const at::Tensor& input_gates, const LstmCellState& state) const {
  at::Tensor gates = at::linear(state.hidden, hidden_weight_, hidden_bias_);
  gates.add_(input_gates);
  // Each gate is written in its quarter: no reader needs what was there.
  std::vector<at::Tensor> parts = gates.unsafe_chunk(4, 1);
  const at::Tensor in = parts[0].sigmoid_(), forget = parts[1].sigmoid_();
  const at::Tensor candidate = parts[2].tanh_(), out = parts[3].sigmoid_();
  at::Tensor cell = forget * state.cell;
  cell.add_(in * candidate);
  return {out * at::tanh(cell), cell};
}

LstmCellState Lstm::Step(const at::Tensor& x, const LstmCellState& state) {
  const ModuleScope scope = Enter();
  return Advance(InputGates(x), state);
}

Sequence Lstm::Forward(const Sequence& x, LstmCellState& state, Direction direction) {
  const ModuleScope scope = Enter();
  const bool whole = IsWhole(x), backward = direction == Direction::kBackward;
  Sequence inputs = whole ? InputGates(x[0]).unbind(0) : x;
  if (backward) std::reverse(inputs.begin(), inputs.end());
  Sequence hidden;
  for (const at::Tensor& input : inputs) {
    state = Advance(whole ? input : InputGates(input), state);
    hidden.push_back(state.hidden);
  }
  if (backward) std::reverse(hidden.begin(), hidden.end());
  return whole ? Sequence{at::stack(hidden)} : hidden;
}

}  // namespace placewright
