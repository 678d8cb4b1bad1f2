// What the traversal-order study prints, and its guidelines judged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "bench/harness/traversal/guidelines.h"
#include "bench/harness/traversal/report.h"
#include "study/traversal/test_store.h"

namespace placewright {
namespace {

using testing::HasSubstr;

TEST_F(TraversalFile, TablesShowWinsAndTheControl) {
  const TraversalStore store = MadeUpTraversalStore(path_);
  EXPECT_THAT(TraversalMarkdown(store, TraversalPolicy::kImprovement),
              HasSubstr("| cifar10 | 3 | 10 | uniform | 6 | 0.500 (p "));
  EXPECT_THAT(TraversalMarkdown(store, TraversalPolicy::kImprovement),
              HasSubstr("| cifar10 | 3 | 10 | 6 x 5 | 0 (6) | 6 (10) |"));
  EXPECT_EQ(TraversalJson(store)["findings"].size(), 18U);
}

TEST_F(TraversalFile, PicturesShowWhoWinsBesideThePaper) {
  const TraversalStore store = MadeUpTraversalStore(path_);
  const std::string svg = DrawTraversal(store, GraphFamily::kCifar10, 50);
  EXPECT_THAT(svg, HasSubstr("cifar10: orders that win after 50 episodes"));
  EXPECT_THAT(svg, HasSubstr("in the paper"));
  EXPECT_THAT(svg, HasSubstr("uniform"));
  EXPECT_EQ(DrawTraversal(store, GraphFamily::kCifar10, 500), "");
}

// 18 graphs with mean steps of 2, 1, 3, 3, 3, 3 (topo, reversed-topo, ...).
TEST_F(TraversalFile, GuidelinesAreJudgedGraphByGraph) {
  const TraversalStore store = MadeUpTraversalStore(path_);
  const std::vector<GuidelineFinding> judged =
      JudgeGuidelines(store, TraversalPolicy::kImprovement);
  ASSERT_EQ(judged.size(), Guidelines().size());
  // Backward orders, 1 and 3, against 2 and three times 3.
  EXPECT_EQ(judged[0].graphs, 18U);
  EXPECT_NEAR(judged[0].ratio, std::sqrt(3) / std::pow(2 * 27, 0.25), 1e-12);
  EXPECT_EQ(judged[0].verdict, Verdict::kHolds);
  EXPECT_LT(judged[0].p, 0.001);
  // bfs on six graphs, which no test of signs can decide together with six more guidelines.
  EXPECT_EQ(judged.back().graphs, 6U);
  EXPECT_NEAR(judged.back().ratio, 3 / std::pow(2 * 27, 0.2), 1e-12);
  EXPECT_EQ(judged.back().verdict, Verdict::kUndecided);
  for (const GuidelineFinding& none : JudgeGuidelines(store, TraversalPolicy::kPublished)) {
    EXPECT_EQ(none.graphs, 0U);
  }
  const std::vector<FamilyAdvice> advised = AdviseFamilies(store);
  ASSERT_EQ(advised.size(), 3U);  // families, on three devices
  for (const FamilyAdvice& one : advised) {
    EXPECT_EQ(one.advice.order, TraversalOrder::kReversedTopo);
    EXPECT_EQ(one.advice.nearest.size(), 6U);
  }
  EXPECT_THAT(GuidelinesMarkdown(store),
              HasSubstr("| cifar10 | 3 | reversed-topo | 1.000 | 3.000 | 6 |"));
  EXPECT_EQ(TraversalJson(store)["guidelines"].size(), 2 * Guidelines().size());
  EXPECT_EQ(TraversalJson(store)["advice"].size(), 3U);
  EXPECT_EQ(GuidelinesMarkdown(TraversalStore::Load(path_ + ".none").Take()), "");
}

}  // namespace
}  // namespace placewright
