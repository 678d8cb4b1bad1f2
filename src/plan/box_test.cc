#include "plan/box.h"

#include <gtest/gtest.h>

namespace placewright {
namespace {

// A dimension of 24 as 2 * 3 * 4: a half, then two thirds, then a quarter of what is left.
constexpr AxisPart kHalf = {{1, 1, 2, 12}, {1, 2}};
constexpr AxisPart kThirds = {{1, 2, 3, 4}, {0, 2}};
constexpr AxisPart kQuarter = {{1, 6, 4, 1}, {3, 4}};
constexpr AxisPart kRows = {{0, 1, 5, 1}, {1, 4}};

TEST(Boxes, HaveSizesAlongEveryAxis) {
  using Shape = std::vector<int64_t>;
  EXPECT_EQ(ShapeOf({5, 24}, {}), (Shape{5, 24}));
  EXPECT_EQ(ShapeOf({5, 24}, {kRows, kHalf}), (Shape{3, 12}));
  EXPECT_EQ(ShapeOf({5, 24}, {kHalf, kThirds, kQuarter}), (Shape{5, 2}));
  EXPECT_EQ(ShapeOf({5, 24}, {kQuarter, kRows, kHalf}), (Shape{3, 3}));
}

TEST(Boxes, AreCutFromTheInside) {
  const std::vector<AxisPart> order = {kQuarter, kThirds, kHalf, kRows};
  EXPECT_EQ(InCuttingOrder({kHalf, kRows, kQuarter, kThirds}), order);
  EXPECT_EQ(InCuttingOrder({kRows, kHalf, kThirds, kQuarter}), order);
  EXPECT_TRUE(InCuttingOrder({}).empty());
}

}  // namespace
}  // namespace placewright
