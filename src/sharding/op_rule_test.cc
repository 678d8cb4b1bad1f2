// Rules of single ops, each against what its operator means.
#include "sharding/op_rule.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "sharding/separable_results.h"
#include "sharding/test_ops.h"

namespace placewright {
namespace {

TEST(OpRule, AProductSumsOverItsInnerAxis) {
  const OneOp mm("aten.mm.default", {{4, 6}, {6, 5}}, {{4, 5}}, {Input(0), Input(1)});
  ASSERT_TRUE(mm.rule);
  EXPECT_EQ(mm.In(0), "a c");
  EXPECT_EQ(mm.In(1), "c b");
  EXPECT_EQ(mm.Out(0), "a b");
  EXPECT_EQ(mm.Verdict('a'), PartVerdict::kConcat);
  EXPECT_EQ(mm.Verdict('c'), PartVerdict::kSum);
}

// The bias has the columns, and enters one part alone of a split of the inner axis.
TEST(OpRule, ABiasIsAddedOnce) {
  const OneOp addmm("aten.addmm.default", {{5}, {4, 6}, {6, 5}}, {{4, 5}},
                    {Input(0), Input(1), Input(2)});
  ASSERT_TRUE(addmm.rule);
  EXPECT_EQ(addmm.In(0), "b");
  ASSERT_EQ(addmm.rule->once.size(), 1u);
  EXPECT_EQ(addmm.rule->once[0], std::pair(RuleAxisId(2), 0));
}

// torch.cat skips what has one dimension and no elements, as the beginning of a cache.
TEST(OpRule, AnEmptyPieceCountsForNothing) {
  const OneOp cat("aten.cat.default", {{0}, {4, 2, 6}}, {{4, 2, 6}},
                  {Value(Value::List{Input(0), Input(1)}), Value(int64_t{-2})});
  ASSERT_TRUE(cat.rule);
  EXPECT_EQ(cat.rule->inputs[1], cat.rule->outputs[0]);
  const RuleAxisId batch = cat.rule->outputs[0][0][0];
  EXPECT_EQ(VerdictOf(*cat.rule, batch, 0), PartVerdict::kConcat);
  EXPECT_FALSE(Holds(cat.rule->inputs[0], batch));
}

TEST(OpRule, AViewKeepsTheFactorsOfAFlattenedDimension) {
  const OneOp view("aten.view.default", {{16, 128, 768}}, {{2048, 12, 64}},
                   {Input(0), Integers({2048, 12, 64})});
  ASSERT_TRUE(view.rule);
  EXPECT_EQ(view.In(0), "a b cd");
  EXPECT_EQ(view.Out(0), "ab c d");
  EXPECT_EQ(view.Part('a', 5).args[1], Integers({640, 12, 64}));
  EXPECT_EQ(view.Part('b', 100).args[1], Integers({1600, 12, 64}));
}

TEST(OpRule, FactorsThatDoNotDivideAreWhole) {
  const OneOp view("aten.view.default", {{3, 4, 6}}, {{3, 8, 3}}, {Input(0), Integers({3, 8, 3})});
  ASSERT_TRUE(view.rule);
  EXPECT_EQ(view.Verdict('a'), PartVerdict::kConcat);
  // 4 divides 8: a factor of 4, and then 6 against 2 and 3.
  EXPECT_EQ(view.In(0), "a b cd");
  EXPECT_EQ(view.Out(0), "a bc d");
  const OneOp odd("aten.view.default", {{4, 6}}, {{6, 4}}, {Input(0), Integers({6, 4})});
  ASSERT_TRUE(odd.rule);
  for (const RuleAxis& axis : odd.rule->axes) EXPECT_EQ(axis.parts, Parts::kWhole);
}

// Four gates of one dimension: each can be split inside.
TEST(OpRule, EvenPiecesOfADimensionCanBeSplit) {
  const OneOp slice("aten.slice.Tensor", {{2, 12}}, {{2, 3}},
                    {Input(0), Value(int64_t{1}), Value(int64_t{6}), Value(int64_t{9})});
  ASSERT_TRUE(slice.rule);
  const PartCall part = slice.Part(slice.Out(0).back(), 2);
  EXPECT_EQ(part.args[2], Value(int64_t{4}));
  EXPECT_EQ(part.args[3], Value(int64_t{6}));
  const OneOp uneven("aten.slice.Tensor", {{2, 12}}, {{2, 4}},
                     {Input(0), Value(int64_t{1}), Value(int64_t{6}), Value(int64_t{10})});
  ASSERT_TRUE(uneven.rule);
  EXPECT_EQ(uneven.Verdict(uneven.Out(0).back()), PartVerdict::kWhole);
}

// Gradients of a convolution: of its input a part, of its weight and bias partial sums.
TEST(OpRule, OutputsOfOneOpHaveVerdictsOfTheirOwn) {
  std::vector<Value> args = {Input(0),         Input(1),         Input(2),         Integers({5}),
                             Integers({1, 1}), Integers({0, 0}), Integers({1, 1}), Value(false),
                             Integers({0, 0}), Value(int64_t{1})};
  const OneOp backward("aten.convolution_backward.default",
                       {{4, 5, 6, 6}, {4, 3, 8, 8}, {5, 3, 3, 3}},
                       {{4, 3, 8, 8}, {5, 3, 3, 3}, {5}}, args);
  ASSERT_TRUE(backward.rule);
  const char batch = backward.Out(0)[0], outer = backward.Out(2).back();
  EXPECT_EQ(backward.Verdict(batch, 0), PartVerdict::kConcat);
  EXPECT_EQ(backward.Verdict(batch, 1), PartVerdict::kSum);
  EXPECT_EQ(backward.Verdict(batch, 2), PartVerdict::kSum);
  EXPECT_EQ(backward.Verdict(outer, 0), PartVerdict::kSum);
  EXPECT_EQ(backward.Verdict(outer, 1), PartVerdict::kConcat);
  EXPECT_EQ(backward.Part(outer, 2).args[3], Integers({2}));
}

// A part of the vocabulary gives a partial sum; of the gradient it has rows. Other axes split the op itself.
TEST(OpRule, AVocabularyIsSplitByItsRows) {
  const OneOp lookup("aten.embedding.default", {{7, 4}, {2, 3}}, {{2, 3, 4}}, {Input(0), Input(1)});
  ASSERT_TRUE(lookup.rule);
  const char rows = lookup.In(0)[0], width = lookup.In(0)[2], batch = lookup.In(1)[0];
  EXPECT_EQ(lookup.Verdict(rows), PartVerdict::kSum);
  EXPECT_EQ(lookup.Verdict(batch), PartVerdict::kConcat);
  EXPECT_EQ(lookup.Part(rows, 3).type, "placewright.embedding_part.default");
  EXPECT_EQ(lookup.Part(rows, 3).args, (std::vector<Value>{Input(0), Input(1), Integers({})}));
  const PlaceArgument at = PlaceArgumentOf(*lookup.rule, RuleAxisId(rows - 'a'));
  EXPECT_EQ(at.argument, 2);
  PartCall call = lookup.Part(rows, 3);
  at.Set({{{0, 1, 7, 1}, {2, 5}}}, call);  // rows 2 to 4 of the 7 in dimension 0
  EXPECT_EQ(call.args[2], Integers({0, 1, 7, 2, 5}));
  EXPECT_EQ(lookup.Part(width, 2).type, "aten.embedding.default");
  EXPECT_FALSE(PlaceArgumentOf(*lookup.rule, RuleAxisId(width - 'a')).there());
}

TEST(OpRule, AVocabularysGradientIsSplitUnlessByFrequency) {
  const auto backward = [](bool by_frequency) {
    return OneOp("aten.embedding_dense_backward.default", {{2, 3, 4}, {2, 3}}, {{7, 4}},
                 {Input(0), Input(1), Value(int64_t{7}), Value(int64_t{5}), Value(by_frequency)});
  };
  const OneOp plain = backward(false);
  ASSERT_TRUE(plain.rule);
  const char rows = plain.Out(0)[0];
  EXPECT_EQ(plain.Verdict(rows), PartVerdict::kConcat);
  const PartCall part = plain.Part(rows, 3);
  EXPECT_EQ(part.type, "placewright.embedding_dense_backward_part.default");
  EXPECT_EQ(part.args, (std::vector<Value>{Input(0), Input(1), Value(int64_t{3}), Value(int64_t{5}),
                                           Integers({})}));
  EXPECT_EQ(plain.Part(plain.In(1)[0], 1).args[2], Value(int64_t{7}));
  const OneOp scaled = backward(true);
  ASSERT_TRUE(scaled.rule);
  EXPECT_EQ(scaled.Verdict(scaled.Out(0)[0]), PartVerdict::kWhole);
}

// A part of the classes gives the losses of its own targets; of the gradient it has columns.
TEST(OpRule, ALossIsSplitByItsClasses) {
  const Value none, mean(int64_t{1}), ignored(int64_t{-100});
  const OneOp loss("aten.nll_loss_forward.default", {{4, 6}, {4}}, {{}, {}},
                   {Input(0), Input(1), none, mean, ignored});
  ASSERT_TRUE(loss.rule);
  const char samples = loss.In(0)[0], classes = loss.In(0)[2];
  EXPECT_EQ(loss.Verdict(classes, 0), PartVerdict::kSum);
  EXPECT_EQ(loss.Verdict(classes, 1), PartVerdict::kSum);
  const PartCall part = loss.Part(classes, 3);
  EXPECT_EQ(part.type, "placewright.nll_loss_part.default");
  EXPECT_EQ(part.args, (std::vector<Value>{Input(0), Input(1), none, Value(kReductionSum), ignored,
                                           Integers({})}));
  EXPECT_EQ(loss.Part(samples, 2).type, "aten.nll_loss_forward.default");
  const OneOp backward("aten.nll_loss_backward.default", {{}, {4, 6}, {4}, {}}, {{4, 6}},
                       {Input(0), Input(1), Input(2), none, mean, ignored, Input(3)});
  ASSERT_TRUE(backward.rule);
  EXPECT_EQ(backward.Verdict(backward.Out(0)[2]), PartVerdict::kConcat);
  EXPECT_EQ(backward.Part(backward.Out(0)[2], 3).type,
            "placewright.nll_loss_backward_part.default");
}

// Sums over all parts come between; those of a masked softmax are not known to.
TEST(OpRule, ASoftmaxIsSynchronisedAlongItsDimension) {
  const OneOp logarithm("aten._log_softmax.default", {{4, 6}}, {{4, 6}},
                        {Input(0), Value(int64_t{-1}), Value(false)});
  ASSERT_TRUE(logarithm.rule);
  EXPECT_EQ(logarithm.rule->axes[RuleAxisId(1)].parts, Parts::kSynchronised);
  EXPECT_EQ(logarithm.rule->axes[RuleAxisId(0)].parts, Parts::kSplit);
  const OneOp safe("aten._safe_softmax.default", {{4, 6}}, {{4, 6}},
                   {Input(0), Value(int64_t{-1}), Value()});
  ASSERT_TRUE(safe.rule);
  EXPECT_EQ(safe.rule->axes[RuleAxisId(1)].parts, Parts::kWhole);
}

// Numbers of rows cross; of another order, and over two dimensions, a norm is whole.
TEST(OpRule, NormsAreSynchronisedOverTheirDimensions) {
  const OneOp gradient("aten.linalg_vector_norm.default", {{4, 6}}, {{}}, {Input(0), Value(2.0)});
  ASSERT_TRUE(gradient.rule);
  EXPECT_EQ(gradient.rule->axes[RuleAxisId(0)].parts, Parts::kSynchronised);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Value orders[] = {Value(1.0), Value(int64_t{0}), Value(kInfinity), Value(-kInfinity)};
  for (const Value& order : orders) {
    const OneOp sums("aten.linalg_vector_norm.default", {{4, 6}}, {{}}, {Input(0), order});
    EXPECT_EQ(sums.rule->axes[RuleAxisId(0)].parts, Parts::kSynchronised);
  }
  const OneOp cubes("aten.linalg_vector_norm.default", {{4, 6}}, {{}}, {Input(0), Value(3.0)});
  EXPECT_EQ(cubes.rule->axes[RuleAxisId(0)].parts, Parts::kWhole);
  const OneOp largest("aten.amax.default", {{4, 6}}, {{4}},
                      {Input(0), Integers({-1}), Value(false)});
  EXPECT_EQ(largest.rule->axes[RuleAxisId(0)].parts, Parts::kSplit);
  EXPECT_EQ(largest.rule->axes[RuleAxisId(1)].parts, Parts::kSynchronised);
  const OneOp layer("aten.native_layer_norm.default", {{4, 6}, {6}, {6}}, {{4, 6}, {4, 1}, {4, 1}},
                    {Input(0), Integers({6}), Input(1), Input(2), Value(1e-5)});
  EXPECT_EQ(layer.rule->axes[RuleAxisId(1)].parts, Parts::kSynchronised);
  EXPECT_EQ(VerdictOf(*layer.rule, RuleAxisId(1), 1), PartVerdict::kWhole);
  const OneOp image("aten.native_layer_norm.default", {{4, 6, 5}},
                    {{4, 6, 5}, {4, 1, 1}, {4, 1, 1}},
                    {Input(0), Integers({6, 5}), Value(), Value(), Value(1e-5)});
  EXPECT_EQ(image.rule->axes[RuleAxisId(0)].parts, Parts::kSplit);
  EXPECT_EQ(image.rule->axes[RuleAxisId(1)].parts, Parts::kSynchronised);
}

// The gradients of a convolution are two convolutions; a norm's come of the same sums.
TEST(SeparableResults, AreThoseOfConvolutions) {
  std::vector<Value> args = {Input(0),
                             Input(1),
                             Input(2),
                             Integers({5}),
                             Integers({1, 1}),
                             Integers({0, 0}),
                             Integers({1, 1}),
                             Value(false),
                             Integers({0, 0}),
                             Value(int64_t{1}),
                             Value(Value::List{Value(true), Value(true), Value(true)})};
  const OneOp all("aten.convolution_backward.default", {{4, 5, 6, 6}, {4, 3, 8, 8}, {5, 3, 3, 3}},
                  {{4, 3, 8, 8}, {5, 3, 3, 3}, {5}}, args);
  ASSERT_TRUE(all.rule);
  const Op& op = all.graph->op(OpId(0));
  EXPECT_EQ(SeparableResults(op), (GradientMask{true, true, true}));
  const GradientMask weights = {false, true, true};
  const Op part = WithResults(*all.graph, op, weights);
  EXPECT_EQ(SeparableResults(part), weights);
  EXPECT_EQ(part.outputs, (std::vector<TensorId>{op.outputs[1], op.outputs[2]}));
  const OpRule rule = RuleWithResults(*all.graph, op, *all.rule, weights);
  EXPECT_EQ(rule.outputs, (std::vector<TensorAxes>{all.rule->outputs[1], all.rule->outputs[2]}));
  args.back() = Value();
  const OneOp without("aten.convolution_backward.default",
                      {{4, 5, 6, 6}, {4, 3, 8, 8}, {5, 3, 3, 3}}, {{4, 3, 8, 8}}, args);
  EXPECT_FALSE(SeparableResults(without.graph->op(OpId(0))));
  const OneOp norm("aten.native_layer_norm_backward.default", {{4, 3}}, {{4, 3}}, {Input(0)});
  EXPECT_FALSE(SeparableResults(norm.graph->op(OpId(0))));
}

TEST(OpRule, WhatDoesNotFitHasNoRule) {
  EXPECT_FALSE(OneOp("aten.mm.default", {{4, 6}, {7, 5}}, {{4, 5}}, {Input(0), Input(1)}).rule);
  EXPECT_FALSE(OneOp("aten.mm.default", {{4}, {4}}, {{4}}, {Input(0), Input(1)}).rule);
  EXPECT_FALSE(OneOp("aten.add.Tensor", {{4, 6}, {5}}, {{4, 6}}, {Input(0), Input(1)}).rule);
  EXPECT_FALSE(
      OneOp("aten.select.int", {{4, 6}}, {{4}}, {Input(0), Value(int64_t{7}), Value(int64_t{0})})
          .rule);
  EXPECT_FALSE(OneOp("aten.unheard_of.default", {{4}}, {{4}}, {Input(0)}).rule);
  EXPECT_FALSE(HasRule("aten", "aten.unheard_of.default"));
  EXPECT_FALSE(HasRule("aten", "Conv"));
  EXPECT_FALSE(HasRule("onnx", "aten.add_.Tensor"));
  EXPECT_TRUE(HasRule("aten", "aten.add_.Tensor"));
}

// A sample alone in its part keeps its dimension.
TEST(OpRule, APartOfASqueezeStatesItsSizes) {
  const OneOp squeeze("aten.squeeze.default", {{4, 1, 6}}, {{4, 6}}, {Input(0)});
  ASSERT_TRUE(squeeze.rule);
  const PartCall part = squeeze.Part(squeeze.Out(0)[0], 1);
  EXPECT_EQ(part.type, "aten.view.default");
  EXPECT_EQ(part.args, (std::vector<Value>{Input(0), Integers({1, 6})}));
}

// What has been put together anew may have other strides than the op states. A squeeze drops no sample of a whole: it
// stays itself.
TEST(OpRule, OfWhatWasPutTogetherStridesAreNotStated) {
  const OneOp alias("aten._reshape_alias.default", {{4, 6}}, {{24}},
                    {Input(0), Integers({24}), Integers({1})});
  ASSERT_TRUE(alias.rule);
  const PartCall whole = CallOnWhole(alias.graph->op(OpId(0)), &*alias.rule);
  EXPECT_EQ(whole.type, "aten.view.default");
  EXPECT_EQ(whole.args, (std::vector<Value>{Input(0), Integers({24})}));
  EXPECT_EQ(CallOnWhole(alias.graph->op(OpId(0)), nullptr).args.size(), 3u);
  const OneOp squeeze("aten.squeeze.default", {{4, 1, 6}}, {{4, 6}}, {Input(0)});
  EXPECT_EQ(CallOnWhole(squeeze.graph->op(OpId(0)), &*squeeze.rule).type, "aten.squeeze.default");
}

// A mean of 4 x 6 squares: parts are sums, divided by 24; so is the gradient of a part.
TEST(OpRule, AMeanOfPairsIsASumDividedByAllOfThem) {
  const OneOp loss("aten.mse_loss.default", {{4, 6}, {4, 6}}, {{}}, {Input(0), Input(1)});
  ASSERT_TRUE(loss.rule);
  EXPECT_EQ(loss.rule->form, PartForm::kMean);
  EXPECT_EQ(loss.rule->divisor, 24);
  EXPECT_EQ(loss.Verdict('a'), PartVerdict::kSum);
  // The recording left the reduction out, since a mean is the default.
  const PartCall part = loss.Part('a', 1);
  EXPECT_EQ(part.args.size(), 2u);
  ASSERT_EQ(part.attributes.size(), 1u);
  EXPECT_EQ(part.attributes[0].name, "reduction");
  EXPECT_EQ(part.attributes[0].value, Value(kReductionSum));
  const OneOp backward("aten.mse_loss_backward.default", {{}, {4, 6}, {4, 6}}, {{4, 6}},
                       {Input(0), Input(1), Input(2), Value(int64_t{1})});
  ASSERT_TRUE(backward.rule);
  EXPECT_EQ(backward.rule->divisor, 24);
  EXPECT_EQ(backward.Verdict('a'), PartVerdict::kConcat);
  EXPECT_EQ(backward.Part('a', 1).args[3], Value(kReductionSum));
}

// sort.stable has its dimension by name: position 1 is a flag.
TEST(OpRule, AStableSortIsWholeAlongItsOwnDimension) {
  const OneOp sort("aten.sort.stable", {{4, 6}}, {{4, 6}, {4, 6}}, {Input(0)},
                   {{"stable", Value(true)}, {"dim", Value(int64_t{0})}});
  ASSERT_TRUE(sort.rule);
  EXPECT_EQ(sort.rule->axes[RuleAxisId(0)].parts, Parts::kWhole);
  EXPECT_EQ(sort.Verdict('b'), PartVerdict::kConcat);
}

// 4 channels of 2 x 2 become one of each.
TEST(OpRule, PixelsAreShuffledInsideOfTheirChannels) {
  const OneOp shuffle("aten.pixel_shuffle.default", {{2, 12, 5, 7}}, {{2, 3, 10, 14}},
                      {Input(0), Value(int64_t{2})});
  ASSERT_TRUE(shuffle.rule);
  EXPECT_EQ(shuffle.In(0), "a bef c d");
  EXPECT_EQ(shuffle.Out(0), "a b ce df");
}

// Groups of a group norm can be split, channels inside of one cannot.
TEST(OpRule, AGroupNormIsSplitByGroups) {
  const OneOp norm("aten.native_group_norm.default", {{4, 6, 5}, {6}, {6}},
                   {{4, 6, 5}, {4, 3}, {4, 3}},
                   {Input(0), Input(1), Input(2), Value(int64_t{4}), Value(int64_t{6}),
                    Value(int64_t{5}), Value(int64_t{3}), Value(1e-5)});
  ASSERT_TRUE(norm.rule);
  EXPECT_EQ(norm.In(0).substr(0, 4), "a bc");
  EXPECT_EQ(norm.In(1), "bc");
  EXPECT_EQ(norm.Out(1), "a b");
  EXPECT_EQ(norm.Verdict('c'), PartVerdict::kWhole);
  const PartCall part = norm.Part('b', 2);
  EXPECT_EQ(part.args[4], Value(int64_t{4}));
  EXPECT_EQ(part.args[6], Value(int64_t{2}));
}

// Bins between the extrema of a part are others than the whole's, however the zeros are written.
TEST(OpRule, AHistogramIsASumOverFixedBins) {
  const auto counts = [](Value low, Value high) {
    const OneOp histc("aten.histc.default", {{8}}, {{4}},
                      {Input(0), Value(int64_t{4}), std::move(low), std::move(high)});
    return histc.rule->axes[RuleAxisId(0)].parts;
  };
  EXPECT_EQ(counts(Value(int64_t{0}), Value(3.0)), Parts::kSum);
  EXPECT_EQ(counts(Value(int64_t{0}), Value(0.0)), Parts::kWhole);
}

// B [3 2] of A [3 3 3] is broadcast to all three samples: its rows are none.
TEST(OpRule, ABroadcastSideOfASolverHasNoSamples) {
  EXPECT_FALSE(
      OneOp("aten._linalg_solve_ex.default", {{3, 3, 3}, {3, 2}}, {{3, 3, 2}}, {Input(0), Input(1)})
          .rule);
  EXPECT_TRUE(OneOp("aten._linalg_solve_ex.default", {{3, 4, 4}, {3, 4, 2}}, {{3, 4, 2}},
                    {Input(0), Input(1)})
                  .rule);
}

// Somebody's file, which states no matrix.
TEST(OpRule, AProductOfGroupsWithoutAResultHasNoRule) {
  EXPECT_FALSE(
      OneOp("aten._grouped_mm.default", {{4, 6}, {6, 5}}, {{}}, {Input(0), Input(1)}).rule);
}

// Rows of a weight in 4 bits are those of its packed elements and of their scales; scales that are packed across rows
// keep it whole.
TEST(OpRule, AStoredWeightIsSplitByItsRows) {
  const Value size = Integers({6, 128});
  const OneOp plain("stored.dequantize.default", {{6, 64}, {6, 2}, {16}}, {{6, 128}},
                    {Value(Value::List{Input(0), Input(1), Input(2)}), size});
  ASSERT_TRUE(plain.rule);
  const char row = plain.Out(0)[0];
  EXPECT_EQ(plain.In(0)[0], row);
  EXPECT_EQ(plain.In(1)[0], row);
  EXPECT_EQ(plain.Verdict(row), PartVerdict::kConcat);
  EXPECT_EQ(plain.Verdict(plain.Out(0).back()), PartVerdict::kWhole);
  EXPECT_EQ(plain.Part(row, 2).args[1], Integers({2, 128}));
  const OneOp nested("stored.dequantize.default", {{6, 64}, {6, 2}, {1}, {256}, {16}}, {{6, 128}},
                     {Value(Value::List{Input(0), Input(1), Input(2), Input(3), Input(4)}), size});
  EXPECT_FALSE(nested.rule);
  const OneOp flat("stored.dequantize.default", {{6, 65}, {13}, {16}}, {{6, 130}},
                   {Value(Value::List{Input(0), Input(1), Input(2)}), Integers({6, 130})});
  EXPECT_FALSE(flat.rule);  // blocks of 64 end within rows
}

}  // namespace
}  // namespace placewright
