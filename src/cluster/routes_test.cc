#include "cluster/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "base/random.h"

namespace placewright {
namespace {

struct Best {
  std::vector<LinkId> links;
  int64_t width = 0;
};

bool Better(const Best& a, const Best& b) {
  if (a.links.size() != b.links.size()) return a.links.size() < b.links.size();
  if (a.width != b.width) return a.width > b.width;
  return a.links < b.links;
}

// Every simple path, by exhaustion.
void Walk(int32_t at, const std::vector<Hop>& hops, const std::vector<bool>& forwards,
          std::vector<bool>& seen, Best path, std::vector<std::optional<Best>>& best) {
  if (!path.links.empty()) {
    if (!best[at] || Better(path, *best[at])) best[at] = path;
    if (!forwards[at]) return;
  }
  seen[at] = true;
  for (const Hop& hop : hops) {
    if (hop.from != at || seen[hop.to]) continue;
    Best longer = path;
    longer.links.push_back(hop.link);
    longer.width = path.links.empty() ? hop.bandwidth : std::min(path.width, hop.bandwidth);
    Walk(hop.to, hops, forwards, seen, longer, best);
  }
  seen[at] = false;
}

std::vector<bool> Devices(const std::vector<bool>& forwards) {
  std::vector<bool> devices = forwards;
  devices.flip();
  return devices;
}

TEST(Routes, EqualExhaustiveSearchOnRandomTopologies) {
  Random random(7);
  for (int round = 0; round < 400; ++round) {
    const int32_t nodes = 2 + static_cast<int32_t>(random.Below(6));
    std::vector<bool> forwards;
    for (int32_t i = 0; i < nodes; ++i) forwards.push_back(random.Below(3) > 0);
    std::vector<Hop> hops;
    int32_t link = 0;
    for (int32_t a = 0; a < nodes; ++a) {
      for (int32_t b = a + 1; b < nodes; ++b) {
        if (random.Below(2) == 0) continue;
        const int64_t bandwidth = 1 + static_cast<int64_t>(random.Below(3));
        const bool full = random.Below(4) > 0;
        hops.push_back({a, b, LinkId(link), bandwidth});
        hops.push_back({b, a, LinkId(full ? link + 1 : link), bandwidth});
        link += full ? 2 : 1;
      }
    }
    for (int32_t source = 0; source < nodes; ++source) {
      int64_t work = 1'000'000;
      const auto paths = BestPathsFrom(source, hops, forwards, Devices(forwards), work);
      std::vector<std::optional<Best>> best(nodes);
      std::vector<bool> seen(nodes);
      Walk(source, hops, forwards, seen, {}, best);
      for (int32_t to = 0; to < nodes; ++to) {
        if (forwards[to] || to == source) continue;  // only devices are targets
        EXPECT_EQ(paths[to], best[to] ? best[to]->links : std::vector<LinkId>()) << round;
      }
    }
  }
}

TEST(Routes, GivesUpWhenTheWorkIsSpent) {
  const std::vector<Hop> hops = {{0, 1, LinkId(0), 5}, {1, 0, LinkId(1), 5}};
  int64_t work = 3;  // layering costs 2, the one pass 2 more
  EXPECT_TRUE(BestPathsFrom(0, hops, {false, false}, {true, true}, work).empty());
  EXPECT_LT(work, 0);
}

}  // namespace
}  // namespace placewright
