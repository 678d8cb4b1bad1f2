// Parameters in shards that are fetched anew for the backward pass, and when that begins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compile/test_step_forms.h"
#include "compile/test_steps.h"

namespace placewright {
namespace {

constexpr std::string_view kShards = "*: batch a:4 b:4; w1: in a:2 b:2";

// w is read in both passes, as it is and as views.
const TestStep& TwoPasses() {
  static const TestStep* const step = new TestStep(R"(
    input x batch:8 in:4
    param w in out:6
    y = mm x w
    z = add y y
    backward:
    v = add w w
    wt = t w
    gx = mm z wt
    xt = t x
    gw = mm xt z
    optimizer:
    w1 = sub_ w gw
    -> gx v w1)");
  return *step;
}

StepSwitches Regather(std::vector<std::string> globs) {
  StepSwitches switches;
  switches.gradients_apart = false;
  switches.regather = std::move(globs);
  return switches;
}

std::string InForms(const TestStep& step, std::string_view layouts, const StepSwitches& switches) {
  BothForms forms(step, {.switches = switches});
  (void)forms.ExpectSame(step.LayoutsOf(layouts), switches);
  return step.Compiled(layouts, {.switches = switches});
}

size_t GathersOf(const TestStep& step, const StepSwitches& switches) {
  return step.CompileWith(kShards, {.switches = switches}).value().graph.collective_count() -
         1;  // the gradient is scattered
}

// The names of what the ops of a step hold.
std::vector<std::string> HeldIn(const TestStep& step, const StepSwitches& switches) {
  const DistributedStep made = step.CompileWith(kShards, {.switches = switches}).Take();
  std::vector<std::string> held;
  for (const TensorId id : made.graph.tensors()) {
    const OpId holder = made.graph.tensor(id).held_until;
    if (holder.valid())
      held.push_back(made.graph.tensor(id).name + " by " + made.graph.op(holder).name);
  }
  return held;
}

// Outside of layers a parameter that engines fetch ahead stays, as its gradient does, until the last op of the backward
// pass, which is the gradient's own here; without them it goes with its last reader.
TEST(Epochs, KeepWhatTheRootHas) {
  StepSwitches switches = Regather({});
  EXPECT_THAT(HeldIn(TwoPasses(), switches), ::testing::IsEmpty());
  switches.prefetch = 1;
  InForms(TwoPasses(), kShards, switches);
  EXPECT_THAT(HeldIn(TwoPasses(), switches),
              ::testing::UnorderedElementsAre("w.all_gather@a.copy by gw@a",
                                              "w.all_gather@b.copy by gw@b"));
}

// One gather for each pass. The transposed w of the backward pass is a view of what was gathered there.
TEST(Epochs, FetchParametersForEachPass) {
  EXPECT_EQ(InForms(TwoPasses(), kShards, Regather({"*"})), R"(
a: w.all_gather@a [4 6] = all_gather#0(w@a)[0:0-2/4]
b: w.all_gather@b [4 6] = all_gather#0(w@b)[0:2-4/4]
a: y@a [4 6] = mm(x[0:0-4], w.all_gather@a)
b: y@b [4 6] = mm(x[0:4-8], w.all_gather@b)
a: z@a [4 6] = add(y@a, y@a)
b: z@b [4 6] = add(y@b, y@b)
a: w.all_gather@a#1 [4 6] = all_gather#1(w@a)[0:0-2/4]
b: w.all_gather@b#1 [4 6] = all_gather#1(w@b)[0:2-4/4]
a: v@a [4 6] = add(w.all_gather@a#1, w.all_gather@a#1)
b: v@b [4 6] = add(w.all_gather@b#1, w.all_gather@b#1)
a: wt@a [6 2] = t(w@a)
b: wt@b [6 2] = t(w@b)
a: wt@a@a [6 4] = t(w.all_gather@a#1)
b: wt@a@b [6 4] = t(w.all_gather@b#1)
a: gx@a [4 4] = mm(z@a, wt@a@a)
b: gx@b [4 4] = mm(z@b, wt@a@b)
a: xt@a [4 4] = t(x[0:0-4])
b: xt@b [4 4] = t(x[0:4-8])
a: gw@a [4 6] = mm(xt@a, z@a)
b: gw@b [4 6] = mm(xt@b, z@b)
a: gw.reduce_scatter@a [2 6] = reduce_scatter#2(gw@a)[0:0-2/4]
b: gw.reduce_scatter@b [2 6] = reduce_scatter#2(gw@b)[0:2-4/4]
a: w1@a [2 6] = sub_(w@a, gw.reduce_scatter@a)
b: w1@b [2 6] = sub_(w@b, gw.reduce_scatter@b)
-> gx@a gx@b v@a v@b w1@a w1@b
)");
  EXPECT_EQ(GathersOf(TwoPasses(), Regather({"*"})), 2u);
}

// One that lies on one device, as in host memory, comes to the only other one that reads it the same way.
TEST(Epochs, BringWhatLiesOnOneDevice) {
  EXPECT_EQ(InForms(TwoPasses(), "*: a; w1: c", Regather({"*"})), R"(
c: w.broadcast@c = broadcast#0(w)
a: w.broadcast@a [4 6] = broadcast#0()
a: y [8 6] = mm(x, w.broadcast@a)
a: z [8 6] = add(y, y)
c: w.broadcast@c#1 = broadcast#1(w)
a: w.broadcast@a#1 [4 6] = broadcast#1()
a: v [4 6] = add(w.broadcast@a#1, w.broadcast@a#1)
c: wt [6 4] = t(w)
a: wt@a [6 4] = t(w.broadcast@a#1)
a: gx [8 4] = mm(z, wt@a)
a: xt [4 8] = t(x)
a: gw [4 6] = mm(xt, z)
c: w1 [4 6] = sub_(w, gw)
-> gx v w1
)");
}

// As they are, views apart: one for y and v, one for wt. With a distance one for all.
TEST(Epochs, AreOneWhereNothingIsFetchedAnew) {
  EXPECT_EQ(GathersOf(TwoPasses(), Regather({})), 2u);
  StepSwitches ahead = Regather({});
  ahead.prefetch = 0;
  EXPECT_EQ(GathersOf(TwoPasses(), ahead), 1u);
}

// Each layer's product with a weight in shards, and its gradient's.
const TestStep& ThreeLayers() {
  static const TestStep* const step = new TestStep(R"(
    input x batch:8 k0:4
    param first.w k0 k1:4
    param layers.0.w k1 k2:4
    param layers.1.w k2 k3:4
    h0 = mm x first.w
    h1 = mm h0 layers.0.w
    h2 = mm h1 layers.1.w
    backward:
    t1 = t layers.1.w
    g1 = mm h2 t1
    t0 = t layers.0.w
    g0 = mm g1 t0
    optimizer:
    first.u = neg_ first.w
    u0 = neg_ layers.0.w
    u1 = neg_ layers.1.w
    -> g0 first.u u0 u1)");
  return *step;
}

std::string Waits(int distance, std::vector<std::string> globs) {
  StepSwitches switches = Regather(std::move(globs));
  switches.prefetch = distance;
  const std::string lines =
      InForms(ThreeLayers(),
              "*: batch a:4 b:4; first.u: k0 a:2 b:2; u0: k1 a:2 b:2; u1: k2 a:2 b:2", switches);
  std::string waits = "\n";
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    const size_t name = line.find(".all_gather@a");
    if (!line.starts_with("a: ") || line.find(" = all_gather#") == std::string::npos) continue;
    const size_t again = name + std::string_view(".all_gather@a").size();
    const size_t after = line.find(" after ");
    waits += line.substr(3, name - 3) + line.substr(again, line.find(' ', again) - again);
    if (after != std::string::npos) waits += line.substr(after);
    waits += "\n";
  }
  return waits;
}

// By device a's ops: h0, h1, h2 read the parameters in turn, g1 and g0 those of layers.1 and layers.0 again. What is
// wanted first waits for nothing, and so does what is less than the distance behind it.
TEST(Prefetch, BeginsSoManyUnitsAhead) {
  EXPECT_EQ(Waits(0, {"*"}), R"(
first.w
layers.0.w after h0@a
layers.1.w after h1@a
layers.1.w#1 after h2@a
layers.0.w#1 after g1@a
)");
  EXPECT_EQ(Waits(1, {"*"}), R"(
first.w
layers.0.w
layers.1.w after h0@a
layers.1.w#1 after h1@a
layers.0.w#1 after h2@a
)");
  EXPECT_EQ(Waits(3, {"*"}), R"(
first.w
layers.0.w
layers.1.w
layers.1.w#1
layers.0.w#1 after h0@a
)");
}

// layers.0.w is kept from the forward pass, so that it is no unit of the backward pass.
TEST(Prefetch, CountsWhatIsFetchedAnew) {
  EXPECT_EQ(Waits(1, {"layers.1"}), R"(
first.w
layers.0.w
layers.1.w after h0@a
layers.1.w#1 after h1@a
)");
}

}  // namespace
}  // namespace placewright
