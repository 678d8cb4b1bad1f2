// One gather for the parameters of a layer, and one sum for their gradients.
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

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// Two layers of two products. `between`: what stands behind the gradient of layers.1.v.
TestStep TwoLayers(const std::string& between = "", bool updated_early = false) {
  return TestStep(R"(
    input x batch:8 in:4
    param layers.0.w in k0:4
    param layers.0.v k0 k1:4
    param layers.1.w k1 k2:4
    param layers.1.v k2 k3:4
    module layers.0
    a0 = mm x layers.0.w
    b0 = mm a0 layers.0.v
    module layers.1
    a1 = mm b0 layers.1.w
    b1 = mm a1 layers.1.v
    backward:
    a1t = t a1
    g1v = mm a1t b1
)" + between + R"(
    backward:
    module layers.1
    v1t = t layers.1.v
    d1 = mm b1 v1t
    b0t = t b0
    g1w = mm b0t d1
    w1t = t layers.1.w
    d0 = mm d1 w1t
    module layers.0
    v0t = t layers.0.v
    e0 = mm d0 v0t
    a0t = t a0
    g0v = mm a0t d0
    xt = t x
    g0w = mm xt e0
    optimizer:
    u1w = sub_ layers.1.w g1w
    u0v = sub_ layers.0.v g0v
    u0w = sub_ layers.0.w g0w
)" + (updated_early ? "" : "u1v = sub_ layers.1.v g1v\n") +
                  "-> b1 u0w u0v u1w u1v");
}

constexpr std::string_view kUnitShards =
    "*: batch a:4 b:4; u0w: in a:2 b:2; u0v: k0 a:1 b:3; u1w: k1 a:2 b:2; u1v: k2 a:2 b:2";

StepSwitches ByUnit() {
  StepSwitches switches;
  switches.gradients_apart = false;
  switches.regather = {"*"};
  switches.unit_collectives = true;
  return switches;
}

std::string JoinedForms(const TestStep& step, std::string_view layouts,
                        const StepSwitches& switches) {
  BothForms forms(step, {.switches = switches});
  (void)forms.ExpectSame(step.LayoutsOf(layouts), switches);
  return step.Compiled(layouts, {.switches = switches});
}

// The lines of device a that contain any of the words.
std::vector<std::string> LinesOfA(const std::string& lines, const std::vector<std::string>& words) {
  std::vector<std::string> found;
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    for (const std::string& word : words) {
      if (!line.starts_with("a: ") || line.find(word) == std::string::npos) continue;
      found.push_back(line.substr(3));
      break;
    }
  }
  return found;
}

// A gather of each layer in each pass, where its first parameter is read, and a scatter of each layer, where the update reads
// the last of its sums. Parts may be uneven.
TEST(UnitCollectives, AreOneALayerAndPass) {
  EXPECT_THAT(
      LinesOfA(JoinedForms(TwoLayers(), kUnitShards, ByUnit()), {"all_gather#", "reduce_scatter#"}),
      ElementsAre("layers.0.w.all_gather@a:0 [4 4], layers.0.w.all_gather@a:1 [4 4] = "
                  "all_gather#0(layers.0.w@a, layers.0.v@a)[0:0-2/4][0:0-1/4]",
                  "layers.1.w.all_gather@a:0 [4 4], layers.1.w.all_gather@a:1 [4 4] = "
                  "all_gather#1(layers.1.w@a, layers.1.v@a)[0:0-2/4][0:0-2/4]",
                  "layers.1.v.all_gather@a#1:0 [4 4], layers.1.v.all_gather@a#1:1 [4 4] = "
                  "all_gather#2(layers.1.v@a, layers.1.w@a)[0:0-2/4][0:0-2/4]",
                  "layers.0.v.all_gather@a#1 [4 4] = all_gather#3(layers.0.v@a)[0:0-1/4]",
                  "g0v.reduce_scatter@a:0 [1 4], g0v.reduce_scatter@a:1 [2 4] = "
                  "reduce_scatter#4(g0v@a, g0w@a)[0:0-1/4][0:0-2/4]",
                  "g1v.reduce_scatter@a:0 [2 4], g1v.reduce_scatter@a:1 [2 4] = "
                  "reduce_scatter#5(g1v@a, g1w@a)[0:0-2/4][0:0-2/4]"));
}

TEST(UnitCollectives, AreLeftAloneWhereNothingAsksForThem) {
  StepSwitches switches = ByUnit();
  switches.unit_collectives = false;
  EXPECT_EQ(JoinedForms(TwoLayers(), kUnitShards, switches).find("all_gather@a:"),
            std::string::npos);
}

