#include "learn/tag/tag_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "learn/tag/stored_lessons.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/test_tiny_steps.h"
#include "search/tag/tag_planner.h"

namespace placewright {
namespace {

using testing::HasSubstr;

// Steps of three units on two devices.
class TagTrainingTest : public testing::Test {
 protected:
  void SetUp() override {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      tiny_.push_back(std::make_unique<LayeredProblem>(seed, Constraints(), /*layers=*/3));
      tiny_.back()->layouts->units = 3;
      evaluators_.push_back(MakeSimulatedEvaluator(tiny_.back()->problem));
    }
  }
  static AgentSettings Settings(std::vector<std::string> changes = {}) {
    std::map<std::string, std::string> values = {
        {"games", "6"},       {"epochs", "3"},       {"rounds", "2"},
        {"round-games", "3"}, {"round-epochs", "2"}, {"replay", "2"},
        {"visits", "2"},      {"batch", "2"},        {"held-out", "1"}};
    for (const std::string& change : changes) {
      values[change.substr(0, change.find('='))] = change.substr(change.find('=') + 1);
    }
    changes.clear();
    for (const auto& [name, value] : values) changes.push_back(name + "=" + value);
    return AgentSettings::Parse(TagAlgorithm(), changes).Take();
  }
  TrainingRequest Request(const StoredPolicy* resumed = nullptr) const {
    TrainingRequest request;
    for (size_t i = 0; i < tiny_.size(); ++i) {
      request.problems.push_back(
          {&tiny_[i]->problem, evaluators_[i].get(), "tiny " + std::to_string(i)});
    }
    request.options.seed = 5;
    request.options.started = Clock::now();
    request.start = resumed;
    request.resume = resumed != nullptr;
    return request;
  }
  TagGame PlayOne(size_t problem, uint64_t seed, const TagNetwork* network = nullptr) const {
    SelfPlayOptions options;
    options.visits = 2;
    options.played = 1;
    options.seed = seed;
    options.network = network;
    return PlayGame(tiny_[problem]->problem, *evaluators_[problem], {}, options).Take();
  }

