#include "search/layouts/layout_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster_builder.h"
#include "compile/layout_specs.h"
#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/layout_devices.h"
#include "search/layouts/layout_moves.h"
#include "search/layouts/layout_trials.h"
#include "search/layouts/test_layout_optimum.h"
#include "search/layouts/test_steps.h"
#include "search/local/descent.h"
#include "search/sfb/sfb_search.h"

namespace placewright {
namespace {

Result<Evaluation> EvaluateState(const LayoutProblem& problem, LayoutBook& book,
                                 const LayoutState& state) {
  return EvaluateLayouts(problem, book.Of(state), OptionsOf(problem, state));
}

constexpr int64_t kSamples = 8;

// Some layers (0: one or two), each with a product, an activation, the weight's gradient as a sum over the samples,
// and its update.
Graph TinyStep(Random& random, size_t layers) {
  GraphBuilder builder("tiny", "aten");
  builder.set_batch(kSamples);
  const auto size = [&] { return int64_t{1} << (2 + random.Below(6)); };
  const auto add = [&](std::string name, const char* type, std::vector<TensorId> inputs,
                       std::vector<int64_t> shape, bool in_place = false) {
    OpSpec op{.name = name, .type = type};
    op.phase = in_place ? Phase::kOptimizer : Phase::kForward;
    op.module = "layer" + name.substr(name.size() - 1);
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = std::move(shape)}};
    if (in_place) op.outputs[0].alias = AliasKind::kInPlace;
    if (in_place) op.outputs[0].alias_of = 0;
    return builder.AddOp(std::move(op)).Take()[0];
  };
  const auto input = [&](std::string name, TensorKind kind, std::vector<int64_t> shape) {
    return builder.AddInput(std::move(name), kind, DType::kF32, std::move(shape)).Take();
  };
  int64_t width = size();
  TensorId x = input("input:x", TensorKind::kInput, {kSamples, width});
  std::vector<TensorId> outputs;
  if (layers == 0) layers = 1 + random.Below(2);
  for (size_t layer = 0; layer < layers; ++layer) {
    const std::string number = std::to_string(layer);
    const int64_t next = size();
    const TensorId across = input("input:t" + number, TensorKind::kInput, {width, kSamples});
    const TensorId w = input("param:w" + number, TensorKind::kParameter, {width, next});
    const TensorId y = add("product" + number, "aten.mm.default", {x, w}, {kSamples, next});
    x = add("activation" + number, "aten.relu.default", {y}, {kSamples, next});
    const TensorId gradient =
        add("gradient" + number, "aten.mm.default", {across, x}, {width, next});
    outputs.push_back(
        add("update" + number, "aten.sub_.Tensor", {w, gradient}, {width, next}, true));
    width = next;
  }
  outputs.push_back(x);
  builder.SetOutputs(outputs);
  Graph graph = std::move(builder).Build().Take();
  BatchScaling laws;
  laws.sizes = {kSamples, kSamples + 1, 2 * kSamples + 3};
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    const bool across = tensor.name.starts_with("input:t");
    const bool samples = across || tensor.name == "input:x" || tensor.name.starts_with("product") ||
                         tensor.name.starts_with("activation");
    if (samples) laws.dimensions.items.push_back({across ? 1 : 0, 1});
    laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
  }
  laws.arguments.offsets.resize(graph.op_count() + 1, 0);
  return WithBatchScaling(std::move(graph), laws).Take();
}

// Two devices, a and b, one of which may be slower.
Cluster TinyCluster(Random& random) {
  ClusterBuilder builder("two");
  for (const char* name : {"a", "b"}) {
    DeviceKind kind{.name = std::string("K") + name};
    kind.peak.f32 = 1e9 * static_cast<double>(1 + random.Below(4));
    kind.memory_bandwidth = BytesPerSecond(int64_t{1} << (28 + random.Below(3)));
    const int32_t number = builder.AddKind(kind).Take();
    (void)builder.AddDevice({.name = name, .kind = number, .capacity = Bytes(1 << 28)}).Take();
  }
  const BytesPerSecond bandwidth(int64_t{1} << (24 + random.Below(10)));
  EXPECT_TRUE(builder.Connect("a", "b", bandwidth, Nanos(100), Duplex::kFull, "").ok());
  return std::move(builder).Build().Take();
}

