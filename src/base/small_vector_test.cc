#include "base/small_vector.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace placewright {
namespace {

using Numbers = SmallVector<int>;

std::vector<int> ItemsOf(const Numbers& numbers) { return {numbers.begin(), numbers.end()}; }

TEST(SmallVector, HoldsNoneOneOrSeveral) {
  for (const std::vector<int>& items : {std::vector<int>{}, {7}, {7, 8}, {7, 8, 9}}) {
    Numbers numbers;
    if (items.size() == 1) numbers = {7};
    if (items.size() == 2) numbers = {7, 8};
    if (items.size() == 3) numbers = {7, 8, 9};
    EXPECT_EQ(ItemsOf(numbers), items);
    EXPECT_EQ(numbers.size(), items.size());
    EXPECT_EQ(numbers.empty(), items.empty());
    EXPECT_EQ(Numbers(items.begin(), items.end()), numbers);
    Numbers copy = numbers;
    EXPECT_EQ(copy, numbers);
    const Numbers moved = std::move(copy);
    EXPECT_EQ(moved, numbers);
  }
}

TEST(SmallVector, HasOneOrder) {
  EXPECT_NE(Numbers(), (Numbers{0}));
  EXPECT_LT((Numbers{1}), (Numbers{2}));
  EXPECT_LT((Numbers{1, 2}), (Numbers{1, 3}));
  EXPECT_NE((Numbers{1}), (Numbers{1, 1}));
}

}  // namespace
}  // namespace placewright
