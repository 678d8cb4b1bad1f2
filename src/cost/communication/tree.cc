#include "cost/communication/tree.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace placewright {
namespace {

constexpr double kSmallestChunk = 4096;

// Of position i = 1 .. n; 0: the root. The lowest set bit b of i moves up: to i - b or i + b,
// whichever has 2b as its lowest bit; where that lies beyond n, the other one.
size_t ParentOf(size_t i, size_t n) {
  const size_t bit = i & (~i + 1);
  const size_t right = (i ^ bit) | (bit << 1);
  if (right <= n) return right;
  return i - bit;
}

int DepthOf(size_t i, size_t n) {
  int depth = 0;
  for (size_t at = ParentOf(i, n); at != 0; at = ParentOf(at, n)) ++depth;
  return depth;
}

}  // namespace

TreePair MakeTrees(const Cluster& cluster, const std::vector<DeviceId>& order) {
  return MakeTrees(cluster, std::vector<std::vector<DeviceId>>{order});
}

TreePair MakeTrees(const Cluster& cluster, const std::vector<std::vector<DeviceId>>& orders) {
  TreePair trees;
  const size_t n = orders.front().size();
  std::vector<RoundTransfer> down, both;
  for (size_t i = 1; i <= n; ++i) {
    trees.depth = std::max(trees.depth, DepthOf(i, n));
    const size_t parent = ParentOf(i, n);
    if (parent == 0) continue;
    for (const std::vector<DeviceId>& order : orders) {
      for (const size_t shift : {size_t{0}, size_t{1}}) {
        const DeviceId child = order[(i - 1 + shift) % n], above = order[(parent - 1 + shift) % n];
        down.push_back({above, child, 0.5});
        both.push_back({above, child, 0.5});
        both.push_back({child, above, 0.5});
      }
    }
  }
  trees.down = Round(cluster, down);
  trees.both = Round(cluster, both);
  return trees;
}

double PipelineNanos(const Round& round, int fill, double bytes) {
  const double max_chunks = std::max(1.0, std::floor(bytes / kSmallestChunk));
  const double latency = std::max(1.0, round.latency());
  const double best = std::sqrt((fill - 1) * bytes * round.nanos_per_byte() / latency);
  double time = 0;
  for (const double candidate : {std::floor(best), std::floor(best) + 1}) {
    const double chunks = std::clamp(candidate, 1.0, max_chunks);
    const double taken = (fill + chunks - 1) * round.NanosFor(std::ceil(bytes / chunks));
    if (time == 0 || taken < time) time = taken;
  }
  return time;
}

}  // namespace placewright
