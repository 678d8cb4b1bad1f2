#include "cluster/routes.h"

#include <algorithm>
#include <limits>
#include <set>
#include <span>

namespace placewright {
namespace {

constexpr int32_t kFar = std::numeric_limits<int32_t>::max();

// Numbers of hops by node, ascending, in one list: a cluster is searched from each of its devices.
class HopRows {
 public:
  template <class NodeOf>  // -1: of none
  HopRows(size_t nodes, const std::vector<Hop>& hops, const NodeOf& node_of) : begin_(nodes + 1) {
    std::vector<int32_t> node(hops.size());
    for (size_t h = 0; h < hops.size(); ++h) {
      node[h] = node_of(hops[h]);
      if (node[h] >= 0) ++begin_[static_cast<size_t>(node[h]) + 1];
    }
    for (size_t i = 0; i < nodes; ++i) begin_[i + 1] += begin_[i];
    hops_.resize(begin_[nodes]);
    std::vector<size_t> next(begin_.begin(), begin_.end() - 1);
    for (size_t h = 0; h < hops.size(); ++h) {
      if (node[h] >= 0) hops_[next[static_cast<size_t>(node[h])]++] = static_cast<int32_t>(h);
    }
  }
  HopRows() = default;
  std::span<const int32_t> operator[](int32_t node) const {
    const auto i = static_cast<size_t>(node);
    return std::span(hops_).subspan(begin_[i], begin_[i + 1] - begin_[i]);
  }

 private:
  std::vector<size_t> begin_;
  std::vector<int32_t> hops_;
};

struct Search {
  const std::vector<Hop>& hops;
  std::vector<std::vector<int32_t>> layers;  // nodes by their number of links from the source
  std::vector<int32_t> distance;             // by node
  HopRows into;                              // by node: hops that end a shortest path there
  std::vector<int64_t> width;                // by node: largest minimum bandwidth
};

Search Layer(int32_t source, const std::vector<Hop>& hops, const std::vector<bool>& forwards) {
  const size_t nodes = forwards.size();
  Search s{hops, {{source}}, std::vector<int32_t>(nodes, kFar), {}, {}};
  const HopRows out(nodes, hops, [](const Hop& hop) { return hop.from; });
  s.distance[source] = 0;
  for (size_t depth = 0; !s.layers[depth].empty(); ++depth) {
    std::vector<int32_t> next;
    for (const int32_t node : s.layers[depth]) {
      if (node != source && !forwards[node]) continue;
      for (const int32_t h : out[node]) {
        if (s.distance[hops[h].to] != kFar) continue;
        s.distance[hops[h].to] = static_cast<int32_t>(depth) + 1;
        next.push_back(hops[h].to);
      }
    }
    s.layers.push_back(std::move(next));
  }
  s.into = HopRows(nodes, hops, [&](const Hop& hop) {
    const bool shortest =
        s.distance[hop.from] != kFar && s.distance[hop.to] == s.distance[hop.from] + 1;
    return shortest && (hop.from == source || forwards[hop.from]) ? hop.to : -1;
  });
  return s;
}

void FindWidths(int32_t source, Search& s) {
  s.width.assign(s.distance.size(), 0);
  s.width[source] = std::numeric_limits<int64_t>::max();
  for (const std::vector<int32_t>& layer : s.layers) {
    for (const int32_t node : layer) {
      for (const int32_t h : s.into[node]) {
        const Hop& hop = s.hops[h];
        s.width[node] = std::max(s.width[node], std::min(s.width[hop.from], hop.bandwidth));
      }
    }
  }
}

// By node: the last hop of the lexicographically smallest path among hops of at least `width`; -1:
// none. Paths of one layer have one length, so (rank of the beginning, last link) orders them.
std::vector<int32_t> SmallestLastHops(int32_t source, const Search& s, int64_t width) {
  std::vector<int32_t> last(s.distance.size(), -1), rank(s.distance.size(), -1);
  rank[source] = 0;
  for (size_t depth = 1; depth < s.layers.size(); ++depth) {
    std::vector<std::pair<std::pair<int32_t, LinkId>, int32_t>> order;  // key, node
    for (const int32_t node : s.layers[depth]) {
      std::pair<int32_t, LinkId> best{kFar, LinkId()};
      for (const int32_t h : s.into[node]) {
        const Hop& hop = s.hops[h];
        if (hop.bandwidth < width || rank[hop.from] < 0) continue;
        const std::pair<int32_t, LinkId> key{rank[hop.from], hop.link};
        if (last[node] >= 0 && !(key < best)) continue;
        best = key;
        last[node] = h;
      }
      if (last[node] >= 0) order.emplace_back(best, node);
    }
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < order.size(); ++i) rank[order[i].second] = static_cast<int32_t>(i);
  }
  return last;
}

}  // namespace

std::vector<std::vector<LinkId>> BestPathsFrom(int32_t source, const std::vector<Hop>& hops,
                                               const std::vector<bool>& forwards,
                                               const std::vector<bool>& targets, int64_t& work) {
  Search s = Layer(source, hops, forwards);
  FindWidths(source, s);
  std::vector<std::vector<LinkId>> paths(forwards.size());
  std::set<int64_t> widths;
  for (size_t depth = 1; depth < s.layers.size(); ++depth) {
    for (const int32_t node : s.layers[depth]) {
      if (targets[node]) widths.insert(s.width[node]);
    }
  }
  work -= static_cast<int64_t>(hops.size());
  for (const int64_t width : widths) {
    work -= static_cast<int64_t>(hops.size());
    if (work < 0) return {};
    const std::vector<int32_t> last = SmallestLastHops(source, s, width);
    for (size_t node = 0; node < forwards.size(); ++node) {
      if (!targets[node] || s.width[node] != width || last[node] < 0) continue;
      std::vector<LinkId>& path = paths[node];
      for (int32_t at = static_cast<int32_t>(node); at != source; at = hops[last[at]].from) {
        path.push_back(hops[last[at]].link);
      }
      std::reverse(path.begin(), path.end());
      work -= static_cast<int64_t>(path.size());
    }
  }
  return paths;
}

}  // namespace placewright