struct TinyProblem {
  explicit TinyProblem(uint64_t seed, Constraints constraints = {}, size_t layers = 0)
      : random(seed) {
    graph = std::make_unique<const Graph>(TinyStep(random, layers));
    cluster = std::make_unique<const Cluster>(TinyCluster(random));
    layouts = LayoutProblem::Make(*graph, *cluster, CostOptions(), SchedulingPolicy::kFifo).Take();
    problem =
        BuildProblem(*graph, *cluster, layouts->costs, constraints, SchedulingPolicy::kFifo).Take();
    problem.layouts = layouts.get();
  }

  PlannerResult Search(LayoutRule rule, int64_t moves, uint64_t seed = 0, int threads = 1) const {
    PlannerOptions options;
    options.budget.iterations = moves;
    options.seed = seed;
    options.threads = threads;
    return SearchLayouts(problem, options, rule, "layout-search", {}).Take();
  }

  Random random;
  std::unique_ptr<const Graph> graph;
  std::unique_ptr<const Cluster> cluster;
  std::unique_ptr<LayoutProblem> layouts;
  Problem problem;
};

// Over all ways to give every group one of: a, b, both with equal shares, both with everything.
int64_t Optimum(const TinyProblem& tiny) {
  const LayoutProblem& problem = *tiny.layouts;
  LayoutBook book;
  const DeviceId a(0), b(1);
  const std::vector<LayoutId> choices = {
      book.Add({"", {{a, 0, 0}}}), book.Add({"", {{b, 0, 0}}}),
      book.Add({"batch", {{a, 0, kSamples / 2}, {b, kSamples / 2, kSamples}}}),
      book.Add({"", {{a, 0, 0}, {b, 0, 0}}})};
  const size_t groups = problem.graph.group_count();
  int64_t best = kMaxQuantity;
  std::vector<size_t> digits(groups, 0);
  for (;;) {
    LayoutState state;
    for (const size_t digit : digits) state.of_group.push_back(choices[digit]);
    const auto evaluation = EvaluateState(problem, book, state);
    if (evaluation.ok()) best = std::min(best, evaluation.value().step_time.count);
    size_t i = 0;
    while (i < groups && ++digits[i] == choices.size()) digits[i++] = 0;
    if (i == groups) return best;
  }
}

TEST(LayoutSearch, FindsTheOptimumOfTinySteps) {
  constexpr int kProblems = 40;
  int reached = 0, drawn = 0;
  for (uint64_t seed = 0; drawn < kProblems; ++seed) {
    const TinyProblem tiny(seed);
    if (tiny.layouts->graph.group_count() > 4) continue;
    ++drawn;
    const PlannerResult found = tiny.Search(LayoutRule::kLocalSearch, 1000);
    if (found.step_time.count <= Optimum(tiny)) ++reached;
  }
  EXPECT_GE(reached, 40 * 98 / 100);
}

DistributionSpec EvenSplit() {
  LayoutSpec spec;
  spec.groups = "*";
  spec.option = LayoutOption::kAllReduce;
  spec.axis = "batch";
  spec.devices = {{"a", {}, {}}, {"b", {}, {}}};
  DistributionSpec all;
  all.layouts = {spec};
  return all;
}

TEST(LayoutSearch, IsNeverWorseThanItsStarts) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const TinyProblem tiny(seed);
    const DistributionSpec all = EvenSplit();
    const Nanos start = EvaluateLayouts(*tiny.layouts, all).Take().step_time;
    for (const LayoutRule rule :
         {LayoutRule::kLocalSearch, LayoutRule::kAnnealing, LayoutRule::kMcmc}) {
      PlannerOptions options;
      options.budget.iterations = 10;
      options.layout_starts = {all};
      const PlannerResult found = SearchLayouts(tiny.problem, options, rule, "x", {}).Take();
      EXPECT_LE(found.step_time, start);
      // What is reported is what the stated layouts take.
      EXPECT_EQ(EvaluateLayouts(*tiny.layouts, *found.layouts).Take().step_time, found.step_time);
      ASSERT_NE(found.compiled, nullptr);
      EXPECT_EQ(EvaluateStep(*found.compiled, tiny.layouts->policy).step_time, found.step_time);
    }
  }
}

