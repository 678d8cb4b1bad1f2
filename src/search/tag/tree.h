// Monte-Carlo tree search for one player (Zhang et al., TAG, sec. 4.2.2; Silver et al., Nature 550, 2017), over any game
// of decisions in turn.
//
// A vertex is reached by the decisions that led there. From the root down, the action a with the greatest
//
//   Q(s,a) + c G(s,a) sqrt(max(1, sum_b N(s,b))) / (1 + N(s,a))
//
// is taken until a vertex is new; it is valued, and every edge on the way has one visit more and
//
//   Q += (r - Q) / N
//
// G: the prior, N: visits, Q: the mean of values r behind the edge. Several leaves are taken before any of them is
// valued: each edge on the way to one counts meanwhile as visited once more, with the smallest value (virtual loss).
//
// Deviations: the paper prints Q += r / N; the square root is of one at least, so that the first visit follows the
// prior; a vertex asks for its priors when it is gone through for the first time, not when it is made; values may be
// scaled to [0, 1] by the smallest and greatest seen so far (Schrittwieser et al., Nature 588, 2020), and an action not yet
// tried may stand at what its vertex came to itself instead of 0.
//
// What lies behind an edge and is known to its end is not visited again, where the options say so: values do not change.
//
// Actions are tried by descending prior, as all that are untried stand alike otherwise: a vertex has numbers for those
// alone that were tried. Complexity of a visit: O(tried actions) for each vertex on its way.
#ifndef PLACEWRIGHT_SEARCH_TAG_TREE_H_
#define PLACEWRIGHT_SEARCH_TAG_TREE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"

namespace placewright {

struct TreeAction {
  int32_t action = 0;
  float prior = 0;  // >= 0; those of a vertex add up to 1
};

using TreePath = std::vector<int32_t>;  // actions from the root on

struct TreeOptions {
  double exploration = 3;  // c; 0: sqrt(actions / 10) of each vertex, as TAG's code has it
  bool scaled = true;      // values, to [0, 1]
  bool first_play_of_parent = true;
  bool closes = true;       // what is known to its end
  double least_value = -1;  // of a virtual loss; of scaled values the smallest seen
  int leaves = 4;           // taken before any of them is valued
  uint64_t seed = 0;        // of the order of actions with equal priors
};

// Game:
//   bool IsOver(const TreePath&)
//   std::vector<TreeAction> Actions(const TreePath&)             where it is not: one at least
//   bool Value(std::span<const TreePath>, std::vector<double>&)  false: there was no time, and the tree stays as it was
// Deterministic where the game is.
template <class Game>
class Tree {
 public:
  // `game` must outlive it.
  Tree(Game& game, const TreeOptions& options)
      : game_(game), options_(options), random_(options.seed) {}

  // Values `count` leaves more, at most options.leaves, together; the first time the root alone. Returns how many it did:
  // 0 where there was no time, or all is known.
  int Grow(int count) {
    if (!vertices_.empty() && vertices_.front().closed) return 0;
    count = std::min(count, vertices_.empty() ? 1 : options_.leaves);
    std::vector<Descent> descents;
    std::vector<TreePath> paths;
    for (int i = 0; i < count; ++i) {
      descents.push_back(Descend());
      paths.push_back(descents.back().path);
    }
    std::vector<double> values;
    const bool valued = game_.Value(paths, values);
    for (size_t i = 0; i < descents.size(); ++i) {
      TakeVirtualLossBack(descents[i]);
      if (valued) BackUp(descents[i], values[i]);
    }
    return valued ? count : 0;
  }

  // What has become of the actions at a path, in the order in which they were tried; none where it was not gone through.
  struct Tried {
    int32_t action = 0;
    float prior = 0;
    int64_t visits = 0;
    double value = 0;  // Q
  };
  std::vector<Tried> TriedAt(const TreePath& path) const {
    int32_t at = vertices_.empty() ? -1 : 0;
    for (const int32_t action : path) {
      if (at < 0) break;
      const Vertex& vertex = vertices_[static_cast<size_t>(at)];
      at = -1;
      for (size_t i = 0; i < vertex.tried.size(); ++i) {
        if (vertex.actions[i].action == action) at = vertex.tried[i].to;
      }
    }
    std::vector<Tried> tried;
    if (at < 0) return tried;
    const Vertex& vertex = vertices_[static_cast<size_t>(at)];
    for (size_t i = 0; i < vertex.tried.size(); ++i) {
      const Edge& edge = vertex.tried[i];
      tried.push_back({vertex.actions[i].action, vertex.actions[i].prior, edge.visits, edge.value});
    }
    return tried;
  }
  size_t vertices() const { return vertices_.size(); }

 private:
  struct Edge {
    int32_t to = -1;
    int32_t in_flight = 0;
    int64_t visits = 0;
    double value = 0;
  };
  struct Vertex {
    std::vector<TreeAction> actions;  // by descending prior
    std::vector<Edge> tried;          // of the first of these
    bool asked = false;               // for its actions
    bool closed = false;
    double own = 0;  // its first value
    int64_t visits = 0;
  };
  struct Descent {
    TreePath path;
    std::vector<std::pair<int32_t, int32_t>> edges;  // vertex, number among those tried there
    int32_t leaf = 0;
  };

