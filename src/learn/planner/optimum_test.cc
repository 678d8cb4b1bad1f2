// Small problems whose optimum brute force knows. Networks are narrow, and learn faster for it, so that
// ten seeds take minutes.
#include <gtest/gtest.h>

#include "learn/planner/learned_planner.h"
#include "search/test_optimum.h"

namespace placewright {
namespace {

LearnedPlanner NarrowPlanner(const LearnedAlgorithm& algorithm) {
  std::vector<std::string> changes;
  for (const AgentSetting& setting : algorithm.settings) {
    if (setting.name.ends_with("width")) changes.push_back(setting.name + "=16");
    if (setting.name == "pretraining") changes.push_back(setting.name + "=50");
  }
  if (algorithm.name != "post") changes.emplace_back("learning-rate=0.01");
  return LearnedPlanner(AgentSettings::Parse(algorithm, changes).Take());
}

class Optimum : public testing::TestWithParam<std::tuple<LearnedAlgorithm, SmallCase>> {};

TEST_P(Optimum, IsFoundFromNineSeedsOfTen) {
  const auto& [algorithm, small] = GetParam();
  ExpectFindsOptimum(NarrowPlanner(algorithm), small);
}

INSTANTIATE_TEST_SUITE_P(Small, Optimum,
                         testing::Combine(testing::ValuesIn(TorchPlacers()),
                                          testing::ValuesIn(SmallCases())),
                         [](const auto& named) {
                           return std::get<0>(named.param).name + std::get<1>(named.param).name();
                         });

}  // namespace
}  // namespace placewright
