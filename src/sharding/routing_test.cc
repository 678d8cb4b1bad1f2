// Regions of rows that are sorted by expert, computed group by group, and put back.
#include "sharding/routing.h"

#include <gtest/gtest.h>

#include "sharding/mixture.h"
#include "sharding/named_axes.h"

namespace placewright {
namespace {

TEST(RoutedRows, EveryOpFromTheSortToTheReturnIsInTheRegion) {
  const Graph graph = MixtureOfExperts().Build();
  const RoutedRows routed = FindRoutedRows(graph);
  ASSERT_EQ(routed.regions.size(), 1u);
  EXPECT_EQ(routed.regions[0].size(), graph.op_count() - 1);  // zeros have no rows
  // What is back at its place is in no order of its own; what is on the way is.
  EXPECT_FALSE(routed.tensors[graph.op(graph.FindOp("home")).outputs[0]]);
  EXPECT_TRUE(routed.tensors[graph.op(graph.FindOp("relu")).outputs[0]]);
}

TEST(RoutedRows, TheBatchSplitsEveryOpThatHasRows) {
  const Graph graph = MixtureOfExperts().Build();
  const NamedAxes axes(graph);
  for (const OpId op : graph.ops()) {
    // Counts are each part's own, of no sample; zeros are of no sample, either.
    const bool splits = graph.op(op).name != "ends" && graph.op(op).name != "zeros";
    EXPECT_EQ(axes.SplitBy(op, axes.batch()).valid(), splits) << graph.op(op).name;
  }
  // What it adds up has only the parts' rows.
  const OpId gradient = graph.FindOp("gradient");
  EXPECT_EQ(VerdictOf(*axes.rule(gradient), axes.SplitBy(gradient, axes.batch()), 0),
            PartVerdict::kSum);
  // A part counts its own rows from 0: 2 of 8 samples have 4.
  const OpId count = graph.FindOp("count");
  const OpRule& rule = *axes.rule(count);
  IdVector<RuleAxisId, int64_t> sizes;
  for (const RuleAxis& axis : rule.axes) sizes.push_back(axis.size);
  const RuleAxisId batch = axes.SplitBy(count, axes.batch());
  sizes[batch] = 2;
  EXPECT_EQ(CallOnPart(graph.op(count), rule, {batch}, sizes).args[0], Value(int64_t{4}));
}

TEST(RoutedRows, ARegionThatIsReadInItsOrderIsWhole) {
  const Graph graph = MixtureOfExperts().Build(2, true);
  EXPECT_TRUE(FindRoutedRows(graph).regions.empty());
  const NamedAxes axes(graph);
  EXPECT_FALSE(axes.SplitBy(graph.FindOp("sort"), axes.batch()).valid());
}

// Divided by 4 the places are those of 4 tokens, where x has 8.
TEST(RoutedRows, PlacesOfOtherRowsAreNoRegion) {
  EXPECT_TRUE(FindRoutedRows(MixtureOfExperts().Build(4)).regions.empty());
}

// Groups of the largest keys first, bins between the extrema of a part, counts of something else, counts where
// ends are due: what is in which group would follow from the order.
TEST(RoutedRows, GroupsAreThoseOfTheKeys) {
  for (const MixtureOfExperts::Flaw flaw :
       {MixtureOfExperts::Flaw::kDescending, MixtureOfExperts::Flaw::kFreeBins,
        MixtureOfExperts::Flaw::kOtherCounts, MixtureOfExperts::Flaw::kNoEnds}) {
    EXPECT_TRUE(FindRoutedRows(MixtureOfExperts().Build(2, false, flaw)).regions.empty())
        << static_cast<int>(flaw);
  }
}

// Rows of a key lie behind one another: with the weights of [from, to) of the keys go their rows, of every op.
TEST(RoutedRows, KeysSplitEveryOpThatHasRows) {
  const Graph graph = MixtureOfExperts(/*biased=*/false).Build();
  const NamedAxes axes(graph);
  const AxisId keys = axes.Find("param:w[0]");
  ASSERT_TRUE(keys.valid());
  for (const OpId op : graph.ops()) {
    // All numbers of rows, and zeros for all.
    const bool splits = graph.op(op).name != "count" && graph.op(op).name != "zeros";
    EXPECT_EQ(axes.SplitBy(op, keys).valid(), splits) << graph.op(op).name;
  }
  const auto verdict = [&](const char* op) { return axes.verdict(graph.FindOp(op), keys, 0); };
  EXPECT_EQ(verdict("y"), PartVerdict::kConcat);
  EXPECT_EQ(verdict("of_w"), PartVerdict::kConcat);
  // Rows of the other keys are zero.
  EXPECT_EQ(verdict("home"), PartVerdict::kSum);
  EXPECT_EQ(verdict("of_x"), PartVerdict::kSum);
  // The return of one of two keys, of 2 of 8 samples: of 4 rows each that the samples have.
  const OpId home = graph.FindOp("home");
  const OpRule& rule = *axes.rule(home);
  IdVector<RuleAxisId, int64_t> sizes;
  for (const RuleAxis& axis : rule.axes) sizes.push_back(axis.size);
  const RuleAxisId batch = axes.SplitBy(home, axes.batch()), by = axes.SplitBy(home, keys);
  sizes[batch] = 2;
  sizes[by] = 1;
  const PartCall call = CallOnPart(graph.op(home), rule, {batch, by}, sizes);
  EXPECT_EQ(call.type, "placewright.unsort_part.default");
  ASSERT_EQ(call.args.size(), 4u);
  EXPECT_EQ(call.args[2], Integers({4, 5}));
  EXPECT_EQ(PlaceArgumentOf(rule, by).argument, 3);
}

// What is sorted again is in the order of the first sort if the keys are the same.
TEST(RoutedRows, RowsOfTwoOrdersAreNoRegion) {
  const auto regions = [](MixtureOfExperts::Flaw flaw) {
    return FindRoutedRows(MixtureOfExperts(/*biased=*/false).Build(2, false, flaw)).regions.size();
  };
  EXPECT_EQ(regions(MixtureOfExperts::Flaw::kNone), 1u);
  EXPECT_EQ(regions(MixtureOfExperts::Flaw::kOtherSort), 0u);
}

// Of one of two keys a part has its row of the biases, too, and of their gradient.
TEST(RoutedRows, KeysSplitWhatEachOfThemAdds) {
  const Graph graph = MixtureOfExperts(/*biased=*/true, /*experts=*/2).Build();
  const NamedAxes axes(graph);
  const AxisId keys = axes.Find("param:w[0]");
  ASSERT_TRUE(keys.valid());
  EXPECT_TRUE(axes.Holds(graph.FindTensor("param:bias"), keys));
  const auto call = [&](const char* name) {
    const OpId op = graph.FindOp(name);
    const OpRule& rule = *axes.rule(op);
    IdVector<RuleAxisId, int64_t> sizes;
    for (const RuleAxis& axis : rule.axes) sizes.push_back(axis.size);
    const RuleAxisId by = axes.SplitBy(op, keys);
    EXPECT_TRUE(by.valid()) << name;
    return CallOnPart(graph.op(op), rule, {by}, sizes).type;
  };
  EXPECT_EQ(call("own"), "placewright.rows_of_keys_part.default");
  EXPECT_EQ(call("gradient"), "placewright.sum_by_keys_part.default");
  EXPECT_EQ(axes.verdict(graph.FindOp("own"), keys, 0), PartVerdict::kConcat);
  EXPECT_EQ(axes.verdict(graph.FindOp("gradient"), keys, 0), PartVerdict::kConcat);
}

// 2 rows of a sample are not 4 keys'.
TEST(RoutedRows, KeysSplitNothingWhereAnOpNeedsAllOfThem) {
  const Graph graph = MixtureOfExperts().Build();
  const NamedAxes axes(graph);
  EXPECT_FALSE(axes.SplitBy(graph.FindOp("sort"), axes.Find("param:w[0]")).valid());
}

}  // namespace
}  // namespace placewright
