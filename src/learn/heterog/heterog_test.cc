#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "learn/heterog/heterog_learner.h"
#include "learn/heterog/heterog_planner.h"
#include "learn/heterog/heterog_training.h"
#include "learn/tag/tag_parameters.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/data_parallel.h"
#include "search/layouts/test_tiny_steps.h"
#include "search/tag/tag_planner.h"

namespace placewright {
namespace {

using testing::HasSubstr;

const LearnedAlgorithm& Heterog() { return *FindLearnedAlgorithm("heterog"); }

class HeterogTest : public testing::Test {
 protected:
  void SetUp() override {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      tiny_.push_back(std::make_unique<LayeredProblem>(seed, Constraints(), /*layers=*/3));
      tiny_.back()->layouts->units = 3;
      evaluators_.push_back(MakeSimulatedEvaluator(tiny_.back()->problem));
    }
  }
  static AgentSettings Settings(const std::vector<std::string>& changes = {}) {
    return AgentSettings::Parse(Heterog(), changes).Take();
  }
  PlannerOptions Options(int64_t iterations, uint64_t seed = 1) const {
    PlannerOptions options;
    options.budget.iterations = iterations;
    options.seed = seed;
    options.started = Clock::now();
    return options;
  }
  PlannerResult Plan(size_t problem, int64_t iterations, const std::vector<std::string>& changes,
                     std::shared_ptr<const StoredPolicy> policy = nullptr) {
    return HeterogPlanner(Settings(changes), std::move(policy))
        .Plan(tiny_[problem]->problem, *evaluators_[problem], Options(iterations))
        .Take();
  }
  TrainingRequest Request(int64_t iterations, const StoredPolicy* start = nullptr,
                          bool resume = false) const {
    TrainingRequest request;
    for (size_t i = 0; i < tiny_.size(); ++i) {
      request.problems.push_back(
          {&tiny_[i]->problem, evaluators_[i].get(), "tiny " + std::to_string(i)});
    }
    request.options = Options(iterations, 5);
    request.start = start;
    request.resume = resume;
    return request;
  }

