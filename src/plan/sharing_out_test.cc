#include "plan/sharing_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace placewright {
namespace {

using ::testing::ElementsAre;

TEST(SharesInProportion, AddUpAndGiveEveryoneOne) {
  EXPECT_THAT(SharesInProportion(8, {1, 1, 2}), ElementsAre(2, 2, 4));
  EXPECT_THAT(SharesInProportion(3, {100, 1, 1}), ElementsAre(1, 1, 1));
  EXPECT_THAT(SharesInProportion(10, {1000, 1, 0}), ElementsAre(9, 1, 0));
  EXPECT_THAT(SharesInProportion(7, {1, 1}), ElementsAre(4, 3));
  for (int64_t total = 5; total < 60; ++total) {
    const std::vector<int64_t> shares = SharesInProportion(total, {3.5, 0.2, 1, 1, 7});
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), int64_t{0}), total);
    EXPECT_GE(*std::min_element(shares.begin(), shares.end()), 1);
  }
}

}  // namespace
}  // namespace placewright
