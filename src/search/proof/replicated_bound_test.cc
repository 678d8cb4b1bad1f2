// The bound and the search over layouts against brute force over all layouts of tiny problems.
#include "search/proof/replicated_bound.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "graph/graph_builder.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/test_clusters.h"
#include "search/layouts/test_layout_optimum.h"
#include "search/layouts/test_specs.h"
#include "search/layouts/test_steps.h"
#include "search/layouts/test_tiny_steps.h"

namespace placewright {
namespace {

// PLACEWRIGHT_DRAWN_PROBLEMS: how many, and then larger ones, too.
bool DrawsMany() { return std::getenv("PLACEWRIGHT_DRAWN_PROBLEMS") != nullptr; }
int64_t DrawnProblems(int64_t otherwise) {
  return DrawsMany() ? std::atoll(std::getenv("PLACEWRIGHT_DRAWN_PROBLEMS")) : otherwise;
}

TEST(ReplicatedLowerBound, IsNeverAboveTheBestOfAllLayouts) {
  const int64_t wanted = DrawnProblems(40);
  int64_t drawn = 0;
  double left = 0;
  for (uint64_t seed = 0; drawn < wanted; ++seed) {
    const DrawnProblem tiny(seed);
    const auto optimum = BestOfLayouts(*tiny.layouts, DrawsMany() ? 20000 : 1000);
    if (!optimum) continue;
    ++drawn;
    ASSERT_TRUE(optimum->best);
    const auto best = static_cast<double>(optimum->best->step_time);
    const Bound bound = ReplicatedLowerBound(tiny.problem).value();
    EXPECT_EQ(bound.space, PlanSpace::kReplicated);
    EXPECT_LE(bound.value.count, optimum->best->step_time)
        << "seed " << seed << ", " << bound.argument;
    EXPECT_GT(bound.value.count, 0) << "seed " << seed;
    left += (best - static_cast<double>(bound.value.count)) / best;
  }
  // Nor is it vacuous, though these steps move about as long as they compute.
  EXPECT_LT(left / static_cast<double>(drawn), 0.4);
}

// Three or four devices, whose boxes are of several axes: a 2 x 2 mesh, a part on two of them, uneven ones.
TEST(ReplicatedLowerBound, IsNeverAboveTheBestOfBoxes) {
  const int64_t wanted = DrawnProblems(6);
  int64_t of_boxes = 0;
  for (int64_t seed = 0; seed < wanted; ++seed) {
    Random random(static_cast<uint64_t>(seed));
    const Graph graph = TinyStep(random, 1, false, {.samples = 2, .least_width = 2});
    const Cluster cluster = EqualDevices(seed % 3 == 0 ? 4 : 3, BytesPerSecond(1 << 30));
    const auto layouts =
        LayoutProblem::Make(graph, cluster, CostOptions(), SchedulingPolicy::kFifo).Take();
    Problem problem =
        BuildProblem(graph, cluster, layouts->costs, {}, SchedulingPolicy::kFifo).Take();
    problem.layouts = layouts.get();
    const LayoutOptimum best = BestOfBoxes(*layouts, DrawsMany() ? 20000 : 300, random);
    ASSERT_TRUE(best.best) << "seed " << seed;
    const Bound bound = ReplicatedLowerBound(problem).value();
    EXPECT_LE(bound.value.count, best.best->step_time) << "seed " << seed << ", " << bound.argument;
    for (size_t g = 0; g < graph.group_count(); ++g) {
      of_boxes += static_cast<int64_t>(BoxLayoutsOf(*layouts, GroupId(g)).size());
    }
  }
  EXPECT_GT(of_boxes, 1000);
}

int64_t Reached(const DrawnProblem& tiny, const LayoutOptimum& optimum, int64_t moves) {
  PlannerOptions options;
  options.budget.iterations = moves;
  const PlannerResult found = SearchTiny(tiny.problem, options);
  EXPECT_GE(found.step_time, ReplicatedLowerBound(tiny.problem)->value);
  return found.step_time.count <= optimum.best->step_time ? 1 : 0;
}

// Brute force over all layouts: every axis, all shares, all sets and orders of devices.
TEST(LayoutSearch, MostlyReachesTheBestOfItsLayouts) {
  const int64_t wanted = DrawnProblems(10);
  int64_t drawn = 0, reached = 0;
  for (uint64_t seed = 0; drawn < wanted; ++seed) {
    const DrawnProblem tiny(seed);
    const auto optimum = BestOfLayouts(*tiny.layouts, 2000);
    if (!optimum) continue;
    ++drawn;
    reached += Reached(tiny, *optimum, 5000);
  }
  EXPECT_GE(reached, drawn - std::max<int64_t>(1, drawn * 2 / 100));
}

TEST(LayoutSearch, MostlyReachesTheBestOfMoreLayoutsThanMoves) {
  if (!DrawsMany()) GTEST_SKIP() << "takes minutes: ./test --long";
  constexpr int64_t kMoves = 5000, kWanted = 30;
  int64_t drawn = 0, reached = 0;
  for (uint64_t seed = 0; drawn < kWanted; ++seed) {
    const DrawnProblem tiny(seed);
    const auto optimum = BestOfLayouts(*tiny.layouts, 4 * kMoves);
    if (!optimum || optimum->combinations <= kMoves) continue;
    ++drawn;
    reached += Reached(tiny, *optimum, kMoves);
  }
  EXPECT_GE(reached, drawn - std::max<int64_t>(1, drawn * 2 / 100));
}

// Two equal devices of 100 GFLOP/s: a product of 64 x 64 by 64 x 64 is 524,288 flops. Which of its three axes is
// split, the two together take no less than the whole, so that half of it is the bound.
TEST(ReplicatedLowerBound, SharesWorkOutAmongEqualDevices) {
  GraphBuilder builder("product", "aten");
  const auto input = [&](const char* name) {
    return builder.AddInput(name, TensorKind::kInput, DType::kF32, {64, 64}).Take();
  };
  OpSpec op{.name = "product", .type = "aten.mm.default"};
  op.inputs = {input("input:x"), input("input:y")};
  op.args = {Value(InputRef{0}), Value(InputRef{1})};
  op.outputs = {{.name = "product", .shape = {64, 64}}};
  builder.SetOutputs(builder.AddOp(std::move(op)).Take());
  const Graph graph = std::move(builder).Build().Take();
  const Cluster cluster = TwoDevices(BytesPerSecond(1 << 30));
  const auto layouts =
      LayoutProblem::Make(graph, cluster, CostOptions(), SchedulingPolicy::kFifo).Take();
  Problem problem =
      BuildProblem(graph, cluster, layouts->costs, {}, SchedulingPolicy::kFifo).Take();
  EXPECT_EQ(ReplicatedLowerBound(problem), std::nullopt);  // ops may not be split
  problem.layouts = layouts.get();
  const int64_t whole = layouts->costs.time(OpId(0), DeviceId(0)).count;
  const Bound bound = ReplicatedLowerBound(problem).value();
  EXPECT_LE(bound.value.count, (whole + 1) / 2);
  EXPECT_GE(bound.value.count, whole / 2 - 2);
  // Halves of its rows read y twice.
  DistributionSpec halves;
  LayoutSpec all;
  all.groups = "*";
  all.axis = "input:x[0]";
  all.option = LayoutOption::kAllReduce;
  all.devices = {{"a", {}}, {"b", {}}};
  halves.layouts = {all};
  EXPECT_GE(EvaluateSpec(*layouts, halves).Take().step_time, bound.value);
}

// Where ops were measured on the devices' kinds, parts have what was measured for them, faster or slower than what is
// modelled.
TEST(ReplicatedLowerBound, IsNeverAboveTheBestUnderMeasuredTimes) {
  const int64_t wanted = DrawnProblems(40);
  int64_t drawn = 0;
  double left = 0;
  for (uint64_t seed = 0; drawn < wanted; ++seed) {
    DrawnProblem tiny(seed);
    tiny.Measure();
    const auto optimum = BestOfLayouts(*tiny.layouts, DrawsMany() ? 20000 : 1000);
    if (!optimum) continue;
    ++drawn;
    ASSERT_TRUE(optimum->best);
    const auto best = static_cast<double>(optimum->best->step_time);
    const Bound bound = ReplicatedLowerBound(tiny.problem).value();
    EXPECT_LE(bound.value.count, optimum->best->step_time)
        << "seed " << seed << ", " << bound.argument;
    left += (best - static_cast<double>(bound.value.count)) / best;
  }
  // Times at random make it weak: a part that is five times as fast as others of its op counts for all.
  EXPECT_LT(left / static_cast<double>(drawn), 0.8);
}

TEST(ReplicatedLowerBound, RisesUnderConstraints) {
  int raised = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const DrawnProblem tiny(seed, false);
    Constraints pinned;
    pinned.pins.push_back({"*", "d1"});
    Problem problem = BuildProblem(*tiny.graph, *tiny.cluster, tiny.layouts->costs, pinned,
                                   SchedulingPolicy::kFifo)
                          .Take();
    problem.layouts = tiny.layouts.get();
    const Nanos free = ReplicatedLowerBound(tiny.problem)->value;
    const Nanos bound = ReplicatedLowerBound(problem)->value;
    EXPECT_GE(bound, free) << "seed " << seed;
    raised += bound > free;
    // Everything on the one device.
    Nanos alone;
    for (const OpId op : tiny.graph->ops()) alone += tiny.layouts->costs.time(op, DeviceId(1));
    EXPECT_LE(bound, alone);
  }
  EXPECT_GT(raised, 20);
}

}  // namespace
}  // namespace placewright
