#include "learn/planner/shared_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "search/test_problems.h"

namespace placewright {
namespace {

using testing::HasSubstr;

std::unique_ptr<TestProblem> Strands(int ops) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20, 1 << 20};
  for (int i = 0; i < ops; ++i) {
    TestOp op{"op" + std::to_string(i), {1000, 1000, 1500}, {}, {100}};
    if (i >= 2) op.reads = {"op" + std::to_string(i - 2)};
    spec.ops.push_back(op);
  }
  return MakeTestProblem(spec);
}

class Training : public testing::TestWithParam<LearnedAlgorithm> {
 protected:
  AgentSettings Settings(std::vector<std::string> changes = {}) const {
    for (const AgentSetting& setting : GetParam().settings) {
      if (setting.name.ends_with("width")) changes.push_back(setting.name + "=8");
      if (setting.name == "pretraining") changes.push_back("pretraining=3");
      if (setting.name == "update") changes.push_back("update=10");
    }
    return AgentSettings::Parse(GetParam(), changes).Take();
  }
  TrainingRequest Request(int64_t iterations, const StoredPolicy* resumed = nullptr) const {
    TrainingRequest request;
    for (const auto& test : tests_) {
      request.problems.push_back({&test->problem, test->evaluator.get()});
    }
    request.options.budget.iterations = iterations;
    request.options.started = Clock::now();
    request.options.seed = 5;
    request.start = resumed;
    request.resume = resumed != nullptr;
    return request;
  }
  StoredPolicy Train(int64_t iterations, const StoredPolicy* resumed = nullptr) const {
    const auto training = SharedTraining::Start(Settings(), Request(iterations, resumed)).Take();
    while (training->Advance()) {
    }
    return training->stored();
  }
  static void ExpectEqual(const StoredPolicy& a, const StoredPolicy& b) {
    EXPECT_EQ(a.settings, b.settings);
    EXPECT_EQ(a.state, b.state);
    for (const auto& [ours, theirs] :
         {std::pair(&a.parameters, &b.parameters), std::pair(&a.state_tensors, &b.state_tensors)}) {
      ASSERT_EQ(ours->size(), theirs->size());
      for (const auto& [name, tensor] : *ours) {
        ASSERT_TRUE(theirs->contains(name)) << name;
        if (name.ends_with("history_seconds")) continue;  // when it happened
        EXPECT_EQ(tensor.bytes, theirs->at(name).bytes) << name;
      }
    }
  }

  std::vector<std::unique_ptr<TestProblem>> tests_;
};

TEST_P(Training, GoesOnAsIfItHadNotEnded) {
  tests_.push_back(Strands(12));
  const StoredPolicy whole = Train(120);
  const auto half = SharedTraining::Start(Settings(), Request(60)).Take();
  while (half->Advance()) {
  }
  const StoredPolicy kept = half->stored();
  ExpectEqual(Train(120, &kept), whole);
  EXPECT_EQ(whole.state.at("updates"), "12");
  // What a training had begun when it was ended is no part of it.
  const auto ended = SharedTraining::Start(Settings(), Request(67)).Take();
  while (ended->Advance()) {
  }
  EXPECT_EQ(ended->progress().samples, 60);
  EXPECT_EQ(ended->stored().parameters.begin()->second.bytes,
            kept.parameters.begin()->second.bytes);
}

TEST_P(Training, OtherTrainingsAreRefused) {
  tests_.push_back(Strands(12));
  const StoredPolicy kept = Train(20);
  const auto message = [&](const AgentSettings& settings, const TrainingRequest& request) {
    const auto training = SharedTraining::Start(settings, request);
    if (training.ok()) return std::string("accepted");
    EXPECT_EQ(training.error().code, ErrorCode::kPlanMismatch) << training.error().ToString();
    return training.error().message;
  };
  EXPECT_THAT(message(Settings({"clip=0.7"}), Request(40, &kept)), HasSubstr("not 0.7"));
  TrainingRequest request = Request(40, &kept);
  request.options.seed = 6;
  EXPECT_THAT(message(Settings(), request), HasSubstr("has the seed 5, not 6"));
  request = Request(40, &kept);
  request.problems.push_back(request.problems.front());
  EXPECT_THAT(message(Settings(), request), HasSubstr("on 1 graph, not on 2"));
  StoredPolicy other = kept;
  other.vocabulary += 1;
  EXPECT_THAT(message(Settings(), Request(40, &other)), HasSubstr("version 2 of the op types"));
  tests_[0] = Strands(10);
  EXPECT_NE(message(Settings(), Request(40, &kept)), "accepted");
}

