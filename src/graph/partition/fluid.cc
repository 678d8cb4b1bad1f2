#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "graph/partition/partition.h"

namespace placewright {
namespace {

constexpr int kMaxRounds = 100;
constexpr double kSame = 1e-4;  // densities nearer than this are equal

class FluidCommunities {
 public:
  FluidCommunities(const WeightedGraph& graph, const PartitionOptions& options)
      : graph_(graph),
        random_(options.seed),
        order_(static_cast<size_t>(graph.nodes())),
        community_(order_.size(), -1),
        size_(static_cast<size_t>(options.parts), 0),
        density_(size_.size(), 0) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  std::vector<int32_t> Run() {
    Shuffle();
    const size_t communities = std::min(order_.size(), size_.size());
    for (size_t c = 0; c < communities; ++c) {
      community_[static_cast<size_t>(order_[c])] = static_cast<int32_t>(c);
      size_[c] = 1;
      density_[c] = 1;
    }
    for (int round = 0; round < kMaxRounds && Round(); ++round) {
    }
    for (size_t node = 0; node < community_.size(); ++node) {
      if (community_[node] < 0) community_[node] = node == 0 ? 0 : community_[node - 1];
    }
    return std::move(community_);
  }

 private:
  void Shuffle() {
    for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_.Below(i)]);
  }

  bool Round() {
    bool moved = false;
    Shuffle();
    for (const int32_t node : order_) moved |= Visit(static_cast<size_t>(node));
    return moved;
  }

  void Count(int32_t community) {
    if (community < 0) return;
    const auto same = std::find_if(found_.begin(), found_.end(),
                                   [&](const auto& one) { return one.first == community; });
    const double density = density_[static_cast<size_t>(community)];
    same == found_.end() ? found_.emplace_back(community, density)
                         : * same = {community, same->second + density};
  }

  // Whether the node joins another community.
  bool Visit(size_t node) {
    found_.clear();
    const int32_t own = community_[node];
    Count(own);
    for (int32_t e = graph_.offsets[node]; e < graph_.offsets[node + 1]; ++e) {
      Count(community_[static_cast<size_t>(graph_.edges[static_cast<size_t>(e)].to)]);
    }
    double most = 0;
    for (const auto& [community, density] : found_) most = std::max(most, density);
    std::erase_if(found_, [&](const auto& one) { return one.second < most - kSame; });
    const auto is_own = [&](const auto& one) { return one.first == own; };
    if (found_.empty() || std::any_of(found_.begin(), found_.end(), is_own)) return false;
    const int32_t joined = found_[random_.Below(found_.size())].first;
    if (own >= 0) Resize(own, -1);
    Resize(joined, 1);
    community_[node] = joined;
    return true;
  }

  void Resize(int32_t community, int32_t change) {
    const auto c = static_cast<size_t>(community);
    size_[c] += change;
    density_[c] = size_[c] > 0 ? 1.0 / size_[c] : 0;
  }

  const WeightedGraph& graph_;
  Random random_;
  std::vector<int32_t> order_, community_, size_;
  std::vector<double> density_;
  std::vector<std::pair<int32_t, double>> found_;  // communities around a node, their density
};

}  // namespace

std::vector<int32_t> PartitionFluid(const WeightedGraph& graph, const PartitionOptions& options) {
  return FluidCommunities(graph, options).Run();
}

}  // namespace placewright
