#include "cli/bench/rescoring.h"

#include <gtest/gtest.h>

#include "cli/bench/test_graph.h"

namespace placewright {
namespace {

// Three ops that wait for nothing, on two devices: 1,000, 1,000 and 1,001 ns.
std::string WriteThree() {
  std::string path = testing::TempDir() + "rescoring_three.json";
  WriteTestGraph(path, {1000, 1000, 1001});
  return path;
}

class Rescoring : public testing::Test {
 protected:
  Rescoring() : graph_(WriteThree()) {}

  // Of one claim, that `less` is faster than `more`.
  Result<std::optional<double>> SameOrder(const std::string& less, const std::string& more,
                                          std::optional<double> fits = 1.0) {
    StudyTable table;
    table.cluster = "";
    table.models = {{"three", graph_, 1, 600, 600, {}}};
    table.methods.resize(2);
    table.claims = {{"less", {0}, 0, 1}};
    StudyRun runs[2];
    for (StudyRun& run : runs) run.curve = {{600, fits, fits, 0}};
    runs[0].placement = less;
    runs[1].placement = more;
    TableResult result;
    result.claims.resize(1);
    result.cells.emplace_back(2);
    for (size_t i = 0; i < 2; ++i) {
      runs[i].key.graph = graph_;
      result.cells[0][i].runs = {&runs[i]};
    }
    Console console;
    console.quiet = true;
    PW_RETURN_IF_ERROR(RescoreWinners(table, 100, {}, console, result));
    return result.claims[0].holds;
  }

  const std::string graph_;
};

TEST_F(Rescoring, WhatIsFarApartKeepsItsOrder) {
  EXPECT_EQ(SameOrder("001", "000").Take(), 1.0);
  EXPECT_EQ(SameOrder("000", "001").Take(), 1.0);
}

// 2,000 and 2,001 ns, by which of two ops the third is beside: as often this way as that.
TEST_F(Rescoring, WhatIsCloseDoesNot) {
  const double same = SameOrder("001", "010").Take().value();
  EXPECT_GT(same, 0.3);
  EXPECT_LT(same, 0.7);
  EXPECT_EQ(SameOrder("001", "010").Take(), same);
}

TEST_F(Rescoring, WhatNeverFittedHasNoOrder) {
  EXPECT_EQ(SameOrder("001", "000", std::nullopt).Take(), std::nullopt);
}

TEST_F(Rescoring, WhatIsEqualStaysEqual) { EXPECT_EQ(SameOrder("001", "110").Take(), 1.0); }

TEST_F(Rescoring, PlacementsOfAnotherGraphAreRefused) {
  EXPECT_EQ(SameOrder("0011", "0010").error().code, ErrorCode::kField);
  EXPECT_EQ(SameOrder("009", "001").error().code, ErrorCode::kField);
}

}  // namespace
}  // namespace placewright
