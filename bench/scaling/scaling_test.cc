#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "bench/scaling/prediction.h"
#include "bench/scaling/rows.h"

namespace placewright::bench {
namespace {

TEST(WeakScaling, QuickRowsLieWithin10Points) {
  int rows = 0;
  for (const ScalingRow& row : ScalingRows()) {
    if (!row.quick || !row.beyond.empty()) continue;
    ++rows;
    const Result<ScalingPrediction> predicted = Predict(row);
    ASSERT_TRUE(predicted.ok()) << predicted.error().ToString();
    EXPECT_NEAR(predicted.value().efficiency, row.Published(), 0.1)
        << row.model << " batch " << row.batch << " on " << row.many.cluster;
  }
  EXPECT_GE(rows, 4);
}

TEST(WeakScaling, RowsAreOfSeveralMachinesToo) {
  int several = 0;
  std::set<std::string_view> models;
  for (const ScalingRow& row : ScalingRows()) {
    EXPECT_GT(row.many.gpus, row.few.gpus);
    EXPECT_LE(row.Published(), 1.01) << row.model << " on " << row.many.cluster;
    several += row.beyond.empty() && row.many.cluster.find("x ") != std::string_view::npos ? 1 : 0;
    models.insert(row.model);
  }
  EXPECT_GE(several, 4);
  EXPECT_GE(models.size(), 4u);
  const auto within = std::count_if(ScalingRows().begin(), ScalingRows().end(),
                                    [](const ScalingRow& row) { return row.beyond.empty(); });
  EXPECT_GE(within, 8);
}

}  // namespace
}  // namespace placewright::bench
