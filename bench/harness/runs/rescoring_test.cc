#include "bench/harness/runs/rescoring.h"

#include <gtest/gtest.h>

#include <deque>

#include "bench/harness/runs/test_graph.h"

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

  // Of a model: the placements of `less` and `more`, and what the first came to.
  struct OfModel {
    std::string less, more;
    std::optional<double> fits = 1.0;
  };

  // Of one claim on these models, that `less` is faster than `more`.
  Result<std::optional<double>> SameOrder(const std::vector<OfModel>& models) {
    StudyTable table;
    table.cluster = "";
    table.methods.resize(2);
    table.claims = {{"less", {}, 0, 1}};
    TableResult result;
    result.claims.resize(1);
    std::deque<StudyRun> runs;
    const auto run_of = [&](const std::string& placement, std::optional<double> best) {
      StudyRun& run = runs.emplace_back();
      run.key.graph = graph_;
      run.curve = {{600, best, best, 0}};
      run.placement = placement;
      return &run;
    };
    for (const OfModel& model : models) {
      table.claims[0].models.push_back(table.models.size());
      table.models.push_back({"three", graph_, 1, 600, 600, {}});
      std::vector<CellResult>& cells = result.cells.emplace_back(2);
      cells[0].runs = {run_of(model.less, model.fits)};
      cells[1].runs = {run_of(model.more, 1.0)};
    }
    Console console;
    console.quiet = true;
    PW_RETURN_IF_ERROR(RescoreWinners(table, 100, {}, console, result));
    return result.claims[0].holds;
  }
  Result<std::optional<double>> SameOrder(const std::string& less, const std::string& more) {
    return SameOrder({{less, more}});
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
  EXPECT_EQ(SameOrder({{"001", "000", std::nullopt}}).Take(), std::nullopt);
}

TEST_F(Rescoring, WhatIsEqualStaysEqual) { EXPECT_EQ(SameOrder("001", "110").Take(), 1.0); }

// The second model alone goes either way.
TEST_F(Rescoring, SeveralModelsCountByTheirMean) {
  EXPECT_EQ(SameOrder({{"001", "000"}, {"001", "010"}}).Take(), 1.0);
  const double alone = SameOrder("001", "010").Take().value();
  EXPECT_EQ(SameOrder({{"001", "000", std::nullopt}, {"001", "010"}}).Take(), alone);
}

TEST_F(Rescoring, PlacementsOfAnotherGraphAreLeftOut) {
  // Of four groups, as another LibTorch may have recorded it.
  EXPECT_FALSE(SameOrder("0011", "0010").Take());
  EXPECT_FALSE(SameOrder({{"001", "000"}, {"0011", "0010"}}).Take());
  EXPECT_EQ(SameOrder("009", "001").error().code, ErrorCode::kField);
}

}  // namespace
}  // namespace placewright
