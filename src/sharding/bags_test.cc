// Embedding bags of one length, whose offsets the step makes itself.
#include "sharding/bags.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "sharding/named_axes.h"
#include "sharding/test_ops.h"

namespace placewright {
namespace {

enum class BagFlaw {
  kNone,
  kGiven,
  kShort,
  kShifted,
  kOtherStep,
  kByFrequency,
  kLastOffset,
  kStrayReader
};

// 8 samples of 3 indices each: a forward and a backward, as 2.x records them. `times`: the offsets are
// 0, 1, 2, ... times that.
Graph Bags(BagFlaw flaw, bool times = false) {
  GraphBuilder builder("bags", "aten");
  builder.set_batch(8);
  const auto add = [&](const char* name, const char* type, std::vector<TensorId> inputs,
                       std::vector<Value> args, std::vector<std::vector<int64_t>> shapes,
                       DType dtype) {
    OpSpec op{.name = name, .type = type};
    op.inputs = std::move(inputs);
    op.args = std::move(args);
    for (size_t i = 0; i < shapes.size(); ++i) {
      const std::string own = std::string(name) + ":" + std::to_string(i);
      op.outputs.push_back({.name = own, .dtype = i > 0 ? DType::kI64 : dtype, .shape = shapes[i]});
      op.outputs.back().output_index = static_cast<int32_t>(i);
    }
    return builder.AddOp(std::move(op)).Take();
  };
  const auto whole = [](int64_t number) { return Value(number); };
  const TensorId w =
      builder.AddInput("param:w", TensorKind::kParameter, DType::kF32, {50, 4}).Take();
  const TensorId indices =
      builder.AddInput("input:i", TensorKind::kInput, DType::kI64, {24}).Take();
  const TensorId grad = builder.AddInput("input:g", TensorKind::kInput, DType::kF32, {8, 4}).Take();
  TensorId offsets = builder.AddInput("input:o", TensorKind::kInput, DType::kI64, {8}).Take();
  if (flaw != BagFlaw::kGiven) {
    const int64_t step = times ? 1 : flaw == BagFlaw::kOtherStep ? 2 : 3;
    const int64_t start = flaw == BagFlaw::kShifted ? 1 : 0;
    const int64_t end = start + 8 * step - (flaw == BagFlaw::kShort ? 1 : 0);
    offsets = add("count", "aten.arange.start_step", {}, {whole(start), whole(end), whole(step)},
                  {{8}}, DType::kI64)[0];
    if (times) {
      offsets =
          add("times", "aten.mul.Tensor", {offsets}, {Input(0), whole(3)}, {{8}}, DType::kI64)[0];
    }
  }
  if (flaw == BagFlaw::kStrayReader) {
    add("stray", "aten.neg.default", {offsets}, {Input(0)}, {{8}}, DType::kI64);
  }
  const std::vector<TensorId> bag =
      add("bag", "aten._embedding_bag.default", {w, indices, offsets},
          {Input(0), Input(1), Input(2), Value(flaw == BagFlaw::kByFrequency), whole(1),
           Value(false), Value(), Value(flaw == BagFlaw::kLastOffset)},
          {{8, 4}, {24}, {8}, {8}}, DType::kF32);
  const TensorId made = add("back", "aten._embedding_bag_backward.default",
                            {grad, indices, offsets, bag[1], bag[2], bag[3]},
                            {Input(0), Input(1), Input(2), Input(3), Input(4), Input(5), whole(50),
                             Value(flaw == BagFlaw::kByFrequency), whole(1), Value(false), Value()},
                            {{50, 4}}, DType::kF32)[0];
  builder.SetOutputs({bag[0], made});
  return FollowingItsBatch(std::move(builder).Build().Take());
}

TEST(RegularBags, AreSplitByTheBatch) {
  for (const bool times : {false, true}) {
    const Graph graph = Bags(BagFlaw::kNone, times);
    const RoutedRows routed = FindRoutedRows(graph);
    ASSERT_EQ(routed.regions.size(), 1u);
    EXPECT_EQ(routed.regions[0].size(), graph.op_count());
    const NamedAxes axes(graph);
    for (const OpId op : graph.ops()) {
      EXPECT_TRUE(axes.SplitBy(op, axes.batch()).valid()) << graph.op(op).name;
    }
    // Of each bag its sum, of the table one sum of all parts.
    EXPECT_EQ(axes.verdict(graph.FindOp("bag"), axes.batch(), 0), PartVerdict::kConcat);
    EXPECT_EQ(axes.verdict(graph.FindOp("back"), axes.batch(), 0), PartVerdict::kSum);
    // Offsets and each index's bag begin anew in a part; sums and counts do not.
    const std::vector<TensorId>& made = graph.op(graph.FindOp("bag")).outputs;
    EXPECT_EQ(std::vector<bool>(
                  {routed.tensors[made[0]], routed.tensors[made[1]], routed.tensors[made[2]]}),
              std::vector<bool>({false, true, false}));
    // 2 of 8 samples have offsets 0 and 3, below 6; counted first and then multiplied, 0 and 1.
    const OpId count = graph.FindOp("count");
    const OpRule& rule = *axes.rule(count);
    IdVector<RuleAxisId, int64_t> sizes;
    for (const RuleAxis& axis : rule.axes) sizes.push_back(axis.size);
    const RuleAxisId batch = axes.SplitBy(count, axes.batch());
    sizes[batch] = 2;
    EXPECT_EQ(CallOnPart(graph.op(count), rule, {batch}, sizes).args[1],
              Value(int64_t{times ? 2 : 6}));
  }
}

// Offsets that are given, that end early, begin late, or are of bags that are no third of the indices; gradients by
// the frequency of words in all bags; another form of offsets; and what reads them by value.
TEST(RegularBags, OthersAreWhole) {
  for (const BagFlaw flaw :
       {BagFlaw::kGiven, BagFlaw::kShort, BagFlaw::kShifted, BagFlaw::kOtherStep,
        BagFlaw::kByFrequency, BagFlaw::kLastOffset, BagFlaw::kStrayReader}) {
    const Graph graph = Bags(flaw);
    EXPECT_TRUE(FindRoutedRows(graph).regions.empty()) << static_cast<int>(flaw);
    const NamedAxes axes(graph);
    EXPECT_FALSE(axes.SplitBy(graph.FindOp("bag"), axes.batch()).valid()) << static_cast<int>(flaw);
  }
}

}  // namespace
}  // namespace placewright
