#include "torch_api/learned_algorithms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace placewright {
namespace {

using testing::HasSubstr;

Result<AgentSettings> MarsWith(const std::vector<std::string>& changes) {
  return AgentSettings::Parse(*FindLearnedAlgorithm("mars"), changes);
}

TEST(LearnedAlgorithms, EveryDefaultIsAValueThatCanBeStated) {
  for (const LearnedAlgorithm& algorithm : LearnedAlgorithms()) {
    std::vector<std::string> all;
    std::set<std::string> names;
    for (const AgentSetting& setting : algorithm.settings) {
      all.push_back(setting.name + "=" + setting.value);
      EXPECT_TRUE(names.insert(setting.name).second) << algorithm.name << " " << setting.name;
      EXPECT_FALSE(setting.meaning.empty());
    }
    const auto stated = AgentSettings::Parse(algorithm, all);
    ASSERT_TRUE(stated.ok()) << stated.error().ToString();
    EXPECT_EQ(stated.value().values(), AgentSettings::Parse(algorithm, {}).value().values());
    EXPECT_EQ(FindLearnedAlgorithm(algorithm.name), &algorithm);
  }
  EXPECT_EQ(FindLearnedAlgorithm("m-etf"), nullptr);
}

TEST(AgentSettings, ChangesTakeTheirPlace) {
  const AgentSettings settings =
      MarsWith({"learning-rate=1e-2", "parts=256", "training=reinforce"}).Take();
  EXPECT_EQ(settings.Number("learning-rate"), 0.01);
  EXPECT_EQ(settings.Integer("parts"), 256);
  EXPECT_TRUE(settings.Is("training", "reinforce"));
  EXPECT_TRUE(settings.Changed("parts"));
  EXPECT_FALSE(settings.Changed("clip"));
  EXPECT_EQ(settings.Integer("segment"), 128);
}

TEST(AgentSettings, WhatCannotBeIsNamed) {
  const auto message = [](const std::vector<std::string>& changes) {
    const auto settings = MarsWith(changes);
    if (settings.ok()) return std::string("accepted");
    EXPECT_EQ(settings.error().code, ErrorCode::kUsage);
    return settings.error().message;
  };
  EXPECT_THAT(message({"learning_rate=1"}), HasSubstr("did you mean learning-rate"));
  EXPECT_THAT(message({"epochs"}), HasSubstr("has no \"=\""));
  EXPECT_THAT(message({"epochs=2.5"}), HasSubstr("integer from 1 to 1000"));
  EXPECT_THAT(message({"epochs="}), HasSubstr("integer"));
  EXPECT_THAT(message({"epochs=3x"}), HasSubstr("integer"));
  EXPECT_THAT(message({"clip=nan"}), HasSubstr("number from 0 to 10"));
  EXPECT_THAT(message({"training=dqn"}), HasSubstr("one of ppo, reinforce, ppo+ce"));
  EXPECT_THAT(message({"clip=1", "clip=2"}), HasSubstr("twice"));
  EXPECT_THAT(message({"draw=8"}), HasSubstr("no multiple"));
  EXPECT_THAT(message({"width=3"}), HasSubstr("width=3 is odd"));
  EXPECT_THAT(message({"width=3", "placer=mlp"}), HasSubstr("accepted"));
}

TEST(AgentSettings, OfPolicies) {
  const LearnedAlgorithm& post = *FindLearnedAlgorithm("post");
  StoredPolicy policy;
  policy.algorithm = "post";
  const AgentSettings trained =
      AgentSettings::Parse(post, std::vector<std::string>{"parts=16", "clip=0.3"}).Take();
  policy.settings = {trained.values().begin(), trained.values().end()};
  const auto of_policy = [&](const std::vector<std::string>& changes) {
    return AgentSettings::OfPolicy(post, policy, changes);
  };
  const auto message = [&](const std::vector<std::string>& changes) {
    const auto settings = of_policy(changes);
    if (settings.ok()) return std::string("accepted");
    EXPECT_EQ(settings.error().code, ErrorCode::kPlanMismatch);
    return settings.error().message;
  };
  // What it is made of is the file's, how it learns the defaults'.
  EXPECT_EQ(of_policy({}).Take().Integer("parts"), 16);
  EXPECT_EQ(of_policy({}).Take().Word("clip"), AgentSettings::Parse(post, {}).Take().Word("clip"));
  EXPECT_EQ(message({"parts=16"}), "accepted");
  EXPECT_THAT(message({"parts=8"}), HasSubstr("made with 16"));
  policy.settings.erase("replay");  // newer than the file
  EXPECT_EQ(message({}), "accepted");
  EXPECT_EQ(AgentSettings::OfPolicy(post, policy, {}, PolicyUse::kGoesOn).Take().Integer("replay"),
            0);
  policy.settings.erase("parts");
  EXPECT_THAT(message({}), HasSubstr("parts is missing"));
  policy.settings["parts"] = "16";
  policy.settings["colour"] = "blue";
  EXPECT_THAT(message({}), HasSubstr("a setting colour, which this version does not know"));
  policy.algorithm = "mars";
  EXPECT_THAT(message({}), HasSubstr("one of mars, not of post"));
}

}  // namespace
}  // namespace placewright
