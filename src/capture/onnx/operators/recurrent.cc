// LSTM, GRU and RNN, unrolled: the products with the inputs of all steps are one, every step has
// ops of its own for the rest. ONNX's formulas, gates in ONNX's order.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "capture/onnx/interpreter.h"
#include "capture/onnx/operators/table.h"

namespace placewright::lowering {
namespace {

using Activation = std::function<at::Tensor(const at::Tensor&)>;

// By its name without regard to case, with its own alpha and beta.
Activation ReadActivation(const NodeCall& call, std::string name, double alpha, double beta) {
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (name == "sigmoid") return [](const at::Tensor& x) { return at::sigmoid(x); };
  if (name == "tanh") return [](const at::Tensor& x) { return at::tanh(x); };
  if (name == "relu") return [](const at::Tensor& x) { return at::relu(x); };
  if (name == "softsign") {
    return [](const at::Tensor& x) { return at::div(x, at::add(at::abs(x), 1)); };
  }
  if (name == "softplus") return [](const at::Tensor& x) { return at::softplus(x); };
  if (name == "leakyrelu") return [=](const at::Tensor& x) { return at::leaky_relu(x, alpha); };
  if (name == "elu") return [=](const at::Tensor& x) { return at::elu(x, alpha); };
  if (name == "thresholdedrelu") {
    return [=](const at::Tensor& x) { return at::threshold(x, alpha, 0); };
  }
  if (name == "affine") {
    return [=](const at::Tensor& x) { return at::add(at::mul(x, alpha), beta); };
  }
  if (name == "scaledtanh") {
    return [=](const at::Tensor& x) { return at::mul(at::tanh(at::mul(x, beta)), alpha); };
  }
  if (name == "hardsigmoid") {
    return
        [=](const at::Tensor& x) { return at::clamp(at::add(at::mul(x, alpha), beta), 0.0, 1.0); };
  }
  call.Unsupported("activation \"" + name + "\"");
}

// Default alpha and beta of the activations that have them.
std::pair<double, double> ActivationDefaults(const std::string& name) {
  if (name == "LeakyRelu") return {0.01, 0};
  if (name == "HardSigmoid") return {0.2, 0.5};
  return {1.0, name == "ScaledTanh" ? 1.0 : 0.0};
}

// What every recurrent node has. Sequence first: [steps, batch, size].
struct Recurrence {
  at::Tensor x, weights, recurrent, bias;  // weights by direction
  at::Tensor lengths;                      // undefined: all are full
  at::Tensor hidden, cell;                 // first states by direction; undefined: zeros
  at::Tensor peepholes;
  int64_t directions = 1, size = 0, gates = 1;
  std::vector<Activation> activations;  // of all directions
  double clip = 0;
  bool reverse_first = false, batch_first = false;
};

struct Direction {
  at::Tensor recurrent, recurrent_bias;  // [gates size, size] transposed
  at::Tensor products;                   // [steps, batch, gates size] of the inputs, with bias
  at::Tensor peepholes;
  const Activation* activations;
};

void ReadActivations(const NodeCall& call, const std::vector<std::string>& defaults,
                     Recurrence* read) {
  std::vector<std::string> names = call.TextList("activations");
  const size_t wanted = defaults.size() * static_cast<size_t>(read->directions);
  while (names.size() < wanted) names.push_back(defaults[names.size() % defaults.size()]);
  const auto alphas = call.RealList("activation_alpha").value_or(std::vector<double>());
  const auto betas = call.RealList("activation_beta").value_or(std::vector<double>());
  // The lists speak of those activations alone that have the number.
  size_t next_alpha = 0, next_beta = 0;
  for (const std::string& name : names) {
    auto [alpha, beta] = ActivationDefaults(name);
    const bool has_alpha = name != "Sigmoid" && name != "Tanh" && name != "Relu" &&
                           name != "Softsign" && name != "Softplus";
    const bool has_beta = name == "Affine" || name == "ScaledTanh" || name == "HardSigmoid";
    if (has_alpha && next_alpha < alphas.size()) alpha = alphas[next_alpha++];
    if (has_beta && next_beta < betas.size()) beta = betas[next_beta++];
    read->activations.push_back(ReadActivation(call, name, alpha, beta));
  }
}

// Lengths that are known and full need no masks.
at::Tensor ReadLengths(const NodeCall& call, int64_t steps) {
  if (!call.Has(4)) return {};
  if (call.inputs[4].is_host()) {
    const Ints known = call.KnownInts(4);
    const auto full = [&](int64_t length) { return length == steps; };
    if (std::all_of(known.begin(), known.end(), full)) return {};
  }
  return call.In(4);
}

Recurrence ReadRecurrence(const NodeCall& call, int64_t gates,
                          const std::vector<std::string>& defaults) {
  Recurrence read;
  read.x = call.In(0);
  read.weights = call.In(1);
  read.recurrent = call.In(2);
  read.bias = call.InOrNone(3);
  read.batch_first = call.Int("layout", 0) != 0;
  read.gates = gates;
  if (read.x.dim() != 3 || read.weights.dim() != 3 || read.recurrent.dim() != 3) {
    call.Invalid("X, W and R have three dimensions each");
  }
  if (read.batch_first) read.x = at::transpose(read.x, 0, 1);
  const std::string direction = call.Text("direction", "forward");
  read.reverse_first = direction == "reverse";
  read.directions = direction == "bidirectional" ? 2 : 1;
  read.size = read.recurrent.size(2);
  if (read.weights.size(0) != read.directions || read.recurrent.size(0) != read.directions ||
      read.weights.size(1) != gates * read.size || read.recurrent.size(1) != gates * read.size ||
      read.size != call.Int("hidden_size", read.size)) {
    call.Invalid("W, R and hidden_size contradict each other");
  }
  read.clip = call.Real("clip", 0.0);
  read.lengths = ReadLengths(call, read.x.size(0));
  const auto state = [&](size_t i) {
    const at::Tensor given = call.InOrNone(i);
    return given.defined() && read.batch_first ? at::transpose(given, 0, 1) : given;
  };
  read.hidden = state(5);
  read.cell = gates == 4 ? state(6) : at::Tensor();
  if (gates == 4) read.peepholes = call.InOrNone(7);
  ReadActivations(call, defaults, &read);
  return read;
}

at::Tensor Clipped(const Recurrence& net, const at::Tensor& x) {
  return net.clip > 0 ? at::clamp(x, -net.clip, net.clip) : x;
}

// The bias is [Wb, Rb]; both are added to the products unless a gate needs the second apart.
Direction PrepareDirection(const Recurrence& net, int64_t d, bool bias_apart) {
  Direction one;
  const int64_t rows = net.gates * net.size;
  const at::Tensor weight = at::t(at::select(net.weights, 0, d));
  one.recurrent = at::t(at::select(net.recurrent, 0, d));
  const at::Tensor flat = at::reshape(net.x, {-1, net.x.size(2)});
  at::Tensor products;
  if (net.bias.defined()) {
    const at::Tensor bias = at::select(net.bias, 0, d);
    const at::Tensor inner = at::slice(bias, 0, 0, rows);
    one.recurrent_bias = at::slice(bias, 0, rows, 2 * rows);
    products = at::addmm(bias_apart ? inner : at::add(inner, one.recurrent_bias), flat, weight);
  } else {
    products = at::mm(flat, weight);
  }
  one.products = at::reshape(products, {net.x.size(0), net.x.size(1), rows});
  if (net.peepholes.defined()) one.peepholes = at::select(net.peepholes, 0, d);
  const size_t each = net.activations.size() / static_cast<size_t>(net.directions);
  one.activations = net.activations.data() + static_cast<size_t>(d) * each;
  return one;
}

struct State {
  at::Tensor hidden, cell;
};
using Step = State (*)(const NodeCall&, const Recurrence&, const Direction&,
                       const at::Tensor& products, const State&);

// i, o, f, c: C = f C + i c, H = o h(C).
State LstmStep(const NodeCall& call, const Recurrence& net, const Direction& one,
               const at::Tensor& products, const State& state) {
  const at::Tensor gates = at::addmm(products, state.hidden, one.recurrent);
  const std::vector<at::Tensor> parts = at::chunk(gates, 4, 1);
  std::vector<at::Tensor> peeps;
  if (one.peepholes.defined()) peeps = at::chunk(one.peepholes, 3, 0);
  const auto peeped = [&](const at::Tensor& gate, size_t i, const at::Tensor& cell) {
    return peeps.empty() ? gate : at::add(gate, at::mul(peeps[i], cell));
  };
  const Activation &f = one.activations[0], &g = one.activations[1], &h = one.activations[2];
  const at::Tensor in = f(Clipped(net, peeped(parts[0], 0, state.cell)));
  const at::Tensor forget = call.Int("input_forget", 0) != 0
                                ? at::rsub(in, 1)
                                : f(Clipped(net, peeped(parts[2], 2, state.cell)));
  const at::Tensor candidate = g(Clipped(net, parts[3]));
  const at::Tensor cell = at::add(at::mul(forget, state.cell), at::mul(in, candidate));
  const at::Tensor out = f(Clipped(net, peeped(parts[1], 1, cell)));
  return {at::mul(out, h(cell)), cell};
}

// z, r, h: H = (1 - z) h + z H, where h = g(x + r (H R + Rb)) or g(x + (r H) R + Rb).
State GruStep(const NodeCall& call, const Recurrence& net, const Direction& one,
              const at::Tensor& products, const State& state) {
  const Activation &f = one.activations[0], &g = one.activations[1];
  const int64_t size = net.size;
  const auto columns = [&](const at::Tensor& all, int64_t first, int64_t count) {
    return at::slice(all, all.dim() - 1, first * size, (first + count) * size);
  };
  const auto with_bias = [&](const at::Tensor& hidden, int64_t first, int64_t count) {
    const at::Tensor matrix = columns(one.recurrent, first, count);
    if (!one.recurrent_bias.defined()) return at::mm(hidden, matrix);
    return at::addmm(columns(one.recurrent_bias, first, count), hidden, matrix);
  };
  at::Tensor z, r, candidate;
  if (call.Int("linear_before_reset", 0) != 0) {
    const std::vector<at::Tensor> inner = at::chunk(with_bias(state.hidden, 0, 3), 3, 1);
    z = f(Clipped(net, at::add(columns(products, 0, 1), inner[0])));
    r = f(Clipped(net, at::add(columns(products, 1, 1), inner[1])));
    candidate = at::add(columns(products, 2, 1), at::mul(r, inner[2]));
  } else {
    const at::Tensor both = at::add(columns(products, 0, 2), with_bias(state.hidden, 0, 2));
    const std::vector<at::Tensor> gates = at::chunk(both, 2, 1);
    z = f(Clipped(net, gates[0]));
    r = f(Clipped(net, gates[1]));
    candidate = at::add(columns(products, 2, 1), with_bias(at::mul(r, state.hidden), 2, 1));
  }
  const at::Tensor h = g(Clipped(net, candidate));
  return {at::add(at::mul(at::rsub(z, 1), h), at::mul(z, state.hidden)), {}};
}

State RnnStep(const NodeCall&, const Recurrence& net, const Direction& one,
              const at::Tensor& products, const State& state) {
  return {one.activations[0](Clipped(net, at::addmm(products, state.hidden, one.recurrent))), {}};
}

// Runs one direction; a sequence that is over keeps its state and gives zeros. Backwards, that lets
// every sequence begin at its own end.
State RunDirection(const NodeCall& call, const Recurrence& net, int64_t d, Step step,
                   std::vector<at::Tensor>* outputs) {
  const Direction one = PrepareDirection(net, d, call.node.type == "GRU");
  const bool reverse = d == 1 || net.reverse_first;
  const int64_t steps = net.x.size(0);
  const auto zeros = [&] { return at::zeros({net.x.size(1), net.size}, net.x.options()); };
  State state;
  state.hidden = net.hidden.defined() ? at::select(net.hidden, 0, d) : zeros();
  if (net.gates == 4) state.cell = net.cell.defined() ? at::select(net.cell, 0, d) : zeros();
  outputs->resize(static_cast<size_t>(steps));
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = reverse ? steps - 1 - i : i;
    State next = step(call, net, one, at::select(one.products, 0, t), state);
    at::Tensor output = next.hidden;
    if (net.lengths.defined()) {
      const at::Tensor runs = at::unsqueeze(at::gt(net.lengths, t), 1);
      output = at::mul(next.hidden, runs.to(next.hidden.scalar_type()));
      next.hidden = at::where(runs, next.hidden, state.hidden);
      if (next.cell.defined()) next.cell = at::where(runs, next.cell, state.cell);
    }
    (*outputs)[static_cast<size_t>(t)] = output;
    state = std::move(next);
  }
  return state;
}

// Y [steps, directions, batch, size], Y_h and Y_c [directions, batch, size]; batch first on demand.
Values Unroll(const NodeCall& call, const Recurrence& net, Step step) {
  const int64_t steps = net.x.size(0);
  if (steps < 1) call.Unsupported("a sequence without steps");
  call.interpreter.Charge(steps > Interpreter::kMaxNodes ? steps : steps * net.directions,
                          call.node.place);
  std::vector<at::Tensor> sequences, hidden, cells;
  for (int64_t d = 0; d < net.directions; ++d) {
    std::vector<at::Tensor> outputs;
    const State last = RunDirection(call, net, d, step, &outputs);
    sequences.push_back(at::stack(outputs, 0));
    hidden.push_back(last.hidden);
    if (last.cell.defined()) cells.push_back(last.cell);
  }
  Values results;
  const int64_t axis = net.batch_first ? 2 : 1;
  if (net.batch_first) {
    for (at::Tensor& sequence : sequences) sequence = at::transpose(sequence, 0, 1);
  }
  results.emplace_back(net.directions == 1 ? at::unsqueeze(sequences[0], axis)
                                           : at::stack(sequences, axis));
  const auto joined = [&](const std::vector<at::Tensor>& states) {
    const int64_t at_axis = net.batch_first ? 1 : 0;
    return states.size() == 1 ? at::unsqueeze(states[0], at_axis) : at::stack(states, at_axis);
  };
  results.emplace_back(joined(hidden));
  if (!cells.empty()) results.emplace_back(joined(cells));
  return results;
}

Values Lstm(const NodeCall& call) {
  return Unroll(call, ReadRecurrence(call, 4, {"Sigmoid", "Tanh", "Tanh"}), LstmStep);
}
Values Gru(const NodeCall& call) {
  return Unroll(call, ReadRecurrence(call, 3, {"Sigmoid", "Tanh"}), GruStep);
}
Values Rnn(const NodeCall& call) {
  return Unroll(call, ReadRecurrence(call, 1, {"Tanh"}), RnnStep);
}

}  // namespace

void AddRecurrentOperators(OperatorTable& table) {
  table["GRU"] = Gru;
  table["LSTM"] = Lstm;
  table["RNN"] = Rnn;
}

}  // namespace placewright::lowering
