// A step as arrays is the compiled graph, whatever its layouts and passes.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "compile/drawn_layouts.h"
#include "compile/test_step_forms.h"
#include "compile/test_steps.h"

namespace placewright {
namespace {

// All that compilers treat apart: constants, draws, views, what cannot be split, sums that are written in place,
// convolutions, several updates, an order that is stated.
constexpr const char* kAllKinds = R"(
    input x batch:8 in:4
    input image batch channel:2 row:5 column:5
    input g batch filter:6 up:3 left:3
    param w in out:6
    param v in out
    param b out
    param k filter channel down:3 right:3
    c = ones batch out
    h = addmm b x w
    y = add h c
    r = randn batch out
    m = mul y r
    f = flatten m
    s = softmax m
    n = mystery s
    l = mean n
    p = second m
    p1 = neg_ p
    u = add m n
    backward:
    t = t x
    gw = mm t u
    gw1 = relu_ gw
    gs = mm t s
    gv = mul gs gw
    q = neg f
    z = sum q
    back: gx gk gb = conv_back g image k
    a = relu gx holds y s
    optimizer:
    gu = mm t u
    gu1 = neg_ gu
    w1 = sub_ w gw1
    w2 = mystery_ w1
    v1 = sub_ v gv
    v2 = sub_ v1 gu1
    k1 = sub_ k gk after v1 back
    b1 = sub_ b gb
    -> l z a u w2 v2 k1 b1)";

// Most groups have one layout, in half of the cases split by the samples (the first axis), so that gradients are summed
// over the same devices; the others have a second one.
Layouts DrawTwoLayouts(Random& random, const Graph& graph, const NamedAxes& axes) {
  Layouts layouts;
  for (int i = 0; i < 2; ++i) {
    std::vector<DeviceId> some;
    for (size_t d = 0; d < 3; ++d) {
      if (random.Below(3) > 0) some.push_back(DeviceId(d));
    }
    if (some.empty()) some.push_back(DeviceId(random.Below(3)));
    const AxisId axis(random.Below(2) == 0 ? 0 : random.Below(axes.axis_count()));
    const int64_t size = axes.axis(axis).size;
    const bool split = random.Below(6) > 0 && size >= static_cast<int64_t>(some.size());
    layouts.layouts.push_back(
        split ? SplitOver(axis, some, RandomLengths(random, some.size(), size)) : CopiesOn(some));
  }
  for (size_t group = 0; group < graph.group_count(); ++group) {
    layouts.of_group.push_back(LayoutId(random.Below(5) == 0 ? 1 : 0));
  }
  return layouts;
}

// Arrays are written again for one after the other. Some of the steps have joined sums and gradients made apart.
TEST(StepForms, AreTheSameForDrawnLayouts) {
  const TestStep step(kAllKinds);
  int joined = 0, apart = 0, held = 0;
  for (const bool collectives : {true, false}) {
    CompileOptions options;
    options.collectives = collectives;
    BothForms forms(step, options);
    Random random(7);
    for (int draw = 0; draw < 40 && !HasFailure(); ++draw) {
      const Layouts layouts = DrawTwoLayouts(random, step.graph(), step.axes());
      for (const bool separate : {false, true}) {
        for (const int64_t fusion : {0, 200, 1000}) {
          const std::string made = forms.ExpectSame(layouts, Passes(separate, fusion));
          joined += made.find("placewright.pack") != std::string::npos;
          apart += made.find(" after ") != std::string::npos;
          held += made.find(" holds ") != std::string::npos;
        }
      }
    }
  }
  EXPECT_GE(joined, 10);
  EXPECT_GE(apart, 10);
  EXPECT_GE(held, 10);
}

// Parameters that are fetched anew, some of them, and a unit ahead.
TEST(StepForms, AreTheSameWithFetchesOfTwoEpochs) {
  const TestStep step(kAllKinds);
  CompileOptions options;
  options.switches.regather = {"w1", "k1"};
  options.switches.prefetch = 1;
  BothForms forms(step, options);
  Random random(11);
  int waits = 0;
  for (int draw = 0; draw < 60 && !HasFailure(); ++draw) {
    const Layouts layouts = DrawTwoLayouts(random, step.graph(), step.axes());
    const std::string made = forms.ExpectSame(layouts, Passes(false, draw % 2 == 0 ? 0 : 200));
    waits += made.find(" after ") != std::string::npos;
  }
  EXPECT_GE(waits, 10);
}

}  // namespace
}  // namespace placewright
