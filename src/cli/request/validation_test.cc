#include "cli/request/validation.h"

#include <gtest/gtest.h>

#include <cmath>

namespace placewright {
namespace {

double Correlation(const std::vector<std::pair<int64_t, int64_t>>& times, double tie = 0.03) {
  std::vector<ValidatedPair> pairs;
  for (const auto& [predicted, measured] : times) {
    pairs.emplace_back();
    pairs.back().predicted = Nanos(predicted);
    pairs.back().measured = Nanos(measured);
  }
  std::vector<const ValidatedPair*> all;
  for (const ValidatedPair& pair : pairs) all.push_back(&pair);
  return RankCorrelation(all, tie);
}

TEST(Validation, RankCorrelationIsSpearmans) {
  EXPECT_DOUBLE_EQ(Correlation({{100, 1}, {200, 5}, {300, 9}}), 1);
  EXPECT_DOUBLE_EQ(Correlation({{100, 9}, {200, 5}, {300, 1}}), -1);
  // Squared differences of ranks 1, 1, 0, 0: 1 - 6 * 2 / (4 * 15).
  EXPECT_DOUBLE_EQ(Correlation({{100, 2}, {200, 1}, {300, 3}, {400, 4}}), 0.8);
  EXPECT_DOUBLE_EQ(Correlation({{100, 1}}), 1);
}

TEST(Validation, PredictionsWithinThreePercentAreTies) {
  // 100 and 102 tie: which of them was faster does not matter. Ranks 0.5, 0.5, 2 and 0, 1, 2.
  const double tied = 1.5 / std::sqrt(1.5 * 2);
  EXPECT_DOUBLE_EQ(Correlation({{100, 1}, {102, 2}, {300, 3}}), tied);
  EXPECT_DOUBLE_EQ(Correlation({{100, 2}, {102, 1}, {300, 3}}), tied);
  EXPECT_DOUBLE_EQ(Correlation({{100, 1}, {102, 2}, {300, 3}}, /*tie=*/0), 1);
  // 104 is within 3% of 102, but not of the fastest.
  EXPECT_DOUBLE_EQ(Correlation({{100, 2}, {102, 1}, {104, 3}}), tied);
  // Who predicts the same for all has ranked nothing.
  EXPECT_DOUBLE_EQ(Correlation({{100, 1}, {101, 2}, {102, 3}}), 0);
}

TEST(Validation, ErrorsAreOfTheMeasured) {
  ValidatedPair pair;
  pair.predicted = Nanos(110);
  pair.measured = Nanos(100);
  pair.devices = {{"a", Bytes(95), Bytes(100), {}, {}}, {"b", Bytes(50), Bytes(10), {}, {}}};
  EXPECT_DOUBLE_EQ(pair.Error(), 0.1);
  EXPECT_EQ(pair.Fullest().name, "a");
  EXPECT_DOUBLE_EQ(pair.PeakError(), 0.05);
  EXPECT_DOUBLE_EQ(Quantile({3, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(Quantile({}, 0.5), 0);
}

}  // namespace
}  // namespace placewright
