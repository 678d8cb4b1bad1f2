#include "compile/instances.h"

#include <gtest/gtest.h>

#include <string>

#include "compile/emitter.h"
#include "compile/test_steps.h"

namespace placewright {
namespace {

// A layer and an update of its weight.
const TestStep& LayerStep() {
  static const TestStep* const step = new TestStep(R"(
    input x batch:8 in:4
    param w in out:6
    y = mm x w
    optimizer:
    w1 = neg_ w
    -> y w1)");
  return *step;
}

// t and g of samples: s and r are sums over these.
std::string SumsAnd(const std::string& more) {
  return R"(
    input x batch:8 in:4
    input g batch out:6
    t = t x
    s = mm t g
    r = mm t g
)" + more;
}

// The lines behind those of t, s and r, split in 3 and 5 samples.
std::string BehindSums(const std::string& lines) {
  const std::string before = R"(
a: t@a [4 3] = t(x[0:0-3])
b: t@b [4 5] = t(x[0:3-8])
a: s@a [4 6] = mm(t@a, g[0:0-3])
b: s@b [4 6] = mm(t@b, g[0:3-8])
a: r@a [4 6] = mm(t@a, g[0:0-3])
b: r@b [4 6] = mm(t@b, g[0:3-8])
)";
  EXPECT_TRUE(lines.starts_with(before)) << lines;
  return lines.starts_with(before) ? "\n" + lines.substr(before.size()) : lines;
}

// On one device it is the op itself, by its own name, and so are its inputs.
TEST(Instances, AreTheOpItselfOnOneDevice) {
  EXPECT_EQ(LayerStep().Compiled("*: c"), R"(
c: y [8 6] = mm(x, w)
c: w1 [4 6] = neg_(w)
-> y w1
)");
}

// The samples split x and y; w has none, so that it is there and is written on each device.
TEST(Instances, HaveAllOfWhatTheAxisDoesNotSplit) {
  const DistributedStep step = LayerStep().CompileWith("*: batch a:3 b:5").Take();
  EXPECT_EQ(LinesOf(step, LayerStep().cluster()), R"(
a: y@a [3 6] = mm(x[0:0-3], w@a)
b: y@b [5 6] = mm(x[0:3-8], w@b)
a: w1@a [4 6] = neg_(w@a)
b: w1@b [4 6] = neg_(w@b)
-> y@a y@b w1@a w1@b
)");
  EXPECT_EQ(InputLinesOf(step, LayerStep().graph()), R"(
x [8 4] = x
w@a [4 6] = w
w@b [4 6] = w
x[0:0-3] [3 4] = x[0:0-3/8]
x[0:3-8] [5 4] = x[0:3-8/8]
)");
}

// The columns of w split its update, too; of x each needs all.
TEST(Instances, HaveTheirPartsOfAWeight) {
  const DistributedStep step = LayerStep().CompileWith("*: out a:2 b:4").Take();
  EXPECT_EQ(LinesOf(step, LayerStep().cluster()), R"(
a: y@a [8 2] = mm(x, w@a)
b: y@b [8 4] = mm(x@b, w@b)
a: w1@a [4 2] = neg_(w@a)
b: w1@b [4 4] = neg_(w@b)
-> y@a y@b w1@a w1@b
)");
  EXPECT_EQ(InputLinesOf(step, LayerStep().graph()), R"(
x [8 4] = x
w@a [4 2] = w[1:0-2/6]
w@b [4 4] = w[1:2-6/6]
x@b [8 4] = x
)");
}

// The inner axis of the product: parts of both are read, and the step's output is the completed sum.
TEST(Instances, MakeSumsOverASplitInnerAxis) {
  EXPECT_EQ(LayerStep().Compiled("*: in a:1 b:3"), R"(
a: y@a [8 6] = mm(x[1:0-1], w@a)
b: y@b [8 6] = mm(x[1:1-4], w@b)
a: w1@a [1 6] = neg_(w@a)
b: w1@b [3 6] = neg_(w@b)
a: y.add_n@a [8 6] = add_n(y@a, y@b)
-> y.add_n@a w1@a w1@b
)");
}

// All do everything.
TEST(Instances, AreWholeWhereNothingIsSplit) {
  EXPECT_EQ(LayerStep().Compiled("*: b a"), R"(
b: y@b [8 6] = mm(x, w@b)
a: y@a [8 6] = mm(x@a, w@a)
b: w1@b [4 6] = neg_(w@b)
a: w1@a [4 6] = neg_(w@a)
-> y@b y@a w1@b w1@a
)");
}

