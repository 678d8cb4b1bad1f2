// Softmaxes and losses in parts of their classes: what devices compute, and what crosses between.
#include <gtest/gtest.h>

#include "compile/test_step_forms.h"
#include "compile/test_steps.h"

namespace placewright {
namespace {

// The loss of classes and its gradient, as frameworks record cross-entropy.
const TestStep& CrossEntropy() {
  static const TestStep* const step = new TestStep(R"(
    input x batch:4 classes:6
    input t batch
    y = log_softmax x
    l w = nll_loss y t
    backward:
    g = ones
    d = nll_loss_back g y t w
    e = log_softmax_back d y
    -> l e)");
  return *step;
}

std::string CompiledInForms(const TestStep& step, std::string_view layouts) {
  BothForms forms(step, {});
  (void)forms.ExpectSame(step.LayoutsOf(layouts), {});
  return step.Compiled(layouts);
}

// Nothing of the size of x crosses: one number a sample and device forward, one backward, and the loss with its weight.
TEST(SoftmaxInParts, OfALossCrossesInNumbersOfRows) {
  EXPECT_EQ(CompiledInForms(CrossEntropy(), "*: classes a:4 b:2"), R"(
a: y.logsumexp@a [4 1] = logsumexp(x[1:0-4])
b: y.logsumexp@b [4 1] = logsumexp(x[1:4-6])
a: y.logsumexp.all_gather@a [4 2] = all_gather#0(y.logsumexp@a)[1:0-1/2]
b: y.logsumexp.all_gather@b [4 2] = all_gather#0(y.logsumexp@b)[1:1-2/2]
a: y.logsumexp@a#1 [4 1] = logsumexp(y.logsumexp.all_gather@a)
a: y.sub@a [4 4] = sub(x[1:0-4], y.logsumexp@a#1)
b: y.logsumexp@b#1 [4 1] = logsumexp(y.logsumexp.all_gather@b)
b: y.sub@b [4 2] = sub(x[1:4-6], y.logsumexp@b#1)
a: l@a:0 [], l@a:1 [] = nll_loss_part(y.sub@a, t)
b: l@b:0 [], l@b:1 [] = nll_loss_part(y.sub@b, t@b)
a: l.all_reduce@a [] = all_reduce#1(l@a:1)
b: l.all_reduce@b [] = all_reduce#1(l@b:1)
a: l.div@a [] = div(l@a:0, l.all_reduce@a)
b: l.div@b [] = div(l@b:0, l.all_reduce@b)
a: g@a [] = ones()
b: g@b [] = ones()
a: d@a [4 4] = nll_loss_backward_part(g@a, y.sub@a, t, l.all_reduce@a)
b: d@b [4 2] = nll_loss_backward_part(g@b, y.sub@b, t@b, l.all_reduce@b)
a: e.sum@a [4 1] = sum(d@a)
b: e.sum@b [4 1] = sum(d@b)
a: e.sum.all_reduce@a [4 1] = all_reduce#2(e.sum@a)
b: e.sum.all_reduce@b [4 1] = all_reduce#2(e.sum@b)
a: e.exp@a [4 4] = exp(y.sub@a)
a: e.addcmul@a [4 4] = addcmul(d@a, e.exp@a, e.sum.all_reduce@a)
b: e.exp@b [4 2] = exp(y.sub@b)
b: e.addcmul@b [4 2] = addcmul(d@b, e.exp@b, e.sum.all_reduce@b)
a: l.div.add_n@a [] = add_n(l.div@a, l.div@b)
-> l.div.add_n@a e.addcmul@a e.addcmul@b
)");
}

// Logarithms of sums are those of the devices with the same samples, the loss is a sum over all.
TEST(SoftmaxInParts, IsSummedByThoseWithTheSameSamples) {
  EXPECT_EQ(
      CompiledInForms(CrossEntropy(), "*: batch classes a:0-2,0-3 b:0-2,3-6 c:2-4,0-3 d:2-4,3-6"),
      R"(
a: y.logsumexp@a [2 1] = logsumexp(x[0:0-2][1:0-3])
b: y.logsumexp@b [2 1] = logsumexp(x[0:0-2][1:3-6])
a: y.logsumexp.all_gather@a [2 2] = all_gather#0(y.logsumexp@a)[1:0-1/2]
b: y.logsumexp.all_gather@b [2 2] = all_gather#0(y.logsumexp@b)[1:1-2/2]
a: y.logsumexp@a#1 [2 1] = logsumexp(y.logsumexp.all_gather@a)
a: y.sub@a [2 3] = sub(x[0:0-2][1:0-3], y.logsumexp@a#1)
b: y.logsumexp@b#1 [2 1] = logsumexp(y.logsumexp.all_gather@b)
b: y.sub@b [2 3] = sub(x[0:0-2][1:3-6], y.logsumexp@b#1)
c: y.logsumexp@c [2 1] = logsumexp(x[0:2-4][1:0-3])
d: y.logsumexp@d [2 1] = logsumexp(x[0:2-4][1:3-6])
c: y.logsumexp.all_gather@c [2 2] = all_gather#1(y.logsumexp@c)[1:0-1/2]
d: y.logsumexp.all_gather@d [2 2] = all_gather#1(y.logsumexp@d)[1:1-2/2]
c: y.logsumexp@c#1 [2 1] = logsumexp(y.logsumexp.all_gather@c)
c: y.sub@c [2 3] = sub(x[0:2-4][1:0-3], y.logsumexp@c#1)
d: y.logsumexp@d#1 [2 1] = logsumexp(y.logsumexp.all_gather@d)
d: y.sub@d [2 3] = sub(x[0:2-4][1:3-6], y.logsumexp@d#1)
a: l@a:0 [], l@a:1 [] = nll_loss_part(y.sub@a, t[0:0-2])
b: l@b:0 [], l@b:1 [] = nll_loss_part(y.sub@b, t[0:0-2]#1)
c: l@c:0 [], l@c:1 [] = nll_loss_part(y.sub@c, t[0:2-4])
d: l@d:0 [], l@d:1 [] = nll_loss_part(y.sub@d, t[0:2-4]#1)
a: l.all_reduce@a [] = all_reduce#2(l@a:1)
b: l.all_reduce@b [] = all_reduce#2(l@b:1)
c: l.all_reduce@c [] = all_reduce#2(l@c:1)
d: l.all_reduce@d [] = all_reduce#2(l@d:1)
a: l.div@a [] = div(l@a:0, l.all_reduce@a)
b: l.div@b [] = div(l@b:0, l.all_reduce@b)
c: l.div@c [] = div(l@c:0, l.all_reduce@c)
d: l.div@d [] = div(l@d:0, l.all_reduce@d)
a: g@a [] = ones()
b: g@b [] = ones()
c: g@c [] = ones()
d: g@d [] = ones()
a: d@a [2 3] = nll_loss_backward_part(g@a, y.sub@a, t[0:0-2], l.all_reduce@a)
b: d@b [2 3] = nll_loss_backward_part(g@b, y.sub@b, t[0:0-2]#1, l.all_reduce@b)
c: d@c [2 3] = nll_loss_backward_part(g@c, y.sub@c, t[0:2-4], l.all_reduce@c)
d: d@d [2 3] = nll_loss_backward_part(g@d, y.sub@d, t[0:2-4]#1, l.all_reduce@d)
a: e.sum@a [2 1] = sum(d@a)
b: e.sum@b [2 1] = sum(d@b)
a: e.sum.all_reduce@a [2 1] = all_reduce#3(e.sum@a)
b: e.sum.all_reduce@b [2 1] = all_reduce#3(e.sum@b)
a: e.exp@a [2 3] = exp(y.sub@a)
a: e.addcmul@a [2 3] = addcmul(d@a, e.exp@a, e.sum.all_reduce@a)
b: e.exp@b [2 3] = exp(y.sub@b)
b: e.addcmul@b [2 3] = addcmul(d@b, e.exp@b, e.sum.all_reduce@b)
c: e.sum@c [2 1] = sum(d@c)
d: e.sum@d [2 1] = sum(d@d)
c: e.sum.all_reduce@c [2 1] = all_reduce#4(e.sum@c)
d: e.sum.all_reduce@d [2 1] = all_reduce#4(e.sum@d)
c: e.exp@c [2 3] = exp(y.sub@c)
c: e.addcmul@c [2 3] = addcmul(d@c, e.exp@c, e.sum.all_reduce@c)
d: e.exp@d [2 3] = exp(y.sub@d)
d: e.addcmul@d [2 3] = addcmul(d@d, e.exp@d, e.sum.all_reduce@d)
a: l.div.add_n@a [] = add_n(l.div@a, l.div@b, l.div@c, l.div@d)
-> l.div.add_n@a e.addcmul@a e.addcmul@b e.addcmul@c e.addcmul@d
)");
}

// The device that has all classes of its samples needs nothing of the others.
TEST(SoftmaxInParts, OfAllClassesIsTheOp) {
  static const TestStep* const step = new TestStep(R"(
    input x classes:6 batch:4
    y = softmax x
    -> y)");
  EXPECT_EQ(CompiledInForms(*step, "*: batch classes a:0-2,0-6 b:2-4,0-2 c:2-4,2-6"), R"(
a: y [6 2] = _softmax(x[1:0-2])
b: y.logsumexp@b [1 2] = logsumexp(x[0:0-2][1:2-4])
c: y.logsumexp@c [1 2] = logsumexp(x[0:2-6][1:2-4])
b: y.logsumexp.all_gather@b [2 2] = all_gather#0(y.logsumexp@b)[0:0-1/2]
c: y.logsumexp.all_gather@c [2 2] = all_gather#0(y.logsumexp@c)[0:1-2/2]
b: y.logsumexp@b#1 [1 2] = logsumexp(y.logsumexp.all_gather@b)
b: y.sub@b [2 2] = sub(x[0:0-2][1:2-4], y.logsumexp@b#1)
b: y.exp@b [2 2] = exp(y.sub@b)
c: y.logsumexp@c#1 [1 2] = logsumexp(y.logsumexp.all_gather@c)
c: y.sub@c [4 2] = sub(x[0:2-6][1:2-4], y.logsumexp@c#1)
c: y.exp@c [4 2] = exp(y.sub@c)
-> y y.exp@b y.exp@c
)");
}

}  // namespace
}  // namespace placewright
