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

struct Pipeline {
  double chunks = 1, time = 0;
};

Pipeline FastestPipeline(const Round& round, int fill, double bytes) {
  const double max_chunks = std::max(1.0, std::floor(bytes / kSmallestChunk));
  const double latency = std::max(1.0, round.latency());
  const double best = std::sqrt((fill - 1) * bytes * round.nanos_per_byte() / latency);
  Pipeline fastest;
  for (const double candidate : {std::floor(best), std::floor(best) + 1}) {
    const double chunks = std::clamp(candidate, 1.0, max_chunks);
    const double taken = (fill + chunks - 1) * round.NanosFor(std::ceil(bytes / chunks));
    if (fastest.time == 0 || taken < fastest.time) fastest = {chunks, taken};
  }
  return fastest;
}

}  // namespace

TreePair MakeTrees(const Cluster& cluster, const std::vector<DeviceId>& order) {
  return MakeTrees(cluster, std::vector<std::vector<DeviceId>>{order});
}

TreePair MakeTrees(const Cluster& cluster, const std::vector<std::vector<DeviceId>>& orders) {
  TreePair trees;
  const size_t n = orders.front().size();
  std::vector<RoundTransfer> both;
  for (size_t i = 1; i <= n; ++i) {
    trees.depth = std::max(trees.depth, DepthOf(i, n));
    const size_t parent = ParentOf(i, n);
    if (parent == 0) continue;
    for (const std::vector<DeviceId>& order : orders) {
      for (const size_t shift : {size_t{0}, size_t{1}}) {
        const DeviceId child = order[(i - 1 + shift) % n], above = order[(parent - 1 + shift) % n];
        both.push_back({above, child, 0.5});
        both.push_back({child, above, 0.5});
      }
    }
  }
  trees.both = Round(cluster, both);
  return trees;
}

std::vector<Round> BinomialRounds(const Cluster& cluster, const std::vector<DeviceId>& order) {
  std::vector<Round> rounds;
  for (size_t have = 1; have < order.size(); have *= 2) {
    std::vector<RoundTransfer> transfers;
    for (size_t i = 0; i < have && have + i < order.size(); ++i) {
      transfers.push_back({order[i], order[have + i]});
    }
    rounds.push_back(Round(cluster, transfers));
  }
  return rounds;
}

double NanosOfRounds(const std::vector<Round>& rounds, double bytes) {
  double time = 0;
  for (const Round& round : rounds) time += round.NanosFor(bytes);
  return time;
}

double PipelineNanos(const Round& round, int fill, double bytes) {
  return FastestPipeline(round, fill, bytes).time;
}

int64_t PipelineChunks(const Round& round, int fill, double bytes) {
  return static_cast<int64_t>(FastestPipeline(round, fill, bytes).chunks);
}

}  // namespace placewright