// One move: what is found beside it are the starts' parts by speed, and gradients from factors.
TEST(LayoutSearch, TriesOtherSharesAndFactorsOfItsStart) {
  int shares_differ = 0, factors = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const TinyProblem tiny(seed);
    PlannerOptions options;
    options.budget.iterations = 1;
    const DistributionSpec even = EvenSplit();
    options.layout_starts = {even};
    const Nanos found =
        SearchLayouts(tiny.problem, options, LayoutRule::kLocalSearch, "x", {}).Take().step_time;
    const DeviceTimes times = TimesOf(*tiny.layouts);
    const std::vector<int64_t> by_speed =
        SharesInProportion(kSamples, {1 / times.Total(DeviceId(0)), 1 / times.Total(DeviceId(1))});
    DistributionSpec proportional = even;
    proportional.layouts[0].devices = {{"a", 0, by_speed[0]}, {"b", by_speed[0], kSamples}};
    const auto of_speed = EvaluateLayouts(*tiny.layouts, proportional);
    if (of_speed.ok()) {
      shares_differ += by_speed[0] != by_speed[1] ? 1 : 0;
      EXPECT_LE(found, of_speed.value().step_time) << seed;
    }
    const auto candidates =
        SfbCandidates(*tiny.layouts, even, InstancesOf(CompileStep(*tiny.layouts, even).Take()));
    for (const DistributionSpec& spec : candidates.value()) {
      ++factors;
      EXPECT_LE(found, EvaluateLayouts(*tiny.layouts, spec).Take().step_time) << seed;
    }
  }
  EXPECT_GT(shares_differ, 5);
  EXPECT_GT(factors, 5);
}

// Of a step of more axes than are drawn one by one.
TEST(LayoutSearch, SplitsLayersOfAPlacedStartByTheirAxes) {
  int improved = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const TinyProblem tiny(seed, {}, /*layers=*/18);
    DistributionSpec placed;
    placed.layouts = {{"*", GroupId(), "", {{"a", {}, {}}}, LayoutOption::kPlace}};
    PlannerOptions options;
    options.budget.iterations = 1;
    options.layout_starts = {placed};
    const Nanos found =
        SearchLayouts(tiny.problem, options, LayoutRule::kLocalSearch, "x", {}).Take().step_time;
    LayoutBook book;
    const LayoutMoves moves = LayoutMoves::Make(tiny.problem, book).Take();
    const LayoutState start = StateOf(*tiny.layouts, placed, book).Take();
    const Nanos before = EvaluateState(*tiny.layouts, book, start).Take().step_time;
    ASSERT_GT(moves.axis_choices(), 0u);
    bool better = false;
    for (size_t choice = 0; choice < moves.axis_choices(); ++choice) {
      const auto split = EvaluateState(*tiny.layouts, book, moves.WithAxisChoice(start, choice));
      if (!split.ok()) continue;
      EXPECT_LE(found, split.value().step_time) << seed;
      better = better || split.value().step_time < before;
    }
    improved += better ? 1 : 0;
  }
  EXPECT_GT(improved, 3);
}

// Everything is split but one layer, which is on a. Of a placement with everything on b, worse than the plan, that layer's
// part is taken where b is faster.
TEST(LayoutSearch, PutsWhatItSplitsIntoPlacementsThatAreOffered) {
  int improved = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const TinyProblem tiny(seed);
    DistributionSpec start = EvenSplit();
    LayoutSpec alone;
    alone.groups = "layer0";
    alone.option = LayoutOption::kPlace;
    alone.devices = {{"a", {}, {}}};
    start.layouts.push_back(alone);
    PlannerOptions options;
    options.layout_starts = {start};
    const std::unique_ptr<PlannerRun> run =
        StartLayoutSearch(tiny.problem, options, LayoutRule::kLocalSearch, "x", {}).Take();
    const Nanos before = run->result().step_time;
    const Placement on_b(tiny.graph->op_count(), DeviceId(1));
    run->Offer({true, 0, before.count + 1}, on_b);
    const Nanos after = run->result().step_time;
    EXPECT_LE(after, before);
    improved += after < before;
    ASSERT_TRUE(run->Finish().ok());
    EXPECT_EQ(EvaluateLayouts(*tiny.layouts, *run->result().layouts).Take().step_time, after);
  }
  EXPECT_GT(improved, 3);
}

