#include "learn/placer/seq2seq.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "learn/nn/gradient_check.h"

namespace placewright {
namespace {

at::Tensor Numbers(at::IntArrayRef sizes, double seed) {
  return at::sin(at::arange(c10::multiply_integers(sizes), at::kDouble) * 12.9898 + seed * 78.233)
      .reshape(sizes);
}

Seq2SeqOptions Options(Seq2SeqOptions::Attention attention, int64_t segment, bool aligned = true) {
  Seq2SeqOptions options;
  options.attention = attention;
  options.segment = segment;
  options.aligned = aligned;
  options.width = 6;
  options.attention_width = 3;
  return options;
}

Seq2SeqOptions Staying() {
  Seq2SeqOptions options = Options(Seq2SeqOptions::Attention::kBefore, 3);
  options.switches = 2;
  return options;
}

struct Case {
  const char* name;
  Seq2SeqOptions options;
};

class Placers : public testing::TestWithParam<Case> {};

// 2 sequences of 7 units with 4 numbers each, 3 devices; unit 5 may not lie on device 1.
PlacerInputs Inputs() {
  at::Tensor forbidden = at::zeros({7, 3}, kDoubles);
  forbidden[5][1] = -std::numeric_limits<double>::infinity();
  return {Numbers({2, 7, 4}, 1), at::Tensor(), forbidden};
}

// Sampling decides step by step, logits look at all steps at once: with the noise of the sample,
// the largest logit of each unit is the device that was drawn.
TEST_P(Placers, SamplesFollowTheLogits) {
  Parameters parameters(Random(3), kDoubles);
  const Seq2SeqPlacer placer(4, 3, GetParam().options, "placer", parameters);
  const PlacerInputs inputs = Inputs();
  const at::Tensor noise = Numbers({2, 5, 7, 3}, 2) * 3;
  const at::Tensor drawn = placer.Sample(inputs, noise);
  ASSERT_EQ(drawn.sizes(), (at::IntArrayRef{2, 5, 7}));
  const at::Tensor logits = placer.Logits(inputs, drawn);
  ASSERT_EQ(logits.sizes(), (at::IntArrayRef{2, 5, 7, 3}));
  EXPECT_TRUE(at::equal((logits + noise).argmax(-1), drawn));
  EXPECT_FALSE((drawn.select(2, 5) == 1).any().item<bool>());
  EXPECT_GT(std::get<0>(at::_unique(drawn)).numel(), 1);
}

TEST_P(Placers, EveryParameterHasAGradient) {
  Parameters parameters(Random(3), kDoubles);
  const Seq2SeqPlacer placer(4, 3, GetParam().options, "placer", parameters);
  const PlacerInputs inputs = Inputs();
  const at::Tensor devices = placer.Sample(inputs, Numbers({2, 5, 7, 3}, 2) * 3);
  at::log_softmax(placer.Logits(inputs, devices), -1)
      .gather(-1, devices.unsqueeze(-1))
      .sum()
      .backward();
  for (const auto& [name, tensor] : parameters.named()) {
    ASSERT_TRUE(tensor.grad().defined()) << name;
    EXPECT_TRUE(tensor.grad().isfinite().all().item<bool>()) << name;
    EXPECT_GT(tensor.grad().abs().max().item<double>(), 0) << name;
  }
}

// What a sequence comes to does not depend on the sequences beside it.
TEST_P(Placers, SequencesAreIndependent) {
  Parameters parameters(Random(3), kDoubles);
  const Seq2SeqPlacer placer(4, 3, GetParam().options, "placer", parameters);
  const PlacerInputs both = Inputs();
  const at::Tensor devices = placer.Sample(both, Numbers({2, 1, 7, 3}, 2));
  const at::Tensor logits = placer.Logits(both, devices);
  for (int64_t b = 0; b < 2; ++b) {
    const PlacerInputs one = {both.embeddings.narrow(0, b, 1), at::Tensor(), both.forbidden};
    EXPECT_TRUE(at::allclose(placer.Logits(one, devices.narrow(0, b, 1)), logits.narrow(0, b, 1)));
  }
}

using Attention = Seq2SeqOptions::Attention;
INSTANTIATE_TEST_SUITE_P(All, Placers,
                         testing::Values(Case{"BeforeBySegments", Options(Attention::kBefore, 3)},
                                         Case{"BeforeWhole", Options(Attention::kBefore, 0)},
                                         Case{"BeforeUnaligned",
                                              Options(Attention::kBefore, 3, false)},
                                         Case{"BeforeStaying", Staying()},
                                         Case{"AfterBySegments", Options(Attention::kAfter, 3)},
                                         Case{"AfterWhole", Options(Attention::kAfter, 0)}),
                         [](const auto& of_case) { return std::string(of_case.param.name); });

// With 0.8 changes along eight units, nine of ten take the device before, the others each of the two
// others as often; the first of a segment takes any.
TEST(Seq2Seq, StaysOnTheDeviceBefore) {
  Seq2SeqOptions options = Options(Attention::kBefore, 4);
  options.switches = 0.8;
  Parameters parameters(Random(3), kDoubles);
  const Seq2SeqPlacer placer(4, 3, options, "placer", parameters);
  for (const auto& [name, tensor] : parameters.named()) {
    const at::NoGradGuard no_gradients;
    if (name.starts_with("placer.output")) tensor.zero_();
  }
  const PlacerInputs inputs = {Numbers({1, 8, 4}, 1), at::Tensor(), at::zeros({8, 3}, kDoubles)};
  const at::Tensor devices = at::tensor({2, 2, 0, 0, 1, 1, 1, 0}, at::kLong).view({1, 1, 8});
  const at::Tensor p =
      at::softmax(placer.Logits(inputs, devices), -1).gather(-1, devices.unsqueeze(-1)).view({8});
  const at::Tensor expected =
      at::tensor({1 / 3.0, 0.9, 0.05, 0.9, 1 / 3.0, 0.9, 0.9, 0.05}, at::kDouble);
  EXPECT_TRUE(at::allclose(p, expected));
}

// Fig. 6: the encoder carries its state on, the decoder does not. So a device decided in the first
// segment changes nothing in the second, but an embedding there does.
TEST(Seq2Seq, OnlyTheEncoderCrossesSegments) {
  Parameters parameters(Random(3), kDoubles);
  const Seq2SeqPlacer placer(4, 3, Options(Attention::kBefore, 4), "placer", parameters);
  PlacerInputs inputs = {Numbers({1, 8, 4}, 1), at::Tensor(), at::zeros({8, 3}, kDoubles)};
  at::Tensor devices = at::zeros({1, 1, 8}, at::kLong);
  const at::Tensor before = placer.Logits(inputs, devices);
  devices[0][0][1] = 2;
  const at::Tensor decided = placer.Logits(inputs, devices);
  EXPECT_TRUE(at::equal(before.narrow(2, 0, 2), decided.narrow(2, 0, 2)));
  EXPECT_FALSE(at::equal(before.select(2, 2), decided.select(2, 2)));
  EXPECT_TRUE(at::equal(before.narrow(2, 4, 4), decided.narrow(2, 4, 4)));
  inputs.embeddings = inputs.embeddings.clone();
  inputs.embeddings[0][1][0] += 1;
  EXPECT_FALSE(at::equal(decided.narrow(2, 4, 4), placer.Logits(inputs, devices).narrow(2, 4, 4)));
}

}  // namespace
}  // namespace placewright
