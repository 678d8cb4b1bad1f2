#include "compile/piece_boxes.h"

#include <gtest/gtest.h>

#include <vector>

namespace placewright {
namespace {

constexpr AxisPlace kOfEight = {0, 1, 8, 1}, kOfFour = {1, 1, 4, 1};

TensorBox Rows(int64_t from, int64_t to) { return {{kOfEight, {from, to}}}; }
TensorBox Cells(int64_t row, int64_t column) {
  return {{kOfEight, {row, row + 4}}, {kOfFour, {column, column + 2}}};
}

TEST(PieceBoxes, AreApartInAGridWithReplicas) {
  EXPECT_TRUE(PieceBoxes().AreApart());
  EXPECT_TRUE(PieceBoxes({Rows(4, 8), Rows(0, 3), Rows(3, 4), Rows(0, 3)}).AreApart());
  EXPECT_TRUE(PieceBoxes({Cells(0, 0), Cells(0, 2), Cells(4, 0), Cells(4, 2)}).AreApart());
}

// [0, 4) and [3, 8) have row 3 in common; rows of all columns, and columns of all rows, always have something.
TEST(PieceBoxes, AreNotApartWhereSomeMeet) {
  EXPECT_FALSE(PieceBoxes({Rows(0, 4), Rows(3, 8)}).AreApart());
  EXPECT_FALSE(PieceBoxes({Rows(0, 4), {{kOfFour, {0, 2}}}}).AreApart());
  EXPECT_FALSE(PieceBoxes({Rows(0, 4), {}}).AreApart());
}

TEST(PieceBoxes, SomeHaveTheAxesOfABox) {
  const PieceBoxes boxes({Rows(0, 4), Rows(4, 8), Cells(0, 0)});
  for (int twice = 0; twice < 2; ++twice) {
    EXPECT_TRUE(boxes.HaveAxesOf(Rows(2, 3)));
    EXPECT_TRUE(boxes.HaveAxesOf(Cells(4, 2)));
    EXPECT_FALSE(boxes.HaveAxesOf({{kOfFour, {0, 2}}}));
    EXPECT_FALSE(boxes.HaveAxesOf({}));
  }
  EXPECT_FALSE(PieceBoxes().HaveAxesOf(Rows(0, 4)));
}

TEST(PieceBoxes, CopiesAreEqualAndStayWhatTheyAre) {
  PieceBoxes boxes({Rows(0, 4), Rows(4, 8)});
  const PieceBoxes copy = boxes;
  EXPECT_EQ(copy, boxes);
  EXPECT_EQ(copy, PieceBoxes({Rows(0, 4), Rows(4, 8)}));
  boxes = PieceBoxes({Rows(0, 2), Rows(2, 8)});
  EXPECT_FALSE(copy == boxes);
  EXPECT_EQ(copy[1], Rows(4, 8));
}

}  // namespace
}  // namespace placewright
