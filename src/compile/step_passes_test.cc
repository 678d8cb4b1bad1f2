// What the passes over a whole step do to the graph; the arrays are held to it (test_step_forms.h).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compile/rewrites/buckets.h"
#include "compile/test_step_forms.h"
#include "compile/test_steps.h"

namespace placewright {
namespace {

// Gradients of three weights of 24 elements, 96 bytes each; `more` goes on.
std::string ThreeGradients(const std::string& more) {
  return R"(
    input x batch:8 in:4
    input g batch out:6
    param u in out
    param v in out
    param w in out
    backward:
    t = t x
    gu = mm t g
    gv = mm t g
    gw = mm t g
)" + more;
}

const TestStep& UpdateStep() {
  static const TestStep* const step = new TestStep(ThreeGradients(R"(
    optimizer:
    w1 = sub_ w gw
    v1 = sub_ v gv
    u1 = sub_ u gu
    -> u1 v1 w1)"));
  return *step;
}

// The lines behind the three gradients, split in 3 and 5 samples.
std::string BehindGradients(const std::string& lines) {
  const size_t at = lines.find("b: gw@b");
  return at == std::string::npos ? lines : lines.substr(lines.find('\n', at));
}

size_t CollectivesOf(const TestStep& step, std::string_view layouts, const StepSwitches& switches) {
  (void)InBothForms(step, layouts, switches);
  return step.CompileWith(layouts, {.switches = switches}).value().graph.collective_count();
}

// Two gradients have room in 192 bytes, in the order in which they are ready. w is updated first, by its own sum.
TEST(StepPasses, FuseReductionsUpToALimit) {
  EXPECT_EQ(BehindGradients(InBothForms(UpdateStep(), "*: batch a:3 b:5", Passes(true, 192))), R"(
a: gw.all_reduce@a [4 6] = all_reduce#1(gw@a)
b: gw.all_reduce@b [4 6] = all_reduce#1(gw@b)
a: w1@a [4 6] = sub_(w@a, gw.all_reduce@a)
b: w1@b [4 6] = sub_(w@b, gw.all_reduce@b)
a: gu.all_reduce@a.pack [48] = pack(gu@a, gv@a)
a: gu.all_reduce@a.fused [48] = all_reduce#0(gu.all_reduce@a.pack)
a: gu.all_reduce@a [4 6] = unpack(gu.all_reduce@a.fused) from 0
a: gv.all_reduce@a [4 6] = unpack(gu.all_reduce@a.fused) from 24
b: gu.all_reduce@b.pack [48] = pack(gu@b, gv@b)
b: gu.all_reduce@b.fused [48] = all_reduce#0(gu.all_reduce@b.pack)
b: gu.all_reduce@b [4 6] = unpack(gu.all_reduce@b.fused) from 0
b: gv.all_reduce@b [4 6] = unpack(gu.all_reduce@b.fused) from 24
a: v1@a [4 6] = sub_(v@a, gv.all_reduce@a)
b: v1@b [4 6] = sub_(v@b, gv.all_reduce@b)
a: u1@a [4 6] = sub_(u@a, gu.all_reduce@a)
b: u1@b [4 6] = sub_(u@b, gu.all_reduce@b)
-> u1@a u1@b v1@a v1@b w1@a w1@b
)");
  const auto sums = [](int64_t limit) {
    return CollectivesOf(UpdateStep(), "*: batch a:3 b:5", Passes(true, limit));
  };
  EXPECT_EQ(sums(0), 3u);
  EXPECT_EQ(sums(191), 3u);
  EXPECT_EQ(sums(287), 2u);
  EXPECT_EQ(sums(288), 1u);
}

// z waits for the sum of gv: with the other gradients in it, it would wait for these.
TEST(StepPasses, FuseOnlyWhatUpdatesAloneWaitFor) {
  const TestStep step(ThreeGradients(R"(
    z = relu gv
    optimizer:
    w1 = sub_ w gw
    v1 = sub_ v gv
    u1 = sub_ u gu
    -> z u1 v1 w1)"));
  EXPECT_EQ(BehindGradients(InBothForms(step, "*: batch a:3 b:5", Passes(true, 1000))), R"(
a: gv.all_reduce@a [4 6] = all_reduce#1(gv@a)
b: gv.all_reduce@b [4 6] = all_reduce#1(gv@b)
a: z@a [4 6] = relu(gv.all_reduce@a)
b: z@b [4 6] = relu(gv.all_reduce@b)
a: gu.all_reduce@a.pack [48] = pack(gu@a, gw@a)
a: gu.all_reduce@a.fused [48] = all_reduce#0(gu.all_reduce@a.pack)
a: gu.all_reduce@a [4 6] = unpack(gu.all_reduce@a.fused) from 0
a: gw.all_reduce@a [4 6] = unpack(gu.all_reduce@a.fused) from 24
b: gu.all_reduce@b.pack [48] = pack(gu@b, gw@b)
b: gu.all_reduce@b.fused [48] = all_reduce#0(gu.all_reduce@b.pack)
b: gu.all_reduce@b [4 6] = unpack(gu.all_reduce@b.fused) from 0
b: gw.all_reduce@b [4 6] = unpack(gu.all_reduce@b.fused) from 24
a: w1@a [4 6] = sub_(w@a, gw.all_reduce@a)
b: w1@b [4 6] = sub_(w@b, gw.all_reduce@b)
a: v1@a [4 6] = sub_(v@a, gv.all_reduce@a)
b: v1@b [4 6] = sub_(v@b, gv.all_reduce@b)
a: u1@a [4 6] = sub_(u@a, gu.all_reduce@a)
b: u1@b [4 6] = sub_(u@b, gu.all_reduce@b)
-> z@a z@b u1@a u1@b v1@a v1@b w1@a w1@b
)");
}

// A sum is not joined with one that is wanted before it can be made: w's gradient is made behind the update of v, or is
// changed there.
TEST(StepPasses, FuseOnlyWhatIsThereInTime) {
  const auto sums = [](const std::string& before, const std::string& behind) {
    const TestStep step(R"(
      input x batch:8 in:4
      input g batch out:6
      param v in out
      param w in out
      backward:
      t = t x
      gv = mm t g
      )" + before + R"(
      optimizer:
      v1 = sub_ v gv
      backward:
      )" + behind + R"(
      optimizer:
      w1 = sub_ w gw
      -> v1 w1)");
    return CollectivesOf(step, "*: batch a:3 b:5", Passes(true, 1000));
  };
  EXPECT_EQ(sums("gw = mm t g", ""), 1u);
  EXPECT_EQ(sums("", "gw = mm t g"), 2u);
  EXPECT_EQ(sums("gw = mm t g", "changed = neg_ gw"), 2u);
}

// A row of gw is summed and then written, with the others: the buffer holds what it was before. The sum of what
// it is then comes too late for it.
TEST(StepPasses, FuseWhatWasThere) {
  const TestStep step(R"(
    input x batch:8 in:4
    input g batch out:6
    param b out
    param u in out
    param w in out
    backward:
    t = t x
    gu = mm t g
    gw = mm t g
    row = second gw
    optimizer:
    b1 = sub_ b row
    gw1 = neg_ gw
    w1 = sub_ w gw1
    u1 = sub_ u gu
    -> b1 u1 w1)");
  EXPECT_EQ(BehindGradients(InBothForms(step, "*: batch a:3 b:5", Passes(true, 1000))), R"(
a: row@a [6] = select(gw@a)
b: row@b [6] = select(gw@b)
a: gu.all_reduce@a.pack [30] = pack(gu@a, row@a)
a: gu.all_reduce@a.fused [30] = all_reduce#0(gu.all_reduce@a.pack)
a: gu.all_reduce@a [4 6] = unpack(gu.all_reduce@a.fused) from 0
a: row.all_reduce@a [6] = unpack(gu.all_reduce@a.fused) from 24
b: gu.all_reduce@b.pack [30] = pack(gu@b, row@b)
b: gu.all_reduce@b.fused [30] = all_reduce#0(gu.all_reduce@b.pack)
b: gu.all_reduce@b [4 6] = unpack(gu.all_reduce@b.fused) from 0
b: row.all_reduce@b [6] = unpack(gu.all_reduce@b.fused) from 24
a: b1@a [6] = sub_(b@a, row.all_reduce@a)
b: b1@b [6] = sub_(b@b, row.all_reduce@b)
a: gw1@a [4 6] = neg_(gw@a)
b: gw1@b [4 6] = neg_(gw@b)
a: gw1.all_reduce@a [4 6] = all_reduce#1(gw1@a)
b: gw1.all_reduce@b [4 6] = all_reduce#1(gw1@b)
a: w1@a [4 6] = sub_(w@a, gw1.all_reduce@a)
b: w1@b [4 6] = sub_(w@b, gw1.all_reduce@b)
a: u1@a [4 6] = sub_(u@a, gu.all_reduce@a)
b: u1@b [4 6] = sub_(u@b, gu.all_reduce@b)
-> b1@a b1@b u1@a u1@b w1@a w1@b
)");
}

// Members are joined device by device. v is summed over other devices, or over the same in another order: it comes
// behind u and is ready before w, so that these are joined only where the bucket has room for all three. A sum over
// another number of devices begins a bucket, behind which w does not go back to that of u.
TEST(StepPasses, FuseSumsOverTheSameDevices) {
  const auto sums = [](const std::string& shares, int64_t limit) {
    return CollectivesOf(UpdateStep(), "*: batch a:3 b:5; v1 gv: batch " + shares,
                         Passes(true, limit));
  };
  for (const char* shares : {"b:3 c:5", "b:3 a:5"}) {
    EXPECT_EQ(sums(shares, 192), 3u) << shares;
    EXPECT_EQ(sums(shares, 288), 2u) << shares;
  }
  EXPECT_EQ(sums("a:3 b:3 c:2", 288), 3u);
}

// Everything in one bucket, though w is updated first. Of sums over other devices, that of v waits for the last gradient
// on b, which is that of w; c has no later one than its own.
TEST(StepPasses, FuseAllTogether) {
  const StepSwitches together = Passes(true, kAllTogether.count);
  EXPECT_EQ(CollectivesOf(UpdateStep(), "*: batch a:3 b:5", together), 1u);
  EXPECT_EQ(BehindGradients(
                InBothForms(UpdateStep(), "*: batch a:3 b:5; v1 gv: batch b:3 c:5", together)),
            R"(
a: gu.all_reduce@a.pack [48] = pack(gu@a, gw@a)
a: gu.all_reduce@a.fused [48] = all_reduce#0(gu.all_reduce@a.pack)
a: gu.all_reduce@a [4 6] = unpack(gu.all_reduce@a.fused) from 0
a: gw.all_reduce@a [4 6] = unpack(gu.all_reduce@a.fused) from 24
b: gu.all_reduce@b.pack [48] = pack(gu@b, gw@b)
b: gu.all_reduce@b.fused [48] = all_reduce#0(gu.all_reduce@b.pack)
b: gu.all_reduce@b [4 6] = unpack(gu.all_reduce@b.fused) from 0
b: gw.all_reduce@b [4 6] = unpack(gu.all_reduce@b.fused) from 24
a: w1@a [4 6] = sub_(w@a, gw.all_reduce@a)
b: w1@b [4 6] = sub_(w@b, gw.all_reduce@b)
b: gv.all_reduce@b [4 6] = all_reduce#1(gv@b) after gw@b
c: gv.all_reduce@c [4 6] = all_reduce#1(gv@c)
b: v1@b [4 6] = sub_(v@b, gv.all_reduce@b)
c: v1@c [4 6] = sub_(v@c, gv.all_reduce@c)
a: u1@a [4 6] = sub_(u@a, gu.all_reduce@a)
b: u1@b [4 6] = sub_(u@b, gu.all_reduce@b)
-> u1@a u1@b v1@b v1@c w1@a w1@b
)");
}

// A sum joins the bucket of its type, not the one before it alone.
TEST(StepPasses, FuseAllTogetherByType) {
  std::vector<GradientSum> sums;
  for (int32_t i = 0; i < 4; ++i) {
    GradientSum one{
        CollectiveId(i),           i, 10 + i, Bytes(100), i % 2 == 0 ? DType::kF32 : DType::kF16,
        {DeviceId(0), DeviceId(1)}};
    sums.push_back(one);
  }
  EXPECT_TRUE(FormBuckets(sums, Bytes(kAllTogether.count - 1)).empty());
  const std::vector<SumBucket> buckets = FormBuckets(sums, kAllTogether);
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[0].sums[1].id, CollectiveId(2));
  EXPECT_EQ(buckets[1].sums[1].id, CollectiveId(3));
  EXPECT_EQ(buckets[1].at, 11);
}

// relu writes what was summed in place, which is then a part of a buffer.
TEST(StepPasses, FuseSumsThatAreWritten) {
  const TestStep step(R"(
    input x batch:8 in:4
    input g batch out:6
    param u in out
    param v in out
    backward:
    t = t x
    gu = mm t g
    optimizer:
    gv = mm t g
    gv1 = relu_ gv
    u1 = sub_ u gu
    v1 = sub_ v gv1
    -> u1 v1)");
  EXPECT_EQ(InBothForms(step, "*: batch a:3 b:5", Passes(true, 1000)), R"(
a: t@a [4 3] = t(x[0:0-3])
b: t@b [4 5] = t(x[0:3-8])
a: gu@a [4 6] = mm(t@a, g[0:0-3])
b: gu@b [4 6] = mm(t@b, g[0:3-8])
a: gv@a [4 6] = mm(t@a, g[0:0-3])
b: gv@b [4 6] = mm(t@b, g[0:3-8])
a: gu.all_reduce@a.pack [48] = pack(gu@a, gv@a)
a: gu.all_reduce@a.fused [48] = all_reduce#0(gu.all_reduce@a.pack)
a: gu.all_reduce@a [4 6] = unpack(gu.all_reduce@a.fused) from 0
a: gv.all_reduce@a [4 6] = unpack(gu.all_reduce@a.fused) from 24
b: gu.all_reduce@b.pack [48] = pack(gu@b, gv@b)
b: gu.all_reduce@b.fused [48] = all_reduce#0(gu.all_reduce@b.pack)
b: gu.all_reduce@b [4 6] = unpack(gu.all_reduce@b.fused) from 0
b: gv.all_reduce@b [4 6] = unpack(gu.all_reduce@b.fused) from 24
a: gv1@a [4 6] = relu_(gv.all_reduce@a)
b: gv1@b [4 6] = relu_(gv.all_reduce@b)
a: u1@a [4 6] = sub_(u@a, gu.all_reduce@a)
b: u1@b [4 6] = sub_(u@b, gu.all_reduce@b)
a: v1@a [4 6] = sub_(v@a, gv1@a)
b: v1@b [4 6] = sub_(v@b, gv1@b)
-> u1@a u1@b v1@a v1@b
)");
}

// Of g [4 6 3 3] and x [4 2 5 5]: the gradients of x, which is used on, of the weight and of the bias.
const TestStep& ConvolutionBack() {
  static const TestStep* const step = new TestStep(R"(
    input x batch:4 in:2 row:5 column:5
    input g batch out:6 up:3 left:3
    param w out in down:3 right:3
    param b out
    backward:
    back: gx gw gb = conv_back g x w
    z = relu gx
    optimizer:
    w1 = sub_ w gw
    b1 = sub_ b gb
    -> z w1 b1)");
  return *step;
}

// Split by samples, the gradients of weight and bias leave for their sums: they are made first, and what stays comes
// behind. Split by output channels, the gradient of the input is the sum.
TEST(StepPasses, SeparateWhatLeavesFromWhatStays) {
  EXPECT_EQ(InBothForms(ConvolutionBack(), "*: batch a:1 b:3", Passes(true, 0)), R"(
a: back.weight@a:1 [6 2 3 3], back.weight@a:2 [6] = convolution_backward(g[0:0-1], x[0:0-1], w@a)
a: back.input@a:0 [1 2 5 5] = convolution_backward(g[0:0-1], x[0:0-1], w@a) after back.weight@a
b: back.weight@b:1 [6 2 3 3], back.weight@b:2 [6] = convolution_backward(g[0:1-4], x[0:1-4], w@b)
b: back.input@b:0 [3 2 5 5] = convolution_backward(g[0:1-4], x[0:1-4], w@b) after back.weight@b
a: z@a [1 2 5 5] = relu(back.input@a:0)
b: z@b [3 2 5 5] = relu(back.input@b:0)
a: back.all_reduce@a [6 2 3 3] = all_reduce#0(back.weight@a:1)
b: back.all_reduce@b [6 2 3 3] = all_reduce#0(back.weight@b:1)
a: w1@a [6 2 3 3] = sub_(w@a, back.all_reduce@a)
b: w1@b [6 2 3 3] = sub_(w@b, back.all_reduce@b)
a: back.all_reduce@a#1 [6] = all_reduce#1(back.weight@a:2)
b: back.all_reduce@b#1 [6] = all_reduce#1(back.weight@b:2)
a: b1@a [6] = sub_(b@a, back.all_reduce@a#1)
b: b1@b [6] = sub_(b@b, back.all_reduce@b#1)
-> z@a z@b w1@a w1@b b1@a b1@b
)");
  EXPECT_EQ(InBothForms(ConvolutionBack(), "*: out a:2 b:4", Passes(true, 0)), R"(
a: back.input@a:0 [4 2 5 5] = convolution_backward(g[1:0-2], x, w@a)
a: back.weight@a:1 [2 2 3 3], back.weight@a:2 [2] = convolution_backward(g[1:0-2], x, w@a) after back.input@a
b: back.input@b:0 [4 2 5 5] = convolution_backward(g[1:2-6], x@b, w@b)
b: back.weight@b:1 [4 2 3 3], back.weight@b:2 [4] = convolution_backward(g[1:2-6], x@b, w@b) after back.input@b
a: back.all_reduce@a [4 2 5 5] = all_reduce#0(back.input@a:0)
b: back.all_reduce@b [4 2 5 5] = all_reduce#0(back.input@b:0)
a: z@a [4 2 5 5] = relu(back.all_reduce@a)
b: z@b [4 2 5 5] = relu(back.all_reduce@b)
a: w1@a [2 2 3 3] = sub_(w@a, back.weight@a:1)
b: w1@b [4 2 3 3] = sub_(w@b, back.weight@b:1)
a: b1@a [2] = sub_(b@a, back.weight@a:2)
b: b1@b [4] = sub_(b@b, back.weight@b:2)
-> z@a z@b w1@a w1@b b1@a b1@b
)");
}

// One device, or all on each; both gradients leave; or all of both is wanted elsewhere.
TEST(StepPasses, SeparateNothingElse) {
  for (const std::string layouts :
       {"*: a", "*: a b", "*: batch a:1 b:3; z: batch b:1 a:3", "*: batch a:1 b:3; z: c"}) {
    EXPECT_EQ(InBothForms(ConvolutionBack(), layouts, Passes(true, 0)),
              InBothForms(ConvolutionBack(), layouts, Passes(false, 0)))
        << layouts;
  }
}

// What leaves becomes one buffer: 6 * 2 * 3 * 3 = 108 elements of the weight, and 6 of the bias behind them.
TEST(StepPasses, FuseWhatWasSeparated) {
  EXPECT_EQ(InBothForms(ConvolutionBack(), "*: batch a:1 b:3", Passes(true, 1000)), R"(
a: back.weight@a:1 [6 2 3 3], back.weight@a:2 [6] = convolution_backward(g[0:0-1], x[0:0-1], w@a)
a: back.input@a:0 [1 2 5 5] = convolution_backward(g[0:0-1], x[0:0-1], w@a) after back.weight@a
b: back.weight@b:1 [6 2 3 3], back.weight@b:2 [6] = convolution_backward(g[0:1-4], x[0:1-4], w@b)
b: back.input@b:0 [3 2 5 5] = convolution_backward(g[0:1-4], x[0:1-4], w@b) after back.weight@b
a: z@a [1 2 5 5] = relu(back.input@a:0)
b: z@b [3 2 5 5] = relu(back.input@b:0)
a: back.all_reduce@a.pack [114] = pack(back.weight@a:1, back.weight@a:2)
a: back.all_reduce@a.fused [114] = all_reduce#0(back.all_reduce@a.pack)
a: back.all_reduce@a [6 2 3 3] = unpack(back.all_reduce@a.fused) from 0
a: back.all_reduce@a#1 [6] = unpack(back.all_reduce@a.fused) from 108
b: back.all_reduce@b.pack [114] = pack(back.weight@b:1, back.weight@b:2)
b: back.all_reduce@b.fused [114] = all_reduce#0(back.all_reduce@b.pack)
b: back.all_reduce@b [6 2 3 3] = unpack(back.all_reduce@b.fused) from 0
b: back.all_reduce@b#1 [6] = unpack(back.all_reduce@b.fused) from 108
a: w1@a [6 2 3 3] = sub_(w@a, back.all_reduce@a)
b: w1@b [6 2 3 3] = sub_(w@b, back.all_reduce@b)
a: b1@a [6] = sub_(b@a, back.all_reduce@a#1)
b: b1@b [6] = sub_(b@b, back.all_reduce@b#1)
-> z@a z@b w1@a w1@b b1@a b1@b
)");
}

}  // namespace
}  // namespace placewright
