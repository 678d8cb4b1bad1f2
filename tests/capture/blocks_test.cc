// Layers of the zoo's models that are equal forward are equal backward and in the update.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "capture/step/model_step.h"
#include "capture/zoo/zoo.h"
#include "graph/test_blocks.h"

namespace placewright {
namespace {

class ZooBlocks : public ::testing::TestWithParam<std::string> {};

TEST_P(ZooBlocks, EqualBlocksHaveEqualOps) {
  CaptureRequest request;
  request.model = GetParam();
  Result<ModelStep> step = ModelStep::Build(request, true);
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  const Result<ModelStep::Recording> recording = step.value().Record();
  ASSERT_TRUE(recording.ok()) << recording.error().ToString();
  const BlockCensus census(recording.value().step.graph);
  EXPECT_THAT(census.differences(), ::testing::IsEmpty());
  // Layers that read something else, as those of a model of two layers do, have no equal.
  const std::map<std::string, size_t> kCompared = {
      {"amoebanet-d", 99},     {"bert-base", 12},       {"bert-large", 24},
      {"bert-small", 4},       {"dit-xl-2", 83},        {"llama-3-8b", 32},
      {"llama-3-70b", 80},     {"mixtral-8x7b", 32},    {"qwen3-0.6b", 28},
      {"qwen3-8b", 36},        {"vit-b-16", 60},        {"vit-l-16", 120},
      {"gnmt-2", 0},           {"gnmt-4", 6},           {"gnmt-8", 14},
      {"gpt-2", 36},           {"inception-v3", 32},    {"mlp", 0},
      {"moe-transformer", 60}, {"resnet-50", 10},       {"resnet-101", 27},
      {"rnnlm-2", 2},          {"rnnlm-4", 4},          {"rnnlm-8", 8},
      {"seq2seq", 4},          {"transformer", 10},     {"transformer-xl-2", 0},
      {"transformer-xl-4", 3}, {"transformer-xl-8", 7}, {"transformer-xl-12", 11},
      {"vgg-16", 16},          {"vgg-19", 19},          {"wavenet-2x18", 16},
      {"wavenet-4x36", 34}};
  const auto expected = kCompared.find(GetParam());
  ASSERT_NE(expected, kCompared.end());
  EXPECT_EQ(census.compared(), expected->second);
}

std::vector<std::string> Models() {
  std::vector<std::string> names;
  for (const ZooEntry& entry : ZooEntries()) names.push_back(entry.facts.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooBlocks, ::testing::ValuesIn(Models()), [](const auto& test) {
  std::string name = test.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace placewright
