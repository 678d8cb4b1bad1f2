#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "learn/nn/attention.h"
#include "learn/nn/attention_decoder.h"
#include "learn/nn/gradient_check.h"
#include "learn/nn/lstm.h"

namespace placewright {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

at::Tensor Doubles(std::vector<double> values, at::IntArrayRef sizes) {
  return at::tensor(values, at::kDouble).reshape(sizes);
}

TEST(Lstm, OneStepByHand) {
  // I = H = 1, x = 2, h = 0.5, c = -1; W_x = (0.1 0.2 0.3 0.4), W_h = (0.5 0.6 0.7 0.8), b = 0.1:
  // z = (0.55, 0.8, 1.05, 1.3).
  const LstmWeights weights{Doubles({0.1, 0.2, 0.3, 0.4}, {4, 1}),
                            Doubles({0.5, 0.6, 0.7, 0.8}, {4, 1}),
                            Doubles({0.1, 0.1, 0.1, 0.1}, {4})};
  const double c = Sigmoid(0.8) * -1 + Sigmoid(0.55) * std::tanh(1.05);
  const double h = Sigmoid(1.3) * std::tanh(c);
  const LstmResult result =
      RunLstm(weights, Doubles({2}, {1, 1, 1}), {Doubles({0.5}, {1, 1}), Doubles({-1}, {1, 1})});
  EXPECT_NEAR(result.outputs.item<double>(), h, 1e-12);
  EXPECT_NEAR(result.last.h.item<double>(), h, 1e-12);
  EXPECT_NEAR(result.last.c.item<double>(), c, 1e-12);
}

TEST(Lstm, EqualsTheOneOfLibTorch) {
  const LstmWeights weights{Leaf({12, 4}, 1), Leaf({12, 3}, 2), Leaf({12}, 3)};
  const at::Tensor x = Leaf({5, 2, 4}, 4);
  const LstmState start{Leaf({2, 3}, 5), Leaf({2, 3}, 6)};
  const LstmResult ours = RunLstm(weights, x, start);
  const auto theirs =
      at::lstm(x, {start.h.unsqueeze(0), start.c.unsqueeze(0)},
               {weights.input, weights.hidden, weights.bias, at::zeros_like(weights.bias)}, true, 1,
               0, false, false, false);
  EXPECT_TRUE(at::allclose(ours.outputs, std::get<0>(theirs)));
  EXPECT_TRUE(at::allclose(ours.last.c, std::get<2>(theirs)[0]));
  // Reversed: that of the reversed inputs, back in order.
  const LstmResult reversed = RunLstm(weights, x, start, true);
  const LstmResult of_flipped = RunLstm(weights, x.flip(0), start);
  EXPECT_TRUE(at::equal(reversed.outputs, of_flipped.outputs.flip(0)));
  EXPECT_TRUE(at::equal(reversed.last.h, of_flipped.last.h));
}

TEST(Lstm, Gradients) {
  for (const bool reversed : {false, true}) {
    ExpectGradients(
        {Leaf({12, 2}, 1), Leaf({12, 3}, 2), Leaf({12}, 3), Leaf({4, 2, 2}, 4), Leaf({2, 3}, 5),
         Leaf({2, 3}, 6)},
        [&](const std::vector<at::Tensor>& in) -> std::vector<at::Tensor> {
          const LstmResult r = RunLstm({in[0], in[1], in[2]}, in[3], {in[4], in[5]}, reversed);
          return {r.outputs, r.last.h, r.last.c};
        });
  }
}

TEST(Lstm, GradientsOfTheLastStateAlone) {
  ExpectGradients({Leaf({8, 1}, 1), Leaf({8, 2}, 2), Leaf({8}, 3), Leaf({3, 1, 1}, 4),
                   Leaf({1, 2}, 5), Leaf({1, 2}, 6)},
                  [](const std::vector<at::Tensor>& in) -> std::vector<at::Tensor> {
                    return {RunLstm({in[0], in[1], in[2]}, in[3], {in[4], in[5]}).last.c};
                  });
}

TEST(Attention, ByHand) {
  // Keys 0 and 1 with v = 1, query 0: scores 0 and tanh(1); values 10 and 20.
  const AttentionMemory memory{Doubles({0, 1}, {1, 2, 1}), Doubles({10, 20}, {1, 2, 1}),
                               Doubles({1}, {1}), at::Tensor()};
  const double second = std::exp(std::tanh(1.0)) / (1 + std::exp(std::tanh(1.0)));
  EXPECT_NEAR(Attend(memory, Doubles({0}, {1, 1, 1})).item<double>(), 10 + 10 * second, 1e-12);
}

TEST(Attention, PaddingHasNoWeight) {
  AttentionMemory memory{Leaf({2, 3, 2}, 1), Leaf({2, 3, 4}, 2), Leaf({2}, 3), at::Tensor()};
  const at::Tensor queries = Leaf({2, 2, 2}, 4);
  memory.padding = at::zeros({2, 1, 3}, at::kDouble);
  memory.padding[1][0][2] = -INFINITY;
  const at::Tensor contexts = Attend(memory, queries);
  const AttentionMemory shorter{memory.keys.narrow(1, 0, 2), memory.values.narrow(1, 0, 2),
                                memory.scores, at::Tensor()};
  EXPECT_TRUE(at::allclose(contexts[1], Attend(shorter, queries)[1]));
}

TEST(Attention, Gradients) {
  at::Tensor padding = at::zeros({2, 1, 3}, at::kDouble);
  padding[1][0][2] = -INFINITY;
  ExpectGradients({Leaf({2, 3, 2}, 1), Leaf({2, 3, 4}, 2), Leaf({2}, 3), Leaf({2, 2, 2}, 4)},
                  [&](const std::vector<at::Tensor>& in) -> std::vector<at::Tensor> {
                    return {Attend({in[0], in[1], in[2], padding}, in[3])};
                  });
}

// S = 2 sequences of L = 3, R = 2 repeats, H = 3, D = 2, A = 2.
struct Decoder {
  at::Tensor recurrent = Leaf({12, 5}, 1), query = Leaf({2, 3}, 2), keys = Leaf({2, 3, 2}, 3);
  at::Tensor values = Leaf({2, 3, 2}, 4), scores = Leaf({2}, 5), gates = Leaf({3, 4, 12}, 6);
  at::Tensor h = Leaf({4, 3}, 7), c = Leaf({4, 3}, 8);
  at::Tensor padding = at::zeros({2, 1, 3}, at::kDouble);
};

TEST(AttentionDecoder, StepsGiveTheSame) {
  Decoder d;
  d.padding[1][0][2] = -INFINITY;
  const AttentionMemory memory{d.keys, d.values, d.scores, d.padding};
  const at::Tensor whole = RunAttentionDecoder({d.recurrent, d.query}, memory, d.gates, {d.h, d.c});
  const at::NoGradGuard no_gradients;
  LstmState state{d.h, d.c};
  for (int64_t t = 0; t < 3; ++t) {
    StepAttentionDecoder(PackedDecoder({d.recurrent, d.query}), memory, d.gates[t].clone(), state);
    EXPECT_TRUE(at::allclose(state.h, whole[t])) << t;
  }
}

TEST(AttentionDecoder, EqualsItsParts) {
  const Decoder d;
  const AttentionMemory memory{d.keys, d.values, d.scores, at::Tensor()};
  const at::Tensor whole = RunAttentionDecoder({d.recurrent, d.query}, memory, d.gates, {d.h, d.c});
  at::Tensor h = d.h, c = d.c;
  for (int64_t t = 0; t < 3; ++t) {
    const at::Tensor context =
        Attend(memory, at::mm(h, d.query.t()).view({2, 2, 2})).reshape({4, 2});
    const at::Tensor x = at::cat({d.gates[t], context}, 1);  // W_x = [1, recurrent of the context]
    const LstmWeights weights{at::cat({at::eye(12, at::kDouble), d.recurrent.narrow(1, 0, 2)}, 1),
                              d.recurrent.narrow(1, 2, 3), at::zeros({12}, at::kDouble)};
    const LstmResult step = RunLstm(weights, x.unsqueeze(0), {h, c});
    h = step.last.h;
    c = step.last.c;
    EXPECT_TRUE(at::allclose(h, whole[t])) << t;
  }
}

TEST(AttentionDecoder, Gradients) {
  Decoder d;
  d.padding[1][0][2] = -INFINITY;
  ExpectGradients({d.recurrent, d.query, d.keys, d.values, d.scores, d.gates, d.h, d.c},
                  [&](const std::vector<at::Tensor>& in) -> std::vector<at::Tensor> {
                    return {RunAttentionDecoder({in[0], in[1]}, {in[2], in[3], in[4], d.padding},
                                                in[5], {in[6], in[7]})};
                  });
}

}  // namespace
}  // namespace placewright
