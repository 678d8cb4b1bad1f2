#include "capture/script/recurrent_layers.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace placewright {
namespace {

using torch::jit::Stack;

// Weights of a layer in one direction. A bias, or the projection of an LSTM, may be undefined.
struct Weights {
  at::Tensor input, hidden, input_bias, hidden_bias, projection;
};

// The hidden state of a layer, and the cell of an LSTM.
struct State {
  at::Tensor hidden, cell;
};

// One step: the product with the inputs is taken already.
using Cell = State (*)(const at::Tensor& input, const State& before, const Weights& weights);

at::Tensor WithHidden(const State& before, const Weights& weights) {
  return at::linear(before.hidden, weights.hidden, weights.hidden_bias);
}

// Of all steps. at::linear adds the bias to a product of its own in place, but not on meta.
at::Tensor WithInputs(const at::Tensor& inputs, const Weights& weights) {
  if (!weights.input_bias.defined() || inputs.is_contiguous()) {
    return at::linear(inputs, weights.input, weights.input_bias);
  }
  return at::matmul(inputs, weights.input.t()).add_(weights.input_bias);
}

State LstmCell(const at::Tensor& input, const State& before, const Weights& weights) {
  std::vector<at::Tensor> gates = WithHidden(before, weights).add_(input).unsafe_chunk(4, 1);
  const at::Tensor in = gates[0].sigmoid_();
  const at::Tensor forget = gates[1].sigmoid_();
  const at::Tensor candidate = gates[2].tanh_();
  const at::Tensor out = gates[3].sigmoid_();
  const at::Tensor cell = (forget * before.cell).add_(in * candidate);
  const at::Tensor hidden = out * cell.tanh();
  if (!weights.projection.defined()) return {hidden, cell};
  return {at::matmul(hidden, weights.projection.t()), cell};
}

State GruCell(const at::Tensor& input, const State& before, const Weights& weights) {
  std::vector<at::Tensor> inputs = input.unsafe_chunk(3, 1);
  std::vector<at::Tensor> hiddens = WithHidden(before, weights).unsafe_chunk(3, 1);
  const at::Tensor reset = hiddens[0].add_(inputs[0]).sigmoid_();
  const at::Tensor update = hiddens[1].add_(inputs[1]).sigmoid_();
  const at::Tensor candidate = inputs[2].add(hiddens[2].mul_(reset)).tanh_();
  return {(before.hidden - candidate).mul_(update).add_(candidate), {}};
}

State TanhCell(const at::Tensor& input, const State& before, const Weights& weights) {
  return {at::tanh(WithHidden(before, weights).add_(input)), {}};
}

State ReluCell(const at::Tensor& input, const State& before, const Weights& weights) {
  return {at::relu(WithHidden(before, weights).add_(input)), {}};
}

struct Layers {
  Cell cell;
  at::Tensor input;              // step, sample, feature
  std::vector<State> states;     // of every layer and direction; in the end the last ones
  std::vector<Weights> weights;  // likewise
  int64_t count = 0;
  double dropout = 0;
  bool bidirectional = false;

  // One layer in one direction: every step's output, stacked.
  at::Tensor Run(const at::Tensor& layer_input, size_t which, bool backwards) {
    const Weights& w = weights[which];
    std::vector<at::Tensor> steps = WithInputs(layer_input, w).unbind(0);
    if (backwards) std::reverse(steps.begin(), steps.end());
    std::vector<at::Tensor> outputs;
    for (const at::Tensor& step : steps) {
      states[which] = cell(step, states[which], w);
      outputs.push_back(states[which].hidden);
    }
    if (backwards) std::reverse(outputs.begin(), outputs.end());
    return at::stack(outputs, 0);
  }

  at::Tensor RunAll() {
    at::Tensor output = input;
    for (int64_t layer = 0; layer < count; ++layer) {
      if (bidirectional) {
        const at::Tensor forwards = Run(output, 2 * layer, false);
        const at::Tensor backwards = Run(output, 2 * layer + 1, true);
        output = at::cat({forwards, backwards}, forwards.dim() - 1);
      } else {
        output = Run(output, layer, false);
      }
      if (dropout != 0 && layer + 1 < count) output = at::dropout(output, dropout, true);
    }
    return output;
  }

