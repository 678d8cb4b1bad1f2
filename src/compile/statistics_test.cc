// Norms, extrema and layer norms in parts of what they are over: what devices compute, and what crosses between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/test_step_forms.h"
#include "compile/test_steps.h"

namespace placewright {
namespace {

std::string StatisticsInForms(const TestStep& step, std::string_view layouts) {
  BothForms forms(step, {});
  (void)forms.ExpectSame(step.LayoutsOf(layouts), {});
  return step.Compiled(layouts);
}

// One number crosses, where the gradient would.
TEST(StatisticsInParts, OfANormCrossInOneNumber) {
  static const TestStep* const step = new TestStep(R"(
    input g rows:5 columns:4
    n = norm g
    -> n)");
  EXPECT_EQ(StatisticsInForms(*step, "*: rows a:3 b:2"), R"(
a: n.linalg_vector_norm@a [] = linalg_vector_norm(g[0:0-3])
b: n.linalg_vector_norm@b [] = linalg_vector_norm(g[0:3-5])
a: n.mul@a [] = mul(n.linalg_vector_norm@a, n.linalg_vector_norm@a)
b: n.mul@b [] = mul(n.linalg_vector_norm@b, n.linalg_vector_norm@b)
a: n.mul.all_reduce@a [] = all_reduce#0(n.mul@a)
b: n.mul.all_reduce@b [] = all_reduce#0(n.mul@b)
a: n.sqrt@a [] = sqrt(n.mul.all_reduce@a)
b: n.sqrt@b [] = sqrt(n.mul.all_reduce@b)
-> n.sqrt@a n.sqrt@b
)");
}

TEST(StatisticsInParts, OfExtremaAreGathered) {
  static const TestStep* const step = new TestStep(R"(
    input x rows:4 columns:6
    m = amax x
    -> m)");
  EXPECT_EQ(StatisticsInForms(*step, "*: columns a:4 b:2"), R"(
a: m.amax@a [4 1] = amax(x[1:0-4])
b: m.amax@b [4 1] = amax(x[1:4-6])
a: m.amax.all_gather@a [4 2] = all_gather#0(m.amax@a)[1:0-1/2]
b: m.amax.all_gather@b [4 2] = all_gather#0(m.amax@b)[1:1-2/2]
a: m.amax@a#1 [4] = amax(m.amax.all_gather@a)
b: m.amax@b#1 [4] = amax(m.amax.all_gather@b)
-> m.amax@a#1 m.amax@b#1
)");
}

// Two sums one after the other forward, two backward, of a number for each row. Of a GPU that has all columns of its rows
// none; gradients of the weight are sums over the rows.
TEST(StatisticsInParts, OfALayerNorm) {
  static const TestStep* const step = new TestStep(R"(
    input x rows:4 columns:6
    param w columns
    param b columns
    ln: y m r = layer_norm x w b
    backward:
    back: e v u = layer_norm_back y x m r w b
    -> e v u)");
  EXPECT_EQ(StatisticsInForms(*step, "*: columns a:4 b:2"), R"(
a: ln.sum@a [4 1] = sum(x[1:0-4])
b: ln.sum@b [4 1] = sum(x[1:4-6])
a: ln.sum.all_reduce@a [4 1] = all_reduce#0(ln.sum@a)
b: ln.sum.all_reduce@b [4 1] = all_reduce#0(ln.sum@b)
a: ln.div@a [4 1] = div(ln.sum.all_reduce@a)
b: ln.div@b [4 1] = div(ln.sum.all_reduce@b)
a: ln.sub@a [4 4] = sub(x[1:0-4], ln.div@a)
b: ln.sub@b [4 2] = sub(x[1:4-6], ln.div@b)
a: ln.mul@a [4 4] = mul(ln.sub@a, ln.sub@a)
b: ln.mul@b [4 2] = mul(ln.sub@b, ln.sub@b)
a: ln.sum@a#1 [4 1] = sum(ln.mul@a)
b: ln.sum@b#1 [4 1] = sum(ln.mul@b)
a: ln.sum.all_reduce@a#1 [4 1] = all_reduce#1(ln.sum@a#1)
b: ln.sum.all_reduce@b#1 [4 1] = all_reduce#1(ln.sum@b#1)
a: ln.div@a#1 [4 1] = div(ln.sum.all_reduce@a#1)
b: ln.div@b#1 [4 1] = div(ln.sum.all_reduce@b#1)
a: ln.add@a [4 1] = add(ln.div@a#1)
b: ln.add@b [4 1] = add(ln.div@b#1)
a: ln.rsqrt@a [4 1] = rsqrt(ln.add@a)
b: ln.rsqrt@b [4 1] = rsqrt(ln.add@b)
a: ln.mul@a#1 [4 4] = mul(ln.sub@a, ln.rsqrt@a)
b: ln.mul@b#1 [4 2] = mul(ln.sub@b, ln.rsqrt@b)
a: ln.mul@a#2 [4 4] = mul(ln.mul@a#1, w@a)
b: ln.mul@b#2 [4 2] = mul(ln.mul@b#1, w@b)
a: ln.add@a#1 [4 4] = add(ln.mul@a#2, b@a)
b: ln.add@b#1 [4 2] = add(ln.mul@b#2, b@b)
a: back.sub@a [4 4] = sub(x[1:0-4], ln.div@a)
b: back.sub@b [4 2] = sub(x[1:4-6], ln.div@b)
a: back.mul@a [4 4] = mul(back.sub@a, ln.rsqrt@a)
b: back.mul@b [4 2] = mul(back.sub@b, ln.rsqrt@b)
a: back.mul@a#1 [4 4] = mul(ln.add@a#1, w@a)
b: back.mul@b#1 [4 2] = mul(ln.add@b#1, w@b)
a: back.sum@a [4 1] = sum(back.mul@a#1)
b: back.sum@b [4 1] = sum(back.mul@b#1)
a: back.sum.all_reduce@a [4 1] = all_reduce#2(back.sum@a)
b: back.sum.all_reduce@b [4 1] = all_reduce#2(back.sum@b)
a: back.div@a [4 1] = div(back.sum.all_reduce@a)
b: back.div@b [4 1] = div(back.sum.all_reduce@b)
a: back.sub@a#1 [4 4] = sub(back.mul@a#1, back.div@a)
b: back.sub@b#1 [4 2] = sub(back.mul@b#1, back.div@b)
a: back.mul@a#2 [4 4] = mul(back.mul@a#1, back.mul@a)
b: back.mul@b#2 [4 2] = mul(back.mul@b#1, back.mul@b)
a: back.sum@a#1 [4 1] = sum(back.mul@a#2)
b: back.sum@b#1 [4 1] = sum(back.mul@b#2)
a: back.sum.all_reduce@a#1 [4 1] = all_reduce#3(back.sum@a#1)
b: back.sum.all_reduce@b#1 [4 1] = all_reduce#3(back.sum@b#1)
a: back.div@a#1 [4 1] = div(back.sum.all_reduce@a#1)
b: back.div@b#1 [4 1] = div(back.sum.all_reduce@b#1)
a: back.mul@a#3 [4 4] = mul(back.mul@a, back.div@a#1)
b: back.mul@b#3 [4 2] = mul(back.mul@b, back.div@b#1)
a: back.sub@a#2 [4 4] = sub(back.sub@a#1, back.mul@a#3)
b: back.sub@b#2 [4 2] = sub(back.sub@b#1, back.mul@b#3)
a: back.mul@a#4 [4 4] = mul(back.sub@a#2, ln.rsqrt@a)
b: back.mul@b#4 [4 2] = mul(back.sub@b#2, ln.rsqrt@b)
a: back.mul@a#5 [4 4] = mul(ln.add@a#1, back.mul@a)
b: back.mul@b#5 [4 2] = mul(ln.add@b#1, back.mul@b)
a: back.sum@a#2 [4] = sum(back.mul@a#5)
b: back.sum@b#2 [2] = sum(back.mul@b#5)
a: back.sum@a#3 [4] = sum(ln.add@a#1)
b: back.sum@b#3 [2] = sum(ln.add@b#1)
-> back.mul@a#4 back.mul@b#4 back.sum@a#2 back.sum@b#2 back.sum@a#3 back.sum@b#3
)");
  // Those with the same rows have statistics together, and gradients of the weight are sums over both sets of rows.
  const std::string mesh =
      StatisticsInForms(*step, "*: rows columns a:0-2,0-3 b:0-2,3-6 c:2-4,0-3 d:2-4,3-6");
  for (const char* const line :
       {"\nb: ln.sum.all_reduce@b [2 1] = all_reduce#0(ln.sum@b)\n",
        "\nd: ln.sum.all_reduce@d [2 1] = all_reduce#2(ln.sum@d)\n",
        "\na: back.sum.add_n@a [3] = add_n(back.sum@a#2, back.sum@c#2)\n",
        "\na: back.sum.add_n@a#1 [3] = add_n(back.sum@b#2, back.sum@d#2)\n"}) {
    EXPECT_THAT(mesh, ::testing::HasSubstr(line));
  }
}

}  // namespace
}  // namespace placewright
