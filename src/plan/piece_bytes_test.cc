#include "plan/piece_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/random.h"

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

// By definition: element after element, those that lie in the interval of every axis.
std::string ElementByElement(const std::string& whole, const std::array<int64_t, 2>& shape,
                             const TensorBox& box) {
  std::string piece;
  for (int64_t i = 0; i < shape[0] * shape[1]; ++i) {
    const std::array<int64_t, 2> at = {i / shape[1], i % shape[1]};
    const bool in = std::all_of(box.begin(), box.end(), [&](const AxisPart& part) {
      const auto& [place, interval] = part;
      const int64_t k = at[static_cast<size_t>(place.dimension)] / place.inner % place.size;
      return interval.from <= k && k < interval.to;
    });
    if (in) piece += whole.substr(static_cast<size_t>(2 * i), 2);
  }
  return piece;
}

// Axes of one dimension (12 rows as 2 * 3 * 2, 24 columns as 4 * 3 * 2), of both, in any order.
TEST(PieceBytes, AreThoseOfEveryElementInTheBox) {
  const std::array<AxisPlace, 6> places = {AxisPlace{0, 1, 2, 6}, {0, 2, 3, 2}, {0, 6, 2, 1},
                                           {1, 1, 4, 6},          {1, 4, 3, 2}, {1, 12, 2, 1}};
  const std::array<int64_t, 2> shape = {12, 24};
  std::string whole;
  for (int i = 0; i < 12 * 24; ++i) {
    whole += static_cast<char>(i / 256);
    whole += static_cast<char>(i % 256);
  }
  Random random(3);
  for (int round = 0; round < 20; ++round) {
    for (uint32_t chosen = 0; chosen < 1u << places.size(); ++chosen) {
      std::vector<AxisPart> parts;
      for (size_t i = 0; i < places.size(); ++i) {
        if ((chosen >> i & 1) == 0) continue;
        const auto from = static_cast<int64_t>(random.Below(static_cast<uint64_t>(places[i].size)));
        const auto left = static_cast<uint64_t>(places[i].size - from);
        const Interval interval = {from, from + 1 + static_cast<int64_t>(random.Below(left))};
        parts.push_back({places[i], interval});
        std::swap(parts.back(), parts[random.Below(parts.size())]);
      }
      const TensorBox box(parts.begin(), parts.end());
      const std::string piece = PieceBytes(whole, {shape[0], shape[1]}, 2, box);
      ASSERT_EQ(piece, ElementByElement(whole, shape, box)) << chosen;
      const std::vector<int64_t> sizes = ShapeOf({shape[0], shape[1]}, box);
      ASSERT_EQ(static_cast<int64_t>(piece.size()), 2 * sizes[0] * sizes[1]) << chosen;
    }
  }
}

}  // namespace
}  // namespace placewright
