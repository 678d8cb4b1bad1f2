#include "base/text.h"

#include <gmock/gmock.h>

namespace placewright {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NearNames, ASlipOfTheHandIsNearAnotherWordIsNot) {
  const std::vector<std::string> algorithms = {"auto", "single", "layered", "m-etf", "heft"};
  // h-e-f-t from b-e-s-t: 2 of 4 letters.
  EXPECT_THAT(NearNames("best", algorithms), IsEmpty());
  EXPECT_THAT(NearNames("hefd", algorithms), ElementsAre("heft"));
  EXPECT_THAT(NearNames("hfet", algorithms), ElementsAre("heft"));
  EXPECT_THAT(NearNames("HEFT", algorithms), ElementsAre("heft"));
  EXPECT_THAT(NearNames("siggel", algorithms), ElementsAre("single"));
  EXPECT_THAT(NearNames("x", {"y", "xy"}), IsEmpty());
}

TEST(NearNames, TheEndOfAPathIsNear) {
  const std::vector<std::string> devices = {"host0/cpu0", "host0/gpu0", "host0/gpu1", "host1/gpu0"};
  EXPECT_THAT(NearNames("gpu0", devices), ElementsAre("host0/gpu0", "host1/gpu0"));
  EXPECT_THAT(NearNames("GPU1", devices), ElementsAre("host0/gpu1"));
  EXPECT_THAT(NearNames("hots0/gpu1", devices), ElementsAre("host0/gpu1"));
  const std::vector<std::string> modules = {"bert", "bert.embeddings", "bert.embeddings.word",
                                            "bert.encoder", "/net/conv"};
  EXPECT_THAT(NearNames("embeddings", modules),
              ElementsAre("bert.embeddings", "bert.embeddings.word"));
  EXPECT_THAT(NearNames("*.embedings*", modules), ElementsAre("bert.embeddings"));
  EXPECT_THAT(NearNames("conv", modules), ElementsAre("/net/conv"));
}

TEST(NearNames, WhatFollowsDoesNotCount) {
  EXPECT_THAT(NearNames("V1000", {"P100-12GB", "V100-16GB", "V100-32GB"}),
              ElementsAre("V100-16GB", "V100-32GB"));
  EXPECT_EQ(DidYouMean("V1000", {"V100-16GB"}), " (did you mean V100-16GB?)");
  EXPECT_EQ(DidYouMean("plan", {"placeto", "placement"}), "");
  EXPECT_THAT(NearNames("place", {"placement", "schedule"}), ElementsAre("placement"));
  EXPECT_EQ(DidYouMean("nothing", {"V100-16GB"}), "");
}

}  // namespace
}  // namespace placewright