  std::vector<std::unique_ptr<LayeredProblem>> tiny_;
  std::vector<std::unique_ptr<Evaluator>> evaluators_;
};

TEST_F(TagTrainingTest, LessonsComeBackAsTheyWereStored) {
  const std::vector<TagLesson> lessons = PlayOne(0, 1).lessons;
  ASSERT_EQ(lessons.size(), 3u);
  StoredPolicy policy;
  StateWriter state(policy, "a.");
  StoreLessons(lessons, state);
  const std::vector<TagLesson> back = RestoreLessons(StateReader(policy, "a.")).Take();
  ASSERT_EQ(back.size(), lessons.size());
  const auto targets = [](const TagLesson& lesson) {
    std::map<std::pair<std::vector<int32_t>, SliceOption>, float> of;
    for (size_t i = 0; i < lesson.slices.size(); ++i) {
      of[{lesson.slices[i].groups, lesson.slices[i].option}] = lesson.target[i];
    }
    return of;
  };
  for (size_t i = 0; i < lessons.size(); ++i) {
    EXPECT_EQ(back[i].next, lessons[i].next);
    EXPECT_EQ(back[i].slices.size(), lessons[i].slices.size());
    EXPECT_EQ(targets(back[i]), targets(lessons[i]));
    const TagGraph &ours = back[i].graph, &theirs = lessons[i].graph;
    EXPECT_EQ(ours.units, theirs.units);
    EXPECT_EQ(ours.devices, theirs.devices);
    EXPECT_EQ(ours.unit, theirs.unit);
    EXPECT_EQ(ours.device, theirs.device);
    EXPECT_EQ(ours.data_features, theirs.data_features);
    EXPECT_EQ(ours.machine, theirs.machine);
    EXPECT_EQ(ours.place, theirs.place);
    ASSERT_EQ(ours.data.size(), theirs.data.size());
    for (size_t e = 0; e < ours.data.size(); ++e) {
      EXPECT_EQ(ours.data[e].from, theirs.data[e].from);
      EXPECT_EQ(ours.data[e].to, theirs.data[e].to);
    }
  }
  // What is missing or of another size is refused.
  for (const auto& [name, tensor] : policy.state_tensors) {
    StoredPolicy damaged = policy;
    damaged.state_tensors.erase(name);
    EXPECT_FALSE(RestoreLessons(StateReader(damaged, "a.")).ok()) << name;
    if (tensor.bytes.empty()) continue;
    StoredTensor longer = tensor;
    ++longer.sizes.front();
    longer.bytes += tensor.bytes;
    longer.bytes.resize(tensor.bytes.size() / static_cast<size_t>(tensor.sizes.front()) *
                        static_cast<size_t>(longer.sizes.front()));
    damaged.state_tensors[name] = longer;
    EXPECT_FALSE(RestoreLessons(StateReader(damaged, "a.")).ok()) << name;
  }
}

// Six games, three passes, and twice three games and two passes.
TEST_F(TagTrainingTest, GoesThroughItsRounds) {
  std::vector<std::pair<size_t, bool>> games;
  std::set<uint64_t> seeds;
  const auto play = [&](size_t problem, uint64_t seed, const TagNetwork* network) {
    games.emplace_back(problem, network != nullptr);
    seeds.insert(seed);
    return Result<TagGame>(PlayOne(problem, seed, network));
  };
  const auto training =
      TagTraining::Start(Settings({"learning-rate=0.003"}), Request(), play).Take();
  std::string order;
  int64_t before = 0;
  while (training->Advance()) {
    const TrainingProgress now = training->progress();
    order += now.updates > before ? 'l' : 'g';
    before = now.updates;
  }
  EXPECT_TRUE(training->status().ok());
  EXPECT_EQ(order, "gggggglllgggllgggll");
  const std::vector<std::pair<size_t, bool>> wanted = {
      {0, false}, {1, false}, {2, false}, {0, false}, {1, false}, {2, false},
      {0, true},  {1, true},  {2, true},  {0, true},  {1, true},  {2, true}};
  EXPECT_EQ(games, wanted);
  EXPECT_EQ(seeds.size(), games.size());
  const TrainingProgress end = training->progress();
  EXPECT_EQ(end.games, 12);
  EXPECT_GT(end.samples, 100);
  ASSERT_EQ(end.losses.size(), 7u);
  EXPECT_LT(end.losses[2].training, end.losses[0].training);
  EXPECT_TRUE(end.losses[6].held_out.has_value());
  for (size_t problem = 0; problem < 3; ++problem) {
    EXPECT_TRUE(training->result(problem).feasible);
    EXPECT_GT(training->result(problem).step_time.count, 0);
  }
  // Games of the last two rounds are kept, and what was learned plans.
  const StoredPolicy& stored = training->stored();
  EXPECT_FALSE(stored.state.contains("game5.round"));
  EXPECT_TRUE(stored.state.contains("game6.round"));
  EXPECT_TRUE(TagNetwork::FromPolicy(TagNetworkSize::Small(), stored).ok());
}

// The controls see as many numbers, but none of edges, or those of other device groups.
TEST_F(TagTrainingTest, ControlsSeeLess) {
  LayoutBook book;
  const auto strategies = Strategies::Make(tiny_[0]->problem, book, {}).Take();
  const StrategyWork work(*tiny_[0]->layouts, *strategies);
  const auto graph = [&](TagView view) {
    return TagFeatures(*tiny_[0]->layouts, *strategies, work, view).Of({}, nullptr);
  };
  const TagGraph own = graph(TagView::kOwn), edgeless = graph(TagView::kEdgeless);
  ASSERT_EQ(own.devices, 2u);
  EXPECT_EQ(edgeless.unit, own.unit);
  EXPECT_EQ(edgeless.device, own.device);
  EXPECT_EQ(edgeless.place, std::vector<float>(own.place.size(), 0));
  EXPECT_EQ(edgeless.machine, std::vector<float>(own.machine.size(), 0));
  EXPECT_EQ(edgeless.data_features, std::vector<float>(own.data_features.size(), 0));
  const TagGraph shuffled = graph(TagView::kShuffled);
  EXPECT_EQ(shuffled.place, own.place);
  for (size_t i = 0; i < own.device.size(); ++i) {
    EXPECT_EQ(shuffled.device[i], own.device[(i + kDeviceFeatures) % own.device.size()]);
  }
  for (const std::string features : {"features=edgeless", "features=shuffled"}) {
    const auto training = TagTraining::Start(Settings({features, "rounds=0"}), Request()).Take();
    while (training->Advance()) {
    }
    EXPECT_EQ(training->progress().losses.size(), 3u);
    const auto plain = TagTraining::Start(Settings({"rounds=0"}), Request()).Take();
    while (plain->Advance()) {
    }
    EXPECT_NE(training->progress().losses[0].training, plain->progress().losses[0].training);
  }
}

// Fitted to the games of another training: the same numbers as its own fit; less is seen of them where a control asks for
// that, and those of graphs that are not named are left out.
TEST_F(TagTrainingTest, LearnsFromTheGamesOfAnother) {
  const auto finish = [&](const std::vector<std::string>& changes, const StoredPolicy* games,
                          size_t problems = 3) {
    TrainingRequest request = Request();
    request.games = games;
    request.problems.resize(problems);
    std::vector<std::string> all = {"rounds=0"};
    all.insert(all.end(), changes.begin(), changes.end());
    const auto play = [&](size_t problem, uint64_t seed, const TagNetwork* network) {
      EXPECT_EQ(games, nullptr) << "a game was played";
      return Result<TagGame>(PlayOne(problem, seed, network));
    };
    const auto training = TagTraining::Start(Settings(all), request, play).Take();
    while (training->Advance()) {
    }
    return training->stored();
  };
  const auto same = [](const StoredPolicy& a, const StoredPolicy& b) {
    return std::all_of(a.parameters.begin(), a.parameters.end(), [&](const auto& of) {
      return b.parameters.at(of.first).bytes == of.second.bytes;
    });
  };
  const StoredPolicy first = finish({}, nullptr);
  EXPECT_TRUE(same(finish({}, &first), first));
  EXPECT_FALSE(same(finish({"features=edgeless"}, &first), first));
  EXPECT_FALSE(same(finish({"feedback=off"}, &first), first));
  const StoredPolicy fewer = finish({"held-out=0"}, &first, 2);
  EXPECT_EQ(fewer.state.at("games"), "4");
  // A training that saw less has no games for one that sees all; and some of the graphs have to be there.
  const StoredPolicy blind = finish({"features=edgeless"}, nullptr);
  TrainingRequest request = Request();
  request.games = &blind;
  EXPECT_THAT(TagTraining::Start(Settings(), request).error().message, HasSubstr("features=own"));
  request.games = &first;
  for (TrainingProblem& problem : request.problems) problem.name += " elsewhere";
  EXPECT_THAT(TagTraining::Start(Settings(), request).error().message,
              HasSubstr("none of the games"));
}

// What is learned on two problems holds on a third.
TEST_F(TagTrainingTest, LearnsWhatHoldsForOthers) {
  const auto training =
      TagTraining::Start(Settings({"rounds=0", "games=12", "epochs=30", "learning-rate=0.003"}),
                         Request())
          .Take();
  while (training->Advance()) {
  }
  const std::vector<TrainingProgress::Loss> losses = training->progress().losses;
  ASSERT_EQ(losses.size(), 30u);
  EXPECT_LT(losses.back().training, losses.front().training - 0.05);
  EXPECT_LT(losses.back().held_out.value(), losses.front().held_out.value() - 0.02);
}

// By self-play itself: ended behind any step and resumed, it comes to the same numbers.
TEST_F(TagTrainingTest, GoesOnAsIfItHadNotEnded) {
  const auto finish = [&](const StoredPolicy* kept) {
    const auto training = TagTraining::Start(Settings(), Request(kept)).Take();
    while (training->Advance()) {
    }
    return training->stored();
  };
  const StoredPolicy whole = finish(nullptr);
  const auto training = TagTraining::Start(Settings(), Request()).Take();
  for (int step = 0;; ++step) {
    if (step % 5 == 0) {
      const StoredPolicy kept = training->stored();
      const StoredPolicy gone_on = finish(&kept);
      EXPECT_EQ(gone_on.state, whole.state) << step;
      for (const auto& [ours, theirs] : {std::pair(&gone_on.parameters, &whole.parameters),
                                         std::pair(&gone_on.state_tensors, &whole.state_tensors)}) {
        ASSERT_EQ(ours->size(), theirs->size()) << step;
        for (const auto& [name, tensor] : *theirs) {
          EXPECT_EQ(ours->at(name).bytes, tensor.bytes) << step << " " << name;
        }
      }
    }
    if (!training->Advance()) break;
  }
}

TEST_F(TagTrainingTest, OtherTrainingsAreRefused) {
  const auto training = TagTraining::Start(Settings(), Request()).Take();
  for (int step = 0; step < 7; ++step) ASSERT_TRUE(training->Advance());
  const StoredPolicy kept = training->stored();
  const auto message = [&](const AgentSettings& settings, const TrainingRequest& request) {
    const auto started = TagTraining::Start(settings, request);
    return started.ok() ? std::string("accepted") : started.error().message;
  };
  EXPECT_EQ(message(Settings(), Request(&kept)), "accepted");
  EXPECT_THAT(message(Settings({"batch=3"}), Request(&kept)), HasSubstr("batch=2, not 3"));
  TrainingRequest request = Request(&kept);
  request.options.seed = 6;
  EXPECT_THAT(message(Settings(), request), HasSubstr("has the seed 5, not 6"));
  EXPECT_THAT(message(Settings({"size=paper"}), Request(&kept)), HasSubstr("numbers"));
  EXPECT_THAT(message(Settings({"held-out=3"}), Request()), HasSubstr("leaves none"));
  // A start of another seed and other settings is none that goes on.
  request.resume = false;
  EXPECT_EQ(message(Settings({"batch=3"}), request), "accepted");
  for (const auto& [name, value] : kept.state) {
    StoredPolicy damaged = kept;
    damaged.state[name] = "x";
    EXPECT_NE(message(Settings(), Request(&damaged)), "accepted") << name;
  }
  for (const auto& [name, tensor] : kept.state_tensors) {
    StoredPolicy damaged = kept;
    damaged.state_tensors.erase(name);
    EXPECT_NE(message(Settings(), Request(&damaged)), "accepted") << name;
  }
  Problem placed = tiny_[0]->problem;
  placed.layouts = nullptr;
  request = Request();
  request.problems[1].problem = &placed;
  EXPECT_THAT(message(Settings(), request), HasSubstr("may not split"));
}

TEST_F(TagTrainingTest, EndsWithTheBudgetAndWhereAGameFails) {
  TrainingRequest request = Request();
  request.options.budget.iterations = 40;
  const auto limited = TagTraining::Start(Settings(), request).Take();
  while (limited->Advance()) {
  }
  EXPECT_GE(limited->progress().samples, 40);
  EXPECT_LT(limited->progress().games, 6);
  StopSource stop;
  request = Request();
  request.options.budget.stop = stop.token();
  // What a game that was ended has taught is no part of the training.
  const auto stopped = TagTraining::Start(Settings(), request,
                                          [&](size_t problem, uint64_t seed, const TagNetwork*) {
                                            if (seed != 0) stop.RequestStop();
                                            return Result<TagGame>(PlayOne(problem, seed));
                                          })
                           .Take();
  EXPECT_FALSE(stopped->Advance());
  EXPECT_EQ(stopped->progress().games, 0);
  EXPECT_TRUE(stopped->status().ok());
  const auto failed =
      TagTraining::Start(Settings(), Request(), [](size_t, uint64_t, const TagNetwork*) {
        return Result<TagGame>(MakeError(ErrorCode::kUnreachable, "no slice"));
      }).Take();
  EXPECT_FALSE(failed->Advance());
  EXPECT_EQ(failed->status().error().message, "no slice");
}

}  // namespace
}  // namespace placewright
