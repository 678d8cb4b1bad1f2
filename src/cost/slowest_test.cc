#include "cost/slowest.h"

#include <gtest/gtest.h>

namespace placewright {
namespace {

// Largest of so many standard normal numbers, expected: 0.564, 1.424, 1.766 (tables of order
// statistics); Blom's are within 0.03.
TEST(Slowest, OfSeveral) {
  const double deviation = 0.08 / 5.396;
  EXPECT_EQ(SlowestOf(0), 1);
  EXPECT_EQ(SlowestOf(1), 1);
  EXPECT_NEAR(SlowestOf(2), 1 + deviation * 0.564, 0.03 * deviation + 5e-5);
  EXPECT_NEAR(SlowestOf(8), 1 + deviation * 1.424, 0.03 * deviation + 5e-5);
  EXPECT_NEAR(SlowestOf(16), 1 + deviation * 1.766, 0.03 * deviation + 5e-5);
}

}  // namespace
}  // namespace placewright
