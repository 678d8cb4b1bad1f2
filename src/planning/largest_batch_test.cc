#include "planning/largest_batch.h"

#include <gmock/gmock.h>

namespace placewright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Fits up to a batch.
class LargestBatchTest : public ::testing::Test {
 protected:
  LargestBatch Find(int64_t start, int64_t max, int64_t limit) {
    return FindLargestBatch(start, max,
                            [&](int64_t batch) -> Result<BatchTrial> {
                              const bool fits = batch <= limit;
                              return BatchTrial{
                                  batch, fits ? BatchVerdict::kFits : BatchVerdict::kNotFound, "",
                                  0};
                            })
        .Take();
  }
  static std::vector<int64_t> Tried(const LargestBatch& found) {
    std::vector<int64_t> batches;
    for (const BatchTrial& trial : found.trials) batches.push_back(trial.batch);
    return batches;
  }
};

// 24, 48 fit, 96 does not; then halves of what is left: 72, 60, 54, 57, 58.
TEST_F(LargestBatchTest, DoublesThenBisects) {
  const LargestBatch found = Find(24, 1000, 57);
  EXPECT_EQ(found.batch, 57);
  EXPECT_THAT(Tried(found), ElementsAre(24, 48, 96, 72, 60, 54, 57, 58));
  ASSERT_NE(found.Above(), nullptr);
  EXPECT_EQ(found.Above()->batch, 58);
}

// 24, 12, 6 do not fit, 3 does; 4, between 3 and 6, does, 5 does not.
TEST_F(LargestBatchTest, HalvesWhereTheFirstDoesNotFit) {
  const LargestBatch found = Find(24, 1000, 4);
  EXPECT_EQ(found.batch, 4);
  EXPECT_THAT(Tried(found), ElementsAre(24, 12, 6, 3, 4, 5));
}

TEST_F(LargestBatchTest, NoneFits) {
  const LargestBatch found = Find(5, 1000, 0);
  EXPECT_EQ(found.batch, 0);
  EXPECT_THAT(Tried(found), ElementsAre(5, 2, 1));
}

TEST_F(LargestBatchTest, EndsAtTheMaximum) {
  const LargestBatch found = Find(24, 100, 1000);
  EXPECT_EQ(found.batch, 100);
  EXPECT_THAT(Tried(found), ElementsAre(24, 48, 96, 100));
  EXPECT_EQ(found.Above(), nullptr);
  EXPECT_EQ(Find(24, 10, 1000).batch, 10);  // below the start
}

// For every limit the batch above the result was tried.
TEST_F(LargestBatchTest, TheNextBatchDoesNotFit) {
  for (int64_t start : {1, 3, 24, 64}) {
    for (int64_t limit = 1; limit < 64; ++limit) {
      const LargestBatch found = Find(start, 64, limit);
      EXPECT_EQ(found.batch, limit) << start;
      ASSERT_NE(found.Above(), nullptr) << start << " " << limit;
      EXPECT_EQ(found.Above()->batch, limit + 1);
      EXPECT_LE(found.trials.size(), 13u);
    }
  }
}

TEST_F(LargestBatchTest, StopsWithTheLargestSoFar) {
  StopSource source;
  const auto trial = [&](int64_t batch) -> Result<BatchTrial> {
    if (batch == 4) source.RequestStop();
    return BatchTrial{batch, BatchVerdict::kFits, "", 0};
  };
  const LargestBatch found = FindLargestBatch(1, 100, trial, source.token()).Take();
  EXPECT_TRUE(found.interrupted);
  EXPECT_EQ(found.batch, 4);
}

TEST_F(LargestBatchTest, ErrorsEndIt) {
  const auto trial = [](int64_t) -> Result<BatchTrial> {
    return MakeError(ErrorCode::kBatchScaling, "no");
  };
  EXPECT_EQ(FindLargestBatch(1, 100, trial).error().code, ErrorCode::kBatchScaling);
}

// 24, 48, 54, 57 fit; on 4 devices 56 has equal shares, where 57 takes as long as 60.
TEST_F(LargestBatchTest, RatesAreThoseOfBatchesThatFit) {
  const LargestBatch found = Find(24, 1000, 57);
  std::vector<int64_t> asked;
  const auto rounded = [&](int64_t batch) -> Result<std::optional<BatchRate>> {
    asked.push_back(batch);
    const double seconds = 0.1 + 0.01 * static_cast<double>((batch + 3) / 4);
    return std::optional(BatchRate{batch, static_cast<double>(batch) / seconds, "x"});
  };
  const std::vector<BatchRate> rates = FindBatchRates(found, 4, rounded).Take();
  // 57 / 0.25 s = 228, 56 / 0.24 s = 233.3, 54 / 0.24 s = 225 and 48 / 0.22 s = 218.2: two in vain.
  EXPECT_THAT(asked, ElementsAre(57, 56, 54, 48));
  EXPECT_EQ(BestRate(rates).batch, 56);
  EXPECT_NEAR(BestRate(rates).samples_per_second, 233.33, 0.01);
}

TEST_F(LargestBatchTest, RatesOfEqualSpeedAreThoseOfTheSmallestBatch) {
  const auto same = [](int64_t batch) -> Result<std::optional<BatchRate>> {
    if (batch == 57) return std::optional<BatchRate>();
    return std::optional(BatchRate{batch, 100, "x"});
  };
  const std::vector<BatchRate> rates = FindBatchRates(Find(24, 1000, 57), 1, same).Take();
  EXPECT_EQ(BestRate(rates).batch, 24);  // 57 has none; 54, 48 and 24, of which two are in vain
  EXPECT_EQ(rates.size(), 3U);
}

}  // namespace
}  // namespace placewright
