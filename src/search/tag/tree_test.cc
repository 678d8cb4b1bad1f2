#include "search/tag/tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace placewright {
namespace {

// Each of `length` decisions has `width` actions, the value follows from them all; priors by action.
class Sequence {
 public:
  Sequence(size_t length, int32_t width, std::vector<double> priors,
           double (*value)(const TreePath&))
      : length_(length), width_(width), priors_(std::move(priors)), value_(value) {}

  bool IsOver(const TreePath& path) const { return path.size() == length_; }
  std::vector<TreeAction> Actions(const TreePath&) const {
    std::vector<TreeAction> actions;
    for (int32_t action = 0; action < width_; ++action) {
      actions.push_back({action, static_cast<float>(priors_[static_cast<size_t>(action)])});
    }
    return actions;
  }
  bool Value(std::span<const TreePath> paths, std::vector<double>& values) {
    if (!has_time) return false;
    for (const TreePath& path : paths) values.push_back(value_(path));
    return true;
  }

  bool has_time = true;

 private:
  const size_t length_;
  const int32_t width_;
  const std::vector<double> priors_;
  double (*const value_)(const TreePath&);
};

// Of three binary decisions the first one pays most; what is not decided counts as 0.
double Weighted(const TreePath& path) {
  double value = 0, weight = 1;
  for (const int32_t action : path) {
    value += weight * action;
    weight /= 2;
  }
  return value;
}

// The search as the paper's formula has it, over a map, one leaf at a time; equal priors differ in nothing but
// their order, so that the test gives every action another one.
class Textbook {
 public:
  Textbook(Sequence& game, double c) : game_(game), c_(c) {}

  void Visit() {
    TreePath path;
    std::vector<std::pair<TreePath, int32_t>> way;
    while (known_.contains(path)) {
      if (game_.IsOver(path)) break;
      const std::vector<TreeAction> actions = game_.Actions(path);
      std::map<int32_t, Edge>& edges = edges_[path];
      double visits = 0;
      for (const auto& [action, edge] : edges) visits += edge.visits;
      int32_t best = -1;
      double most = 0;
      for (const TreeAction& action : actions) {
        const Edge& edge = edges[action.action];
        const double score =
            edge.value + c_ * action.prior * std::sqrt(std::max(1.0, visits)) / (1 + edge.visits);
        if (best < 0 || score > most) best = action.action, most = score;
      }
      way.emplace_back(path, best);
      path.push_back(best);
    }
    known_[path] = true;
    std::vector<double> values;
    game_.Value(std::span(&path, 1), values);
    for (const auto& [at, action] : way) {
      Edge& edge = edges_[at][action];
      edge.visits += 1;
      edge.value += (values[0] - edge.value) / edge.visits;
    }
  }

  struct Edge {
    double visits = 0, value = 0;
  };
  std::map<TreePath, std::map<int32_t, Edge>> edges_;

 private:
  Sequence& game_;
  const double c_;
  std::map<TreePath, bool> known_;
};

TEST(Tree, IsTheTextbooksWithOneLeafAtATime) {
  Sequence game(3, 3, {0.2, 0.5, 0.3}, &Weighted);
  TreeOptions options;
  options.exploration = 5;
  options.scaled = options.first_play_of_parent = options.closes = false;
  options.leaves = 1;
  Tree<Sequence> tree(game, options);
  Textbook textbook(game, options.exploration);
  for (int visit = 0; visit < 500; ++visit) {
    ASSERT_EQ(tree.Grow(1), 1);
    textbook.Visit();
  }
  size_t compared = 0;
  for (const auto& [path, edges] : textbook.edges_) {
    for (const auto& tried : tree.TriedAt(path)) {
      const Textbook::Edge& edge = edges.at(tried.action);
      EXPECT_EQ(static_cast<double>(tried.visits), edge.visits);
      EXPECT_EQ(tried.value, edge.value);
      ++compared;
    }
  }
  EXPECT_GE(compared, 30u);  // 3 + 9 + 27 edges, but for those that were never worth a visit
}

// 21 matches, from which the player and a perfect opponent take one to three in turn; who takes the last one wins. The
// player takes one to leave 20, and then whatever makes four with what the opponent took.
int32_t Left(const TreePath& path) {
  int32_t left = 21;
  for (const int32_t action : path) {
    left -= action + 1;
    if (left <= 0) return 0;
    const int32_t best = left % 4;
    left -= best > 0 ? best : 1;
    if (left <= 0) return -1;  // the opponent took the last one
  }
  return left;
}
class Nim {
 public:
  bool IsOver(const TreePath& path) const { return Left(path) <= 0; }
  std::vector<TreeAction> Actions(const TreePath& path) const {
    std::vector<TreeAction> actions;
    for (int32_t action = 0; action < std::min(3, Left(path)); ++action) {
      actions.push_back({action, 1.0F / 3});
    }
    return actions;
  }
  bool Value(std::span<const TreePath> paths, std::vector<double>& values) {
    for (const TreePath& path : paths) {
      const int32_t left = Left(path);
      values.push_back(left == 0 ? 1 : left < 0 ? -1 : 0);
    }
    return true;
  }
};

TEST(Tree, WinsAtNim) {
  for (const int leaves : {1, 4}) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      Nim game;
      TreeOptions options;
      options.exploration = 1;
      options.closes = false;
      options.leaves = leaves;
      options.seed = seed;
      Tree<Nim> tree(game, options);
      for (int visits = 0; visits < 2000;) visits += tree.Grow(leaves);
      const auto tried = tree.TriedAt({});
      ASSERT_EQ(tried.size(), 3u);
      int64_t all = 0, of_one = 0;
      for (const auto& edge : tried) {
        all += edge.visits;
        if (edge.action == 0) of_one = edge.visits;
      }
      EXPECT_GE(all, 2000 - 1);  // the root is valued once
      EXPECT_GT(of_one, all * 8 / 10);
    }
  }
}