// Long enough for best plans to be perturbed.
TEST(LayoutSearch, RepeatsItself) {
  constexpr int64_t kMoves = 500;
  const TinyProblem tiny(3);
  for (const LayoutRule rule :
       {LayoutRule::kLocalSearch, LayoutRule::kAnnealing, LayoutRule::kMcmc}) {
    const PlannerResult one = tiny.Search(rule, kMoves, 7, 1);
    const PlannerResult other = tiny.Search(rule, kMoves, 7, 2);
    EXPECT_EQ(one.layouts, other.layouts);
    EXPECT_EQ(one.iterations, kMoves);
  }
}

// Problems at whose best plans no neighbour is better, though there are better plans.
TEST(LayoutSearch, LeavesPlansWhoseNeighboursAreNotBetter) {
  for (const uint64_t seed : {120, 146}) {
    const DrawnProblem tiny(seed);
    PlannerOptions options;
    options.budget.iterations = 5000;
    const PlannerResult found =
        SearchLayouts(tiny.problem, options, LayoutRule::kLocalSearch, "x", {}).Take();
    EXPECT_LE(found.step_time.count, BestOfLayouts(*tiny.layouts, 2000)->best->step_time) << seed;
  }
}

TEST(LayoutState, OtherStatesHaveOtherHashes) {
  const TinyProblem tiny(11);
  LayoutBook book;
  LayoutMoves moves = LayoutMoves::Make(tiny.problem, book).Take();
  Random random(1);
  LayoutState state = moves.PlainStates().front();
  std::map<uint64_t, LayoutState> seen = {{HashOf(state), state}};
  for (int i = 0; i < 2000; ++i) {
    state = moves.Perturbed(state, random);
    for (LayoutState& other : LayoutMoves::OtherWaysOf(state)) {
      const auto [found, fresh] = seen.emplace(HashOf(other), other);
      EXPECT_EQ(found->second, other);
    }
  }
  EXPECT_GT(seen.size(), 1000u);
}

// Beside searches over layouts, on steps of more than 5,000 ops.
TEST(LayoutSearch, LetsDescentJoinSoonerOnLongSteps) {
  TinyProblem tiny(5);
  const DescentPlanner descent;
  EXPECT_EQ(descent.joins_after(tiny.problem), 2000);
  EXPECT_EQ(descent.StartsFor(tiny.problem), 1u);
  tiny.problem.sim_graph.ops = 20'661;
  EXPECT_EQ(descent.joins_after(tiny.problem), 484);
  EXPECT_EQ(descent.StartsFor(tiny.problem), 2u);
  tiny.problem.layouts = nullptr;
  EXPECT_EQ(descent.joins_after(tiny.problem), 2000);
  EXPECT_EQ(descent.StartsFor(tiny.problem), 1u);
}

// What is known is what evaluating it anew gives, whatever the limit; where it was given up, nothing is.
TEST(LayoutTrials, KnowWhatTheyHaveEvaluated) {
  const TinyProblem tiny(3);
  LayoutSpec everything;
  everything.groups = "*";
  everything.axis = "batch";
  everything.option = LayoutOption::kAllReduce;
  everything.devices = {{"a", 0, 4}, {"b", 4, kSamples}};
  DistributionSpec halves, one;
  halves.layouts = {everything};
  everything.axis.clear();
  everything.option = LayoutOption::kPlace;
  everything.devices = {{"a", std::nullopt, std::nullopt}};
  one.layouts = {everything};
  LayoutTrials trials(*tiny.layouts);
  EXPECT_TRUE(trials.Evaluate(halves, Nanos(1)).Take().abandoned);
  const Evaluation of_one = trials.Evaluate(one).Take();
  const Evaluation of_halves = trials.Evaluate(halves).Take();
  ASSERT_FALSE(of_halves.abandoned);
  EXPECT_EQ(of_halves.step_time, LayoutTrials(*tiny.layouts).Evaluate(halves).Take().step_time);
  EXPECT_NE(of_halves.step_time, of_one.step_time);
  EXPECT_EQ(trials.Evaluate(halves, Nanos(1)).Take().step_time, of_halves.step_time);
  EXPECT_EQ(trials.Evaluate(one).Take().step_time, of_one.step_time);
}

TEST(LayoutSearch, KeepsToConstraints) {
  Constraints constraints;
  constraints.forbids.push_back({"layer*", "b"});
  const TinyProblem tiny(5, constraints);
  const PlannerResult found = tiny.Search(LayoutRule::kLocalSearch, 200);
  EXPECT_EQ(found.devices, std::vector<std::string>{"a"});
}

