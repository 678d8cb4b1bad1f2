#include "cost/communication/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cost/communication/test_clusters.h"

namespace placewright {
namespace {

TEST(Trees, AreAsDeepAsTheLogarithm) {
  for (int32_t n = 2; n <= 20; ++n) {
    const Cluster cluster = SwitchedDevices(n, 1'000'000'000, 10);
    const TreePair trees = MakeTrees(cluster, AllDevicesOf(cluster));
    int height = 0;  // of positions 1 .. n: the root is the highest power of two
    while ((2 << height) <= n) ++height;
    EXPECT_LE(trees.depth, height + 1) << n;
    EXPECT_GE(trees.depth, height) << n;
  }
}

// With an even number of devices no device receives more than the bytes once in each direction:
// every device but the roots receives half of each tree, and passes on both halves of the tree that
// it is inside of.
TEST(Trees, TwoOfThemLoadEveryDeviceAlike) {
  const Cluster cluster = SwitchedDevices(8, 1'000'000'000, 0);
  const TreePair trees = MakeTrees(cluster, AllDevicesOf(cluster));
  EXPECT_EQ(trees.both.nanos_per_byte(), 2);
}

// 1, 2, 4 and, of 11 devices, 3 more; over a switch all at once.
TEST(Trees, BinomialOnesDoubleWhatHasTheBytes) {
  const Cluster cluster = SwitchedDevices(11, 1'000'000'000, 100);
  const std::vector<Round> rounds = BinomialRounds(cluster, AllDevicesOf(cluster));
  ASSERT_EQ(rounds.size(), 4u);
  for (size_t k = 0; k < 3; ++k) EXPECT_EQ(rounds[k].links().size(), size_t{2} << k);
  EXPECT_EQ(rounds[3].links().size(), 6u);
  EXPECT_EQ(NanosOfRounds(rounds, 400), 4 * 500);
}

// The number of chunks is as good as the best of all numbers.
TEST(Pipelines, ChunksAreChosenWell) {
  const Cluster cluster = SwitchedDevices(2, 3'000'000'000, 1500);
  const std::vector<RoundTransfer> one = {{DeviceId(0), DeviceId(1)}};
  const Round round(cluster, one);
  for (const double bytes : {1.0, 5000.0, 1e5, 3e6, 4e7}) {
    for (const int fill : {1, 3, 6, 14}) {
      double best = 1e300;
      for (double chunks = 1; chunks <= std::max(1.0, std::floor(bytes / 4096)); ++chunks) {
        best = std::min(best, (fill + chunks - 1) * round.NanosFor(std::ceil(bytes / chunks)));
      }
      const double time = PipelineNanos(round, fill, bytes);
      EXPECT_GE(time, best);
      EXPECT_LE(time, best * 1.001) << bytes << " bytes, " << fill << " rounds";
    }
  }
}

}  // namespace
}  // namespace placewright