// An op without a rule, and one that needs all samples for each, have all of what they read.
TEST(Instances, AreWholeOfOpsThatCannotBeSplit) {
  for (const std::string op : {"mystery", "cumprod"}) {
    const TestStep step("input x batch:8 width:6\n y = relu x\n z = " + op + " y\n -> z");
    const std::string word = op == "mystery" ? "unheard_of" : "cumprod";
    EXPECT_EQ(step.Compiled("*: batch a:3 b:5"), R"(
a: y@a [3 6] = relu(x[0:0-3])
b: y@b [5 6] = relu(x[0:3-8])
a: y.all_gather@a [8 6] = all_gather#0(y@a)[0:0-3/8]
b: y.all_gather@b [8 6] = all_gather#0(y@b)[0:3-8/8]
a: z@a [8 6] = )" + word + R"((y.all_gather@a)
b: z@b [8 6] = )" + word + R"((y.all_gather@b)
-> z@a z@b
)");
  }
}

// What is made of nothing is made where it is read, as large as the part.
TEST(Instances, MakeConstantsOfTheirOwn) {
  const TestStep step(R"(
    input x batch:8 width:6
    c = ones batch width
    y = add x c
    -> y)");
  const DistributedStep made = step.CompileWith("*: batch a:3 b:5").Take();
  EXPECT_EQ(LinesOf(made, step.cluster()), R"(
a: c@a [3 6] = ones()
b: c@b [5 6] = ones()
a: y@a [3 6] = add(x[0:0-3], c@a)
b: y@b [5 6] = add(x[0:3-8], c@b)
-> y@a y@b
)");
  EXPECT_EQ(made.graph.op(made.graph.FindOp("c@b")).args[0], IntegerList({5, 6}));
}

