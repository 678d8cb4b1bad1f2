#include "search/layouts/layout_moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planning/plan_words.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/layouts/test_steps.h"
#include "search/layouts/test_tiny_steps.h"

namespace placewright {
namespace {

TEST(LayoutMoves, DrawsStatesThatMayBe) {
  const LayeredProblem tiny(11);
  LayoutBook book;
  LayoutMoves moves = LayoutMoves::Make(tiny.problem, book).Take();
  Random random(1);
  LayoutState state = moves.PlainStates().front();
  int changed = 0;
  for (int i = 0; i < 300; ++i) {
    std::optional<LayoutState> next =
        moves.Draw(state, static_cast<MoveKind>(i % static_cast<int>(MoveChances::kKinds)), random);
    if (!next) continue;
    EXPECT_FALSE(*next == state);
    EXPECT_TRUE(moves.MayBe(*next));
    // In words and back it stays the same step.
    const DistributionSpec spec = StatePlan(*tiny.layouts, PlanOf(book, *next));
    const LayoutState stated =
        StateOf(*tiny.layouts, ResolvePlan(*tiny.layouts, spec).Take(), book);
    const auto as_drawn = EvaluateState(*tiny.layouts, book, *next);
    const auto as_stated = EvaluateState(*tiny.layouts, book, stated);
    ASSERT_EQ(as_drawn.ok(), as_stated.ok());
    if (as_drawn.ok()) {
      EXPECT_EQ(as_drawn.value().step_time, as_stated.value().step_time);
    }
    state = *std::move(next);
    ++changed;
  }
  EXPECT_GT(changed, 100);
}

// Two layers of equal widths: what one move gives to a group it gives to the group that is alike.
TEST(LayoutMoves, MovesGroupsThatAreAlikeTogether) {
  std::optional<LayeredProblem> tiny;
  const auto types = [&](GroupId group) {
    std::string text;
    for (const OpId op : tiny->layouts->graph.ops()) {
      if (tiny->layouts->graph.group(op) != group) continue;
      text += tiny->layouts->graph.op(op).type;
      for (const TensorId result : tiny->layouts->graph.op(op).outputs) {
        text += std::to_string(tiny->layouts->graph.tensor(result).bytes.count) + ' ';
      }
    }
    return text;
  };
  int moved = 0;
  for (uint64_t seed = 0; moved < 50; ++seed) {
    tiny.emplace(seed);
    LayoutBook book;
    LayoutMoves moves = LayoutMoves::Make(tiny->problem, book).Take();
    Random random(seed);
    const LayoutState state = moves.PlainStates().front();
    for (int i = 0; i < 20; ++i) {
      const std::optional<LayoutState> next = moves.Draw(state, MoveKind::kAlikeToDevice, random);
      if (!next) continue;
      std::vector<GroupId> changed;
      for (const GroupId group : IdRange<GroupId>(state.of_group.size())) {
        if (next->of_group[group] != state.of_group[group]) changed.push_back(group);
      }
      EXPECT_GE(changed.size(), 2U);
      for (const GroupId group : changed) {
        EXPECT_EQ(types(group), types(changed.front()));
        EXPECT_EQ(next->of_group[group], next->of_group[changed.front()]);
      }
      ++moved;
    }
  }
}

size_t GroupsChanged(const LayoutState& from, const LayoutState& to) {
  size_t changed = 0;
  for (const GroupId group : IdRange<GroupId>(from.of_group.size())) {
    changed += from.of_group[group] != to.of_group[group] ? 1 : 0;
  }
  return changed;
}

// FlexFlow's, sec. 6.2: one op at a time.
TEST(LayoutMoves, OfSingleGroupsChangeOneAndNothingElse) {
  const MoveChances chances = MoveChances::OneAtATime(LayoutMoves::kOfSingleGroups);
  std::set<MoveKind> kinds;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const LayeredProblem tiny(seed);
    LayoutBook book;
    LayoutMoves moves = LayoutMoves::Make(tiny.problem, book).Take();
    Random random(seed);
    LayoutState state = moves.PlainStates().back();
    for (int i = 0; i < 100; ++i) {
      std::optional<LayoutMoves::Neighbour> next = moves.Draw(state, chances, random);
      if (!next) continue;
      EXPECT_EQ(GroupsChanged(state, next->state), 1U);
      EXPECT_EQ(next->state.switches.fusion, state.switches.fusion);
      EXPECT_EQ(next->state.switches.broadcasts, state.switches.broadcasts);
      ASSERT_EQ(next->kinds.size(), 1U);
      kinds.insert(next->kinds.front());
      state = std::move(next->state);
    }
  }
  // Without layers that kGroupAxis would know (tests/planners/layout_evaluator_test.cc).
  EXPECT_EQ(kinds, (std::set{MoveKind::kGroupToDevice, MoveKind::kGroupToCopies,
                             MoveKind::kGroupToParts, MoveKind::kGroupToOther}));
}

// Two layers of equal sizes have one choice, of both; others one each, the larger first.
TEST(LayoutMoves, ServeParametersThatAreAlikeInTurn) {
  int of_both = 0, of_one = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const LayeredProblem tiny(seed, {}, /*layers=*/2);
    const Graph& graph = tiny.layouts->graph;
    LayoutBook book;
    LayoutMoves moves = LayoutMoves::Make(tiny.problem, book).Take();
    const LayoutState even =
        StateOf(*tiny.layouts, ResolvePlan(*tiny.layouts, EvenSplit()).Take(), book);
    std::vector<int64_t> bytes;
    for (size_t choice = 0; choice < moves.update_choices(); ++choice) {
      const LayoutState served = moves.WithServers(even, choice);
      int64_t& sum = bytes.emplace_back(0);
      std::vector<DeviceId> devices;
      for (const TensorId id : graph.tensors()) {
        const Tensor& tensor = graph.tensor(id);
        if (tensor.kind != TensorKind::kParameter || tensor.producer.valid()) continue;
        const GroupId group = graph.group(graph.home_op(tensor.storage));
        if (served.of_group[group] == even.of_group[group]) continue;
        sum += tensor.bytes.count;
        ASSERT_EQ(book[served.of_group[group]].shares.size(), 1U);
        devices.push_back(book[served.of_group[group]].shares.front().device);
      }
      EXPECT_EQ(GroupsChanged(even, served), devices.size());
      ASSERT_GE(devices.size(), 1U);
      EXPECT_EQ(devices.front(), DeviceId(0));
      if (devices.size() == 2) {
        EXPECT_EQ(devices.back(), DeviceId(1));
      }
      (devices.size() == 2 ? of_both : of_one) += 1;
    }
    EXPECT_TRUE(std::is_sorted(bytes.rbegin(), bytes.rend()));
  }
  EXPECT_GT(of_both, 0);
  EXPECT_GT(of_one, 20);
}

