#include "compile/fetcher.h"

#include <gtest/gtest.h>

#include <string>

#include "compile/rewrites/rewrites.h"
#include "compile/test_steps.h"

namespace placewright {
namespace {

// y is made of an input, of which every device has what it reads; only y has to reach z.
const TestStep& PairStep() {
  static const TestStep* const step = new TestStep(R"(
    input x batch:8 width:6
    y = relu x
    z = neg y
    -> z)");
  return *step;
}

// Split by the batch, s is a sum of what the devices have; relu needs all of the sum.
const TestStep& SumStep() {
  static const TestStep* const step = new TestStep(R"(
    input x batch:8 in:4
    input g batch out:6
    t = t x
    s = mm t g
    z = relu s
    -> z)");
  return *step;
}

TEST(Fetcher, ReadsWhereItIsWhatIsInTheRightParts) {
  EXPECT_EQ(PairStep().Compiled("*: batch a:3 b:5"), R"(
a: y@a [3 6] = relu(x[0:0-3])
b: y@b [5 6] = relu(x[0:3-8])
a: z@a [3 6] = neg(y@a)
b: z@b [5 6] = neg(y@b)
-> z@a z@b
)");
}

// Cut where all of it is, so that b is sent 5 rows and not 8.
TEST(Fetcher, CutsSlicesOfAWhole) {
  EXPECT_EQ(PairStep().Compiled("y: a; z: batch a:3 b:5"), R"(
a: y [8 6] = relu(x)
a: y.split@a [3 6] = split(y)[0:0-3/8]
a: y.split@a#1 [5 6] = split(y)[0:3-8/8]
a: z@a [3 6] = neg(y.split@a)
b: z@b [5 6] = neg(y.split@a#1)
-> z@a z@b
)");
}

// Of two axes of a dimension of 24 the inner one is cut first, a third of each half: 8 of 16.
TEST(Fetcher, CutsInnerAxesOfADimensionFirst) {
  const TestStep step(R"(
    input x batch:24
    y = relu x
    -> y)");
  const IdVector<OpId, int32_t> kinds(step.graph().op_count(), 0);
  PartPrices prices(step.cluster(), CostOptions(), 24);
  StepArrays arrays;
  Emitter emitter(step.graph(), kinds, prices, arrays, /*keeps_inputs=*/true);
  emitter.Begin(0);
  const TensorId x = emitter.AddInput(step.graph().FindTensor("x"), DeviceId(0));
  const AxisPart half = {{0, 1, 2, 12}, {1, 2}}, two_thirds = {{0, 2, 3, 4}, {0, 2}};
  for (const TensorBox& box : {TensorBox{half, two_thirds}, TensorBox{two_thirds, half}}) {
    const TensorId part = EmitSplit(emitter, x, box, DeviceId(0));
    EXPECT_EQ(emitter.shape(part), std::vector<int64_t>{8});
    const ArrayOp& last = arrays.ops[emitter.producer(part)];
    EXPECT_EQ(emitter.shape(arrays.ReadsOf(last)[0].tensor), std::vector<int64_t>{16});
  }
}

// b has a copy of its own; c takes its slice from the first device that has one.
TEST(Fetcher, CutsSlicesOfTheNearestCopy) {
  EXPECT_EQ(PairStep().Compiled("y: a b; z: batch b:3 c:5"), R"(
a: y@a [8 6] = relu(x)
b: y@b [8 6] = relu(x@b)
b: y.split@b [3 6] = split(y@b)[0:0-3/8]
a: y.split@a [5 6] = split(y@a)[0:3-8/8]
b: z@b [3 6] = neg(y.split@b)
c: z@c [5 6] = neg(y.split@a)
-> z@b z@c
)");
}

TEST(Fetcher, ReadsTheNearestCopy) {
  EXPECT_EQ(PairStep().Compiled("y: a b; z: b"), R"(
a: y@a [8 6] = relu(x)
b: y@b [8 6] = relu(x@b)
b: z [8 6] = neg(y@b)
-> z
)");
  EXPECT_EQ(PairStep().Compiled("y: b a; z: c"), R"(
b: y@b [8 6] = relu(x)
a: y@a [8 6] = relu(x@a)
c: z [8 6] = neg(y@b)
-> z
)");
}

// Of the batch to the width: each cuts what the others need, and joins what it gets.
TEST(Fetcher, MovesASplitToAnotherAxis) {
  EXPECT_EQ(PairStep().Compiled("y: batch a:3 b:5; z: width b:4 a:2"), R"(
a: y@a [3 6] = relu(x[0:0-3])
b: y@b [5 6] = relu(x[0:3-8])
a: y.all_to_all@a [8 2] = all_to_all#0(y@a)[1:4-6/6] of [0:0-3/8]
b: y.all_to_all@b [8 4] = all_to_all#0(y@b)[1:0-4/6] of [0:3-8/8]
b: z@b [8 4] = neg(y.all_to_all@b)
a: z@a [8 2] = neg(y.all_to_all@a)
-> z@b z@a
)");
}

// Without collectives, or where others than the devices that have its pieces need parts: all of it is cut.
TEST(Fetcher, CutsWhatNoCollectiveBrings) {
  CompileOptions options;
  options.collectives = false;
  const std::string alone = PairStep().Compiled("y: batch a:3 b:5; z: width a:2 b:4", options);
  EXPECT_EQ(alone.find("all_to_all"), std::string::npos) << alone;
  const std::string others = PairStep().Compiled("y: batch a:3 b:5; z: width a:2 c:4");
  EXPECT_EQ(others.find("all_to_all"), std::string::npos) << others;
  EXPECT_NE(others.find("c: z@c [8 4] = neg("), std::string::npos) << others;
}

// One device joins them where it is; those that have the parts themselves exchange them.
TEST(Fetcher, PutsPartsTogether) {
  EXPECT_EQ(PairStep().Compiled("y: batch a:3 b:5; z: c"), R"(
a: y@a [3 6] = relu(x[0:0-3])
b: y@b [5 6] = relu(x[0:3-8])
c: y.concat@c [8 6] = concat(y@a, y@b) along 0
c: z [8 6] = neg(y.concat@c)
-> z
)");
  EXPECT_EQ(PairStep().Compiled("y: batch a:3 b:5; z: b a"), R"(
a: y@a [3 6] = relu(x[0:0-3])
b: y@b [5 6] = relu(x[0:3-8])
a: y.all_gather@a [8 6] = all_gather#0(y@a)[0:0-3/8]
b: y.all_gather@b [8 6] = all_gather#0(y@b)[0:3-8/8]
b: z@b [8 6] = neg(y.all_gather@b)
a: z@a [8 6] = neg(y.all_gather@a)
-> z@b z@a
)");
}

// Where some have no part, or some parts are not wanted, or there are no collectives, each joins for itself.
TEST(Fetcher, GathersTogetherOnlyWhereAllHaveParts) {
  for (const std::string third : {"c", "b c", "a b c"}) {
    const auto step = PairStep().CompileWith("y: batch a:3 b:5; z: " + third);
    EXPECT_EQ(step.value().graph.collective_count(), 0u) << third;
  }
  CompileOptions options;
  options.collectives = false;
  EXPECT_EQ(PairStep().Compiled("y: batch a:3 b:5; z: a b", options), R"(
a: y@a [3 6] = relu(x[0:0-3])
b: y@b [5 6] = relu(x[0:3-8])
a: y.concat@a [8 6] = concat(y@a, y@b) along 0
b: y.concat@b [8 6] = concat(y@a, y@b) along 0
a: z@a [8 6] = neg(y.concat@a)
b: z@b [8 6] = neg(y.concat@b)
-> z@a z@b
)");
}

// Rows 0 to 2 of y are on a, 3 to 7 on b. Of z, a has 0 to 4: it lacks rows 0 and 1 of the 5 of b. The rest, 2 to 4 of
// these, stays on b.
TEST(Fetcher, SendsWhatUnequalSharesLack) {
  EXPECT_EQ(PairStep().Compiled("y: batch a:3 b:5; z: batch a:5 b:3"), R"(
a: y@a [3 6] = relu(x[0:0-3])
b: y@b [5 6] = relu(x[0:3-8])
b: y.split@b [2 6] = split(y@b)[0:0-2/5]
a: y.concat@a [5 6] = concat(y@a, y.split@b) along 0
b: y.split@b#1 [3 6] = split(y@b)[0:2-5/5]
a: z@a [5 6] = neg(y.concat@a)
b: z@b [3 6] = neg(y.split@b#1)
-> z@a z@b
)");
  // Three parts for two: of rows 2 to 7, b gives all of its own, so that nothing of these is cut.
  EXPECT_EQ(PairStep().Compiled("y: batch a:2 b:3 c:3; z: batch c:1 b:7"), R"(
a: y@a [2 6] = relu(x[0:0-2])
b: y@b [3 6] = relu(x[0:2-5])
c: y@c [3 6] = relu(x[0:5-8])
a: y.split@a [1 6] = split(y@a)[0:0-1/2]
a: y.split@a#1 [1 6] = split(y@a)[0:1-2/2]
b: y.split.concat@b [7 6] = concat(y.split@a#1, y@b, y@c) along 0
c: z@c [1 6] = neg(y.split@a)
b: z@b [7 6] = neg(y.split.concat@b)
-> z@c z@b
)");
}

// The same shares on exchanged devices cross as they are.
TEST(Fetcher, SendsPiecesAsTheyAre) {
  EXPECT_EQ(PairStep().Compiled("y: batch a:3 b:5; z: batch b:3 a:5"), R"(
a: y@a [3 6] = relu(x[0:0-3])
b: y@b [5 6] = relu(x[0:3-8])
b: z@b [3 6] = neg(y@a)
a: z@a [5 6] = neg(y@b)
-> z@b z@a
)");
}

// Columns of what lies in rows: all of the rows are joined first.
TEST(Fetcher, CutsAnotherAxisOfTheWhole) {
  EXPECT_EQ(PairStep().Compiled("y: batch a:3 b:5; z: width a:5 c:1"), R"(
a: y@a [3 6] = relu(x[0:0-3])
b: y@b [5 6] = relu(x[0:3-8])
a: y.concat@a [8 6] = concat(y@a, y@b) along 0
a: y.concat.split@a [8 5] = split(y.concat@a)[1:0-5/6]
c: y.concat@c [8 6] = concat(y@a, y@b) along 0
c: y.concat.split@c [8 1] = split(y.concat@c)[1:5-6/6]
a: z@a [8 5] = neg(y.concat.split@a)
c: z@c [8 1] = neg(y.concat.split@c)
-> z@a z@c
)");
}

// Flattened, the 6 columns come 8 times in the one dimension of 48.
TEST(Fetcher, CutsAndJoinsWithinADimension) {
  const TestStep step(R"(
    input x batch:8 width:6
    y = relu x
    f = flatten y
    z = neg f
    -> z)");
  EXPECT_EQ(step.Compiled("y: a; z: width a:2 b:4"), R"(
a: y [8 6] = relu(x)
a: f [48] = view(y)
a: f.split@a [16] = split(f)[0:0-2/6x8]
a: f.split@a#1 [32] = split(f)[0:2-6/6x8]
a: z@a [16] = neg(f.split@a)
b: z@b [32] = neg(f.split@a#1)
-> z@a z@b
)");
  EXPECT_EQ(step.Compiled("y: width a:2 b:4; z: c"), R"(
a: y@a [8 2] = relu(x[1:0-2])
b: y@b [8 4] = relu(x[1:2-6])
a: f@a [16] = view(y@a)
b: f@b [32] = view(y@b)
c: f.concat@c [48] = concat(f@a, f@b) along 0x8
c: z [48] = neg(f.concat@c)
-> z
)");
}

TEST(Fetcher, ReducesSumsWhereAllOfTheirDevicesWantThem) {
  EXPECT_EQ(SumStep().Compiled("t s: batch a:3 b:5; z: a b"), R"(
a: t@a [4 3] = t(x[0:0-3])
b: t@b [4 5] = t(x[0:3-8])
a: s@a [4 6] = mm(t@a, g[0:0-3])
b: s@b [4 6] = mm(t@b, g[0:3-8])
a: s.all_reduce@a [4 6] = all_reduce#0(s@a)
b: s.all_reduce@b [4 6] = all_reduce#0(s@b)
a: z@a [4 6] = relu(s.all_reduce@a)
b: z@b [4 6] = relu(s.all_reduce@b)
-> z@a z@b
)");
}

// Each adds all pieces, in the order of their devices, so that both have the same bits.
TEST(Fetcher, AddsSumsWhereOthersWantThem) {
  EXPECT_EQ(SumStep().Compiled("t s: batch a:3 b:5; z: c b"), R"(
a: t@a [4 3] = t(x[0:0-3])
b: t@b [4 5] = t(x[0:3-8])
a: s@a [4 6] = mm(t@a, g[0:0-3])
b: s@b [4 6] = mm(t@b, g[0:3-8])
c: s.add_n@c [4 6] = add_n(s@a, s@b)
b: s.add_n@b [4 6] = add_n(s@a, s@b)
c: z@c [4 6] = relu(s.add_n@c)
b: z@b [4 6] = relu(s.add_n@b)
-> z@c z@b
)");
}

// Two others get the sum, each from the nearest that has it, and not all of its parts.
TEST(Fetcher, AddsSumsUpBeforeOthersGetThem) {
  EXPECT_EQ(SumStep().Compiled("t s: batch a:3 b:5; z: c d"), R"(
a: t@a [4 3] = t(x[0:0-3])
b: t@b [4 5] = t(x[0:3-8])
a: s@a [4 6] = mm(t@a, g[0:0-3])
b: s@b [4 6] = mm(t@b, g[0:3-8])
a: s.all_reduce@a [4 6] = all_reduce#0(s@a)
b: s.all_reduce@b [4 6] = all_reduce#0(s@b)
c: z@c [4 6] = relu(s.all_reduce@a)
d: z@d [4 6] = relu(s.all_reduce@a)
-> z@c z@d
)");
}

// Members are in the order of the pieces; b comes first in z, and has the first of the 4 rows.
TEST(Fetcher, ScattersSumsThatAreWantedInParts) {
  EXPECT_EQ(SumStep().Compiled("t s: batch a:3 b:5; z: in b:1 a:3"), R"(
a: t@a [4 3] = t(x[0:0-3])
b: t@b [4 5] = t(x[0:3-8])
a: s@a [4 6] = mm(t@a, g[0:0-3])
b: s@b [4 6] = mm(t@b, g[0:3-8])
a: s.reduce_scatter@a [3 6] = reduce_scatter#0(s@a)[0:1-4/4]
b: s.reduce_scatter@b [1 6] = reduce_scatter#0(s@b)[0:0-1/4]
b: z@b [1 6] = relu(s.reduce_scatter@b)
a: z@a [3 6] = relu(s.reduce_scatter@a)
-> z@b z@a
)");
}

// What crosses is the part of each piece alone: of 6 columns 2 to a, 4 to c.
TEST(Fetcher, AddsPartsOfSums) {
  EXPECT_EQ(SumStep().Compiled("t s: batch a:3 b:5; z: out a:2 c:4"), R"(
a: t@a [4 3] = t(x[0:0-3])
b: t@b [4 5] = t(x[0:3-8])
a: s@a [4 6] = mm(t@a, g[0:0-3])
b: s@b [4 6] = mm(t@b, g[0:3-8])
a: s.split@a [4 2] = split(s@a)[1:0-2/6]
b: s.split@b [4 2] = split(s@b)[1:0-2/6]
a: s.split.add_n@a [4 2] = add_n(s.split@a, s.split@b)
a: s.split@a#1 [4 4] = split(s@a)[1:2-6/6]
b: s.split@b#1 [4 4] = split(s@b)[1:2-6/6]
c: s.split.add_n@c [4 4] = add_n(s.split@a#1, s.split@b#1)
a: z@a [4 2] = relu(s.split.add_n@a)
c: z@c [4 4] = relu(s.split.add_n@c)
-> z@a z@c
)");
}

// Two others want it: they get it at once, if nothing says otherwise.
TEST(Fetcher, BroadcastsToSeveralOthers) {
  EXPECT_EQ(PairStep().Compiled("y: a; z: b a c"), R"(
a: y [8 6] = relu(x)
a: y.broadcast@a = broadcast#0(y)
b: y.broadcast@b [8 6] = broadcast#0()
c: y.broadcast@c [8 6] = broadcast#0()
b: z@b [8 6] = neg(y.broadcast@b)
a: z@a [8 6] = neg(y)
c: z@c [8 6] = neg(y.broadcast@c)
-> z@b z@a z@c
)");
  const std::string in_transfers = R"(
a: y [8 6] = relu(x)
b: z@b [8 6] = neg(y)
a: z@a [8 6] = neg(y)
c: z@c [8 6] = neg(y)
-> z@b z@a z@c
)";
  CompileOptions options;
  options.switches.broadcasts = false;
  EXPECT_EQ(PairStep().Compiled("y: a; z: b a c", options), in_transfers);
  options = {};
  options.collectives = false;
  EXPECT_EQ(PairStep().Compiled("y: a; z: b a c", options), in_transfers);
}

// One other device, or several copies to take it from: each reads the nearest.
TEST(Fetcher, BroadcastsNothingElse) {
  for (const std::string layouts : {"y: a; z: a b", "y: a b; z: b c d"}) {
    const auto step = PairStep().CompileWith(layouts);
    EXPECT_EQ(step.value().graph.collective_count(), 0u) << layouts;
  }
}

}  // namespace
}  // namespace placewright