TEST(LayoutSearch, StartsWhereEverythingIsPinned) {
  Constraints constraints;
  constraints.pins.push_back({"layer*", "b"});
  const TinyProblem tiny(5, constraints);
  EXPECT_EQ(tiny.Search(LayoutRule::kLocalSearch, 5).devices, std::vector<std::string>{"b"});
}

TEST(LayoutMoves, DrawsStatesThatMayBe) {
  const TinyProblem tiny(11);
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
    const DistributionSpec spec = SpecOf(*tiny.layouts, book, *next);
    const LayoutState stated = StateOf(*tiny.layouts, spec, book).Take();
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
  std::optional<TinyProblem> tiny;
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
    const TinyProblem tiny(seed);
    LayoutBook book;
    LayoutMoves moves = LayoutMoves::Make(tiny.problem, book).Take();
    Random random(seed);
    LayoutState state = moves.PlainStates().back();
    for (int i = 0; i < 100; ++i) {
      std::optional<LayoutMoves::Neighbour> next = moves.Draw(state, chances, random);
      if (!next) continue;
      EXPECT_EQ(GroupsChanged(state, next->state), 1U);
      EXPECT_EQ(next->state.fusion, state.fusion);
      EXPECT_EQ(next->state.broadcasts, state.broadcasts);
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
    const TinyProblem tiny(seed, {}, /*layers=*/2);
    const Graph& graph = tiny.layouts->graph;
    LayoutBook book;
    LayoutMoves moves = LayoutMoves::Make(tiny.problem, book).Take();
    const LayoutState even = StateOf(*tiny.layouts, EvenSplit(), book).Take();
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
  int split_groups = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const TinyProblem tiny(seed, {}, /*layers=*/2);
    const Graph& graph = tiny.layouts->graph;
    const NamedAxes& axes = tiny.layouts->axes;
    LayoutBook book;
    LayoutMoves moves = LayoutMoves::Make(tiny.problem, book).Take();
    const LayoutState even = StateOf(*tiny.layouts, EvenSplit(), book).Take();
    const std::vector<Share> samples = book[even.of_group[GroupId(0)]].shares;
    const LayoutState placed = moves.PlainStates().front();
    for (size_t choice = 0; choice < moves.update_choices(); ++choice) {
      const LayoutState split = moves.WithSplitUpdates(even, choice);
      EXPECT_EQ(moves.WithSplitUpdates(placed, choice), placed);
      size_t found = 0;
      for (const TensorId id : graph.tensors()) {
        const Tensor& tensor = graph.tensor(id);
        if (tensor.kind != TensorKind::kParameter || tensor.producer.valid()) continue;
        const GroupId group = graph.group(graph.home_op(tensor.storage));
        if (split.of_group[group] == even.of_group[group]) continue;
        ++found;
        const Layout& layout = book[split.of_group[group]];
        const AxisId axis = axes.Find(layout.axis);
        ASSERT_TRUE(axis.valid());
        EXPECT_NE(axis, axes.batch());
        EXPECT_TRUE(axes.Holds(id, axis));
        ASSERT_EQ(layout.shares.size(), samples.size());
        int64_t from = 0;
        for (size_t i = 0; i < samples.size(); ++i) {
          const Share& share = layout.shares[i];
          EXPECT_EQ(share.device, samples[i].device);
          EXPECT_EQ(share.from, from);
          const int64_t part = axes.axis(axis).size / static_cast<int64_t>(samples.size());
          EXPECT_GE(share.to - share.from, part);
          EXPECT_LE(share.to - share.from, part + 1);
          from = share.to;
        }
        EXPECT_EQ(from, axes.axis(axis).size);
      }
      EXPECT_EQ(GroupsChanged(even, split), found);
      split_groups += static_cast<int>(found);
      const DistributionSpec spec = SpecOf(*tiny.layouts, book, split);
      EXPECT_TRUE(CompileStep(*tiny.layouts, spec).ok());
    }
  }
  EXPECT_GT(split_groups, 60);
}

// A step of one unit moves as one.
TEST(LayoutMoves, HaveAsManyUnitsAsAskedFor) {
  TinyProblem tiny(11);
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
