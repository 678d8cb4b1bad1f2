#include "plan/piece_bytes.h"

#include <gtest/gtest.h>

namespace placewright {
namespace {

// Elements of one byte, called by their order: "abcdefghijkl" is [[a, b, c, d], [e, f, g, h], [i, j, k, l]].
TEST(PieceBytes, AreThoseOfAnInterval) {
  const std::string whole = "abcdefghijkl";
  EXPECT_EQ(PieceBytes(whole, {3, 4}, 1, {}), whole);
  EXPECT_EQ(PieceBytes(whole, {3, 4}, 1, {{{0, 1, 3, 1}, {1, 3}}}), "efghijkl");
  EXPECT_EQ(PieceBytes(whole, {3, 4}, 1, {{{1, 1, 4, 1}, {1, 3}}}), "bcfgjk");
  // Two heads of two elements each: [[ab, cd], [ef, gh], [ij, kl]].
  EXPECT_EQ(PieceBytes(whole, {3, 4}, 1, {{{1, 1, 2, 2}, {1, 2}}}), "cdghkl");
  // The other factor, the second of each two.
  EXPECT_EQ(PieceBytes(whole, {3, 4}, 1, {{{1, 2, 2, 1}, {1, 2}}}), "bdfhjl");
  // Two rows, of these two columns.
  EXPECT_EQ(PieceBytes(whole, {3, 4}, 1, {{{0, 1, 3, 1}, {1, 3}}, {{1, 1, 4, 1}, {1, 3}}}), "fgjk");
}

// Six elements of two bytes: [[ab, cd, ef], [gh, ij, kl]].
TEST(PieceBytes, KeepElementsTogether) {
  EXPECT_EQ(PieceBytes("abcdefghijkl", {2, 3}, 2, {{{1, 1, 3, 1}, {2, 3}}}), "efkl");
}

}  // namespace
}  // namespace placewright