// Each parameter by an axis of its own, evenly, on the devices that the others are on; what it makes is a step.
TEST(LayoutMoves, SplitUpdatesByTheirParametersAxes) {
  int split_groups = 0, both = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const LayeredProblem tiny(seed, {}, /*layers=*/2);
    const Graph& graph = tiny.layouts->graph;
    const NamedAxes& axes = tiny.layouts->axes;
    LayoutBook book;
    LayoutMoves moves = LayoutMoves::Make(tiny.problem, book).Take();
    const LayoutState even =
        StateOf(*tiny.layouts, ResolvePlan(*tiny.layouts, EvenSplit()).Take(), book);
    const std::vector<DeviceId> devices = DevicesOf(book[even.of_group[GroupId(0)]]);
    const LayoutState placed = moves.PlainStates().front();
    for (size_t choice = 0; choice < moves.update_choices(); ++choice) {
      const LayoutState split = moves.WithSplitUpdates(even, choice, {});
      EXPECT_EQ(moves.WithSplitUpdates(placed, choice, {}), placed);
      size_t found = 0;
      for (const TensorId id : graph.tensors()) {
        const Tensor& tensor = graph.tensor(id);
        if (tensor.kind != TensorKind::kParameter || tensor.producer.valid()) continue;
        const GroupId group = graph.group(graph.home_op(tensor.storage));
        if (split.of_group[group] == even.of_group[group]) continue;
        ++found;
        const Layout& layout = book[split.of_group[group]];
        const AxisId axis = layout.axis();
        ASSERT_TRUE(axis.valid());
        EXPECT_NE(axis, axes.batch());
        EXPECT_TRUE(axes.Holds(id, axis));
        ASSERT_EQ(DevicesOf(layout), devices);
        int64_t from = 0;
        for (const Share& share : layout.shares) {
          const Interval interval = share.Along(axis);
          EXPECT_EQ(interval.from, from);
          const int64_t part = axes.axis(axis).size / static_cast<int64_t>(devices.size());
          EXPECT_GE(interval.length(), part);
          EXPECT_LE(interval.length(), part + 1);
          from = interval.to;
        }
        EXPECT_EQ(from, axes.axis(axis).size);
      }
      EXPECT_EQ(GroupsChanged(even, split), found);
      // One in two from the first, or from the second: what both change is all, and nothing twice.
      const LayoutState first = moves.WithSplitUpdates(even, choice, {2, 0});
      const LayoutState second = moves.WithSplitUpdates(even, choice, {2, 1});
      const size_t firsts = GroupsChanged(even, first), seconds = GroupsChanged(even, second);
      EXPECT_EQ(firsts + seconds, found);
      EXPECT_EQ(firsts - seconds, found % 2);
      EXPECT_EQ(GroupsChanged(first, second), found);
      both += firsts > 0 && seconds > 0 ? 1 : 0;
      split_groups += static_cast<int>(found);
      EXPECT_TRUE(DecideAndCompile(*tiny.layouts, PlanOf(book, split)).ok());
    }
  }
  EXPECT_GT(split_groups, 60);
  EXPECT_GT(both, 5);
}

