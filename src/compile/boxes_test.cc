// Layouts of several axes: what devices have, and which of them exchange what.
#include <gtest/gtest.h>

#include "compile/test_step_forms.h"
#include "compile/test_steps.h"

namespace placewright {
namespace {

// Two products with a sum between them, as in a perceptron whose inner width is split: y is split by samples and width,
// z a sum over the width.
const TestStep& Products() {
  static const TestStep* const step = new TestStep(R"(
    input x batch:8 in:4
    input v in width:6
    input w width out:4
    y = mm x v
    z = mm y w
    r = relu z
    -> r)");
  return *step;
}

// Of a parameter: w follows g, a sum over the samples.
const TestStep& Update() {
  static const TestStep* const step = new TestStep(R"(
    input x batch:8 in:4
    input e batch out:6
    param w in out
    xt = t x
    g = mm xt e
    n = add_ w g
    -> n)");
  return *step;
}

// Sums over the width by those that have the same samples.
TEST(Boxes, AreSummedBySubGroups) {
  EXPECT_EQ(Products().Compiled("*: batch width a:0-4,0-3 b:0-4,3-6 c:4-8,0-3 d:4-8,3-6"), R"(
a: y@a [4 3] = mm(x[0:0-4], v[1:0-3])
b: y@b [4 3] = mm(x[0:0-4]#1, v[1:3-6])
c: y@c [4 3] = mm(x[0:4-8], v[1:0-3]#1)
d: y@d [4 3] = mm(x[0:4-8]#1, v[1:3-6]#1)
a: z@a [4 4] = mm(y@a, w[0:0-3])
b: z@b [4 4] = mm(y@b, w[0:3-6])
c: z@c [4 4] = mm(y@c, w[0:0-3]#1)
d: z@d [4 4] = mm(y@d, w[0:3-6]#1)
a: z.all_reduce@a [4 4] = all_reduce#0(z@a)
b: z.all_reduce@b [4 4] = all_reduce#0(z@b)
c: z.all_reduce@c [4 4] = all_reduce#1(z@c)
d: z.all_reduce@d [4 4] = all_reduce#1(z@d)
a: r@a [4 4] = relu(z.all_reduce@a)
b: r@b [4 4] = relu(z.all_reduce@b)
c: r@c [4 4] = relu(z.all_reduce@c)
d: r@d [4 4] = relu(z.all_reduce@d)
-> r@a r@b r@c r@d
)");
}

// Half of the devices have the samples of the other half as well: each sum is made twice.
TEST(Boxes, ThatAreEqualAreReplicas) {
  EXPECT_EQ(Update().Compiled("*: batch a:0-4 b:4-8 c:0-4 d:4-8"), R"(
a: xt@a [4 4] = t(x[0:0-4])
b: xt@b [4 4] = t(x[0:4-8])
c: xt@c [4 4] = t(x[0:0-4]#1)
d: xt@d [4 4] = t(x[0:4-8]#1)
a: g@a [4 6] = mm(xt@a, e[0:0-4])
b: g@b [4 6] = mm(xt@b, e[0:4-8])
c: g@c [4 6] = mm(xt@c, e[0:0-4]#1)
d: g@d [4 6] = mm(xt@d, e[0:4-8]#1)
a: g.all_reduce@a [4 6] = all_reduce#0(g@a)
b: g.all_reduce@b [4 6] = all_reduce#0(g@b)
c: g.all_reduce@c [4 6] = all_reduce#1(g@c)
d: g.all_reduce@d [4 6] = all_reduce#1(g@d)
a: n@a [4 6] = add_(w@a, g.all_reduce@a)
b: n@b [4 6] = add_(w@b, g.all_reduce@b)
c: n@c [4 6] = add_(w@c, g.all_reduce@c)
d: n@d [4 6] = add_(w@d, g.all_reduce@d)
-> n@a n@b n@c n@d
)");
}

// One device has all of the width for its samples, two others have it in parts: of their sum both count, or the one.
TEST(Boxes, MayBeUneven) {
  EXPECT_EQ(Products().Compiled("*: batch width a:0-3,0-6 b:3-8,0-2 c:3-8,2-6"), R"(
a: y@a [3 6] = mm(x[0:0-3], v)
b: y@b [5 2] = mm(x[0:3-8], v[1:0-2])
c: y@c [5 4] = mm(x[0:3-8]#1, v[1:2-6])
a: z@a [3 4] = mm(y@a, w)
b: z@b [5 4] = mm(y@b, w[0:0-2])
c: z@c [5 4] = mm(y@c, w[0:2-6])
b: z.all_reduce@b [5 4] = all_reduce#0(z@b)
c: z.all_reduce@c [5 4] = all_reduce#0(z@c)
a: r@a [3 4] = relu(z@a)
b: r@b [5 4] = relu(z.all_reduce@b)
c: r@c [5 4] = relu(z.all_reduce@c)
-> r@a r@b r@c
)");
}

// Shards within pairs, whose sums are added up across them.
TEST(Boxes, AreScatteredWithinGroupsAndAddedUpAcross) {
  EXPECT_EQ(Update().Compiled("*: batch a:2 b:2 c:2 d:2; n: out a:0-3 b:3-6 c:0-3 d:3-6"), R"(
a: xt@a [4 2] = t(x[0:0-2])
b: xt@b [4 2] = t(x[0:2-4])
c: xt@c [4 2] = t(x[0:4-6])
d: xt@d [4 2] = t(x[0:6-8])
a: g@a [4 6] = mm(xt@a, e[0:0-2])
b: g@b [4 6] = mm(xt@b, e[0:2-4])
c: g@c [4 6] = mm(xt@c, e[0:4-6])
d: g@d [4 6] = mm(xt@d, e[0:6-8])
a: g.reduce_scatter@a [4 3] = reduce_scatter#0(g@a)[1:0-3/6]
b: g.reduce_scatter@b [4 3] = reduce_scatter#0(g@b)[1:3-6/6]
c: g.reduce_scatter@c [4 3] = reduce_scatter#1(g@c)[1:0-3/6]
d: g.reduce_scatter@d [4 3] = reduce_scatter#1(g@d)[1:3-6/6]
a: g.reduce_scatter.all_reduce@a [4 3] = all_reduce#2(g.reduce_scatter@a)
c: g.reduce_scatter.all_reduce@c [4 3] = all_reduce#2(g.reduce_scatter@c)
b: g.reduce_scatter.all_reduce@b [4 3] = all_reduce#3(g.reduce_scatter@b)
d: g.reduce_scatter.all_reduce@d [4 3] = all_reduce#3(g.reduce_scatter@d)
a: n@a [4 3] = add_(w@a, g.reduce_scatter.all_reduce@a)
b: n@b [4 3] = add_(w@b, g.reduce_scatter.all_reduce@b)
c: n@c [4 3] = add_(w@c, g.reduce_scatter.all_reduce@c)
d: n@d [4 3] = add_(w@d, g.reduce_scatter.all_reduce@d)
-> n@a n@b n@c n@d
)");
}

// What is gathered is what a device needs of it, not all.
TEST(Boxes, AreGatheredAlongOneAxis) {
  EXPECT_EQ(Products().Compiled("y: batch width a:0-4,0-3 b:0-4,3-6 c:4-8,0-3 d:4-8,3-6; "
                                "z r: batch a:0-4 b:0-4 c:4-8 d:4-8"),
            R"(
a: y@a [4 3] = mm(x[0:0-4], v[1:0-3])
b: y@b [4 3] = mm(x[0:0-4]#1, v[1:3-6])
c: y@c [4 3] = mm(x[0:4-8], v[1:0-3]#1)
d: y@d [4 3] = mm(x[0:4-8]#1, v[1:3-6]#1)
a: y.all_gather@a [4 6] = all_gather#0(y@a)[1:0-3/6]
b: y.all_gather@b [4 6] = all_gather#0(y@b)[1:3-6/6]
c: y.all_gather@c [4 6] = all_gather#1(y@c)[1:0-3/6]
d: y.all_gather@d [4 6] = all_gather#1(y@d)[1:3-6/6]
a: z@a [4 4] = mm(y.all_gather@a, w)
b: z@b [4 4] = mm(y.all_gather@b, w@b)
c: z@c [4 4] = mm(y.all_gather@c, w@c)
d: z@d [4 4] = mm(y.all_gather@d, w@d)
a: r@a [4 4] = relu(z@a)
b: r@b [4 4] = relu(z@b)
c: r@c [4 4] = relu(z@c)
d: r@d [4 4] = relu(z@d)
-> r@a r@b r@c r@d
)");
}

// From the width to the batch within each half of the samples; c and d are replicas of a and b in the other axis.
TEST(Boxes, MoveFromOneAxisToAnotherInSubGroups) {
  EXPECT_EQ(Products().Compiled("y: batch width a:0-4,0-3 b:0-4,3-6 c:4-8,0-3 d:4-8,3-6; "
                                "z r: batch a:0-1 b:1-4 c:4-6 d:6-8"),
            R"(
a: y@a [4 3] = mm(x[0:0-4], v[1:0-3])
b: y@b [4 3] = mm(x[0:0-4]#1, v[1:3-6])
c: y@c [4 3] = mm(x[0:4-8], v[1:0-3]#1)
d: y@d [4 3] = mm(x[0:4-8]#1, v[1:3-6]#1)
a: y.all_to_all@a [1 6] = all_to_all#0(y@a)[0:0-1/4] of [1:0-3/6]
b: y.all_to_all@b [3 6] = all_to_all#0(y@b)[0:1-4/4] of [1:3-6/6]
c: y.all_to_all@c [2 6] = all_to_all#1(y@c)[0:0-2/4] of [1:0-3/6]
d: y.all_to_all@d [2 6] = all_to_all#1(y@d)[0:2-4/4] of [1:3-6/6]
a: z@a [1 4] = mm(y.all_to_all@a, w)
b: z@b [3 4] = mm(y.all_to_all@b, w@b)
c: z@c [2 4] = mm(y.all_to_all@c, w@c)
d: z@d [2 4] = mm(y.all_to_all@d, w@d)
a: r@a [1 4] = relu(z@a)
b: r@b [3 4] = relu(z@b)
c: r@c [2 4] = relu(z@c)
d: r@d [2 4] = relu(z@d)
-> r@a r@b r@c r@d
)");
}

// Of replicas each is in a group of its own.
TEST(Boxes, OfReplicasMoveApart) {
  EXPECT_EQ(
      Products().Compiled("y: width a:0-2 b:2-6 c:0-2 d:2-6; z r: batch a:0-5 b:5-8 c:0-5 d:5-8"),
      R"(
a: y@a [8 2] = mm(x, v[1:0-2])
b: y@b [8 4] = mm(x@b, v[1:2-6])
c: y@c [8 2] = mm(x@c, v[1:0-2]#1)
d: y@d [8 4] = mm(x@d, v[1:2-6]#1)
a: y.all_to_all@a [5 6] = all_to_all#0(y@a)[0:0-5/8] of [1:0-2/6]
b: y.all_to_all@b [3 6] = all_to_all#0(y@b)[0:5-8/8] of [1:2-6/6]
c: y.all_to_all@c [5 6] = all_to_all#1(y@c)[0:0-5/8] of [1:0-2/6]
d: y.all_to_all@d [3 6] = all_to_all#1(y@d)[0:5-8/8] of [1:2-6/6]
a: z@a [5 4] = mm(y.all_to_all@a, w)
b: z@b [3 4] = mm(y.all_to_all@b, w@b)
c: z@c [5 4] = mm(y.all_to_all@c, w@c)
d: z@d [3 4] = mm(y.all_to_all@d, w@d)
a: r@a [5 4] = relu(z@a)
b: r@b [3 4] = relu(z@b)
c: r@c [5 4] = relu(z@c)
d: r@d [3 4] = relu(z@d)
-> r@a r@b r@c r@d
)");
}

TEST(Boxes, GiveTheSameStepAsArrays) {
  const TestStep& step = Update();
  BothForms forms(step);
  for (const char* const layouts : {"*: batch a:0-4 b:4-8 c:0-4 d:4-8",
                                    "*: batch a:2 b:2 c:2 d:2; n: out a:0-3 b:3-6 c:0-3 d:3-6",
                                    "*: batch out a:0-4,0-3 b:0-4,3-6 c:4-8,0-2 d:4-8,2-6"}) {
    for (const bool apart : {false, true}) {
      (void)forms.ExpectSame(step.LayoutsOf(layouts), Passes(apart, 0));
      (void)forms.ExpectSame(step.LayoutsOf(layouts), Passes(apart, 1 << 20));
    }
  }
}

}  // namespace
}  // namespace placewright
