// Layouts evaluated without a graph, along random walks of a search: step time and memory are those of the
// compiled graph, to the nanosecond and the byte.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/catalogue.h"
#include "cost/signature.h"
#include "formats/input.h"
#include "search/evaluation/compiled_step.h"
#include "search/evaluation/simulated.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/layouts/layout_moves.h"
#include "search/layouts/layout_state.h"
#include "search/problem/layout_problem.h"

namespace placewright::tests {
namespace {

class Walk {
 public:
  Walk(const std::string& graph, const std::string& preset, uint64_t seed, bool local_batch_norm,
       SchedulingPolicy policy = SchedulingPolicy::kFifo, const CostOptions& costs = {})
      : graph_(LoadGraph(graph).Take()),
        cluster_(MakePreset(preset).Take()),
        layouts_(LayoutProblem::Make(graph_.graph, cluster_, costs, policy).Take()),
        costs_(ModelCosts(graph_.graph, cluster_, {}).Take()),
        problem_(BuildProblem(graph_.graph, cluster_, costs_, {}, policy).Take()),
        evaluator_(*layouts_),
        seldom_(*layouts_),
        random_(seed) {
    layouts_->local_batch_norm = local_batch_norm;
    problem_.layouts = layouts_.get();
  }

  // As if about half of what ops become along such a walk had been measured.
  CostOptions Measure(int moves) {
    CostOptions options;
    for (const DeviceKind& kind : cluster_.kinds()) {
      MeasuredDevice device;
      device.on.kind = kind.name;
      device.on.cores = kind.cores;
      options.measured.push_back(std::move(device));
    }
    LayoutMoves neighbours = LayoutMoves::Make(problem_, book_).Take();
    LayoutState state = neighbours.PlainStates().back();
    const MoveChances chances = MoveChances::Fixed(LayoutMoves::kAll);
    std::set<std::pair<std::string, int32_t>> seen;
    for (int move = 0; move < moves; ++move) {
      std::optional<LayoutMoves::Neighbour> next = neighbours.Draw(state, chances, random_);
      if (!next) continue;
      state = std::move(next->state);
      const Result<CompiledStep> compiled =
          DecideAndCompile(*layouts_, {book_.With(state.of_group), state.switches});
      if (!compiled.ok()) continue;
      const Graph& step = compiled.value().step.graph;
      for (const OpId op : step.ops()) {
        const int32_t kind = cluster_.device(compiled.value().step.placement[op]).kind;
        MeasuredOp row;
        row.signature = SignatureOf(step, op).text;
        if (!seen.emplace(row.signature, kind).second || random_.Below(2) == 0) continue;
        row.time = Nanos(1 + static_cast<int64_t>(random_.Below(100'000)));
        row.workspace = Bytes(512 * static_cast<int64_t>(random_.Below(100)));
        options.measured[static_cast<size_t>(kind)].ops.push_back(std::move(row));
      }
    }
    return options;
  }

  // Layers that are alike are split by their axis, all of them or a few.
  void CompareAxisChoices() {
    LayoutMoves moves = LayoutMoves::Make(problem_, book_).Take();
    const LayoutState plain = moves.PlainStates().front();  // on one device
    ASSERT_GT(moves.axis_choices(), 1u);
    for (size_t choice = 0; choice < moves.axis_choices(); ++choice) {
      const LayoutState split = moves.WithAxisChoice(plain, choice);
      EXPECT_TRUE(moves.MayBe(split));
      EXPECT_FALSE(split == plain);
      CompareOne(split, static_cast<int>(choice));
    }
    // Or one group of one layer.
    int drawn = 0;
    for (int i = 0; i < 20; ++i) {
      const std::optional<LayoutState> one = moves.Draw(plain, MoveKind::kGroupAxis, random_);
      if (!one) continue;
      ++drawn;
      int changed = 0;
      for (const GroupId group : IdRange<GroupId>(plain.of_group.size())) {
        if (one->of_group[group] == plain.of_group[group]) continue;
        ++changed;
        EXPECT_GT(book_[one->of_group[group]].shares.size(), 1U);
      }
      EXPECT_EQ(changed, 1);
      CompareOne(*one, i);
    }
    EXPECT_GT(drawn, 5);
    CompareAlike(moves, plain);
  }

  // Or that group of all layers that are alike, over the same devices.
  void CompareAlike(LayoutMoves& moves, const LayoutState& plain) {
    int drawn = 0;
    size_t most = 0;
    for (int i = 0; i < 20; ++i) {
      const std::optional<LayoutState> all = moves.Draw(plain, MoveKind::kAlikeAxis, random_);
      if (!all) continue;
      ++drawn;
      std::set<std::vector<DeviceId>> devices;
      size_t changed = 0;
      for (const GroupId group : IdRange<GroupId>(plain.of_group.size())) {
        const LayoutId id = all->of_group[group];
        if (id == plain.of_group[group]) continue;
        ++changed;
        std::vector<DeviceId> split_over;
        for (const Share& share : book_[id].shares) split_over.push_back(share.device);
        devices.insert(std::move(split_over));
      }
      EXPECT_EQ(devices.size(), 1U);
      most = std::max(most, changed);
      CompareOne(*all, i);
    }
    EXPECT_GT(drawn, 5);
    EXPECT_GT(most, 1U);
  }

  // Some moves are taken, others are tried and left. Every one is compared.
  void Compare(int moves) {
    ASSERT_TRUE(LayoutEvaluator::Suffices(*layouts_));
    LayoutMoves neighbours = LayoutMoves::Make(problem_, book_).Take();
    LayoutState state = neighbours.PlainStates().back();
    const MoveChances of_all = MoveChances::Fixed(LayoutMoves::kAll);
    const MoveChances of_single = MoveChances::Fixed(LayoutMoves::kOfSingleGroups);
    for (int move = 0; move < moves;) {
      const MoveChances& chances = random_.Below(2) == 0 ? of_single : of_all;
      std::optional<LayoutMoves::Neighbour> next = neighbours.Draw(state, chances, random_);
      if (!next) continue;
      ++move;
      CompareOne(next->state, move);
      if (::testing::Test::HasFailure()) return;
      if (random_.Below(3) > 0) state = std::move(next->state);
    }
    EXPECT_GT(possible_, moves / 2);
    EXPECT_GT(known_, 0);
  }

 private:
  void CompareOne(const LayoutState& state, int move) {
    const Result<Evaluation> fast = evaluator_.Evaluate(book_.With(state.of_group), state.switches);
    const std::optional<bool> apart = evaluator_.gradients_apart();
    const Result<Evaluation> compiled =
        EvaluateCompiled(*layouts_, {book_.With(state.of_group), state.switches});
    ASSERT_EQ(fast.ok(), compiled.ok()) << "move " << move;
    if (!fast.ok()) return;
    ++possible_;
    CompareOneWay(state, apart, compiled.value());
    EXPECT_EQ(fast.value().step_time, compiled.value().step_time) << "move " << move;
    for (const DeviceId device : cluster_.devices()) {
      EXPECT_EQ(fast.value().devices[device.index()].peak,
                compiled.value().devices[device.index()].peak)
          << "move " << move << " device " << device.value();
    }
    CompareWithLimits(state, compiled.value().step_time);
  }

  // What the evaluator says of gradients spares the compiler one of two ways; and its ops are those compiled.
  void CompareOneWay(const LayoutState& state, std::optional<bool> apart, const Evaluation& both) {
    if (!apart) return;
    known_ += *apart ? 0 : 1;
    StepPlan plan{book_.With(state.of_group), state.switches};
    plan.switches.gradients_apart = apart;
    const CompiledStep compiled = CompileStep(*layouts_, plan).Take();
    const Evaluation one = EvaluateStep(compiled, /*feedback=*/true);
    EXPECT_FALSE(one.score() < both.score() || both.score() < one.score());
    const auto sorted = [](std::vector<Feedback::Instance> instances) {
      std::sort(instances.begin(), instances.end());
      return instances;
    };
    const Feedback fast =
        *evaluator_.EvaluateWithFeedback(book_.With(state.of_group), state.switches)
             .Take()
             .feedback;
    EXPECT_TRUE(sorted(fast.instances) == sorted(one.feedback->instances));
    for (const LinkId link : IdRange<LinkId>(cluster_.link_count())) {
      EXPECT_EQ(fast.links[link.index()].busy, one.feedback->links[link.index()].busy);
      EXPECT_EQ(fast.links[link.index()].moved, one.feedback->links[link.index()].moved);
    }
  }

  // Given up where the step is longer, and nowhere else; by an evaluator that has seen few of the steps, too.
  void CompareWithLimits(const LayoutState& state, Nanos time) {
    LayoutEvaluator& other = possible_ % 8 == 0 ? seldom_ : evaluator_;
    const Result<Evaluation> within =
        other.Evaluate(book_.With(state.of_group), state.switches, time);
    ASSERT_TRUE(within.ok());
    EXPECT_FALSE(within.value().abandoned);
    EXPECT_EQ(within.value().step_time, time);
    const Result<Evaluation> above =
        other.Evaluate(book_.With(state.of_group), state.switches, time - Nanos(1));
    ASSERT_TRUE(above.ok());
    EXPECT_TRUE(above.value().abandoned);
  }

  const LoadedGraph graph_;
  const Cluster cluster_;
  const std::unique_ptr<LayoutProblem> layouts_;
  const CostTable costs_;
  Problem problem_;
  LayoutEvaluator evaluator_, seldom_;
  LayoutBook book_;
  Random random_;
  int possible_ = 0, known_ = 0;
};

// The seeds of walks of one kind: one, or in ./test --long (PLACEWRIGHT_WALKS) several.
std::vector<uint64_t> WalkSeeds() {
  if (std::getenv("PLACEWRIGHT_WALKS") == nullptr) return {3};
  std::vector<uint64_t> seeds;
  for (int i = 0; i < std::atoi(std::getenv("PLACEWRIGHT_WALKS")); ++i) seeds.push_back(3 + i);
  return seeds;
}

std::string Example(const std::string& name) { return PLACEWRIGHT_SOURCE_DIR "/examples/" + name; }

TEST(LayoutEvaluator, EqualsTheCompiledGraphAlongWalks) {
  const std::string graph = Example("tiny_transformer_adam.json.gz");
  for (const char* preset : {"4xP100", "mixed-lab", "dgx-a100"}) {
    SCOPED_TRACE(preset);
    Walk(graph, preset, 1, false).Compare(preset[0] == '4' ? 60 : 30);
  }
}

// Paths lead through writers in place where readers are beside them, and nowhere else.
TEST(LayoutEvaluator, EqualsTheCompiledGraphByCriticalPath) {
  const std::string graph = Example("tiny_transformer_adam.json.gz");
  for (const char* preset : {"4xP100", "mixed-lab", "dgx-a100"}) {
    for (const uint64_t seed : WalkSeeds()) {
      SCOPED_TRACE(fmt::format("{}, seed {}", preset, seed));
      Walk(graph, preset, seed, false, SchedulingPolicy::kCriticalPath).Compare(60);
    }
  }
}

// What moves pieces stands where its makers or readers do, and collectives wait for those before them.
TEST(LayoutEvaluator, EqualsTheCompiledGraphInTheProgramsOrder) {
  const std::string graph = Example("tiny_transformer_adam.json.gz");
  for (const char* preset : {"4xP100", "mixed-lab", "dgx-a100"}) {
    for (const uint64_t seed : WalkSeeds()) {
      SCOPED_TRACE(fmt::format("{}, seed {}", preset, seed));
      Walk(graph, preset, seed, false, SchedulingPolicy::kProgram).Compare(60);
    }
  }
}

TEST(LayoutEvaluator, EqualsTheCompiledGraphWhereAxesAreChosen) {
  Walk(Example("tiny_transformer_adam.json.gz"), "4xP100", 1, false).CompareAxisChoices();
}

TEST(LayoutEvaluator, EqualsTheCompiledGraphWithMeasuredTimes) {
  const std::string graph = Example("tiny_transformer_adam.json.gz");
  for (const char* preset : {"4xP100", "mixed-lab"}) {
    SCOPED_TRACE(preset);
    const CostOptions costs = Walk(graph, preset, 5, false).Measure(20);
    size_t rows = 0;
    for (const MeasuredDevice& device : costs.measured) rows += device.ops.size();
    EXPECT_GT(rows, 100u);
    Walk(graph, preset, 5, false, SchedulingPolicy::kFifo, costs).Compare(30);
  }
}

// Convolutions, whose gradients may be made apart, and batch norms of both kinds.
TEST(LayoutEvaluator, EqualsTheCompiledGraphOfConvolutions) {
  const std::filesystem::path folder = PLACEWRIGHT_SOURCE_DIR "/../shared/data/fx";
  bool any = false;
  for (const char* name : {"alexnet_b4_sgd", "resnet50_b32_sgd", "tiny_rnnlm_1x64_b2_t3_sgd"}) {
    const std::string path = (folder / (std::string(name) + ".json.gz")).string();
    if (!std::filesystem::exists(path)) continue;
    any = true;
    SCOPED_TRACE(name);
    const bool large = std::string(name) == "resnet50_b32_sgd";
    Walk(path, "4xP100", 2, false).Compare(large ? 8 : 40);
    Walk(path, "4xP100", 2, false, SchedulingPolicy::kProgram).Compare(large ? 8 : 40);
    if (large) Walk(path, "4xP100", 3, true).Compare(8);
  }
  if (!any) GTEST_SKIP() << "no ../shared/data/fx";
}

}  // namespace
}  // namespace placewright::tests