  std::vector<std::unique_ptr<LayeredProblem>> tiny_;
  std::vector<std::unique_ptr<Evaluator>> evaluators_;
};

// What one encoding gives for the choices of several units is what the network gives for each of them alone.
TEST_F(HeterogTest, ScoresOfOneGraphAreThoseOfLessons) {
  LayoutBook book;
  const auto strategies = Strategies::Make(tiny_[0]->problem, book, {}).Take();
  const StrategyWork work(*tiny_[0]->layouts, *strategies);
  const TagGraph graph = TagFeatures(*tiny_[0]->layouts, *strategies, work).Of({}, nullptr);
  const TrainedTagNetwork made =
      TrainedTagNetwork::Make(AgentSettings::Parse(TagAlgorithm(), {}).Take(), 3, nullptr).Take();
  std::vector<TagChoice> choices;
  std::vector<TagLesson> lessons;
  for (size_t unit = 0; unit < graph.units; ++unit) {
    TagChoice& choice = choices.emplace_back();
    choice.unit = unit;
    TagLesson& lesson = lessons.emplace_back();
    lesson.graph = graph;
    lesson.next = unit;
    for (const int32_t slice : strategies->MayHave(unit)) {
      choice.slices.push_back(&strategies->slices()[static_cast<size_t>(slice)]);
      lesson.slices.push_back(*choice.slices.back());
      lesson.target.push_back(0);
    }
  }
  std::vector<const TagLesson*> all;
  for (const TagLesson& lesson : lessons) all.push_back(&lesson);
  const at::TensorOptions numbers = made.parameters->options();
  const at::Tensor one = made.network->Scores(TagBatch(graph, choices, numbers));
  const at::Tensor several = made.network->Scores(TagBatch(all, numbers));
  ASSERT_EQ(one.sizes(), several.sizes());
  EXPECT_LT((one - several).abs().max().item<double>(), 1e-5);
}

TEST_F(HeterogTest, LearnsWhichStrategiesAreShort) {
  for (size_t problem = 0; problem < tiny_.size(); ++problem) {
    LayoutBook book;
    const AgentSettings settings =
        Settings({"preference=0", "learning-rate=0.01", "entropy=0", "update=20"});
    const TrainedTagNetwork made = TrainedTagNetwork::Make(settings, 1, nullptr).Take();
    const PlannerOptions options = Options(100000);
    const auto learner =
        HeterogLearner::Make(settings, tiny_[problem]->problem, *evaluators_[problem], book,
                             options.budget, 1, *made.network, made.parameters->options())
            .Take();
    const auto mean_of_update = [&] {
      const SampleCounts before = learner->total();
      while (!learner->UpdateIsDue()) EXPECT_GT(learner->Sample(7), 0);
      return (learner->total().seconds - before.seconds) /
             static_cast<double>(learner->total().samples - before.samples);
    };
    const double first = mean_of_update();
    double last = first, entropy = 0, first_entropy = learner->Learn(*made.optimizer);
    for (int update = 0; update < 60; ++update) {
      last = mean_of_update();
      entropy = learner->Learn(*made.optimizer);
    }
    EXPECT_LT(last, first) << problem;
    EXPECT_LT(entropy, first_entropy) << problem;
  }
}

TEST_F(HeterogTest, PlansFromTheSeedAndTheNumberOfMovesAlone) {
  const PlannerResult plan = Plan(0, 45, {});
  EXPECT_EQ(plan.iterations, 45);
  EXPECT_EQ(plan.space, PlanSpace::kReplicated);
  EXPECT_THAT(plan.notes.back(), HasSubstr("45 strategies drawn"));
  const PlannerResult again = Plan(0, 45, {});
  EXPECT_EQ(again.step_time, plan.step_time);
  EXPECT_TRUE(again.plan == plan.plan);
  // However it is cut into slices.
  const HeterogPlanner planner(Settings(), nullptr);
  const auto run = planner.Start(tiny_[0]->problem, *evaluators_[0], Options(45)).Take();
  while (run->Advance(3)) {
  }
  ASSERT_TRUE(run->Finish().ok());
  EXPECT_EQ(run->result().iterations, 45);
  EXPECT_TRUE(run->result().plan == plan.plan);
}

TEST_F(HeterogTest, IsNeverSlowerThanDataParallelism) {
  for (size_t problem = 0; problem < tiny_.size(); ++problem) {
    const PlannerResult even = DataParallelPlanner(DataParallelKind::kEven)
                                   .Plan(tiny_[problem]->problem, *evaluators_[problem], Options(1))
                                   .Take();
    const PlannerResult plan = Plan(problem, 10, {"preference=0"});
    ASSERT_TRUE(plan.feasible);
    EXPECT_LE(plan.step_time, even.step_time) << problem;
  }
}

TEST_F(HeterogTest, ATrainingGoesOnAndItsPolicyPlans) {
  const auto train = [&](int64_t iterations, const StoredPolicy* from) {
    const auto training =
        HeterogTraining::Start(Settings(), Request(iterations, from, from != nullptr)).Take();
    while (training->Advance()) {
    }
    return training->stored();
  };
  const StoredPolicy whole = train(90, nullptr), half = train(50, nullptr);
  const StoredPolicy gone_on = train(90, &half);
  EXPECT_EQ(gone_on.state, whole.state);
  for (const auto& [name, tensor] : whole.parameters) {
    EXPECT_EQ(gone_on.parameters.at(name).bytes, tensor.bytes) << name;
  }
  EXPECT_EQ(whole.state.at("updates"), "9");
  const auto policy = std::make_shared<const StoredPolicy>(whole);
  EXPECT_TRUE(Plan(0, 10, {}, policy).feasible);
  // Another seed, and damaged states.
  TrainingRequest other = Request(90, &half, true);
  other.options.seed = 6;
  EXPECT_THAT(HeterogTraining::Start(Settings(), other).error().message, HasSubstr("has the seed"));
  for (const auto& [name, value] : half.state) {
    StoredPolicy damaged = half;
    damaged.state[name] = "x";
    EXPECT_FALSE(HeterogTraining::Start(Settings(), Request(90, &damaged, true)).ok()) << name;
  }
}

}  // namespace
}  // namespace placewright
