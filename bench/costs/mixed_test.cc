#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "bench/costs/mixed_rows.h"
#include "cluster/catalogue.h"

namespace placewright::bench {
namespace {

// Those that docs/costs.md names, with the reason.
bool IsBeyond(const MixedRow& row) {
  return row.amp == CapturePrecision::kF16 &&
         (row.kind == "RTX-4090" || (row.kind == "RTX-2080Ti" && row.model == "bert-large"));
}

TEST(MixedAccuracy, PredictionsLieWithin25Percent) {
  size_t fitted = 0, beyond = 0;
  std::set<std::string> architectures;
  for (const MixedRow& row : MixedRows()) {
    const Result<Graph> graph = Record(row);
    ASSERT_TRUE(graph.ok()) << graph.error().ToString();
    const double ratio = PredictedPerSecond(row, graph.value()) / row.per_second;
    fitted += row.fitted ? 1 : 0;
    if (IsBeyond(row)) {
      ++beyond;
      EXPECT_NEAR(ratio, 1, 0.35) << row.kind << " " << row.model;
      continue;
    }
    EXPECT_NEAR(ratio, 1, 0.25) << row.kind << " " << row.model << " batch " << row.batch;
    architectures.insert(FindKind(row.kind)->architecture);
  }
  EXPECT_GE(MixedRows().size() - beyond, 15u);
  EXPECT_LE(3 * fitted, MixedRows().size());
  for (const char* architecture : {"volta", "ampere", "hopper", "turing", "ada"}) {
    EXPECT_EQ(architectures.count(architecture), 1u) << architecture;
  }
}

}  // namespace
}  // namespace placewright::bench
