#include "search/layouts/move_chances.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace placewright {
namespace {

std::vector<int> Drawn(const MoveChances& chances, int draws) {
  std::vector<int> counts(MoveChances::kKinds, 0);
  Random random(1);
  for (int i = 0; i < draws; ++i) ++counts[static_cast<size_t>(chances.Draw(random))];
  return counts;
}

TEST(MoveChances, FixedOnesStayWhatTheWeightsSay) {
  MoveChances chances = MoveChances::Fixed({3, 1});
  for (int i = 0; i < 100; ++i) chances.Count(MoveKind::kUnitToCopies, true);
  const std::vector<int> counts = Drawn(chances, 4000);
  EXPECT_NEAR(counts[0], 3000, 100);
  EXPECT_NEAR(counts[1], 1000, 100);
  EXPECT_EQ(counts[0] + counts[1], 4000);
}

TEST(MoveChances, LearnedOnesTendToWhatHasFoundBetterSteps) {
  MoveChances chances = MoveChances::Learned({3, 1});
  // At first every kind is as good as any other: 0.3 * 3/4 + 0.7 / 2.
  EXPECT_NEAR(Drawn(chances, 10000)[0], 5750, 200);
  for (int i = 0; i < 80; ++i) chances.Count(MoveKind::kUnitToDevice, false);
  for (int i = 0; i < 80; ++i) chances.Count(MoveKind::kUnitToCopies, i % 4 == 0);
  // Rates 1/100 and 21/100: 0.3 * 3/4 + 0.7 / 22.
  const std::vector<int> counts = Drawn(chances, 10000);
  EXPECT_NEAR(counts[0], 2568, 200);
  EXPECT_EQ(counts[0] + counts[1], 10000);
}

}  // namespace
}  // namespace placewright
