#include "search/tag/features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "search/evaluation/compiled_step.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/test_tiny_steps.h"
#include "search/tag/network.h"
#include "search/tag/self_play.h"

namespace placewright {
namespace {

struct TagProblem {
  explicit TagProblem(uint64_t seed) : tiny(seed, {}, /*layers=*/3) {
    tiny.layouts->units = 3;
    strategies = Strategies::Make(tiny.problem, book, {}).Take();
    work = std::make_unique<StrategyWork>(*tiny.layouts, *strategies);
    features = std::make_unique<TagFeatures>(*tiny.layouts, *strategies, *work);
  }

  LayeredProblem tiny;
  LayoutBook book;
  std::unique_ptr<Strategies> strategies;
  std::unique_ptr<StrategyWork> work;
  std::unique_ptr<TagFeatures> features;
};

float UnitFeature(const TagGraph& graph, size_t unit, size_t column) {
  return graph.unit[unit * kUnitFeatures + column];
}

// Of random numbers: what they say does not matter here.
TagNetwork RandomNetwork(uint64_t seed) {
  const TagNetworkSize size{8, 4, 2, 4, 2};
  StoredPolicy policy;
  Random random(seed);
  for (const auto& [name, sizes] : TagParameters(size)) {
    StoredTensor tensor;
    tensor.sizes = sizes;
    const int64_t count =
        std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
    std::vector<float> numbers;
    for (int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(random.Unit() - 0.5));
    tensor.bytes.resize(numbers.size() * sizeof(float));
    std::memcpy(tensor.bytes.data(), numbers.data(), tensor.bytes.size());
    policy.parameters[name] = std::move(tensor);
  }
  return TagNetwork::FromPolicy(size, policy).Take();
}

TEST(TagFeatures, SayWhatIsDecided) {
  const TagProblem of(1);
  const int32_t parallel = of.strategies->data_parallel();
  const TagGraph graph = of.features->Of(std::vector<int32_t>{parallel}, nullptr);
  ASSERT_EQ(graph.units, 3u);
  ASSERT_EQ(graph.devices, 2u);
  // Columns 6 to 12: the option, `even` being the second; 13 undecided, 16 decided, 17 next, 18 follows the first.
  for (size_t unit = 0; unit < 3; ++unit) {
    EXPECT_EQ(UnitFeature(graph, unit, 7), unit == 0 ? 1 : 0);
    EXPECT_EQ(UnitFeature(graph, unit, 13), unit == 0 ? 0 : 1);
    EXPECT_EQ(UnitFeature(graph, unit, 16), unit == 0 ? 1 : 0);
    EXPECT_EQ(UnitFeature(graph, unit, 17), unit == 1 ? 1 : 0);
    EXPECT_EQ(UnitFeature(graph, unit, 18), unit == 0 ? 0 : 1);
    // Half of eight samples on each of two devices.
    for (size_t device = 0; device < 2; ++device) {
      EXPECT_EQ(graph.place[(unit * 2 + device) * kPlaceFeatures], 0.5F);
      EXPECT_EQ(graph.place[(unit * 2 + device) * kPlaceFeatures + 1], 1);
    }
  }
  // log2 of one device a group is 0; the only bandwidth between them is the greatest; within one device all is there.
  EXPECT_EQ(graph.device[0], 0);
  EXPECT_EQ(graph.machine[(0 * 2 + 1) * kMachineFeatures], 1);
  EXPECT_EQ(graph.machine[0], 1);
  // 100 ns of 100 us.
  EXPECT_FLOAT_EQ(graph.machine[(0 * 2 + 1) * kMachineFeatures + 1], 0.001F);
}

// T is the root of the sum of squares of the units' times on the faster device: squeezed as the header says, these times
// come to features whose squares' sum is that of 1.
TEST(TagFeatures, AreRelativeToTheFastestDevices) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const TagProblem of(seed);
    const TagGraph graph = of.features->Of({}, nullptr);
    double fastest = 1e300;
    for (size_t device = 0; device < graph.devices; ++device) {
      double sum = 0;
      for (size_t unit = 0; unit < graph.units; ++unit) {
        const auto squeezed =
            static_cast<double>(graph.place[(unit * graph.devices + device) * kPlaceFeatures + 2]);
        const double time = (std::exp2(6 * squeezed) - 1) / 64;
        sum += time * time;
      }
      fastest = std::min(fastest, sum);
    }
    EXPECT_NEAR(fastest, 1, 1e-5);
  }
}