TEST_P(Training, OneThatLacksItsStateIsRefused) {
  tests_.push_back(Strands(12));
  const StoredPolicy kept = Train(20);
  for (const auto& [name, value] : kept.state) {
    StoredPolicy damaged = kept;
    damaged.state.erase(name);
    if (name == "problem0.baseline") continue;  // there is none before the first sample
    EXPECT_FALSE(SharedTraining::Start(Settings(), Request(40, &damaged)).ok()) << name;
    damaged.state[name] = "x";
    EXPECT_FALSE(SharedTraining::Start(Settings(), Request(40, &damaged)).ok()) << name;
  }
  for (const auto& [name, tensor] : kept.state_tensors) {
    StoredPolicy damaged = kept;
    damaged.state_tensors.erase(name);
    EXPECT_FALSE(SharedTraining::Start(Settings(), Request(40, &damaged)).ok()) << name;
  }
}

// Pre-training of a problem that had no turn before the end is not left out.
TEST_P(Training, GoesOnBeforeTheSecondProblem) {
  tests_.push_back(Strands(12));
  tests_.push_back(Strands(12));
  for (const int64_t ended : {0, 10}) {
    const auto begun = SharedTraining::Start(Settings(), Request(ended)).Take();
    while (begun->Advance()) {
    }
    const StoredPolicy kept = begun->stored();
    ExpectEqual(Train(60, &kept), Train(60));
  }
}

// Policies that know nothing of one graph alone are trained on several, an update each in turn.
TEST(SharedTraining, TakesTurns) {
  const auto first = Strands(12), second = Strands(20);
  const LearnedAlgorithm& mars = *FindLearnedAlgorithm("mars");
  const std::vector<std::string> changes = {"width=8", "encoder-width=8", "pretraining=3",
                                            "update=10"};
  TrainingRequest request;
  request.problems = {{&first->problem, first->evaluator.get()},
                      {&second->problem, second->evaluator.get()}};
  request.options.budget.iterations = 60;
  const auto training =
      SharedTraining::Start(AgentSettings::Parse(mars, changes).Take(), request).Take();
  std::vector<size_t> turns;
  while (training->Advance()) turns.push_back(training->progress().last.at(0).problem);
  EXPECT_THAT(turns, testing::ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_EQ(training->result(0).iterations, 30);
  EXPECT_EQ(training->result(1).iterations, 30);
  // Of a table there is one row for each unit.
  const LearnedAlgorithm& post = *FindLearnedAlgorithm("post");
  const auto table = SharedTraining::Start(AgentSettings::Parse(post, {}).Take(), request);
  ASSERT_FALSE(table.ok());
  EXPECT_THAT(table.error().message, HasSubstr("another number of devices, units"));
}

// GDP-batch: an update of every problem at a time, on clusters of unlike size; lessons come first.
TEST(SharedTraining, LearnsTogether) {
  const auto first = Strands(12), second = Strands(20);
  TestSpec smaller;
  smaller.capacity = {1 << 20, 1 << 20};
  for (int i = 0; i < 9; ++i) smaller.ops.push_back({"op" + std::to_string(i), {10, 10}, {}, {8}});
  const auto third = MakeTestProblem(smaller);
  const LearnedAlgorithm& gdp = *FindLearnedAlgorithm("gdp");
  const AgentSettings settings =
      AgentSettings::Parse(gdp,
                           std::vector<std::string>{"encoder-width=8", "lessons=4", "teacher=200"})
          .Take();
  TrainingRequest request;
  request.problems = {{&first->problem, first->evaluator.get()},
                      {&second->problem, second->evaluator.get()},
                      {&third->problem, third->evaluator.get()}};
  const auto train = [&](int64_t iterations, const StoredPolicy* kept) {
    request.options.budget.iterations = iterations;
    request.start = kept;
    request.resume = kept != nullptr;
    auto training = SharedTraining::Start(settings, request).Take();
    std::vector<size_t> updates;
    while (training->Advance()) updates.push_back(training->progress().last.size());
    return std::pair(training->stored(), updates);
  };
  const auto [whole, updates] = train(90, nullptr);
  EXPECT_THAT(updates, testing::ElementsAre(0, 0, 0, 0, 3, 3, 3));
  const auto [kept, before] = train(30, nullptr);
  EXPECT_EQ(before.size(), 5u);
  const auto [gone_on, after] = train(90, &kept);
  EXPECT_THAT(after, testing::ElementsAre(3, 3));
  EXPECT_EQ(gone_on.state, whole.state);
  for (const auto& [name, tensor] : whole.parameters) {
    EXPECT_EQ(tensor.bytes, gone_on.parameters.at(name).bytes) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Training, testing::ValuesIn(TorchPlacers()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace placewright
