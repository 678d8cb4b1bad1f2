// Parts along several axes: what can be said of them.
#include "check_plan/distributed/part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "compiled_step.h"
#include "step_editor.h"

namespace placewright::tests {
namespace {

using check::Cut;
using check::Part;
using Shape = std::vector<int64_t>;

// Of a tensor [8 24], whose columns are 2 * 3 * 4.
constexpr AxisPart kRows = {{0, 1, 8, 1}, {4, 8}};
constexpr AxisPart kHalf = {{1, 1, 2, 12}, {1, 2}};
constexpr AxisPart kThirds = {{1, 2, 3, 4}, {0, 2}};
constexpr AxisPart kQuarters = {{1, 6, 4, 1}, {1, 4}};

TEST(Parts, AreOfEveryAxis) {
  const Part part = check::PartAt({kThirds, kRows});
  EXPECT_EQ(part, (Part{{{0, 1, 8, 4, 8, false}, {1, 2, 12, 0, 8, false}}}));
  EXPECT_EQ(part, check::PartAt({kRows, kThirds}));
  EXPECT_NE(part, check::PartAt({kRows}));
  EXPECT_FALSE(part.whole());
  EXPECT_EQ(ToString(part), "[4, 8) of 8 in dimension 0 and [0, 8) of 12, 2 times, in dimension 1");
  EXPECT_EQ(ShapeOf({8, 24}, part), (Shape{4, 16}));
  // Of two factors of one dimension: two thirds of the quarters of each.
  EXPECT_EQ(ShapeOf({8, 24}, check::PartAt({kQuarters, kThirds})), (Shape{8, 12}));
  EXPECT_EQ(ShapeOf({8, 25}, part), std::nullopt);
}

// All of an axis is none, and a part of the second half is an interval of the columns.
TEST(Parts, HaveOneForm) {
  const AxisPart all = {{1, 2, 3, 4}, {0, 3}};
  EXPECT_EQ(check::PartAt({all, kRows}), check::PartAt({kRows}));
  EXPECT_TRUE(check::PartAt({all}).whole());
  const Part columns = check::PartAt({kHalf, kThirds});
  EXPECT_EQ(columns, check::PartAt({{{1, 1, 24, 1}, {12, 20}}}));
  EXPECT_EQ(ToString(Part()), "all");
}

TEST(Parts, OfSizesAloneAreSomewhere) {
  const auto part = check::PartByShape({8, 24}, {4, 12});
  ASSERT_TRUE(part);
  EXPECT_TRUE(part->somewhere());
  EXPECT_EQ(ToString(*part), "4 of 8 in dimension 0 and 12 of 24 in dimension 1");
  EXPECT_EQ(check::PartByShape({8, 24}, {9, 12}), std::nullopt);
  EXPECT_EQ(check::PartByShape({8, 24}, {8, 24}), Part());
}

// x[rows inner] w[inner columns], whose columns are two axes of the rule.
TEST(Parts, AreCutsOfTheirAxes) {
  OpRule rule;
  for (const int64_t size : {8, 6, 2, 12}) rule.axes.push_back({size, Parts::kSplit});
  const RuleAxisId rows(0), inner(1), halves(2), columns(3);
  const TensorAxes made = {{rows}, {halves, columns}}, read = {{rows}, {inner}};
  const Part part = check::PartAt({{{0, 1, 8, 1}, {4, 8}}, {{1, 2, 12, 1}, {3, 6}}});
  const auto cut = CutOf(rule, made, part);
  ASSERT_TRUE(cut);
  EXPECT_EQ(*cut, (Cut{{{rows, 1, 8, 4, 8, false}, {columns, 1, 12, 3, 6, false}}}));
  EXPECT_EQ(ToString(*cut), "[4, 8) of 8 and [3, 6) of 12");
  EXPECT_EQ(PartIn(rule, made, {8, 24}, *cut), part);
  EXPECT_EQ(PartIn(rule, read, {8, 6}, *cut), check::PartAt({{{0, 1, 8, 1}, {4, 8}}}));
  EXPECT_EQ(ToString(Cut()), "all");
}

// Samples [0, 2) and [2, 6) of 6. The first two are also all of the first of three pairs; as many samples, the first
// ones of two pairs, are those of another part.
TEST(Parts, AreThoseOfTheInputs) {
  const std::vector<RecordedStep> steps = RecordedSteps();
  const RecordedStep& original = steps[0];
  const Cluster cluster = DevicesAlike(2);
  const StatedLayouts stated = ForAll(original, "input:x[0]", {2, 4});
  const DistributedStep step =
      Compile(*original.graph, *original.axes, stated.layouts, cluster).Take();
  const auto verdict = [&](Interval pairs, Interval within, std::string* message) {
    StepEditor editor(step);
    for (DistributedStep::InputPiece& input : editor.inputs) {
      if (input.box.empty() || input.box.front().interval != Interval{0, 2}) continue;
      input.box = {{{0, 1, 3, 2}, pairs}, {{0, 3, 2, 1}, within}};
    }
    return VerdictOn(original, *editor.Build(), cluster, stated.spec, message);
  };
  std::string message;
  EXPECT_EQ(verdict({0, 1}, {0, 2}, &message), "holds") << message;
  EXPECT_EQ(verdict({0, 2}, {0, 1}, &message), "doubled-sample") << message;
}

}  // namespace
}  // namespace placewright::tests
