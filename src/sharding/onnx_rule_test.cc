// Rules of ONNX operators, each against what its operator means.
#include <gtest/gtest.h>

#include <utility>

#include "sharding/test_ops.h"

namespace placewright {
namespace {

using Shapes = std::vector<std::vector<int64_t>>;

// An op that reads all of its inputs by position.
OneOp OnnxOp(std::string type, Shapes inputs, Shapes outputs,
             std::vector<NamedValue> attributes = {}) {
  std::vector<Value> args;
  for (size_t i = 0; i < inputs.size(); ++i) args.push_back(Input(static_cast<int32_t>(i)));
  return {std::move(type), std::move(inputs),     std::move(outputs),
          std::move(args), std::move(attributes), "onnx"};
}

NamedValue Number(std::string name, int64_t value) { return {std::move(name), Value(value)}; }
NamedValue Numbers(std::string name, std::vector<int64_t> values) {
  return {std::move(name), Integers(std::move(values))};
}
NamedValue Word(std::string name, std::string value) {
  return {std::move(name), Value(std::move(value))};
}

Parts PartsOf(const OneOp& op, char axis) { return op.rule->axes[RuleAxisId(axis - 'a')].parts; }

TEST(OnnxRule, ElementsAreBroadcast) {
  const OneOp add = OnnxOp("Add", {{2, 3, 4}, {3, 1}}, {{2, 3, 4}});
  ASSERT_TRUE(add.rule);
  EXPECT_EQ(add.In(0), "a b c");
  EXPECT_EQ(add.In(1), "b 1");
  EXPECT_EQ(add.Out(0), "a b c");
  EXPECT_EQ(add.rule->linear, (std::vector<std::vector<int32_t>>{{0, 1}}));
  EXPECT_EQ(OnnxOp("Mul", {{2, 3}, {3}}, {{2, 3}}).rule->linear.size(), 2u);
  EXPECT_TRUE(OnnxOp("Relu", {{2, 3}}, {{2, 3}}).rule->linear.empty());
  // An attribute of early operator sets says where B's dimension is.
  EXPECT_FALSE(OnnxOp("Add", {{2, 3, 3}, {3}}, {{2, 3, 3}}, {Number("broadcast", 1)}).rule);
  EXPECT_FALSE(OnnxOp("Add", {{2, 3}, {4}}, {{2, 3}}).rule);
}

// In training it draws random numbers, as far as the graph shows: it is no view there.
TEST(OnnxRule, DropoutDrawsWhereItIsNoView) {
  const OneOp dropout = OnnxOp("Dropout", {{2, 3}, {}, {}}, {{2, 3}, {2, 3}});
  ASSERT_TRUE(dropout.rule);
  EXPECT_TRUE(dropout.rule->draws_random);
  EXPECT_EQ(dropout.Out(1), "a b");
}

TEST(OnnxRule, ProductsOfMatricesAreBatchedAndBroadcast) {
  const OneOp plain = OnnxOp("MatMul", {{4, 6}, {6, 5}}, {{4, 5}});
  ASSERT_TRUE(plain.rule);
  EXPECT_EQ(plain.In(0), "b a");
  EXPECT_EQ(plain.In(1), "a c");
  EXPECT_EQ(plain.Out(0), "b c");
  EXPECT_EQ(plain.Verdict('a'), PartVerdict::kSum);
  const OneOp batched = OnnxOp("MatMul", {{8, 1, 4, 6}, {3, 6, 5}}, {{8, 3, 4, 5}});
  ASSERT_TRUE(batched.rule);
  EXPECT_EQ(batched.In(0), "a 1 d c");
  EXPECT_EQ(batched.In(1), "b c e");
  EXPECT_EQ(batched.Out(0), "a b d e");
  const OneOp vectors = OnnxOp("MatMul", {{6}, {6}}, {{}});
  ASSERT_TRUE(vectors.rule);
  EXPECT_EQ(vectors.Verdict('a'), PartVerdict::kSum);
  EXPECT_EQ(OnnxOp("MatMul", {{6}, {2, 6, 5}}, {{2, 5}}).Out(0), "a c");
  EXPECT_FALSE(OnnxOp("MatMul", {{4, 6}, {7, 5}}, {{4, 5}}).rule);
  EXPECT_FALSE(OnnxOp("MatMul", {{}, {7, 5}}, {{5}}).rule);
  EXPECT_FALSE(OnnxOp("MatMul", {{4, 6}, {6, 5}}, {{}}).rule);
}

// The bias enters one part alone of a split of the inner axis.
TEST(OnnxRule, GemmTransposesAndAddsOnce) {
  const OneOp gemm =
      OnnxOp("Gemm", {{6, 4}, {5, 6}, {5}}, {{4, 5}}, {Number("transA", 1), Number("transB", 1)});
  ASSERT_TRUE(gemm.rule);
  EXPECT_EQ(gemm.In(0), "c a");
  EXPECT_EQ(gemm.In(1), "b c");
  EXPECT_EQ(gemm.In(2), "b");
  EXPECT_EQ(gemm.Verdict('c'), PartVerdict::kSum);
  ASSERT_EQ(gemm.rule->once.size(), 1u);
  EXPECT_EQ(gemm.rule->once[0], std::pair(RuleAxisId(2), 2));
  EXPECT_TRUE(gemm.rule->linear.empty());
  EXPECT_EQ(OnnxOp("Gemm", {{4, 6}, {6, 5}}, {{4, 5}}).rule->linear.size(), 2u);
  EXPECT_FALSE(OnnxOp("Gemm", {{4, 6}, {5, 6}}, {{4, 5}}).rule);
}

TEST(OnnxRule, EinsteinSumsAreRules) {
  const OneOp sum =
      OnnxOp("Einsum", {{2, 3, 4}, {2, 5, 4}}, {{2, 3, 5}}, {Word("equation", "bik, bjk -> bij")});
  ASSERT_TRUE(sum.rule);
  EXPECT_EQ(sum.In(0), "a b d");
  EXPECT_EQ(sum.In(1), "a c d");
  EXPECT_EQ(sum.Out(0), "a b c");
  EXPECT_EQ(sum.Verdict('d'), PartVerdict::kSum);
  // Without an arrow, letters that stand once: "ik" of "ij,jk".
  const OneOp implicit = OnnxOp("Einsum", {{2, 3}, {3, 4}}, {{2, 4}}, {Word("equation", "ij,jk")});
  ASSERT_TRUE(implicit.rule);
  EXPECT_EQ(implicit.Out(0), "a c");
  const auto rule_of = [](const char* equation, Shapes inputs, Shapes outputs) {
    return OnnxOp("Einsum", std::move(inputs), std::move(outputs), {Word("equation", equation)})
        .rule.has_value();
  };
  EXPECT_FALSE(rule_of("ii->i", {{3, 3}}, {{3}}));
  EXPECT_FALSE(rule_of("...i->...", {{2, 3}}, {{2}}));
  EXPECT_FALSE(rule_of("ij->k", {{2, 3}}, {{4}}));
  EXPECT_FALSE(rule_of("ij,jk->ik", {{2, 3}}, {{2, 3}}));
  EXPECT_FALSE(rule_of("ij,jk->ik", {{2, 3}, {4, 5}}, {{2, 5}}));
  // A sum over what one of them has once: every part would add it again.
  EXPECT_FALSE(rule_of("ij,jk->ik", {{2, 1}, {4, 5}}, {{2, 5}}));
  EXPECT_FALSE(OnnxOp("Einsum", {{2, 3}}, {{3, 2}}).rule);
}

TEST(OnnxRule, ConvolutionsHaveSamplesGroupsAndChannels) {
  const OneOp conv = OnnxOp("Conv", {{8, 6, 9, 9}, {4, 6, 3, 3}, {4}}, {{8, 4, 7, 7}});
  ASSERT_TRUE(conv.rule);
  const char batch = 'a', inner = 'c', outer = 'd';
  EXPECT_EQ(conv.Verdict(batch), PartVerdict::kConcat);
  EXPECT_EQ(conv.Verdict(inner), PartVerdict::kSum);
  EXPECT_EQ(conv.Verdict(outer), PartVerdict::kConcat);
  EXPECT_EQ(conv.rule->once[0], std::pair(RuleAxisId(2), 2));
  const OneOp groups =
      OnnxOp("Conv", {{8, 6, 9, 9}, {6, 1, 3, 3}}, {{8, 6, 7, 7}}, {Number("group", 6)});
  ASSERT_TRUE(groups.rule);
  EXPECT_EQ(groups.Verdict('b'), PartVerdict::kConcat);
  EXPECT_EQ(groups.Part('b', 2).attributes[0].value, Value(int64_t{2}));
  const OneOp transposed = OnnxOp("ConvTranspose", {{8, 6, 9}, {6, 4, 3}}, {{8, 4, 11}});
  ASSERT_TRUE(transposed.rule);
  EXPECT_EQ(transposed.Verdict('c'), PartVerdict::kSum);
  EXPECT_FALSE(OnnxOp("Conv", {{8, 6, 9, 9}, {4, 5, 3, 3}}, {{8, 4, 7, 7}}).rule);
  EXPECT_FALSE(OnnxOp("Conv", {{8, 6, 9}, {4, 3, 3}}, {{8, 4, 7}}, {Number("group", 4)}).rule);
}

// x [s b i], y [s d b h], states [d b h]; lengths and states may be left out.
TEST(OnnxRule, RecurrentLayersAreSplitByTheBatchAlone) {
  const Shapes inputs = {{7, 4, 3}, {1, 20, 3}, {1, 20, 5}, {1, 40}, {1, 4, 5}, {1, 4, 5}};
  const std::vector<Value> args = {Input(0), Input(1), Input(2), Input(3),
                                   Value(),  Input(4), Input(5)};
  const OneOp lstm("LSTM", inputs, {{7, 1, 4, 5}, {1, 4, 5}, {1, 4, 5}}, args, {}, "onnx");
  ASSERT_TRUE(lstm.rule);
  EXPECT_EQ(lstm.In(0)[2], 'a');
  EXPECT_EQ(lstm.In(4)[2], 'a');
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(lstm.Verdict('a', i), PartVerdict::kConcat);
  for (const RuleAxisId axis : IdRange<RuleAxisId>(lstm.rule->axes.size())) {
    EXPECT_EQ(lstm.rule->axes[axis].parts, axis.value() == 0 ? Parts::kSplit : Parts::kWhole);
  }
  const OneOp first = OnnxOp("GRU", {{4, 7, 3}, {1, 15, 3}, {1, 15, 5}}, {{4, 7, 1, 5}, {4, 1, 5}},
                             {Number("layout", 1)});
  ASSERT_TRUE(first.rule);
  EXPECT_EQ(first.Out(0)[0], 'a');
  EXPECT_EQ(first.Out(1)[0], 'a');
  EXPECT_FALSE(OnnxOp("GRU", {{4, 7}, {1, 15, 3}, {1, 15, 5}}, {{4, 7, 1, 5}}).rule);
  EXPECT_FALSE(OnnxOp("LSTM", {{7, 4, 3}, {1, 20, 3}, {1, 20, 5}}, {{7, 1, 5, 5}}).rule);
}

TEST(OnnxRule, ReductionsTakeTheirAxesFromAttributes) {
  const OneOp mean = OnnxOp("ReduceMean", {{4, 5, 6}}, {{4, 1, 6}}, {Numbers("axes", {1})});
  ASSERT_TRUE(mean.rule);
  EXPECT_EQ(mean.Out(0), "a 1 c");
  EXPECT_EQ(mean.Verdict('b'), PartVerdict::kSum);
  EXPECT_EQ(mean.rule->form, PartForm::kMean);
  EXPECT_EQ(mean.rule->divisor, 5);
  EXPECT_EQ(mean.Part('b', 2).type, "ReduceSum");
  const OneOp all = OnnxOp("ReduceMax", {{4, 5}}, {{}}, {Number("keepdims", 0)});
  ASSERT_TRUE(all.rule);
  EXPECT_EQ(all.Verdict('a'), PartVerdict::kWhole);
  const OneOp none = OnnxOp("ReduceSum", {{4, 5}}, {{4, 5}}, {Number("noop_with_empty_axes", 1)});
  ASSERT_TRUE(none.rule);
  EXPECT_EQ(none.Out(0), "a b");
  EXPECT_EQ(OnnxOp("ReduceL1", {{4, 5}}, {{4, 1}}, {Numbers("axes", {-1})}).Verdict('b'),
            PartVerdict::kSum);
  EXPECT_EQ(OnnxOp("ReduceL2", {{4, 5}}, {{4, 1}}, {Numbers("axes", {-1})}).Verdict('b'),
            PartVerdict::kWhole);
  // Axes of unknown values.
  EXPECT_FALSE(OnnxOp("ReduceSum", {{4, 4}, {1}}, {{4}}).rule);
  EXPECT_FALSE(OnnxOp("ReduceSum", {{4, 4}}, {{4, 1}}, {Numbers("axes", {2})}).rule);
  const OneOp argmax = OnnxOp("ArgMax", {{4, 5}}, {{4, 1}}, {Number("axis", 1)});
  ASSERT_TRUE(argmax.rule);
  EXPECT_EQ(argmax.Verdict('a'), PartVerdict::kConcat);
  EXPECT_EQ(argmax.Verdict('b'), PartVerdict::kWhole);
}

// Before operator set 13 the dimensions from the axis on are one.
TEST(OnnxRule, SoftmaxIsWholeFromItsAxisOn) {
  const OneOp last = OnnxOp("Softmax", {{2, 3, 4}}, {{2, 3, 4}}, {Number("axis", -1)});
  ASSERT_TRUE(last.rule);
  EXPECT_EQ(PartsOf(last, 'b'), Parts::kSplit);
  EXPECT_EQ(PartsOf(last, 'c'), Parts::kWhole);
  const OneOp unstated = OnnxOp("LogSoftmax", {{2, 3, 4}}, {{2, 3, 4}});
  ASSERT_TRUE(unstated.rule);
  EXPECT_EQ(PartsOf(unstated, 'a'), Parts::kSplit);
  EXPECT_EQ(PartsOf(unstated, 'b'), Parts::kWhole);
  EXPECT_FALSE(OnnxOp("Softmax", {{2, 3}}, {{2, 4}}).rule);
  EXPECT_FALSE(OnnxOp("Softmax", {{2, 3}}, {{2, 3}}, {Number("axis", 2)}).rule);
}

TEST(OnnxRule, NormsAreWholeWhereTheyLook) {
  const OneOp layer = OnnxOp("LayerNormalization", {{2, 3, 4}, {4}, {4}}, {{2, 3, 4}, {2, 3, 1}});
  ASSERT_TRUE(layer.rule);
  EXPECT_EQ(layer.In(1), "c");
  EXPECT_EQ(layer.Out(1), "a b 1");
  EXPECT_EQ(PartsOf(layer, 'c'), Parts::kWhole);
  const Shapes inputs = {{2, 3, 8, 8}, {3}, {3}, {3}, {3}};
  const OneOp applied = OnnxOp("BatchNormalization", inputs, {{2, 3, 8, 8}});
  ASSERT_TRUE(applied.rule);
  EXPECT_EQ(PartsOf(applied, 'a'), Parts::kSplit);
  EXPECT_EQ(applied.In(4), "b");
  const OneOp training =
      OnnxOp("BatchNormalization", inputs, {{2, 3, 8, 8}, {3}, {3}}, {Number("training_mode", 1)});
  ASSERT_TRUE(training.rule);
  EXPECT_EQ(PartsOf(training, 'a'), Parts::kSynchronised);
  EXPECT_EQ(training.rule->form, PartForm::kBatchNorm);
  EXPECT_EQ(training.Verdict('a', 0), PartVerdict::kConcat);
  EXPECT_EQ(training.Verdict('a', 1), PartVerdict::kWhole);
  const OneOp groups =
      OnnxOp("GroupNormalization", {{2, 6, 8}, {2}, {2}}, {{2, 6, 8}}, {Number("num_groups", 2)});
  ASSERT_TRUE(groups.rule);
  EXPECT_EQ(groups.In(0), "a bc d");
  EXPECT_EQ(groups.In(1), "b");
  EXPECT_EQ(PartsOf(groups, 'c'), Parts::kWhole);
  EXPECT_EQ(groups.Part('b', 1).attributes[0].value, Value(int64_t{1}));
  const OneOp instance = OnnxOp("InstanceNormalization", {{2, 3, 8}, {3}, {3}}, {{2, 3, 8}});
  ASSERT_TRUE(instance.rule);
  EXPECT_EQ(instance.In(2), "b");
  const OneOp response = OnnxOp("LRN", {{2, 3, 8}}, {{2, 3, 8}});
  ASSERT_TRUE(response.rule);
  EXPECT_EQ(PartsOf(response, 'b'), Parts::kWhole);
  EXPECT_EQ(PartsOf(response, 'c'), Parts::kSplit);
  EXPECT_FALSE(OnnxOp("BatchNormalization", inputs, {{2, 4, 8, 8}}).rule);
  EXPECT_FALSE(OnnxOp("InstanceNormalization", {{2, 3, 8}, {4}, {4}}, {{2, 3, 8}}).rule);
  EXPECT_FALSE(OnnxOp("LayerNormalization", {{2, 3}, {2}}, {{2, 3}}).rule);
}

TEST(OnnxRule, PoolingIsWholeInSpace) {
  const OneOp pool = OnnxOp("MaxPool", {{2, 3, 8, 8}}, {{2, 3, 4, 4}});
  ASSERT_TRUE(pool.rule);
  EXPECT_EQ(pool.Out(0).substr(0, 3), "a b");
  EXPECT_EQ(PartsOf(pool, 'c'), Parts::kWhole);
  EXPECT_EQ(OnnxOp("GlobalAveragePool", {{2, 3, 8}}, {{2, 3, 1}}).rule->linear.size(), 1u);
  // Indices count through all samples.
  EXPECT_FALSE(OnnxOp("MaxPool", {{2, 3, 8, 8}}, {{2, 3, 4, 4}, {2, 3, 4, 4}}).rule);
  EXPECT_FALSE(OnnxOp("MaxPool", {{2, 3, 8, 8}}, {{2, 5, 4, 4}}).rule);
  const OneOp resize = OnnxOp("Resize", {{2, 3, 4, 4}, {0}, {4}}, {{2, 3, 8, 8}});
  ASSERT_TRUE(resize.rule);
  EXPECT_EQ(PartsOf(resize, 'a'), Parts::kSplit);
  EXPECT_EQ(resize.Out(0).substr(0, 3), "a b");
}

TEST(OnnxRule, ViewsKeepTheFactorsOfAFlattenedDimension) {
  const OneOp view = OnnxOp("Reshape", {{16, 128, 768}, {3}}, {{2048, 12, 64}});
  ASSERT_TRUE(view.rule);
  EXPECT_EQ(view.In(0), "a b cd");
  EXPECT_EQ(view.Out(0), "ab c d");
  EXPECT_EQ(OnnxOp("Flatten", {{16, 3, 4}}, {{16, 12}}).Out(0), "a bc");
  EXPECT_EQ(OnnxOp("Unsqueeze", {{16, 3}, {1}}, {{16, 1, 3}}).Out(0), "a 1 b");
  EXPECT_EQ(OnnxOp("Squeeze", {{16, 1, 3}}, {{16, 3}}).Out(0), "a b");
  EXPECT_FALSE(OnnxOp("Reshape", {{16, 3}, {1}}, {{47}}).rule);
  const OneOp turned = OnnxOp("Transpose", {{2, 3, 4}}, {{4, 2, 3}}, {Numbers("perm", {2, 0, 1})});
  ASSERT_TRUE(turned.rule);
  EXPECT_EQ(turned.Out(0), "c a b");
  EXPECT_EQ(OnnxOp("Transpose", {{2, 3, 4}}, {{4, 3, 2}}).Out(0), "c b a");
  EXPECT_FALSE(OnnxOp("Transpose", {{2, 3}}, {{3, 2}}, {Numbers("perm", {1, 2})}).rule);
}

TEST(OnnxRule, RepeatedElementsHaveAxesOfTheirOwn) {
  const OneOp expand = OnnxOp("Expand", {{3, 1}, {3}}, {{2, 3, 4}});
  ASSERT_TRUE(expand.rule);
  EXPECT_EQ(expand.In(0), "b 1");
  EXPECT_EQ(expand.Out(0), "a b c");
  const OneOp tile = OnnxOp("Tile", {{2, 3}, {2}}, {{2, 12}});
  ASSERT_TRUE(tile.rule);
  EXPECT_EQ(tile.In(0), "a b");
  EXPECT_EQ(tile.Out(0), "a cb");
  EXPECT_EQ(PartsOf(tile, 'c'), Parts::kWhole);
  EXPECT_FALSE(OnnxOp("Tile", {{2, 3}, {2}}, {{2, 7}}).rule);
}

// Its numbers are attributes, or inputs of known values that the reader made such.
TEST(OnnxRule, SlicesAreSplitAlongWhatTheyDoNotCut) {
  const auto slice = [](Shapes inputs, Shapes outputs, std::vector<NamedValue> attributes) {
    return OnnxOp("Slice", std::move(inputs), std::move(outputs), std::move(attributes));
  };
  const OneOp gate = slice({{4, 12}}, {{4, 3}},
                           {Numbers("starts", {6}), Numbers("ends", {9}), Numbers("axes", {-1})});
  ASSERT_TRUE(gate.rule);
  const char inner = gate.Out(0).back();
  EXPECT_EQ(PartsOf(gate, inner), Parts::kSplit);
  EXPECT_EQ(gate.Part(inner, 2).attributes[0].value, Integers({4}));
  EXPECT_EQ(gate.Part(inner, 2).attributes[1].value, Integers({6}));
  EXPECT_EQ(gate.Out(0)[0], gate.In(0)[0]);
  const OneOp uneven = slice({{4, 12}}, {{4, 4}},
                             {Numbers("starts", {1}), Numbers("ends", {5}), Numbers("axes", {1})});
  ASSERT_TRUE(uneven.rule);
  EXPECT_EQ(PartsOf(uneven, uneven.Out(0).back()), Parts::kWhole);
  // Backwards: as long as before, and no part of it is the part's.
  const OneOp back = slice({{4, 12}}, {{4, 12}},
                           {Numbers("starts", {-1}), Numbers("ends", {-13}), Numbers("axes", {0}),
                            Numbers("steps", {-1})});
  ASSERT_TRUE(back.rule);
  EXPECT_EQ(PartsOf(back, back.Out(0)[0]), Parts::kWhole);
  EXPECT_EQ(PartsOf(back, back.Out(0)[2]), Parts::kSplit);
  EXPECT_FALSE(slice({{4, 12}, {1}, {1}}, {{4, 12}}, {}).rule);
  EXPECT_FALSE(
      slice({{4, 12}, {1}, {1}, {1}}, {{4, 12}}, {Numbers("starts", {0}), Numbers("ends", {9})})
          .rule);
  EXPECT_FALSE(slice({{4}}, {{4}},
                     {Numbers("starts", {0, 0}), Numbers("ends", {4, 4}), Numbers("axes", {0, 0})})
                   .rule);
}

TEST(OnnxRule, PiecesOfOneLengthCanBeSplit) {
  const OneOp split = OnnxOp("Split", {{4, 6}, {3}}, {{4, 2}, {4, 2}, {4, 2}}, {Number("axis", 1)});
  ASSERT_TRUE(split.rule);
  EXPECT_EQ(PartsOf(split, split.Out(2).back()), Parts::kSplit);
  const OneOp uneven = OnnxOp("Split", {{4, 6}}, {{4, 2}, {4, 4}}, {Number("axis", 1)});
  ASSERT_TRUE(uneven.rule);
  EXPECT_EQ(PartsOf(uneven, uneven.Out(0).back()), Parts::kWhole);
  // A piece that is left out may be of any length, and others begin behind it.
  const OneOp partly = OnnxOp("Split", {{4, 6}}, {{4, 2}, {4, 2}}, {Number("axis", 1)});
  ASSERT_TRUE(partly.rule);
  EXPECT_EQ(PartsOf(partly, partly.Out(0).back()), Parts::kWhole);
  const OneOp joined = OnnxOp("Concat", {{4, 2}, {4, 4}}, {{4, 6}}, {Number("axis", 1)});
  ASSERT_TRUE(joined.rule);
  EXPECT_EQ(joined.Verdict(joined.Out(0)[0]), PartVerdict::kConcat);
  EXPECT_EQ(PartsOf(joined, joined.Out(0).back()), Parts::kWhole);
  EXPECT_FALSE(OnnxOp("Concat", {{4, 2}, {4, 4}}, {{4, 6}}).rule);
  EXPECT_FALSE(OnnxOp("Concat", {{4, 2}, {5, 4}}, {{4, 6}}, {Number("axis", 1)}).rule);
}

TEST(OnnxRule, LookupsAreSplitByTheirIndices) {
  const OneOp embedding = OnnxOp("Gather", {{100, 8}, {2, 3}}, {{2, 3, 8}});
  ASSERT_TRUE(embedding.rule);
  EXPECT_EQ(embedding.In(0), "a b");
  EXPECT_EQ(embedding.Out(0), "c d b");
  EXPECT_EQ(PartsOf(embedding, 'a'), Parts::kWhole);
  EXPECT_EQ(OnnxOp("Gather", {{4, 5, 6}, {}}, {{4, 6}}, {Number("axis", 1)}).Out(0), "a c");
  const OneOp elements = OnnxOp("GatherElements", {{4, 9}, {4, 3}}, {{4, 3}}, {Number("axis", 1)});
  ASSERT_TRUE(elements.rule);
  EXPECT_EQ(elements.Out(0), elements.In(1));
  EXPECT_EQ(elements.In(0)[0], elements.In(1)[0]);
  const OneOp nd =
      OnnxOp("GatherND", {{4, 5, 6, 7}, {4, 3, 2}}, {{4, 3, 7}}, {Number("batch_dims", 1)});
  ASSERT_TRUE(nd.rule);
  EXPECT_EQ(nd.Verdict(nd.Out(0)[0]), PartVerdict::kConcat);
  EXPECT_EQ(nd.Out(0).back(), nd.In(0).back());
  EXPECT_FALSE(OnnxOp("GatherND", {{4, 5}, {4, 3}}, {{4}}).rule);
  EXPECT_FALSE(OnnxOp("Gather", {{100, 8}, {2, 3}}, {{2, 3, 9}}).rule);
  const OneOp scattered =
      OnnxOp("ScatterElements", {{4, 9}, {4, 3}, {4, 3}}, {{4, 9}}, {Number("axis", 1)});
  ASSERT_TRUE(scattered.rule);
  EXPECT_EQ(scattered.Verdict(scattered.Out(0)[0]), PartVerdict::kConcat);
  EXPECT_EQ(PartsOf(scattered, scattered.Out(0).back()), Parts::kWhole);
}

TEST(OnnxRule, PaddedDimensionsAreWhole) {
  const OneOp pad = OnnxOp("Pad", {{4, 5}, {4}}, {{4, 8}}, {Numbers("pads", {0, 1, 0, 2})});
  ASSERT_TRUE(pad.rule);
  EXPECT_EQ(PartsOf(pad, pad.Out(0)[0]), Parts::kSplit);
  EXPECT_EQ(PartsOf(pad, pad.Out(0)[2]), Parts::kWhole);
  // As long as before, and shifted.
  const OneOp shift = OnnxOp("Pad", {{4, 5}}, {{4, 5}}, {Numbers("pads", {-1, 0, 1, 0})});
  ASSERT_TRUE(shift.rule);
  EXPECT_EQ(PartsOf(shift, shift.Out(0)[0]), Parts::kWhole);
  EXPECT_EQ(PartsOf(shift, shift.Out(0)[2]), Parts::kSplit);
  const OneOp unknown = OnnxOp("Pad", {{4, 5}, {4}}, {{4, 5}});
  ASSERT_TRUE(unknown.rule);
  EXPECT_EQ(PartsOf(unknown, unknown.Out(0)[0]), Parts::kWhole);
  EXPECT_FALSE(OnnxOp("Pad", {{4, 5}}, {{4, 5}}, {Numbers("pads", {0, 0})}).rule);
}

TEST(OnnxRule, WhatOrdersOrCountsAlongADimensionIsWholeThere) {
  const OneOp top = OnnxOp("TopK", {{4, 9}, {1}}, {{4, 3}, {4, 3}});
  ASSERT_TRUE(top.rule);
  EXPECT_EQ(top.Verdict(top.Out(0)[0], 1), PartVerdict::kConcat);
  EXPECT_EQ(PartsOf(top, top.Out(0).back()), Parts::kWhole);
  const OneOp sums = OnnxOp("CumSum", {{4, 9}, {}}, {{4, 9}}, {Number("axis", 0)});
  ASSERT_TRUE(sums.rule);
  EXPECT_EQ(PartsOf(sums, 'a'), Parts::kWhole);
  EXPECT_EQ(PartsOf(sums, 'b'), Parts::kSplit);
  EXPECT_FALSE(OnnxOp("CumSum", {{4, 9}, {}}, {{4, 9}}).rule);
  const OneOp hot = OnnxOp("OneHot", {{4, 5}, {}, {2}}, {{4, 7, 5}}, {Number("axis", 1)});
  ASSERT_TRUE(hot.rule);
  EXPECT_EQ(hot.In(0), "a b");
  EXPECT_EQ(hot.Out(0), "a c b");
  const OneOp lower = OnnxOp("Trilu", {{2, 4, 4}}, {{2, 4, 4}});
  ASSERT_TRUE(lower.rule);
  EXPECT_EQ(PartsOf(lower, 'a'), Parts::kSplit);
  EXPECT_EQ(PartsOf(lower, 'b'), Parts::kWhole);
}

// Sizes are those of the whole, whatever part is asked for them.
TEST(OnnxRule, ShapesAreWhole) {
  const OneOp shape = OnnxOp("Shape", {{4, 5}}, {{2}});
  ASSERT_TRUE(shape.rule);
  EXPECT_EQ(PartsOf(shape, 'a'), Parts::kSplit);
  EXPECT_EQ(shape.Verdict('a'), PartVerdict::kWhole);
  const OneOp filled = OnnxOp("ConstantOfShape", {{2}}, {{4, 5}});
  ASSERT_TRUE(filled.rule);
  EXPECT_EQ(filled.Verdict(filled.Out(0)[0]), PartVerdict::kConcat);
  const OneOp range = OnnxOp("Range", {{}, {}, {}}, {{9}});
  ASSERT_TRUE(range.rule);
  EXPECT_EQ(range.Verdict('a'), PartVerdict::kWhole);
}

TEST(OnnxRule, TypesOfOtherFormatsHaveOtherRules) {
  EXPECT_TRUE(HasRule("onnx", "Conv"));
  EXPECT_FALSE(HasRule("onnx", "com.microsoft.BeamSearch"));
  EXPECT_FALSE(HasRule("graphdef", "MatMul"));
  const OneOp other("MatMul", {{4, 6}, {6, 5}}, {{4, 5}}, {Input(0), Input(1)}, {}, "graphdef");
  EXPECT_FALSE(other.rule);
}

}  // namespace
}  // namespace placewright