  at::Tensor LastStates(at::Tensor State::*part) const {
    std::vector<at::Tensor> parts;
    for (const State& state : states) parts.push_back(state.*part);
    return at::stack(parts, 0);
  }
};

// Nothing where numbers or sizes do not fit together, which LibTorch then says.
std::vector<Weights> WeightsOf(const std::vector<at::Tensor>& tensors, bool biases, bool projection,
                               size_t count) {
  const size_t each = 2 + (biases ? 2 : 0) + (projection ? 1 : 0);
  if (tensors.size() != each * count) return {};
  std::vector<Weights> weights;
  for (size_t i = 0; i < tensors.size(); i += each) {
    weights.push_back({tensors[i], tensors[i + 1], biases ? tensors[i + 2] : at::Tensor(),
                       biases ? tensors[i + 3] : at::Tensor(),
                       projection ? tensors[i + each - 1] : at::Tensor()});
  }
  return weights;
}

// (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
enum Argument {
  kInput,
  kStates,
  kParameters,
  kBiases,
  kCount,
  kDropout,
  kTrain,
  kBoth,
  kBatchFirst
};
constexpr size_t kArguments = 9;

void Run(Stack& stack, const char* op, Cell cell) {
  const auto argument = [&](Argument i) -> const c10::IValue& {
    return torch::jit::peek(stack, i, kArguments);
  };
  const bool lstm = cell == LstmCell;
  const auto fallback = [&] {
    c10::Dispatcher::singleton().findSchemaOrThrow(op, "input").callBoxed(&stack);
  };
  const at::Tensor input = argument(kInput).toTensor();
  const std::vector<at::Tensor> states =
      lstm ? argument(kStates).toTensorVector()
           : std::vector<at::Tensor>{argument(kStates).toTensor()};
  const int64_t count = argument(kCount).toInt();
  const bool both = argument(kBoth).toBool(), batch_first = argument(kBatchFirst).toBool();
  const int64_t rows = count * (both ? 2 : 1);
  const auto fits = [&](const at::Tensor& state) {
    return state.dim() == 3 && state.size(0) == rows;
  };
  if (input.dim() != 3 || input.numel() == 0 || count < 1 || states.size() != (lstm ? 2 : 1) ||
      !std::all_of(states.begin(), states.end(), fits)) {
    return fallback();
  }
  Layers layers{cell, batch_first ? input.transpose(0, 1) : input};
  layers.weights =
      WeightsOf(argument(kParameters).toTensorVector(), argument(kBiases).toBool(),
                lstm && states[0].size(2) != states[1].size(2), static_cast<size_t>(rows));
  if (layers.weights.empty()) return fallback();
  const std::vector<at::Tensor> hidden = states[0].unbind(0);
  const std::vector<at::Tensor> cells = lstm ? states[1].unbind(0) : std::vector<at::Tensor>(rows);
  for (int64_t i = 0; i < rows; ++i) layers.states.push_back({hidden[i], cells[i]});
  layers.count = count;
  layers.dropout = argument(kTrain).toBool() ? argument(kDropout).toDouble() : 0;
  layers.bidirectional = both;
  at::Tensor output = layers.RunAll();
  const at::Tensor last_cells = lstm ? layers.LastStates(&State::cell) : at::Tensor();
  const at::Tensor last = layers.LastStates(&State::hidden);
  if (batch_first && lstm) output = output.transpose(0, 1);
  if (batch_first && !lstm) output.transpose_(0, 1);
  torch::jit::drop(stack, kArguments);
  torch::jit::push(stack, output, last);
  if (lstm) torch::jit::push(stack, last_cells);
}

}  // namespace

void RunLstm(Stack& stack) { Run(stack, "aten::lstm", LstmCell); }
void RunGru(Stack& stack) { Run(stack, "aten::gru", GruCell); }
void RunTanhRnn(Stack& stack) { Run(stack, "aten::rnn_tanh", TanhCell); }
void RunReluRnn(Stack& stack) { Run(stack, "aten::rnn_relu", ReluCell); }

}  // namespace placewright