// That of the step as it is compiled, to the nanosecond, and none where there is none.
TEST(TagFeatures, HaveTheFeedbackOfTheCompiledStep) {
  int busy = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    TagProblem of(seed);
    const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(of.tiny.problem);
    for (int32_t slice = 0; slice < static_cast<int32_t>(of.strategies->slices().size()); ++slice) {
      const std::vector<int32_t> decided = {slice};
      const LayoutState state = of.strategies->StateOf(of.strategies->SlicesOf(decided)).Take();
      const StepPlan plan = PlanOf(of.book, state);
      const Evaluation fast = evaluator->EvaluatePlan(plan, {.feedback = true}).Take();
      const std::unique_ptr<CompiledStep> compiled = evaluator->Compile(plan).Take();
      const Evaluation whole = EvaluateStep(*compiled, /*feedback=*/true);
      const StrategyFeedback one = FeedbackOf(*of.tiny.layouts, *of.strategies, fast);
      const StrategyFeedback other = FeedbackOf(*of.tiny.layouts, *of.strategies, whole);
      EXPECT_EQ(one.step, other.step);
      EXPECT_EQ(one.busy, other.busy);
      EXPECT_EQ(one.peak, other.peak);
      EXPECT_EQ(one.links_busy, other.links_busy);
      for (size_t unit = 0; unit < one.units.size(); ++unit) {
        EXPECT_EQ(one.units[unit].first_start, other.units[unit].first_start);
        EXPECT_EQ(one.units[unit].last_end, other.units[unit].last_end);
        EXPECT_LE(one.units[unit].last_end, static_cast<int64_t>(one.step));
      }
      busy += one.links_busy[1] > 0 ? 1 : 0;
      const TagGraph with = of.features->Of(decided, &one),
                     without = of.features->Of(decided, nullptr);
      EXPECT_NE(with.unit, without.unit);
      for (size_t unit = 0; unit < with.units; ++unit) {
        EXPECT_EQ(UnitFeature(without, unit, 14), 0);
        EXPECT_GT(UnitFeature(with, unit, 14), 0);
      }
    }
  }
  EXPECT_GT(busy, 10);
}

TEST(TagNetwork, AsksForAllOfItsParameters) {
  EXPECT_EQ(TagNetwork::FromPolicy(TagNetworkSize::Small(), {}).error().code, ErrorCode::kField);
  int64_t floats = 0;
  for (const auto& [name, sizes] : TagParameters(TagNetworkSize::Small())) {
    floats += std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  }
  EXPECT_NEAR(static_cast<double>(floats), 0.23e6, 0.02e6);
  floats = 0;
  for (const auto& [name, sizes] : TagParameters(TagNetworkSize::Paper())) {
    floats += std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  }
  EXPECT_NEAR(static_cast<double>(floats), 14.3e6, 0.6e6);  // "55 MB"
}

// A game's lessons: one for each unit that was played, with what the unit could have and how often it was tried.
TEST(SelfPlay, MakesLessons) {
  const TagNetwork network = RandomNetwork(1);
  for (const TagNetwork* const follows : {static_cast<const TagNetwork*>(nullptr), &network}) {
    const auto played = [&](int threads) {
      const LayeredProblem tiny(3, {}, /*layers=*/6);
      const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(tiny.problem, threads);
      SelfPlayOptions options;
      options.visits = 5;
      options.most_actions = 4;
      options.network = follows;
      options.seed = 7;
      return PlayGame(tiny.problem, *evaluator, {}, options).Take();
    };
    const std::vector<TagLesson> lessons = played(1).lessons, again = played(2).lessons;
    ASSERT_FALSE(lessons.empty());
    ASSERT_EQ(lessons.size(), again.size());
    for (size_t i = 0; i < lessons.size(); ++i) {
      const TagLesson& lesson = lessons[i];
      EXPECT_EQ(lesson.next, i);
      EXPECT_LE(lesson.slices.size(), 4u);
      EXPECT_EQ(lesson.target.size(), lesson.slices.size());
      EXPECT_NEAR(std::accumulate(lesson.target.begin(), lesson.target.end(), 0.0), 1, 1e-6);
      EXPECT_EQ(lesson.target, again[i].target);
      EXPECT_EQ(lesson.graph.unit, again[i].graph.unit);
      EXPECT_EQ(UnitFeature(lesson.graph, i, 17), 1);
    }
  }
}

}  // namespace
}  // namespace placewright
