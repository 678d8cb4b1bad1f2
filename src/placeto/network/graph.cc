#include "placeto/network/graph.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace placewright {
namespace {

std::vector<double> Relative(std::span<const double> of, std::span<const int32_t> origin) {
  const double greatest = of.empty() ? 0 : *std::max_element(of.begin(), of.end());
  std::vector<double> relative;
  for (const int32_t i : origin) {
    relative.push_back(greatest > 0 ? of[static_cast<size_t>(i)] / greatest : 0);
  }
  return relative;
}

// The length of the longest path to each node.
std::vector<int32_t> LevelOfEach(size_t nodes, std::span<const std::pair<int32_t, int32_t>> edges) {
  std::vector<int32_t> level(nodes, 0), waiting(nodes, 0), ready;
  std::vector<std::vector<int32_t>> children(nodes);
  for (const auto& [from, to] : edges) {
    children[static_cast<size_t>(from)].push_back(to);
    ++waiting[static_cast<size_t>(to)];
  }
  for (size_t i = 0; i < nodes; ++i) {
    if (waiting[i] == 0) ready.push_back(static_cast<int32_t>(i));
  }
  for (size_t next = 0; next < ready.size(); ++next) {
    const auto node = static_cast<size_t>(ready[next]);
    for (const int32_t child : children[node]) {
      const auto to = static_cast<size_t>(child);
      level[to] = std::max(level[to], level[node] + 1);
      if (--waiting[to] == 0) ready.push_back(child);
    }
  }
  PW_CHECK(ready.size() == nodes);  // no cycle
  return level;
}

}  // namespace

PlacetoGraph::PlacetoGraph(std::span<const double> cost, std::span<const double> bytes,
                           std::span<const std::pair<int32_t, int32_t>> edges) {
  PW_CHECK(cost.size() == bytes.size());
  const std::vector<int32_t> level = LevelOfEach(cost.size(), edges);
  origin_.resize(cost.size());
  std::iota(origin_.begin(), origin_.end(), 0);
  std::stable_sort(origin_.begin(), origin_.end(), [&](int32_t a, int32_t b) {
    return level[static_cast<size_t>(a)] < level[static_cast<size_t>(b)];
  });
  node_of_.resize(origin_.size());
  for (int32_t node = 0; node < size(); ++node) {
    const auto origin = static_cast<size_t>(origin_[static_cast<size_t>(node)]);
    node_of_[origin] = node;
    while (static_cast<int32_t>(level_offsets_.size()) <= level[origin]) {
      level_offsets_.push_back(node);
    }
  }
  level_offsets_.push_back(size());
  std::vector<std::pair<int32_t, int32_t>> distinct;
  for (const auto& [from, to] : edges) distinct.emplace_back(NodeOf(from), NodeOf(to));
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  const auto fill = [&](Rows& rows, bool of_sources) {
    rows.offsets.assign(static_cast<size_t>(size()) + 1, 0);
    for (const auto& [from, to] : distinct) ++rows.offsets[(of_sources ? from : to) + 1];
    std::partial_sum(rows.offsets.begin(), rows.offsets.end(), rows.offsets.begin());
    rows.items.resize(distinct.size());
    std::vector<int32_t> next(rows.offsets.begin(), rows.offsets.end() - 1);
    for (const auto& [from, to] : distinct) {
      rows.items[next[of_sources ? from : to]++] = of_sources ? to : from;
    }
  };
  fill(children_, true);
  fill(parents_, false);
  cost_ = Relative(cost, origin_);
  bytes_ = Relative(bytes, origin_);
  FindRelations();
}

// Ancestors of each node as bits, in the order of levels: those of its parents, and these.
void PlacetoGraph::FindRelations() {
  const auto nodes = static_cast<size_t>(size()), words = (nodes + 63) / 64;
  std::vector<uint64_t> above(nodes * words, 0);
  for (size_t node = 0; node < nodes; ++node) {
    uint64_t* const own = above.data() + node * words;
    for (const int32_t parent : Parents(static_cast<int32_t>(node))) {
      const uint64_t* const of_parent = above.data() + static_cast<size_t>(parent) * words;
      for (size_t word = 0; word < words; ++word) own[word] |= of_parent[word];
      own[static_cast<size_t>(parent) / 64] |= uint64_t{1} << (parent % 64);
    }
  }
  relations_.assign(nodes * nodes, PlacetoRelation::kPeer);
  for (size_t node = 0; node < nodes; ++node) {
    relations_[node * nodes + node] = PlacetoRelation::kSelf;
    for (size_t other = 0; other < node; ++other) {
      if ((above[node * words + other / 64] >> (other % 64) & 1) == 0) continue;
      relations_[node * nodes + other] = PlacetoRelation::kAncestor;
      relations_[other * nodes + node] = PlacetoRelation::kDescendant;
    }
  }
}

}  // namespace placewright