  Descent Descend() {
    if (vertices_.empty()) vertices_.emplace_back();
    Descent descent;
    int32_t at = 0;
    // What is still to be valued is not gone through.
    while (vertices_[static_cast<size_t>(at)].visits > 0 && !game_.IsOver(descent.path)) {
      Ask(at, descent.path);
      const int32_t edge = Best(vertices_[static_cast<size_t>(at)]);
      if (edge == static_cast<int32_t>(vertices_[static_cast<size_t>(at)].tried.size())) {
        const auto made = static_cast<int32_t>(vertices_.size());
        vertices_.emplace_back();
        vertices_[static_cast<size_t>(at)].tried.push_back({made});
      }
      Vertex& vertex = vertices_[static_cast<size_t>(at)];
      Edge& taken = vertex.tried[static_cast<size_t>(edge)];
      ++taken.in_flight;
      descent.edges.emplace_back(at, edge);
      descent.path.push_back(vertex.actions[static_cast<size_t>(edge)].action);
      at = taken.to;
    }
    descent.leaf = at;
    return descent;
  }

  void Ask(int32_t at, const TreePath& path) {
    if (vertices_[static_cast<size_t>(at)].asked) return;
    std::vector<TreeAction> actions = game_.Actions(path);
    for (size_t i = actions.size(); i > 1; --i)
      std::swap(actions[i - 1], actions[random_.Below(i)]);
    std::stable_sort(actions.begin(), actions.end(),
                     [](const TreeAction& a, const TreeAction& b) { return a.prior > b.prior; });
    Vertex& vertex = vertices_[static_cast<size_t>(at)];
    vertex.actions = std::move(actions);
    vertex.asked = true;
  }

  double Scaled(double value) const {
    if (!options_.scaled) return value;
    return most_ > least_ ? (value - least_) / (most_ - least_) : 0.5;
  }

  bool Closed(const Vertex& vertex, size_t edge) const {
    return edge < vertex.tried.size() &&
           vertices_[static_cast<size_t>(vertex.tried[edge].to)].closed;
  }

  // The number of an edge, of those tried or the next one.
  int32_t Best(const Vertex& vertex) const {
    int64_t visits = 0;
    for (const Edge& edge : vertex.tried) visits += edge.visits + edge.in_flight;
    const double c = options_.exploration > 0
                         ? options_.exploration
                         : std::sqrt(static_cast<double>(vertex.actions.size()) / 10);
    const double root = c * std::sqrt(static_cast<double>(std::max<int64_t>(1, visits)));
    int32_t best = -1;
    double most = 0;
    for (size_t i = 0; i < std::min(vertex.actions.size(), vertex.tried.size() + 1); ++i) {
      if (Closed(vertex, i)) continue;
      double value = options_.first_play_of_parent ? vertex.own : 0;
      double seen = 0;
      if (i < vertex.tried.size() && vertex.tried[i].visits + vertex.tried[i].in_flight > 0) {
        const Edge& edge = vertex.tried[i];
        seen = static_cast<double>(edge.visits + edge.in_flight);
        value = (edge.value * static_cast<double>(edge.visits) +
                 (options_.scaled ? least_ : options_.least_value) *
                     static_cast<double>(edge.in_flight)) /
                seen;
      }
      const double score = Scaled(value) + root * vertex.actions[i].prior / (1 + seen);
      if (best < 0 || score > most) {
        best = static_cast<int32_t>(i);
        most = score;
      }
    }
    return best;
  }

  void TakeVirtualLossBack(const Descent& descent) {
    for (const auto& [at, edge] : descent.edges) {
      --vertices_[static_cast<size_t>(at)].tried[static_cast<size_t>(edge)].in_flight;
    }
  }

  void BackUp(const Descent& descent, double value) {
    least_ = any_ ? std::min(least_, value) : value;
    most_ = any_ ? std::max(most_, value) : value;
    any_ = true;
    Vertex& leaf = vertices_[static_cast<size_t>(descent.leaf)];
    if (leaf.visits == 0) leaf.own = value;
    ++leaf.visits;
    leaf.closed = options_.closes && game_.IsOver(descent.path);
    for (size_t i = descent.edges.size(); i > 0; --i) {
      Vertex& vertex = vertices_[static_cast<size_t>(descent.edges[i - 1].first)];
      Edge& edge = vertex.tried[static_cast<size_t>(descent.edges[i - 1].second)];
      vertex.closed = options_.closes && vertex.tried.size() == vertex.actions.size();
      for (size_t e = 0; vertex.closed && e < vertex.tried.size(); ++e) {
        vertex.closed = Closed(vertex, e);
      }
      ++edge.visits;
      edge.value += (value - edge.value) / static_cast<double>(edge.visits);
    }
  }

  Game& game_;
  const TreeOptions options_;
  Random random_;
  std::vector<Vertex> vertices_;
  bool any_ = false;
  double least_ = 0, most_ = 0;  // values seen
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TAG_TREE_H_