// Leaves that are taken together are others, but the same in every run.
TEST(Tree, RepeatsItself) {
  const auto grown = [](int leaves) {
    Sequence game(3, 3, {0.2, 0.5, 0.3}, &Weighted);
    TreeOptions options;
    options.leaves = leaves;
    options.closes = false;
    Tree<Sequence> tree(game, options);
    for (int visits = 0; visits < 60;) visits += tree.Grow(leaves);
    std::vector<int64_t> visits;
    for (const auto& edge : tree.TriedAt({})) visits.push_back(edge.visits);
    return visits;
  };
  EXPECT_EQ(grown(4), grown(4));
  EXPECT_NE(grown(4), grown(1));
}

// 3 + 9 + 27 vertices behind the root, each of them once.
TEST(Tree, EndsWhereAllIsKnown) {
  for (const int leaves : {1, 4}) {
    Sequence game(3, 3, {0.2, 0.5, 0.3}, &Weighted);
    TreeOptions options;
    options.leaves = leaves;
    Tree<Sequence> tree(game, options);
    int valued = 0;
    for (int grown = tree.Grow(leaves); grown > 0; grown = tree.Grow(leaves)) valued += grown;
    EXPECT_EQ(tree.vertices(), 40u);
    EXPECT_GE(valued, 40);
    EXPECT_LE(valued,
              leaves == 1 ? 40 : 60);  // of a few the same leaf is taken several times at once
  }
}

TEST(Tree, StaysAsItWasWhereThereIsNoTime) {
  Sequence game(3, 3, {0.2, 0.5, 0.3}, &Weighted), other = game;
  Tree<Sequence> tree(game, {}), never(other, {});
  for (int i = 0; i < 5; ++i) {
    tree.Grow(4);
    never.Grow(4);
    game.has_time = false;
    EXPECT_EQ(tree.Grow(4), 0);
    game.has_time = true;
  }
  for (const TreePath& path : {TreePath{}, TreePath{1}, TreePath{1, 1}}) {
    const auto here = tree.TriedAt(path), there = never.TriedAt(path);
    // What was begun and not valued is at the end, without a visit.
    ASSERT_GE(here.size(), there.size());
    for (size_t i = 0; i < here.size(); ++i) {
      if (i >= there.size()) {
        EXPECT_EQ(here[i].visits, 0);
        continue;
      }
      EXPECT_EQ(here[i].action, there[i].action);
      EXPECT_EQ(here[i].visits, there[i].visits);
      EXPECT_EQ(here[i].value, there[i].value);
    }
  }
  const auto one = tree.TriedAt({}), two = never.TriedAt({});
  int64_t visits = 0;
  for (const auto& edge : one) visits += edge.visits;
  EXPECT_EQ(visits, 16);  // four times four; the first valued the root alone
  int64_t others = 0;
  for (const auto& edge : two) others += edge.visits;
  EXPECT_EQ(others, 16);
}

}  // namespace
}  // namespace placewright
