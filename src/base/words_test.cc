#include "base/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace placewright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Row {
  std::string_view names;
  int value;
};
constexpr Row kRows[] = {{"a bc", 1}, {"d", 2}};
constexpr Row kTwice[] = {{"a bc", 1}, {"bc", 2}};
constexpr Row kTwoSpaces[] = {{"a  bc", 1}};

TEST(Words, AreWhatSpacesPart) {
  EXPECT_THAT(WordsOf("a bc d_"), ElementsAre("a", "bc", "d_"));
  EXPECT_THAT(WordsOf(""), IsEmpty());
}

TEST(Words, FindTheirRow) {
  const RowsByWord<Row> rows(kRows, &Row::names);
  EXPECT_EQ(rows.Find("bc")->value, 1);
  EXPECT_EQ(rows.Find("d")->value, 2);
  EXPECT_EQ(rows.Find("b"), nullptr);
}

TEST(WordsDeathTest, AreOfOneRow) {
  EXPECT_DEATH(RowsByWord<Row>(kTwice, &Row::names), "");
  EXPECT_DEATH(RowsByWord<Row>(kTwoSpaces, &Row::names), "");
}

}  // namespace
}  // namespace placewright
