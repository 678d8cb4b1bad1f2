#include "search/proof/enumeration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "search/local/local_search.h"
#include "search/proof/bound.h"
#include "search/proof/infeasibility.h"
#include "search/proof/routes.h"
#include "search/test_problems.h"

namespace placewright {
namespace {

using testing::HasSubstr;

// `count` ops of 10 ns that keep a parameter of 4,096 B each and make 64 B (512).
TestSpec Independent(int count, std::vector<int64_t> capacity) {
  TestSpec spec;
  spec.capacity = std::move(capacity);
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    spec.inputs.push_back({"w" + n, 4096});
    spec.ops.push_back({"op" + n, std::vector<int64_t>(spec.capacity.size(), 10), {"w" + n}, {64}});
  }
  return spec;
}

// Two of the three share a device: 20 ns. Two need 8,192 and at most 1,024 B.
TEST(Enumeration, IsTheOptimumAndTheBound) {
  const auto test = MakeTestProblem(Independent(3, {9216, 9216}));
  const auto all = EnumeratePlacements(test->problem, *test->evaluator);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->placements, 8);
  EXPECT_TRUE(all->best.feasible);
  EXPECT_EQ(all->best.step_time, 20);
  EXPECT_LT(LowerBound(test->problem).value, Nanos(20));  // 30 ns of work on two devices: 15
  EXPECT_EQ(TightestBound(test->problem, *test->evaluator).value, Nanos(20));
  EXPECT_EQ(TightestBound(test->problem, *test->evaluator).argument, "enumeration");
  EXPECT_TRUE(CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans()).ok());
  PlannerOptions options;
  options.budget.iterations = 1000;
  const auto planned = LocalSearchPlanner().Plan(test->problem, *test->evaluator, options);
  ASSERT_TRUE(planned.ok());
  EXPECT_EQ(planned.value().step_time, Nanos(20));
  EXPECT_EQ(planned.value().iterations, 0);
}

// Three parameters (12,288 B) are less than both devices together (16,000 B), but two (8,192 B) fit
// on neither.
TEST(Enumeration, ProvesThatNothingFits) {
  const auto test = MakeTestProblem(Independent(3, {8000, 8000}));
  const Status fits = CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans());
  ASSERT_FALSE(fits.ok());
  EXPECT_EQ(fits.error().code, ErrorCode::kInfeasible);
  EXPECT_THAT(fits.error().message, HasSubstr("8 placements"));
  // One result beside two parameters: 8,704 B.
  EXPECT_THAT(std::string(fits.error().Remedy()), HasSubstr("At least 704 B more is needed"));
}

// a on d0 or d1, b on d2 or d3, c on d4 or d5, each reading the one before, c also a. Every device
// has partners, but d0 leads by d2 to d4, which d0 does not reach, and d1 likewise to d5.
TEST(Enumeration, ProvesThatNothingIsConnected) {
  TestSpec spec;
  spec.capacity = std::vector<int64_t>(6, 1 << 20);
  spec.ops = {{"a", {5, 5, -1, -1, -1, -1}, {}, {64}},
              {"b", {-1, -1, 5, 5, -1, -1}, {"a"}, {64}},
              {"c", {-1, -1, -1, -1, 5, 5}, {"a", "b"}, {64}}};
  const std::vector<std::pair<int, int>> routes = {{0, 2}, {1, 3}, {2, 4}, {3, 5}, {0, 5}, {1, 4}};
  for (int from = 0; from < 6; ++from) {
    for (int to = 0; to < 6; ++to) {
      const std::pair<int, int> pair{from, to};
      const bool joined = std::find(routes.begin(), routes.end(), pair) != routes.end();
      if (from != to && !joined) spec.apart.push_back(pair);
    }
  }
  const auto test = MakeTestProblem(spec);
  EXPECT_TRUE(
      CheckNotProvenDisconnected(test->problem).ok());  // arc consistency alone does not see it
  const auto all = EnumeratePlacements(test->problem, *test->evaluator);
  ASSERT_TRUE(all);
  EXPECT_FALSE(all->legal);
  const Status fits = CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans());
  ASSERT_FALSE(fits.ok());
  EXPECT_EQ(fits.error().code, ErrorCode::kInfeasible);
}

// 2^13 = 8,192 placements are enumerated, 2^14 are not.
TEST(Enumeration, HasALimit) {
  const auto at = MakeTestProblem(Independent(13, {1 << 20, 1 << 20}));
  EXPECT_TRUE(EnumeratePlacements(at->problem, *at->evaluator));
  const auto above = MakeTestProblem(Independent(14, {1 << 20, 1 << 20}));
  EXPECT_FALSE(EnumeratePlacements(above->problem, *above->evaluator));
}

// a must run on d0 and b on d1; c, which reads b, anywhere.
TEST(CheckNotProvenDisconnected, NamesTheOpsWithoutARoute) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  spec.apart = {{0, 1}};
  spec.ops = {{"a", {5, -1}, {}, {64}}, {"b", {-1, 5}, {"a"}, {64}}, {"c", {5, 5}, {"b"}, {64}}};
  const Status connects = CheckNotProvenDisconnected(MakeTestProblem(spec)->problem);
  ASSERT_FALSE(connects.ok());
  EXPECT_EQ(connects.error().code, ErrorCode::kInfeasible);
  EXPECT_THAT(connects.error().message, HasSubstr("op a has a route to one that may run op b"));
  EXPECT_EQ(connects.error().place, "op b");
  spec.apart = {{1, 0}};  // then c joins b
  EXPECT_TRUE(CheckNotProvenDisconnected(MakeTestProblem(spec)->problem).ok());
}

// a on d0, m anywhere, b on d1, in a row; only d1 reaches d0: m can be with neither of its ends on
// the other's device.
TEST(CheckNotProvenDisconnected, FollowsGroupsBetween) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  spec.apart = {{0, 1}};
  spec.ops = {{"a", {5, -1}, {}, {64}}, {"m", {5, 5}, {"a"}, {64}}, {"b", {-1, 5}, {"m"}, {64}}};
  EXPECT_FALSE(CheckNotProvenDisconnected(MakeTestProblem(spec)->problem).ok());
}

}  // namespace
}  // namespace placewright
