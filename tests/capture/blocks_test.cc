// Layers of the zoo's models that are equal forward are equal backward and in the update.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

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
  // Models of layers that differ from one another, or have no numbers, have nothing to compare.
  RecordProperty("compared", static_cast<int>(census.compared()));
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

// 11 of BERT-Base's 12 layers; the output of the last goes to the head alone.
TEST(ZooBlockCensus, FindsLayers) {
  Result<ModelStep> step = ModelStep::Build({"bert-base", Training::kAdam, {}}, true);
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  const Result<ModelStep::Recording> recording = step.value().Record();
  ASSERT_TRUE(recording.ok()) << recording.error().ToString();
  EXPECT_EQ(BlockCensus(recording.value().step.graph).compared(), 11u);
}

}  // namespace
}  // namespace placewright