// Six layers: all of their parameters, or one in two, three or four, go elsewhere.
TEST(LayoutMoves, ServeSomeOfTheParametersThatAreAlike) {
  constexpr size_t kLayers = 6;
  Random random(5);
  Graph step = TinyStep(random, kLayers, /*alike=*/true);
  const LayeredProblem tiny(std::move(step), TinyCluster(random));
  LayoutBook book;
  LayoutMoves moves = LayoutMoves::Make(tiny.problem, book).Take();
  const LayoutState even =
      StateOf(*tiny.layouts, ResolvePlan(*tiny.layouts, EvenSplit()).Take(), book);
  std::vector<GroupId> parameters;
  for (const TensorId id : tiny.layouts->graph.tensors()) {
    const Tensor& tensor = tiny.layouts->graph.tensor(id);
    if (tensor.kind != TensorKind::kParameter || tensor.producer.valid()) continue;
    parameters.push_back(tiny.layouts->graph.group(tiny.layouts->graph.home_op(tensor.storage)));
  }
  ASSERT_EQ(parameters.size(), kLayers);
  std::set<std::vector<size_t>> seen;
  for (int i = 0; i < 400; ++i) {
    const std::optional<LayoutState> next = moves.Draw(even, MoveKind::kServersAlike, random);
    if (!next) continue;
    std::vector<size_t> changed;
    for (size_t p = 0; p < kLayers; ++p) {
      if (next->of_group[parameters[p]] != even.of_group[parameters[p]]) changed.push_back(p);
    }
    EXPECT_EQ(GroupsChanged(even, *next), changed.size());
    seen.insert(changed);
  }
  const std::set<std::vector<size_t>> expected = {
      {0, 1, 2, 3, 4, 5}, {0, 2, 4}, {1, 3, 5}, {0, 3}, {1, 4}, {2, 5}, {0, 4}, {1, 5}, {2}, {3}};
  EXPECT_EQ(seen, expected);
}

// The first axis that has a part for every device: on 16 devices a later one, or none, where the first is short.
TEST(LayoutMoves, SplitUpdatesByAnAxisThatIsLongEnough) {
  constexpr int64_t kDevices = 16;
  int by_first = 0, by_second = 0, whole = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    Graph step = TinyStep(random, 2);
    const LayeredProblem tiny(std::move(step), DrawCluster(random, kDevices, 1 << 28));
    const Graph& graph = tiny.layouts->graph;
    LayoutBook book;
    LayoutMoves moves = LayoutMoves::Make(tiny.problem, book).Take();
    std::vector<DeviceId> devices;
    for (const DeviceId device : tiny.cluster->devices()) devices.push_back(device);
    LayoutState copies;
    copies.of_group = IdVector<GroupId, LayoutId>(graph.group_count(), book.Add(CopiesOn(devices)));
    for (const TensorId id : graph.tensors()) {
      const Tensor& tensor = graph.tensor(id);
      if (tensor.kind != TensorKind::kParameter || tensor.producer.valid()) continue;
      const GroupId group = graph.group(graph.home_op(tensor.storage));
      LayoutId found = copies.of_group[group];
      for (size_t choice = 0; choice < moves.update_choices(); ++choice) {
        const LayoutId split = moves.WithSplitUpdates(copies, choice, {}).of_group[group];
        if (split != copies.of_group[group]) found = split;
      }
      const bool first = tensor.shape[0] >= kDevices, second = tensor.shape[1] >= kDevices;
      (first ? by_first : second ? by_second : whole) += 1;
      const AxisId axis = book[found].axis();
      ASSERT_EQ(axis.valid(), first || second);
      if (axis.valid()) {
        EXPECT_EQ(axis, tiny.layouts->axes.factors(id, first ? 0 : 1).front());
      }
    }
  }
  EXPECT_GT(by_first, 5);
  EXPECT_GT(by_second, 5);
  EXPECT_GT(whole, 5);
}

// A step of one unit moves as one.
TEST(LayoutMoves, HaveAsManyUnitsAsAskedFor) {
  LayeredProblem tiny(11);
  size_t smallest = tiny.layouts->graph.group_count();
  for (const int units : {1, kTagParts}) {
    tiny.layouts->units = units;
    LayoutBook book;
    LayoutMoves moves = LayoutMoves::Make(tiny.problem, book).Take();
    Random random(1);
    const LayoutState state = moves.PlainStates().front();
    for (int i = 0; i < 50; ++i) {
      const std::optional<LayoutState> next = moves.Draw(state, MoveKind::kUnitToCopies, random);
      if (!next) continue;
      const size_t changed = GroupsChanged(state, *next);
      if (units == 1) {
        EXPECT_EQ(changed, state.of_group.size());
      } else {
        smallest = std::min(smallest, changed);
      }
    }
  }
  EXPECT_LT(smallest, tiny.layouts->graph.group_count());
}

}  // namespace
}  // namespace placewright
