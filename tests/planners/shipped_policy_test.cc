// The policy that comes with the program, the script that trains it and the study that judges it speak of
// one training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/tables/tables.h"
#include "formats/policy/policy_file.h"
#include "formats/text/file.h"
#include "torch_api/learned_algorithms.h"

namespace placewright {
namespace {

using Pair = std::pair<std::string, std::string>;  // graph, cluster

const std::string kFolder = PLACEWRIGHT_SOURCE_DIR "/policies/";

// What policies/train_gdp hands to `placewright train`.
struct Script {
  std::vector<Pair> pairs;                      // on GRAPH $CLUSTER
  std::map<std::string, std::string> settings;  // --set NAME=VALUE
  std::string samples;                          // --iterations
};

Script ReadScript() {
  Script script;
  std::map<std::string, std::string> clusters;  // "$two": "2xP100-16GB"
  std::istringstream lines(ReadFile(kFolder + "train_gdp").Take());
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    for (std::string word; words >> word && word[0] != '#';) {
      const size_t equal = word.find('=');
      if (word == "on") {
        Pair pair;
        words >> pair.first >> pair.second;
        script.pairs.emplace_back(pair.first, clusters.at(pair.second));
      } else if (word == "--set") {
        words >> word;
        script.settings[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
      } else if (word == "--iterations") {
        words >> script.samples;
      } else if (equal != std::string::npos && line.starts_with("two=")) {
        clusters["$" + word.substr(0, equal)] = word.substr(equal + 1);
      }
    }
  }
  return script;
}

// The cell of `table` with policies trained as the shipped one, each without the family of its model.
const StudyMethod* AsShipped(const StudyTable& table) {
  for (const StudyMethod& method : table.methods) {
    if (method.label == "as shipped, family removed, zero-shot") return &method;
  }
  return nullptr;
}

// Each list is the script's less one model with its family, in the script's order; what one lacks stands in
// another.
TEST(ShippedPolicy, IsTrainedOnTheModelsOfTheStudy) {
  const Script script = ReadScript();
  const StudyTable& table = *FindStudyTable("gdp-holdout");
  const StudyMethod* const shipped = AsShipped(table);
  ASSERT_NE(shipped, nullptr);
  std::set<Pair> all;
  for (size_t i = 0; i < shipped->before.size(); ++i) {
    std::vector<Pair> pairs;
    for (const StudyGraph& of : shipped->before[i]) pairs.emplace_back(of.graph, of.cluster);
    all.insert(pairs.begin(), pairs.end());
    const std::set<Pair> kept(pairs.begin(), pairs.end());
    std::vector<Pair> of_script;
    for (const Pair& pair : script.pairs) {
      if (kept.contains(pair)) of_script.push_back(pair);
    }
    EXPECT_EQ(of_script, pairs) << table.models[i].graph;
  }
  EXPECT_EQ(all, std::set(script.pairs.begin(), script.pairs.end()));
  EXPECT_EQ(all.size(), script.pairs.size());
  EXPECT_EQ(std::to_string(shipped->samples_before * static_cast<int64_t>(all.size())),
            script.samples);
  // And the stored one was.
  std::vector<std::string> graphs, trained;
  for (const Pair& pair : script.pairs) graphs.push_back(pair.first);
  const auto training = nlohmann::json::parse(ReadFile(kFolder + "gdp.training.json").Take());
  for (const auto& graph : training["graphs"]) trained.push_back(graph["graph"]);
  EXPECT_EQ(trained, graphs);
}

TEST(ShippedPolicy, IsTrainedWithTheSettingsOfTheStudy) {
  const Script script = ReadScript();
  const StudyMethod* const shipped = AsShipped(*FindStudyTable("gdp-holdout"));
  ASSERT_NE(shipped, nullptr);
  const StoredPolicy policy = LoadPolicy(kFolder + "gdp.policy").Take();
  std::map<std::string, std::string> of_policy, of_study;
  for (const AgentSetting& setting : FindLearnedAlgorithm("gdp")->settings) {
    of_policy[setting.name] = setting.ValueIn(policy.settings);
  }
  for (const std::string& setting : shipped->settings) {
    const size_t equal = setting.find('=');
    of_study[setting.substr(0, equal)] = setting.substr(equal + 1);
  }
  EXPECT_FALSE(script.settings.empty());
  EXPECT_THAT(script.settings, testing::IsSubsetOf(of_study));
  EXPECT_THAT(of_study, testing::IsSubsetOf(of_policy));
}

}  // namespace
}  // namespace placewright
