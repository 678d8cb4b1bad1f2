// Copies out of what parameters are gathered into, and of gradients into what is scattered.
#include <gtest/gtest.h>

#include "compile/test_step_forms.h"
#include "compile/test_steps.h"

namespace placewright {
namespace {

// y and z read the gathered w through one copy, gx through a view of it; gw is scattered from a copy.
TEST(FlatCopies, AreWhatTheStepReads) {
  const TestStep step(R"(
    input x batch:8 in:4
    param w in out:6
    y = mm x w
    z = mm x w
    backward:
    wt = t w
    gx = mm z wt
    xt = t x
    gw = mm xt z
    optimizer:
    w1 = sub_ w gw
    -> gx y w1)");
  StepSwitches switches;
  switches.gradients_apart = false;
  switches.prefetch = 1;
  constexpr std::string_view kShards = "*: batch a:4 b:4; w1: in a:2 b:2";
  BothForms forms(step, {.switches = switches});
  (void)forms.ExpectSame(step.LayoutsOf(kShards), switches);
  EXPECT_EQ(step.Compiled(kShards, {.switches = switches}), R"(
a: w.all_gather@a [4 6] = all_gather#0(w@a)[0:0-2/4]
b: w.all_gather@b [4 6] = all_gather#0(w@b)[0:2-4/4]
a: w.all_gather@a.copy [4 6] = concat(w.all_gather@a) along 0
a: y@a [4 6] = mm(x[0:0-4], w.all_gather@a.copy)
b: w.all_gather@b.copy [4 6] = concat(w.all_gather@b) along 0
b: y@b [4 6] = mm(x[0:4-8], w.all_gather@b.copy)
a: z@a [4 6] = mm(x[0:0-4], w.all_gather@a.copy)
b: z@b [4 6] = mm(x[0:4-8], w.all_gather@b.copy)
a: wt@a [6 2] = t(w@a)
b: wt@b [6 2] = t(w@b)
a: wt@a@a [6 4] = t(w.all_gather@a.copy)
b: wt@a@b [6 4] = t(w.all_gather@b.copy)
a: gx@a [4 4] = mm(z@a, wt@a@a)
b: gx@b [4 4] = mm(z@b, wt@a@b)
a: xt@a [4 4] = t(x[0:0-4])
b: xt@b [4 4] = t(x[0:4-8])
a: gw@a [4 6] = mm(xt@a, z@a)
b: gw@b [4 6] = mm(xt@b, z@b)
a: gw@a.copy [4 6] = concat(gw@a) along 0
b: gw@b.copy [4 6] = concat(gw@b) along 0
a: gw.reduce_scatter@a [2 6] = reduce_scatter#1(gw@a.copy)[0:0-2/4]
b: gw.reduce_scatter@b [2 6] = reduce_scatter#1(gw@b.copy)[0:2-4/4]
a: w1@a [2 6] = sub_(w@a, gw.reduce_scatter@a)
b: w1@b [2 6] = sub_(w@b, gw.reduce_scatter@b)
-> gx@a gx@b y@a y@b w1@a w1@b
)");
}

// Sums that something else than the update waits for are activations'.
TEST(FlatCopies, AreOfGradientsAlone) {
  const TestStep step(R"(
    input x batch:8 in:4
    param w in out:6
    y = mm x w
    z = add y y
    -> z)");
  StepSwitches switches;
  switches.prefetch = 1;
  const std::string form = step.Compiled("*: in a:2 b:2; z: out a:3 b:3", {.switches = switches});
  EXPECT_NE(form.find("reduce_scatter"), std::string::npos) << form;
  EXPECT_EQ(form.find("concat"), std::string::npos) << form;
}

}  // namespace
}  // namespace placewright