// Parts would draw other numbers than the whole: the first device draws all of them.
TEST(Instances, DrawRandomNumbersOnce) {
  const TestStep step(R"(
    input x batch:8 width:6
    r = randn batch width
    y = add x r
    -> y)");
  EXPECT_EQ(step.Compiled("*: batch b:3 a:5"), R"(
b: r [8 6] = randn()
b: r.split@b [3 6] = split(r)[0:0-3/8]
b: r.split@b#1 [5 6] = split(r)[0:3-8/8]
b: y@b [3 6] = add(x[0:0-3], r.split@b)
a: y@a [5 6] = add(x[0:3-8], r.split@b#1)
-> y@b y@a
)");
}

// A sum of sums is one: it is reduced once, before relu, which is not linear.
TEST(Instances, PassSumsOnThroughLinearOps) {
  const TestStep step(SumsAnd("q = add s r \n p = neg q \n z = relu p \n -> z"));
  EXPECT_EQ(BehindSums(step.Compiled("*: batch a:3 b:5")), R"(
a: q@a [4 6] = add(s@a, r@a)
b: q@b [4 6] = add(s@b, r@b)
a: p@a [4 6] = neg(q@a)
b: p@b [4 6] = neg(q@b)
a: p.all_reduce@a [4 6] = all_reduce#0(p@a)
b: p.all_reduce@b [4 6] = all_reduce#0(p@b)
a: z@a [4 6] = relu(p.all_reduce@a)
b: z@b [4 6] = relu(p.all_reduce@b)
-> z@a z@b
)");
}

// A product is linear in each by itself: one stays a sum, by which all of the other is multiplied.
TEST(Instances, CompleteOneFactorOfAProductOfSums) {
  const TestStep step(SumsAnd("q = mul s r \n -> q"));
  EXPECT_EQ(BehindSums(step.Compiled("*: batch a:3 b:5")), R"(
a: r.all_reduce@a [4 6] = all_reduce#0(r@a)
b: r.all_reduce@b [4 6] = all_reduce#0(r@b)
a: q@a [4 6] = mul(s@a, r.all_reduce@a)
b: q@b [4 6] = mul(s@b, r.all_reduce@b)
a: q.add_n@a [4 6] = add_n(q@a, q@b)
-> q.add_n@a
)");
}

// With all samples on one device nothing is split, so that a mean stays one.
TEST(Instances, AreWholeWithAllOfAnAxis) {
  const TestStep step("input x batch:8 width:6 \n m = mean x \n -> m");
  EXPECT_EQ(step.Compiled("*: batch c:8"), R"(
c: m [] = mean(x)
-> m
)");
}

// Without a piece of s on c there is no sum of a and c: both have all of it.
TEST(Instances, CompleteSumsOfOtherDevices) {
  const TestStep step(SumsAnd("q = neg s \n -> q"));
  EXPECT_EQ(BehindSums(step.Compiled("*: batch a:3 b:5; q: a c")), R"(
a: s.add_n@a [4 6] = add_n(s@a, s@b)
c: s.add_n@c [4 6] = add_n(s@a, s@b)
a: q@a [4 6] = neg(s.add_n@a)
c: q@c [4 6] = neg(s.add_n@c)
-> q@a q@c
)");
  // Nor is there one of a and b alone.
  const TestStep three("input x batch:8 \n s = sum x \n q = neg s \n -> q");
  EXPECT_EQ(three.Compiled("*: batch a:3 b:4 c:1; q: a b"), R"(
a: s@a [] = sum(x[0:0-3])
b: s@b [] = sum(x[0:3-7])
c: s@c [] = sum(x[0:7-8])
a: s.add_n@a [] = add_n(s@a, s@b, s@c)
b: s.add_n@b [] = add_n(s@a, s@b, s@c)
a: q@a [] = neg(s.add_n@a)
b: q@b [] = neg(s.add_n@b)
-> q@a q@b
)");
}

// The first part takes the bias, the others zeros: their sum has it once.
TEST(Instances, AddABiasOnce) {
  const TestStep step(R"(
    input x batch:8 in:4
    param w in out:6
    param bias out
    y = addmm bias x w
    z = relu y
    -> z)");
  EXPECT_EQ(step.Compiled("*: in a:1 b:3"), R"(
b: bias.zeros_like@b [6] = zeros_like(bias@b)
a: y@a [8 6] = addmm(bias@a, x[1:0-1], w@a)
b: y@b [8 6] = addmm(bias.zeros_like@b, x[1:1-4], w@b)
a: y.all_reduce@a [8 6] = all_reduce#0(y@a)
b: y.all_reduce@b [8 6] = all_reduce#0(y@b)
a: z@a [8 6] = relu(y.all_reduce@a)
b: z@b [8 6] = relu(y.all_reduce@b)
-> z@a z@b
)");
  // Split by the columns, every part takes its own of the bias.
  EXPECT_EQ(step.Compiled("*: out a:2 b:4"), R"(
a: y@a [8 2] = addmm(bias@a, x, w@a)
b: y@b [8 4] = addmm(bias@b, x@b, w@b)
a: z@a [8 2] = relu(y@a)
b: z@b [8 4] = relu(y@b)
-> z@a z@b
)");
}

// Sums of 18 and 30 of the 48 elements, each divided by 48, so that their sum is the mean.
TEST(Instances, DivideTheSumsOfAMean) {
  const TestStep step("input x batch:8 width:6 \n m = mean x \n -> m");
  const DistributedStep made = step.CompileWith("*: batch a:3 b:5").Take();
  EXPECT_EQ(LinesOf(made, step.cluster()), R"(
a: m@a [] = sum(x[0:0-3])
a: m.div@a [] = div(m@a)
b: m@b [] = sum(x[0:3-8])
b: m.div@b [] = div(m@b)
a: m.div.add_n@a [] = add_n(m.div@a, m.div@b)
-> m.div.add_n@a
)");
  EXPECT_EQ(made.graph.op(made.graph.FindOp("m.div@b")).args[1], Value(int64_t{48}));
}

// Each device negates its piece. relu needs the sum: the first piece becomes what it makes of it, the others zeros.
TEST(Instances, WriteSumsInPlace) {
  const TestStep linear(SumsAnd("s1 = neg_ s \n z = relu s1 \n -> z"));
  EXPECT_EQ(BehindSums(linear.Compiled("*: batch a:3 b:5")), R"(
a: s1@a [4 6] = neg_(s@a)
b: s1@b [4 6] = neg_(s@b)
a: s1.all_reduce@a [4 6] = all_reduce#0(s1@a)
b: s1.all_reduce@b [4 6] = all_reduce#0(s1@b)
a: z@a [4 6] = relu(s1.all_reduce@a)
b: z@b [4 6] = relu(s1.all_reduce@b)
-> z@a z@b
)");
  const TestStep other(SumsAnd("s1 = relu_ s \n z = neg s1 \n -> z"));
  EXPECT_EQ(BehindSums(other.Compiled("*: batch a:3 b:5; z: c")), R"(
a: s.all_reduce@a [4 6] = all_reduce#0(s@a)
b: s.all_reduce@b [4 6] = all_reduce#0(s@b)
a: s1@a [4 6] = relu_(s.all_reduce@a)
b: s1@b [4 6] = relu_(s.all_reduce@b)
c: z [4 6] = neg(s1@a)
-> z
)");
  // z looks at the pieces themselves: they stay a sum.
  const TestStep older(SumsAnd("s1 = relu_ s \n z = neg s \n -> z"));
  EXPECT_EQ(BehindSums(older.Compiled("*: batch a:3 b:5; z: c")), R"(
a: s.all_reduce@a [4 6] = all_reduce#0(s@a)
b: s.all_reduce@b [4 6] = all_reduce#0(s@b)
a: s1@a [4 6] = relu_(s.all_reduce@a)
b: s1@b [4 6] = relu_(s.all_reduce@b)
a: s.overwrite@a [4 6] = copy_(s@a, s.all_reduce@a)
b: s.overwrite@b [4 6] = zero_(s@b)
c: s.add_n@c [4 6] = add_n(s@a, s@b)
c: z [4 6] = neg(s.add_n@c)
-> z
)");
}

// Each writes all of w, which it has gathered, and keeps its own columns.
TEST(Instances, KeepTheirPartsOfWhatTheyWriteAsAWhole) {
  const TestStep step(R"(
    input x batch:8 in:4
    param w in out:6
    y = mm x w
    w1 = mystery_ w
    -> y w1)");
  EXPECT_EQ(step.Compiled("*: out a:2 b:4"), R"(
a: y@a [8 2] = mm(x, w@a)
b: y@b [8 4] = mm(x@b, w@b)
a: w.all_gather@a [4 6] = all_gather#0(w@a)[1:0-2/6]
b: w.all_gather@b [4 6] = all_gather#0(w@b)[1:2-6/6]
a: w1@a [4 6] = unheard_of_(w.all_gather@a)
b: w1@b [4 6] = unheard_of_(w.all_gather@b)
a: w.all_gather.split@a [4 2] = split(w.all_gather@a)[1:0-2/6]
a: w.overwrite@a [4 2] = copy_(w@a, w.all_gather.split@a)
b: w.all_gather.split@b [4 4] = split(w.all_gather@b)[1:2-6/6]
b: w.overwrite@b [4 4] = copy_(w@b, w.all_gather.split@b)
-> y@a y@b w.overwrite@a w.overwrite@b
)");
}

// Every instance waits for all of the op that it comes behind.
TEST(Instances, WaitForAllInstancesOfEarlierOps) {
  const TestStep step(R"(
    input x batch:8 width:6
    y = relu x
    z = neg x after y
    -> y z)");
  EXPECT_EQ(step.Compiled("y: batch a:3 b:5; z: b c"), R"(
a: y@a [3 6] = relu(x[0:0-3])
b: y@b [5 6] = relu(x[0:3-8])
b: z@b [8 6] = neg(x) after y@a y@b
c: z@c [8 6] = neg(x@c) after y@a y@b
-> y@a y@b z@b z@c
)");
}

// Instances are of the op, in its phase. What moves is of none, and is done when what it moves was made.
TEST(Instances, AreOfTheirOp) {
  const TestStep step(R"(
    input x batch:8 in:4
    input g batch out:6
    param w in out
    y = mm x w
    backward:
    t = t x
    gw = mm t g
    optimizer:
    w1 = sub_ w gw
    -> y w1)");
  const DistributedStep made = step.CompileWith("*: batch a:3 b:5").Take();
  const auto expect = [&](const char* name, const char* origin, Phase phase) {
    const OpId op = made.graph.FindOp(name);
    ASSERT_TRUE(op.valid()) << name;
    EXPECT_EQ(made.origin[op], step.graph().FindOp(origin)) << name;
    EXPECT_EQ(made.graph.op(op).phase, phase) << name;
  };
  expect("y@b", "y", Phase::kForward);
  expect("gw@b", "gw", Phase::kBackward);
  expect("gw.all_reduce@b", "none", Phase::kBackward);
  expect("w1@b", "w1", Phase::kOptimizer);
}

// A copy that is computed again is there no earlier than what reads it on its device wants it: other devices do not
// count. z is on none of y's devices.
TEST(Instances, OfRecomputedOpsWaitOnTheirOwnDevice) {
  const TestStep step(R"(
    input x batch:8 width:6
    y = relu x
    z = neg x
    z@recompute = neg x after y
    -> y z z@recompute)");
  EXPECT_EQ(step.Compiled("y: batch a:3 b:5; z: b; z@recompute: b c"), R"(
a: y@a [3 6] = relu(x[0:0-3])
b: y@b [5 6] = relu(x[0:3-8])
b: z [8 6] = neg(x)
b: z@recompute@b [8 6] = neg(x) after y@b
c: z@recompute@c [8 6] = neg(x@c) after y@a y@b
-> y@a y@b z z@recompute@b z@recompute@c
)");
}

}  // namespace
}  // namespace placewright
