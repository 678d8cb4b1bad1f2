#include "search/layouts/token_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace placewright {
namespace {

using Ends = std::vector<int64_t>;

TEST(TokenShares, AreEqualWithoutACausalMask) {
  EXPECT_EQ(EndsOfEqualWork(8, 4, 0, 1), (Ends{2, 4, 6, 8}));
  EXPECT_EQ(EndsOfEqualWork(5, 5, 0, 1), (Ends{1, 2, 3, 4, 5}));
}

// Attention alone: parts end at the roots of i / 4.
TEST(TokenShares, OfAttentionAloneGrowAsTheRoot) {
  EXPECT_EQ(EndsOfEqualWork(1000, 4, 1, 0), (Ends{504, 704, 864, 1000}));
  EXPECT_EQ(EndsOfEqualWork(65536, 4, 1, 0), (Ends{32768, 46336, 56768, 65536}));
}

// Of any mixture the longest part takes no more than one step of tokens above the mean.
TEST(TokenShares, TakeEquallyLong) {
  for (const double causal : {0.1, 1.0, 7.0}) {
    for (const int64_t parts : {2, 3, 8}) {
      const int64_t tokens = 8192;
      const Ends ends = EndsOfEqualWork(tokens, parts, causal, 1);
      const auto until = [&](int64_t end) {
        const double x = static_cast<double>(end) / static_cast<double>(tokens);
        return causal * x * x + x;
      };
      double longest = 0;
      for (size_t i = 0; i < ends.size(); ++i) {
        longest = std::max(longest, until(ends[i]) - (i == 0 ? 0 : until(ends[i - 1])));
      }
      const double of_step = (2 * causal + 1) * 64 / static_cast<double>(tokens);
      EXPECT_LE(longest, (causal + 1) / static_cast<double>(parts) + of_step);
      EXPECT_EQ(ends.back(), tokens);
    }
  }
}

TEST(TokenShares, HaveATokenEach) {
  EXPECT_EQ(EndsOfEqualWork(3, 3, 1, 0), (Ends{1, 2, 3}));
  EXPECT_EQ(EndsOfEqualWork(4, 3, 1, 0), (Ends{2, 3, 4}));
}

}  // namespace
}  // namespace placewright
