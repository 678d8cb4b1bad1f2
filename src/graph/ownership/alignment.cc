#include "graph/ownership/alignment.h"

namespace placewright {
namespace {

constexpr size_t kMaxWeights = size_t{1} << 16;

struct Best {
  int64_t weight = 0;
  int32_t node = -1;  // the last of the chain
};

// The heaviest chain that ends at a position or behind it: a Fenwick tree of maxima.
class BestBehind {
 public:
  explicit BestBehind(size_t positions) : tree_(positions + 1) {}

  Best At(int32_t position) const {
    Best best;
    for (size_t i = Index(position); i > 0; i -= i & -i) {
      if (tree_[i].weight > best.weight) best = tree_[i];
    }
    return best;
  }
  void Offer(int32_t position, Best chain) {
    for (size_t i = Index(position); i < tree_.size(); i += i & -i) {
      if (chain.weight > tree_[i].weight) tree_[i] = chain;
    }
  }

 private:
  size_t Index(int32_t position) const { return tree_.size() - 1 - static_cast<size_t>(position); }

  std::vector<Best> tree_;
};

}  // namespace

std::vector<int32_t> HeaviestDescent(const std::vector<std::vector<PositionMatch>>& candidates,
                                     size_t positions) {
  struct Node {
    int32_t row, position, before;
  };
  std::vector<Node> nodes;
  std::vector<std::pair<int32_t, Best>> offers;
  BestBehind best(positions);
  for (size_t row = 0; row < candidates.size(); ++row) {
    offers.clear();
    for (const PositionMatch& match : candidates[row]) {
      const Best before = best.At(match.position);
      const auto node = static_cast<int32_t>(nodes.size());
      nodes.push_back({static_cast<int32_t>(row), match.position, before.node});
      offers.push_back({match.position, Best{before.weight + match.weight, node}});
    }
    for (const auto& [position, chain] : offers) best.Offer(position, chain);
  }
  std::vector<int32_t> result(candidates.size(), kUnmatched);
  int32_t node = positions == 0 ? -1 : best.At(0).node;
  for (; node >= 0; node = nodes[static_cast<size_t>(node)].before) {
    const Node& at = nodes[static_cast<size_t>(node)];
    result[static_cast<size_t>(at.row)] = at.position;
  }
  return result;
}

std::vector<int32_t> DenseDescent(size_t rows, int32_t first, int32_t last,
                                  const std::function<int32_t(size_t, int32_t)>& weight) {
  std::vector<int32_t> result(rows, kUnmatched);
  if (first < last) return result;
  const auto columns = static_cast<size_t>(first - last) + 1;
  if (rows > kMaxWeights / columns) return result;
  enum Choice : char { kNextColumn, kSkipRow, kMatch };
  std::vector<char> choices(rows * columns);
  // total[c]: of the rows so far within the first c columns.
  std::vector<int64_t> before(columns + 1, 0), total(columns + 1, 0);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t c = 0; c < columns; ++c) {
      char& choice = choices[row * columns + c];
      int64_t max = total[c];
      if (before[c + 1] > max) max = before[c + 1], choice = kSkipRow;
      const int32_t here = weight(row, first - static_cast<int32_t>(c));
      if (here > 0 && before[c + 1] + here > max) max = before[c + 1] + here, choice = kMatch;
      total[c + 1] = max;
    }
    before = total;
  }
  for (size_t row = rows, c = columns; row > 0 && c > 0;) {
    const char choice = choices[(row - 1) * columns + c - 1];
    if (choice == kNextColumn) {
      --c;
      continue;
    }
    --row;
    if (choice == kMatch) result[row] = first - static_cast<int32_t>(c - 1);
  }
  return result;
}

}  // namespace placewright
