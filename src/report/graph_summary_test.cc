#include "report/graph_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/test_graphs.h"

namespace placewright {
namespace {

// Two ops of m.a, a view and its update, one of m.a.b, one of m itself, and one in no module.
Graph FiveOps() {
  TinyGraph tiny;
  const TensorId x = tiny.Input("x", TensorKind::kInput, {4});
  const TensorId w = tiny.Input("param:m.a.w", TensorKind::kParameter, {4});
  tiny.In(Phase::kForward, "m.a");
  const TensorId view = tiny.View("view", "aten.detach.default", w, {4});
  const TensorId b = tiny.In(Phase::kForward, "m.a.b").Fresh("b", {x, view});
  const TensorId own = tiny.In(Phase::kForward, "m").Fresh("own", {b});
  tiny.In(Phase::kForward).Fresh("loss", {own});
  tiny.In(Phase::kOptimizer).InPlace("step", {w});
  return tiny.Build();
}

// Rows of one depth and "(itself)" add up to the row above: 1 + 4 = 5, 1 + 3 = 4, 2 + 1 = 3.
TEST(ModuleRows, CountEveryOpOnce) {
  const std::vector<ModuleRow> rows = SummariseModules(FiveOps(), 3);
  ASSERT_EQ(rows.size(), 4u);
  const int64_t ops[] = {5, 4, 3, 1}, own[] = {1, 1, 2, 1};
  const char* paths[] = {"", "m", "m.a", "m.a.b"};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rows[i].path, paths[i]);
    EXPECT_EQ(rows[i].ops, ops[i]) << paths[i];
    EXPECT_EQ(rows[i].own_ops, own[i]) << paths[i];
  }
  EXPECT_EQ(rows[2].views, 1);
  EXPECT_EQ(rows[2].phase_ops, (std::array<int64_t, 3>{2, 0, 1}));
}

TEST(ModuleRows, OpsBelowTheDepthAreTheDeepestRowsOwn) {
  const std::vector<ModuleRow> rows = SummariseModules(FiveOps(), 2);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].path, "m.a");
  EXPECT_EQ(rows[2].own_ops, 3);
}

TEST(ModuleRows, OpsOfAModuleItselfHaveARow) {
  const std::string text = RenderModules(SummariseModules(FiveOps(), 2), Style{});
  EXPECT_THAT(text, testing::ContainsRegex("\\(all\\) +5 "));
  EXPECT_THAT(text, testing::ContainsRegex("\n  \\(itself\\) +1 +0 +1 +0 +0 +0 +0 B +16 B\n"));
  EXPECT_THAT(text, testing::ContainsRegex("\n    m.a +3 "));
  EXPECT_EQ(text.find("      (itself)"), std::string::npos);  // m.a has no row below it
}

}  // namespace
}  // namespace placewright