// What reads a sum of the unit before the last gradient of it is there stands behind the sum, and so does what reads that;
// what does not, stays.
TEST(UnitCollectives, KeepWhatReadsThemBehindThem) {
  const TestStep step = TwoLayers(R"(
    optimizer:
    half = neg g1v
    twice = neg half
    other = neg x
)");
  const std::string lines =
      JoinedForms(step, std::string(kUnitShards) + "; half twice: k2 a:2 b:2", ByUnit());
  EXPECT_THAT(
      LinesOfA(lines, {"reduce_scatter#", "half@a [", "twice@a [", "other@a [", "g1w@a ["}),
      ElementsAre("other@a [4 4] = neg(x[0:0-4])", "g1w@a [4 4] = mm(b0t@a, d1@a)",
                  "g1v.reduce_scatter@a:0 [2 4], g1v.reduce_scatter@a:1 [2 4] = "
                  "reduce_scatter#2(g1v@a, g1w@a)[0:0-2/4][0:0-2/4]",
                  "half@a [2 4] = neg(g1v.reduce_scatter@a:0)", "twice@a [2 4] = neg(half@a)",
                  "g0v.reduce_scatter@a:0 [1 4], g0v.reduce_scatter@a:1 [2 4] = "
                  "reduce_scatter#5(g0v@a, g0w@a)[0:0-1/4][0:0-2/4]"));
}

// The second gradient of layers.1 follows from the update by the first: no collective has both.
TEST(UnitCollectives, AreNoneOfSumsThatWaitForOneAnother) {
  const TestStep step = TwoLayers(R"(
    optimizer:
    u1v = sub_ layers.1.v g1v
)",
                                  /*updated_early=*/true);
  EXPECT_THAT(LinesOfA(JoinedForms(step, kUnitShards, ByUnit()), {"reduce_scatter#"}),
              ElementsAre("g1v.reduce_scatter@a [2 4] = reduce_scatter#2(g1v@a)[0:0-2/4]",
                          "g1w.reduce_scatter@a [2 4] = reduce_scatter#6(g1w@a)[0:0-2/4]",
                          "g0v.reduce_scatter@a:0 [1 4], g0v.reduce_scatter@a:1 [2 4] = "
                          "reduce_scatter#7(g0v@a, g0w@a)[0:0-1/4][0:0-2/4]"));
}

// Prefetched, all of a unit is copied out of what was gathered, and all gradients are copied into what is scattered.
TEST(UnitCollectives, ArePrefetchedAndCopied) {
  StepSwitches switches = ByUnit();
  switches.prefetch = 1;
  const std::string lines = JoinedForms(TwoLayers(), kUnitShards, switches);
  EXPECT_THAT(
      LinesOfA(lines, {"reduce_scatter#5(", "all_gather#1(", "concat(layers.1.w"}),
      ElementsAre("layers.1.w.all_gather@a:0 [4 4], layers.1.w.all_gather@a:1 [4 4] = "
                  "all_gather#1(layers.1.w@a, layers.1.v@a)[0:0-2/4][0:0-2/4]",
                  "layers.1.w.all_gather@a.copy [4 4] = concat(layers.1.w.all_gather@a:0) along 0",
                  "layers.1.v.all_gather@a.copy [4 4] = concat(layers.1.w.all_gather@a:1) along 0",
                  "g1v.reduce_scatter@a:0 [2 4], g1v.reduce_scatter@a:1 [2 4] = "
                  "reduce_scatter#5(g1v@a.copy, g1w@a.copy)[0:0-2/4][0:0-2/4]"));
}

// Over shards of two devices, the same on two others: scattered in pairs, added up across.
TEST(UnitCollectives, AddUpAcrossGroups) {
  const std::string lines =
      JoinedForms(TwoLayers(),
                  "*: batch a:2 b:2 c:2 d:2; u0w: in a:0-2 b:2-4 c:0-2 d:2-4; u0v: k0 a:0-2 b:2-4 "
                  "c:0-2 d:2-4; u1w: k1 a:0-2 b:2-4 c:0-2 d:2-4; u1v: k2 a:0-2 b:2-4 c:0-2 d:2-4",
                  ByUnit());
  EXPECT_THAT(LinesOfA(lines, {"all_reduce#"}),
              UnorderedElementsAre(HasSubstr("(g1v.reduce_scatter@a:1, g1v.reduce_scatter@a:0)"),
                                   HasSubstr("(g0v.reduce_scatter@a:0, g0v.reduce_scatter@a:1)")));
}

}  // namespace
}  // namespace placewright
