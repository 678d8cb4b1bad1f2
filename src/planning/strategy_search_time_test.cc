#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <placewright/placewright.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "planning/strategy_search.h"
#include "planning/test_perceptron.h"

namespace placewright {
namespace {

// A search whose clock goes on by a second whenever it is asked, with a deadline by it.
class TimedSearch : public ::testing::Test {
 protected:
  StrategySearchResult SearchFor(int64_t seconds) {
    StrategySearchOptions options;
    options.strategies.evaluations = evaluations_;
    Clock::time_point now = kBegin;
    options.now = [&now] { return now += std::chrono::seconds(1); };
    options.planning.budget.deadline = kBegin + std::chrono::seconds(seconds);
    StrategySearchResult found = SearchStrategies(graph_, cluster_, {}, options).Take();
    seconds_ = (now - kBegin) / std::chrono::seconds(1);
    return found;
  }
  StrategySearchResult SearchToTheEnd() { return SearchFor(1'000'000); }
  int64_t seconds() const { return seconds_; }  // that the last search took

  Graph graph_ = PerceptronWriter(512).Write();
  // A GPU each, and a slow network: pipelines are the best, those of most micro-batches first.
  Cluster cluster_ = ReadCluster("4x1xH100").Take();
  int64_t evaluations_ = 10;

 private:
  static constexpr Clock::time_point kBegin{std::chrono::hours(1)};
  int64_t seconds_ = 0;
};

// What is being simulated when time ends stays an estimate, once something fits: at whatever moment that is, the result is
// what had been found before.
TEST_F(TimedSearch, GivesUpWhatItSimulatesWhenTimeEnds) {
  graph_ = PerceptronWriter(kMany).Write();
  cluster_ = FourGpus();
  evaluations_ = 5;
  const StrategySearchResult all = SearchToTheEnd();
  const int64_t took = seconds();
  ASSERT_GE(all.evaluations, 3);
  ASSERT_GT(took, 4);
  std::set<int64_t> evaluations;
  for (const int64_t last : {int64_t{1}, took / 3, took / 2}) {
    const StrategySearchResult found = SearchFor(last);
    EXPECT_TRUE(found.cut_short);
    EXPECT_TRUE(found.out_of_time);
    EXPECT_TRUE(found.has_plan());
    EXPECT_LT(found.evaluations, all.evaluations);
    evaluations.insert(found.evaluations);
    const auto simulated = std::count_if(found.strategies.begin(), found.strategies.end(),
                                         [](const StrategyResult& one) { return one.evaluated; });
    EXPECT_EQ(simulated, found.evaluations);
    EXPECT_EQ(found.strategies.size(), all.strategies.size());
  }
  EXPECT_GT(evaluations.size(), 1U);
}

std::vector<std::string> TriedBy(const StrategySearchResult& found) {
  std::vector<std::string> names;
  for (const Baseline& one : found.baselines) names.push_back(one.algorithm);
  return names;
}

// What would take longer than is left is passed over, and what comes behind it and takes less is simulated: some deadline
// leaves one out and not the next.
TEST_F(TimedSearch, PassesOverWhatTakesTooLongAndGoesOn) {
  const StrategySearchResult all = SearchToTheEnd();
  const std::vector<std::string> in_order = TriedBy(all);
  EXPECT_FALSE(all.cut_short);
  bool passed_over = false;
  for (int64_t left = seconds(); left > 0 && !passed_over; --left) {
    const StrategySearchResult found = SearchFor(left);
    const std::vector<std::string> names = TriedBy(found);
    ASSERT_FALSE(names.empty());
    passed_over =
        names.size() > in_order.size() || !std::equal(names.begin(), names.end(), in_order.begin());
    EXPECT_TRUE(found.cut_short || !passed_over);
  }
  EXPECT_TRUE(passed_over) << testing::PrintToString(in_order);
}

// What is estimated to be faster than the plan, and was not simulated, is named with a time that may suffice.
TEST_F(TimedSearch, NamesWhatTimeLeftOut) {
  const StrategySearchResult all = SearchToTheEnd();
  EXPECT_TRUE(all.untried.empty());
  EXPECT_TRUE(all.NotesOfTime().empty());
  size_t untried = 0;
  for (int64_t left = seconds() - 1; left > 0; --left) {
    const StrategySearchResult found = SearchFor(left);
    for (const StrategyResult& one : found.untried) {
      EXPECT_TRUE(one.fits && !one.evaluated);
      EXPECT_LT(one.estimated_time, found.plan.step_time);
    }
    untried += found.untried.size();
    if (found.untried.empty()) continue;
    EXPECT_GE(found.suggested_time, std::chrono::minutes(1));
    const std::string note = found.NotesOfTime().back();
    EXPECT_NE(note.find(Describe(found.untried.front().strategy)), std::string::npos) << note;
    EXPECT_NE(note.find("--time "), std::string::npos) << note;
  }
  EXPECT_GT(untried, 0U);
}

}  // namespace
}  // namespace placewright
