// Recurrent operators of one number, held to their formulas in plain numbers.
#include <cmath>

#include "capture/onnx/operators/operator_examples.h"

namespace placewright::lowering {
namespace {

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

// One step with weights w, r of i, o, f, c and the bias b of each.
struct Cell {
  double h = 0, c = 0;
};
Cell LstmStep(double x, Cell s, const double (&w)[4], const double (&r)[4], double b) {
  const auto gate = [&](int k) { return w[k] * x + r[k] * s.h + b; };
  const double c = Logistic(gate(2)) * s.c + Logistic(gate(0)) * std::tanh(gate(3));
  return {Logistic(gate(1)) * std::tanh(c), c};
}

const double kW[4] = {0.5, -0.25, 1, 0.75}, kR[4] = {0.1, 0.2, 0.3, -0.4};
const Given kX = F({2, 1, 1}, {0.5, -1});

std::vector<Example> Lstms() {
  const Given w = F({1, 4, 1}, {0.5, -0.25, 1, 0.75}), r = F({1, 4, 1}, {0.1, 0.2, 0.3, -0.4});
  // Both halves of the bias are added.
  const Given b = F({1, 8}, {0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.2});
  const Cell one = LstmStep(0.5, {}, kW, kR, 0.3), two = LstmStep(-1, one, kW, kR, 0.3);
  const Cell back_one = LstmStep(-1, {}, kW, kR, 0), back = LstmStep(0.5, back_one, kW, kR, 0);
  const Cell bare_one = LstmStep(0.5, {}, kW, kR, 0), bare = LstmStep(-1, bare_one, kW, kR, 0);
  const Cell begun = LstmStep(0.5, {0.3, -0.2}, kW, kR, 0);
  const Given both_w = F({2, 4, 1}, {0.5, -0.25, 1, 0.75, 0.5, -0.25, 1, 0.75});
  const Given both_r = F({2, 4, 1}, {0.1, 0.2, 0.3, -0.4, 0.1, 0.2, 0.3, -0.4});
  // Peepholes of i, o, f look at the cell; o at the new one.
  const double peeped = Logistic(0.25) * std::tanh(0.375) + Logistic(0.5 + 3 * 2) * 2;
  return {
      {"LSTM",
       {kX, w, r, b},
       {F({2, 1, 1, 1}, {one.h, two.h}), F({1, 1, 1}, {two.h}), F({1, 1, 1}, {two.c})},
       {{"hidden_size", Int(1)}}},
      {"LSTM",
       {kX, w, r},
       {F({2, 1, 1, 1}, {back.h, back_one.h}), F({1, 1, 1}, {back.h}), F({1, 1, 1}, {back.c})},
       {{"direction", Word("reverse")}}},
      {"LSTM",
       {kX, both_w, both_r},
       {F({2, 2, 1, 1}, {bare_one.h, back.h, bare.h, back_one.h}), F({2, 1, 1}, {bare.h, back.h}),
        F({2, 1, 1}, {bare.c, back.c})},
       {{"direction", Word("bidirectional")}}},
      // A length of 1: the second step gives 0 and leaves the state alone; backwards it begins at
      // 0.
      {"LSTM",
       {kX, w, r, None(), I({1}, {1}), F({1, 1, 1}, {0.3}), F({1, 1, 1}, {-0.2})},
       {F({2, 1, 1, 1}, {begun.h, 0}), F({1, 1, 1}, {begun.h}), F({1, 1, 1}, {begun.c})}},
      {"LSTM",
       {kX, w, r, None(), I({1}, {1}), F({1, 1, 1}, {0.3}), F({1, 1, 1}, {-0.2})},
       {F({2, 1, 1, 1}, {begun.h, 0}), F({1, 1, 1}, {begun.h}), F({1, 1, 1}, {begun.c})},
       {{"direction", Word("reverse")}}},
      // Batch first, a known full length.
      {"LSTM",
       {F({1, 2, 1}, {0.5, -1}), w, r, None(), KI({2})},
       {F({1, 2, 1, 1}, {bare_one.h, bare.h}), F({1, 1, 1}, {bare.h}), F({1, 1, 1}, {bare.c})},
       {{"layout", Int(1)}}},
      {"LSTM",
       {F({1, 1, 1}, {0.5}), w, F({1, 4, 1}, {0, 0, 0, 0}), None(), None(), None(),
        F({1, 1, 1}, {2}), F({1, 3}, {0, 5, 3})},
       {F({1, 1, 1, 1}, {Logistic(-0.125 + 5 * peeped) * std::tanh(peeped)}), None(),
        F({1, 1, 1}, {peeped})}},
      // Gates held within [-0.1, 0.1], and other functions.
      {"LSTM",
       {F({1, 1, 1}, {8}), w, r},
       {F({1, 1, 1, 1}, {Logistic(-0.1) * std::fmax(0, Logistic(0.1) * 0.1)})},
       {{"clip", Real(0.1)}, {"activations", WordList({"Sigmoid", "Relu", "Relu"})}}},
  };
}

std::vector<Example> Others() {
  const Given w = F({1, 3, 1}, {0.5, -0.25, 1}), r = F({1, 3, 1}, {0.1, 0.2, 0.3});
  const Given b = F({1, 6}, {0, 0, 0, 0, 0, 0.6}), h = F({1, 1, 1}, {0.4}), x = F({1, 1, 1}, {2});
  // z, r, h of x = 2 and H = 0.4; the bias Rb of h stands within the reset, or outside of it.
  const double z = Logistic(0.5 * 2 + 0.1 * 0.4), reset = Logistic(-0.25 * 2 + 0.2 * 0.4);
  const double outside = std::tanh(2 + 0.3 * (reset * 0.4) + 0.6);
  const double inside = std::tanh(2 + reset * (0.3 * 0.4 + 0.6));
  const auto mixed = [&](double candidate) { return (1 - z) * candidate + z * 0.4; };
  return {
      {"GRU",
       {x, w, r, b, None(), h},
       {F({1, 1, 1, 1}, {mixed(outside)}), F({1, 1, 1}, {mixed(outside)})}},
      {"GRU",
       {x, w, r, b, None(), h},
       {F({1, 1, 1, 1}, {mixed(inside)}), F({1, 1, 1}, {mixed(inside)})},
       {{"linear_before_reset", Int(1)}}},
      {"RNN",
       {kX, F({1, 1, 1}, {2}), F({1, 1, 1}, {0.5})},
       {F({2, 1, 1, 1}, {std::tanh(1), std::tanh(-2 + 0.5 * std::tanh(1))}),
        F({1, 1, 1}, {std::tanh(-2 + 0.5 * std::tanh(1))})}},
      {"RNN",
       {kX, F({1, 1, 1}, {2}), F({1, 1, 1}, {0.5})},
       {F({2, 1, 1, 1}, {3, 1.5})},
       {{"activations", WordList({"Affine"})},
        {"activation_alpha", RealList({1})},
        {"activation_beta", RealList({2})}}},
  };
}

}  // namespace

std::vector<Example> RecurrentExamples() {
  std::vector<Example> all = Lstms();
  for (const Example& example : Others()) all.push_back(example);
  return all;
}

}  // namespace placewright::lowering
