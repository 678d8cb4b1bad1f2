// Fused attention: kernels of GPUs cannot be executed everywhere, so that their rules are held to what their
// signatures say. Those of the CPU are executed (tests/python/rules_test.py).
#include <gtest/gtest.h>

#include "sharding/test_ops.h"

namespace placewright {
namespace {

using Shapes = std::vector<std::vector<int64_t>>;

Value None() { return Value(); }

// 2 samples, 8 heads of queries for 4 of keys, 16 and 12 places.
const std::vector<int64_t> kQuery = {2, 8, 16, 64}, kKey = {2, 4, 12, 64}, kSums = {2, 8, 16};

OneOp Flash(bool causal, double dropout = 0.1) {
  return OneOp("aten._scaled_dot_product_flash_attention.default", {kQuery, kKey, kKey},
               {kQuery, kSums, {2}},
               {Input(0), Input(1), Input(2), Value(dropout), Value(causal), Value(false)});
}

TEST(AttentionRule, SamplesHeadsAndPlacesOfQueriesAreSplit) {
  const OneOp flash = Flash(false);
  ASSERT_TRUE(flash.rule);
  // a samples, b heads of keys, c of queries for each of them, d places of queries, e of keys.
  EXPECT_EQ(flash.In(0).substr(0, 6), "a bc d");
  EXPECT_EQ(flash.In(1).substr(0, 5), "a b e");
  EXPECT_EQ(flash.Out(0).substr(0, 6), "a bc d");
  EXPECT_EQ(flash.Out(1), "a bc d");
  for (const char axis : {'a', 'b', 'c', 'd'}) {
    EXPECT_EQ(flash.Verdict(axis), PartVerdict::kConcat) << axis;
  }
  EXPECT_EQ(flash.Verdict('e'), PartVerdict::kWhole);
  // The state of the generator is of no sample.
  EXPECT_EQ(flash.Verdict('a', 2), PartVerdict::kWhole);
}

TEST(AttentionRule, ACausalMaskTiesPlacesTogether) {
  EXPECT_EQ(Flash(true).Verdict('d'), PartVerdict::kWhole);
  EXPECT_EQ(Flash(true).Verdict('a'), PartVerdict::kConcat);
}

// Of the CPU's kernel another operator computes a part, which knows the places that it has.
TEST(AttentionRule, APartOfPlacesUnderACausalMaskKnowsWhichTheyAre) {
  const std::vector<int64_t> keys = {2, 4, 16, 64};
  const auto forward = [&](Value causal, std::vector<int64_t> of = {2, 4, 16, 64}) {
    return OneOp("aten._scaled_dot_product_flash_attention_for_cpu.default", {kQuery, of, of},
                 {kQuery, kSums}, {Input(0), Input(1), Input(2), Value(0.0), std::move(causal)});
  };
  const OneOp plain = forward(Value(false)), causal = forward(Value(true));
  EXPECT_EQ(plain.Part('d', 5).type, "aten._scaled_dot_product_flash_attention_for_cpu.default");
  EXPECT_EQ(causal.Verdict('d'), PartVerdict::kConcat);
  EXPECT_EQ(causal.Verdict('d', 1), PartVerdict::kConcat);
  PartCall call = causal.Part('d', 5);
  EXPECT_EQ(call.type, "placewright.causal_attention_part.default");
  const PlaceArgument at = PlaceArgumentOf(*causal.rule, RuleAxisId('d' - 'a'));
  at.Set({{{2, 1, 16, 1}, {3, 8}}}, call);
  EXPECT_EQ(call.args, (std::vector<Value>{Input(0), Input(1), Input(2), Value(0.0), Value(true),
                                           Integers({2, 1, 16, 3, 8})}));
  EXPECT_EQ(causal.Part('a', 1).type, plain.Part('a', 1).type);
  // As many keys as queries alone: the mask begins at the first of both.
  EXPECT_EQ(forward(Value(true), kKey).Verdict('d'), PartVerdict::kWhole);

  const OneOp backward(
      "aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
      {kQuery, kQuery, keys, keys, kQuery, kSums}, {kQuery, keys, keys},
      {Input(0), Input(1), Input(2), Input(3), Input(4), Input(5), Value(0.0), Value(true)});
  EXPECT_EQ(backward.Verdict('d'), PartVerdict::kConcat);
  EXPECT_EQ(backward.Verdict('d', 1), PartVerdict::kSum);
  EXPECT_EQ(backward.Part('d', 5).type, "placewright.causal_attention_backward_part.default");
  EXPECT_EQ(PlaceArgumentOf(*backward.rule, RuleAxisId('d' - 'a')).argument, 8);
}

// Each part for itself: one device would draw for all otherwise, and compute all.
TEST(AttentionRule, DropoutKeepsNoPartWhole) {
  EXPECT_FALSE(Flash(false, 0.1).rule->draws_random);
  EXPECT_EQ(Flash(false, 0.1).Verdict('a'), PartVerdict::kConcat);
}

// Keys and values that heads or places of queries have in common get sums.
TEST(AttentionRule, GradientsOfKeysAreSumsOverHeadsAndPlacesOfQueries) {
  const OneOp backward(
      "aten._scaled_dot_product_flash_attention_backward.default",
      {kQuery, kQuery, kKey, kKey, kQuery, kSums, {2}, {}}, {kQuery, kKey, kKey},
      {Input(0), Input(1), Input(2), Input(3), Input(4), Input(5), None(), None(),
       Value(int64_t{16}), Value(int64_t{12}), Value(0.0), Value(false), Input(6), Input(7)});
  ASSERT_TRUE(backward.rule);
  EXPECT_EQ(backward.In(0).substr(0, 6), "a bc d");
  EXPECT_EQ(backward.In(3).substr(0, 5), "a b e");
  for (const char axis : {'a', 'b'}) {
    for (const size_t output : {0, 1, 2}) {
      EXPECT_EQ(backward.Verdict(axis, output), PartVerdict::kConcat) << axis << output;
    }
  }
  for (const char axis : {'c', 'd'}) {
    EXPECT_EQ(backward.Verdict(axis, 0), PartVerdict::kConcat) << axis;
    EXPECT_EQ(backward.Verdict(axis, 1), PartVerdict::kSum) << axis;
    EXPECT_EQ(backward.Verdict(axis, 2), PartVerdict::kSum) << axis;
  }
  // The longest sequence of queries follows a part of their places.
  EXPECT_EQ(backward.Part('d', 5).args[8], Value(int64_t{5}));
}

// Places of logarithms are rounded up to 32, so that places of queries are whole; a bias has what it is added to.
TEST(AttentionRule, EfficientAttentionHasABias) {
  const OneOp efficient("aten._scaled_dot_product_efficient_attention.default",
                        {{2, 8, 16, 64}, {2, 8, 12, 64}, {2, 8, 12, 64}, {2, 1, 16, 12}},
                        {{2, 8, 16, 64}, {2, 8, 32}, {}, {}},
                        {Input(0), Input(1), Input(2), Input(3), Value(true)});
  ASSERT_TRUE(efficient.rule);
  EXPECT_EQ(efficient.In(0).substr(0, 5), "a b c");
  EXPECT_EQ(efficient.In(3), "a 1 c d");
  EXPECT_EQ(efficient.Verdict('b', 1), PartVerdict::kConcat);
  EXPECT_EQ(efficient.Verdict('c'), PartVerdict::kWhole);
}

TEST(AttentionRule, CudnnHasItsBiasBehindTheGenerator) {
  const OneOp backward(
      "aten._scaled_dot_product_cudnn_attention_backward.default",
      {kQuery, kQuery, kKey, kKey, kQuery, {2, 8, 16, 1}, {}, {}, {1, 8, 16, 12}},
      {kQuery, kKey, kKey},
      {Input(0), Input(1), Input(2), Input(3), Input(4), Input(5), Input(6), Input(7), Input(8),
       None(), None(), Value(int64_t{16}), Value(int64_t{12}), Value(0.0), Value(false)});
  ASSERT_TRUE(backward.rule);
  EXPECT_EQ(backward.In(8), "1 bc d e");
  EXPECT_EQ(backward.Verdict('a', 1), PartVerdict::kConcat);
}

TEST(AttentionRule, OverrideableHasItsBiasAmongTheTensors) {
  const OneOp backward(
      "aten._scaled_dot_product_fused_attention_overrideable_backward.default",
      {kQuery, kQuery, kKey, kKey, {2, 8, 16, 12}, kQuery, kSums},
      {kQuery, kKey, kKey, {2, 8, 16, 12}},
      {Input(0), Input(1), Input(2), Input(3), Input(4),
       Value(Value::List{Value(true), Value(true), Value(true), Value(true)}), Input(5), Input(6)});
  ASSERT_TRUE(backward.rule);
  EXPECT_EQ(backward.In(4), "a bc d e");
  EXPECT_EQ(backward.In(5).substr(0, 6), "a bc d");
  EXPECT_EQ(backward.Verdict('d', 3), PartVerdict::kConcat);
}

// The kernels below have places before heads. Packed sequences have no samples to cut.
TEST(AttentionRule, KernelsHavePlacesFirst) {
  const std::vector<int64_t> query = {2, 16, 8, 64}, key = {2, 12, 4, 64};
  const auto forward = [&](const Shapes& inputs, Value lengths) {
    return OneOp("aten._flash_attention_forward.default", inputs, {query, kSums},
                 {Input(0), Input(1), Input(2), lengths, lengths, Value(int64_t{16}),
                  Value(int64_t{12}), Value(0.0), Value(false), Value(false)});
  };
  const OneOp plain = forward({query, key, key}, None());
  ASSERT_TRUE(plain.rule);
  EXPECT_EQ(plain.In(0).substr(0, 6), "a d bc");
  EXPECT_EQ(plain.In(1).substr(0, 5), "a e b");
  EXPECT_FALSE(forward({query, key, key, {3}}, Input(3)).rule);
}

TEST(AttentionRule, TheMathFormReturnsWhatItAttendsTo) {
  const OneOp math("aten._scaled_dot_product_attention_math.default", {kQuery, kQuery, kQuery},
                   {kQuery, {2, 8, 16, 16}}, {Input(0), Input(1), Input(2)});
  ASSERT_TRUE(math.rule);
  EXPECT_EQ(math.Out(1), "a b c d");
}

// A part would count its distances from its own first place, and slopes of all heads are no part's.
TEST(AttentionRule, WindowsTieAndTensorsByKeywordForbid) {
  const std::vector<int64_t> query = {2, 16, 8, 64};
  const auto forward = [&](const Shapes& inputs, std::vector<NamedValue> named) {
    return OneOp("aten._flash_attention_forward.default", inputs, {query, kSums},
                 {Input(0), Input(1), Input(2), None(), None(), Value(int64_t{16}),
                  Value(int64_t{16}), Value(0.0), Value(false), Value(false)},
                 std::move(named));
  };
  const OneOp free = forward({query, query, query}, {{"window_size_left", Value(int64_t{-1})}});
  const OneOp tied = forward({query, query, query}, {{"window_size_left", Value(int64_t{2})}});
  ASSERT_TRUE(free.rule && tied.rule);
  EXPECT_EQ(free.Verdict(free.In(0)[2]), PartVerdict::kConcat);
  EXPECT_EQ(tied.Verdict(tied.In(0)[2]), PartVerdict::kWhole);
  EXPECT_EQ(tied.Verdict(tied.In(0)[0]), PartVerdict::kConcat);
  EXPECT_FALSE(forward({query, query, query, {8}}, {{"alibi_slopes", Input(3)}}).rule);
}

}  // namespace
}  // namespace placewright
