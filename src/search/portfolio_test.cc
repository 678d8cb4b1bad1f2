// How `auto` shares its budget out, on planners made up for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "search/evaluation/plan_result.h"
#include "search/plan_history.h"
#include "search/planner_table.h"
#include "search/problem/layout_problem.h"
#include "search/test_problems.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;

struct Log {
  std::chrono::milliseconds pause{0};  // in every slice
  std::vector<std::string> slices;     // who advanced, in order
  std::vector<std::string> offers;     // who was offered a plan
};

// Ends after `slices` of `moves` each; puts everything on d0. Where there are `steps`, it states these as its step
// times: at the start, after one slice, ...; the last one goes on.
class CountingPlanner : public IterativePlanner {
 public:
  CountingPlanner(std::string name, int64_t moves, int64_t slices, bool in_auto, Log* log,
                  int64_t joins_after, PlanSpace space = PlanSpace::kPlaced,
                  std::vector<int64_t> steps = {})
      : name_(std::move(name)),
        moves_(moves),
        slices_(slices),
        in_auto_(in_auto),
        log_(log),
        joins_after_(joins_after),
        space_(space),
        steps_(std::move(steps)) {}
  std::string_view name() const override { return name_; }
  std::string_view description() const override { return "counts"; }
  PlanSpace space() const override { return space_; }
  bool in_auto() const override { return in_auto_; }
  int64_t joins_after(const Problem&) const override { return joins_after_; }
  Result<std::unique_ptr<PlannerRun>> Start(const Problem& problem, Evaluator& evaluator,
                                            const PlannerOptions& options) const override {
    const GroupPlacement devices = AllOn(0, problem.groups.size());
    PW_ASSIGN(const Score score, EvaluateGroups(problem, devices, evaluator));
    return std::unique_ptr<PlannerRun>(
        std::make_unique<Run>(*this, MakeResult(problem, name_, devices, score, options)));
  }

 private:
  class Run : public PlannerRun {
   public:
    Run(const CountingPlanner& planner, PlannerResult result)
        : planner_(planner), result_(std::move(result)) {
      result_.space = planner_.space_;
      Step();
    }
    bool Advance(int64_t max_moves) override {
      planner_.log_->slices.push_back(planner_.name_);
      std::this_thread::sleep_for(planner_.log_->pause);
      const bool whole = planner_.steps_.empty() && planner_.space_ == PlanSpace::kPlaced;
      result_.iterations += whole ? planner_.moves_ : std::min(max_moves, planner_.moves_);
      ++done_;
      Step();
      return done_ < planner_.slices_;
    }
    void Offer(const Score& score, const StepPlan&) override {
      planner_.log_->offers.push_back(planner_.name_);
      const int64_t now = result_.step_time.count;
      if (!planner_.steps_.empty()) result_.step_time = Nanos(std::min(now, score.step_time));
    }
    const PlannerResult& result() const override { return result_; }
    Status Finish() override {
      planner_.log_->slices.push_back(planner_.name_ + " ends");
      return Ok();
    }

   private:
    void Step() {
      const std::vector<int64_t>& steps = planner_.steps_;
      if (steps.empty()) return;
      const int64_t next = steps[std::min(static_cast<size_t>(done_), steps.size() - 1)];
      result_.step_time = Nanos(done_ == 0 ? next : std::min(next, result_.step_time.count));
      if (done_ == 0) result_.history.clear();
      if (result_.history.empty() || result_.step_time < result_.history.back().step_time) {
        result_.history.push_back({result_.iterations, 0, result_.step_time, planner_.name_});
      }
    }

    const CountingPlanner& planner_;
    PlannerResult result_;
    int64_t done_ = 0;
  };

  std::string name_;
  int64_t moves_, slices_;
  bool in_auto_;
  Log* log_;
  int64_t joins_after_;
  PlanSpace space_;
  std::vector<int64_t> steps_;
};

// Makes one plan of layouts, of a step time and with a note, or without a step time refuses the step.
class NotingPlanner : public Planner {
 public:
  NotingPlanner(std::string name, int64_t step_time)
      : name_(std::move(name)), step_time_(step_time) {}
  std::string_view name() const override { return name_; }
  std::string_view description() const override { return "notes"; }
  PlanSpace space() const override { return PlanSpace::kReplicated; }
  bool iterative() const override { return false; }
  Result<PlannerResult> Plan(const Problem& problem, Evaluator& evaluator,
                             const PlannerOptions& options) const override {
    if (step_time_ == 0) return MakeError(ErrorCode::kUsage, "no op of this step suits");
    const GroupPlacement devices = AllOn(0, problem.groups.size());
    PW_ASSIGN(const Score score, EvaluateGroups(problem, devices, evaluator));
    PlannerResult result = MakeResult(problem, name_, devices, score, options);
    result.space = PlanSpace::kReplicated;
    result.step_time = Nanos(step_time_);
    result.notes = {name_ + " has a note"};
    return result;
  }

 private:
  std::string name_;
  int64_t step_time_;
};

class Portfolio : public testing::Test {
 protected:
  Portfolio() {
    TestSpec spec;
    spec.capacity = {1 << 20, 1 << 20};
    spec.ops = {{"a", {10, 10}, {}, {8}}, {"b", {10, 10}, {"a"}, {8}}};
    test_ = MakeTestProblem(spec);
  }
  PlannerResult Plan(std::optional<int64_t> iterations, int threads = 1) {
    Budget budget;
    budget.iterations = iterations;
    return PlanWithin(budget, threads);
  }
  PlannerResult PlanWithin(const Budget& budget, int threads = 1) {
    PlannerOptions options;
    options.threads = threads;
    options.budget = budget;
    options.started = Clock::now();
    return MakeAuto(table_)->Plan(test_->problem, *test_->evaluator, options).Take();
  }
  void Add(std::string name, int64_t moves, int64_t slices, bool in_auto = true,
           int64_t joins_after = 0) {
    table_.push_back(
        std::make_unique<CountingPlanner>(name, moves, slices, in_auto, &log_, joins_after));
  }

  // Of two ops, a round is 5,000,000 moves of whole ops, or a tenth of layouts.
  void AddPlaced(std::string name, std::vector<int64_t> steps, int64_t joins_after = 0) {
    table_.push_back(std::make_unique<CountingPlanner>(std::move(name), 1'000'000, 1000, true,
                                                       &log_, joins_after, PlanSpace::kPlaced,
                                                       std::move(steps)));
  }
  void AddOfLayouts(std::string name, std::vector<int64_t> steps) {
    layouts_ =
        LayoutProblem::Make(test_->graph, test_->cluster, CostOptions(), SchedulingPolicy::kFifo)
            .Take();
    test_->problem.layouts = layouts_.get();
    table_.push_back(std::make_unique<CountingPlanner>(
        std::move(name), 100'000, 1000, true, &log_, 0, PlanSpace::kReplicated, std::move(steps)));
  }
  int64_t SlicesOf(std::string_view name) const {
    return std::count(log_.slices.begin(), log_.slices.end(), name);
  }

  Log log_;
  PlannerTable table_;
  std::unique_ptr<TestProblem> test_;
  std::unique_ptr<LayoutProblem> layouts_;
};

// x makes 10 moves a slice, y 30: the one that has had fewest goes on, x first.
TEST_F(Portfolio, GivesEachSliceToTheOneWithFewestMoves) {
  Add("x", 10, 100);
  Add("y", 30, 100);
  const PlannerResult result = Plan(100);
  EXPECT_THAT(log_.slices, ElementsAre("x", "y", "x", "x", "x", "y"));
  EXPECT_EQ(result.iterations, 100);  // 40 + 60
  EXPECT_THAT(log_.offers, ElementsAre("y", "x", "y", "y", "y", "x"));
}

// A plan to start from keeps the order that it states: with b first, c on d1 begins after 10 ns and not after 20.
TEST_F(Portfolio, StartsFromAPlanInItsOwnOrder) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  spec.ops = {{"a", {10, 10}, {}, {8}}, {"b", {10, 10}, {}, {8}}, {"c", {30, 30}, {"b"}, {8}}};
  test_ = MakeTestProblem(spec);
  Add("x", 10, 1);
  PlannerOptions options;
  options.initial = PlanOf(test_->problem, OnDevices({0, 0, 1}));
  for (const bool stated : {false, true}) {
    if (stated) options.initial->switches.order = SchedulingPolicy::kCriticalPath;
    const PlannerResult result =
        MakeAuto(table_)->Plan(test_->problem, *test_->evaluator, options).Take();
    EXPECT_EQ(result.algorithm, stated ? "init" : "x");  // all on d0: 50 ns
    EXPECT_EQ(result.step_time, Nanos(stated ? 48 : 50));
    EXPECT_EQ(result.plan.switches.order, options.initial->switches.order);
  }
}

TEST_F(Portfolio, GoesOnWithoutThoseThatAreDone) {
  Add("x", 10, 2);
  Add("y", 10, 4);
  Plan(1000);
  EXPECT_THAT(log_.slices, ElementsAre("x", "y", "x", "y", "y", "y"));
}

TEST_F(Portfolio, RunsOneSliceOfEachWithoutAnyLimit) {
  Add("x", 10, 9);
  Add("y", 10, 9);
  Plan(std::nullopt);
  EXPECT_THAT(log_.slices, ElementsAre("x", "y"));
}

// Placed plans take more than one and a half times as long: after their first round all is of layouts.
TEST_F(Portfolio, PlacesNoMoreWhereThatIsFarBehind) {
  AddPlaced("p", {900, 800, 700});
  AddOfLayouts("l", {400, 390});
  const PlannerResult result = Plan(6'000'000);
  EXPECT_EQ(SlicesOf("p"), 5);
  EXPECT_EQ(SlicesOf("l"), 11);  // the first is one move
  EXPECT_EQ(log_.slices.back(), "l ends");
  EXPECT_EQ(result.algorithm, "l");
  EXPECT_EQ(result.step_time, Nanos(390));
  EXPECT_EQ(result.iterations, 6'000'000);
}

// Planners that the step does not suit are named in one note, and notes on plans that are not taken left out.
TEST_F(Portfolio, NotesOnTheBestPlanAndOneOnAllThatDoNotSuit) {
  AddOfLayouts("l", {450, 440});
  for (const auto& [name, step_time] :
       {std::pair("slow", 400), {"none", 0}, {"fast", 300}, {"neither", 0}, {"late", 350}}) {
    table_.push_back(std::make_unique<NotingPlanner>(name, step_time));
  }
  const PlannerResult result = Plan(0);
  EXPECT_EQ(result.algorithm, "fast");
  EXPECT_THAT(result.notes,
              ElementsAre("fast has a note",
                          "not for this step and cluster: none, neither (--algo NAME says why)",
                          "not run, as no time or moves were left: l"));
}

// Both find better plans: a placed one is offered to the search over layouts, which goes on from there.
TEST_F(Portfolio, SharesOutAmongPlacementsAndLayoutsWherePlacedPlansMayWin) {
  AddPlaced("p", {900, 800, 700, 600, 500, 400, 300, 200});
  AddOfLayouts("l", {450, 440});
  const PlannerResult result = Plan(13'000'000);
  EXPECT_GT(SlicesOf("p"), 8);  // a round, and 80% of a second one at least
  EXPECT_GT(SlicesOf("l"), 0);
  EXPECT_THAT(log_.offers, ::testing::Contains("l"));
  EXPECT_EQ(result.step_time, Nanos(200));
  EXPECT_EQ(result.algorithm, "p");  // not the one to which it was offered
  // Fewer moves are the beginning of more, but for the last slice, which may be shorter.
  std::vector<std::string> all = log_.slices;
  log_ = {};
  Plan(9'000'000);
  log_.slices.resize(log_.slices.size() - 2);  // and the end
  ASSERT_LT(log_.slices.size(), all.size());
  EXPECT_TRUE(std::equal(log_.slices.begin(), log_.slices.end(), all.begin()));
}

// The moves end within the second round of placements: what it has found is offered, and the last move is of layouts.
TEST_F(Portfolio, OffersWhatTheLastRoundOfPlacementsFound) {
  AddPlaced("p", {900, 800, 700, 600, 550, 500, 350});
  AddOfLayouts("l", {450, 440});
  const PlannerResult result = Plan(6'000'000);
  EXPECT_EQ(result.iterations, 6'000'000);
  EXPECT_THAT(log_.offers, ::testing::Contains("l"));
  EXPECT_THAT(log_.slices, ElementsAre("p", "p", "p", "p", "p", "l", "p", "l", "l ends"));
  EXPECT_EQ(result.step_time, Nanos(350));
}

// Wherever time ends it: as many moves are the same slices and offers.
TEST_F(Portfolio, RepeatsByItsMovesWhatTimeEnded) {
  AddPlaced("p", {900, 880, 860, 840, 820, 800, 780, 760, 740, 720, 700, 680, 660, 640});
  AddOfLayouts("l", {850, 840, 830, 820, 810, 800});
  for (const int milliseconds : {5, 12, 16, 21, 27, 33}) {
    log_ = {.pause = std::chrono::milliseconds(1)};
    Budget budget;
    budget.deadline = Clock::now() + std::chrono::milliseconds(milliseconds);
    const PlannerResult timed = PlanWithin(budget);
    const Log of_timed = std::exchange(log_, {});
    const PlannerResult repeated = Plan(timed.iterations);
    EXPECT_EQ(log_.slices, of_timed.slices) << milliseconds;
    EXPECT_EQ(log_.offers, of_timed.offers) << milliseconds;
    EXPECT_EQ(repeated.step_time, timed.step_time) << milliseconds;
  }
}

// A plan that two have found is the first one's, with its moves.
TEST_F(Portfolio, TheHistoryEndsWithTheMovesOfThePlanner) {
  AddPlaced("x", {900, 900, 700});
  AddPlaced("y", {900, 700});
  const PlannerResult result = Plan(20'000'000);
  ASSERT_EQ(result.algorithm, "x");
  EXPECT_EQ(result.history.back().algorithm, "x");
  EXPECT_EQ(result.history.back().step_time, Nanos(700));
  EXPECT_EQ(result.history.back().iterations, 2'000'000);
}

// A search over layouts led with plans that do not compile: what others found behind them is all that is left.
TEST(PlanHistory, ForgetsWhatIsWithdrawn) {
  PlannerResult layouts, placed;
  layouts.algorithm = "l";
  layouts.history = {{1, 1, Nanos(130), "l"}, {2, 2, Nanos(120), "l"}, {3, 3, Nanos(115), "l"}};
  layouts.step_time = Nanos(120);
  placed.algorithm = "p";
  placed.history = {{7, 4, Nanos(110), "p"}};
  placed.feasible = true;
  placed.step_time = Nanos(110);
  for (const bool has_plan : {false, true}) {
    PlanHistory history;
    history.Note(layouts, true);
    history.Note(placed, true);
    history.Withdraw(layouts, has_plan);
    PlannerResult plan = placed;
    std::move(history).EndWith(plan, true, 9);
    std::vector<int64_t> steps;
    for (const HistoryPoint& point : plan.history) steps.push_back(point.step_time.count);
    EXPECT_EQ(steps, has_plan ? (std::vector<int64_t>{130, 120, 110}) : std::vector<int64_t>{110});
    EXPECT_EQ(plan.first_feasible_seconds, has_plan ? 1 : 4);
  }
}

// Each point is there when it led, not when its search was done.
TEST_F(Portfolio, HistoryPointsNameTheLeader) {
  AddPlaced("p", {900, 800, 700, 600, 550, 500, 400, 300});
  AddOfLayouts("l", {450, 440});
  const PlannerResult result = Plan(13'000'000);
  std::vector<std::string> leaders;
  std::vector<int64_t> steps;
  for (const HistoryPoint& point : result.history) {
    steps.push_back(point.step_time.count);
    if (leaders.empty() || leaders.back() != point.algorithm) leaders.push_back(point.algorithm);
  }
  EXPECT_THAT(leaders, ElementsAre("p", "l", "p"));
  EXPECT_THAT(steps, ElementsAre(900, 800, 700, 600, 550, 500, 450, 440, 400, 300));
}

// What gains nothing any more, and is behind, is ended; what joins late has its chance before.
TEST_F(Portfolio, EndsPlacingThatGainsNothingOnceLateSearchesHaveShownWhatTheyFind) {
  AddPlaced("p", {500});
  AddPlaced("late", {500}, 7'000'000);
  AddOfLayouts("l", {400});
  Plan(30'000'000);
  EXPECT_GT(SlicesOf("late"), 0);
  log_ = {};
  table_.erase(table_.begin() + 1);
  Plan(30'000'000);
  EXPECT_EQ(SlicesOf("p"), 5);
}

// Constructive, and not for `auto`.
class Outsider : public Planner {
 public:
  std::string_view name() const override { return "outsider"; }
  std::string_view description() const override { return "stays out"; }
  bool iterative() const override { return false; }
  bool in_auto() const override { return false; }
  Result<PlannerResult> Plan(const Problem&, Evaluator&, const PlannerOptions&) const override {
    ADD_FAILURE() << "auto runs a planner that is not for it";
    return NoPlanInTime(name());
  }
};

// x joins, and runs to its end, once y has made 25 moves or more; then y goes on.
TEST_F(Portfolio, RunsALateSearchToItsEndOnceOthersHaveMoved) {
  Add("x", 10, 3, true, 25);
  Add("y", 10, 6);
  const PlannerResult result = Plan(1000);
  EXPECT_THAT(log_.slices, ElementsAre("y", "y", "y", "x", "x", "x", "y", "y", "y"));
  EXPECT_EQ(log_.offers.front(), "y");  // what x had found
  EXPECT_EQ(result.iterations, 90);
  EXPECT_EQ(result.baselines.size(), 2u);
}

TEST_F(Portfolio, LeavesALateSearchOutWhereMovesEndBefore) {
  Add("x", 10, 3, true, 25);
  Add("y", 10, 6);
  EXPECT_EQ(Plan(20).baselines.size(), 1u);
  EXPECT_THAT(log_.slices, ElementsAre("y", "y"));
}

// Says on which thread it was asked for a plan.
class Stayer : public Planner {
 public:
  explicit Stayer(std::vector<std::thread::id>* threads) : threads_(threads) {}
  std::string_view name() const override { return "stayer"; }
  std::string_view description() const override { return "runs on the thread that plans"; }
  bool iterative() const override { return false; }
  bool on_calling_thread() const override { return true; }
  Result<PlannerResult> Plan(const Problem&, Evaluator&, const PlannerOptions&) const override {
    threads_->push_back(std::this_thread::get_id());
    return NoPlanInTime(name());
  }

 private:
  std::vector<std::thread::id>* threads_;
};

TEST_F(Portfolio, RunsOnTheCallingThreadWhatMustRunThere) {
  std::vector<std::thread::id> threads;
  for (int i = 0; i < 3; ++i) table_.push_back(std::make_unique<Stayer>(&threads));
  Add("y", 10, 1);
  Plan(10, 4);
  EXPECT_EQ(threads.size(), 3u);
  for (const auto thread : threads) EXPECT_TRUE(thread == std::this_thread::get_id());
}

TEST_F(Portfolio, ProofsGetNoPlansOnceTheBudgetIsOver) {
  Budget over;
  over.deadline = Clock::now();
  std::vector<std::thread::id> threads;
  table_.push_back(std::make_unique<Stayer>(&threads));
  const auto visit = [](std::string_view, const Placement&, bool) { return false; };
  ConstructivePlans(table_, over)(test_->problem, *test_->evaluator, visit);
  EXPECT_TRUE(threads.empty());
  ConstructivePlans(table_)(test_->problem, *test_->evaluator, visit);
  EXPECT_EQ(threads.size(), 1u);
}

TEST_F(Portfolio, LeavesOutConstructivePlannersThatAreNotForIt) {
  table_.push_back(std::make_unique<Outsider>());
  Add("y", 10, 1);
  EXPECT_EQ(Plan(10).baselines.size(), 1u);
}

// Of plans that split ops; there is none.
class OfSplits : public Planner {
 public:
  OfSplits(std::string name, Log* log) : name_(std::move(name)), log_(log) {}
  std::string_view name() const override { return name_; }
  std::string_view description() const override { return "splits"; }
  bool iterative() const override { return false; }
  PlanSpace space() const override { return PlanSpace::kReplicated; }
  Result<PlannerResult> Plan(const Problem&, Evaluator&, const PlannerOptions&) const override {
    log_->slices.push_back(name_);
    return MakeError(ErrorCode::kInfeasible, "nothing to split");
  }

 private:
  std::string name_;
  Log* log_;
};

TEST_F(Portfolio, BeginsWithWhatIsPromising) {
  for (const char* name : {"a", "b", "c"})
    table_.push_back(std::make_unique<OfSplits>(name, &log_));
  Add("placed", 10, 1);
  AddOfLayouts("layouts", {100});
  PlannerOptions options;
  options.budget.iterations = 1;
  options.started = Clock::now();
  options.promising = {"c", "none", "b"};
  MakeAuto(table_)->Plan(test_->problem, *test_->evaluator, options).Take();
  std::erase_if(log_.slices, [](const std::string& name) { return name.size() > 1; });
  EXPECT_THAT(log_.slices, ElementsAre("c", "b", "a"));
}

// A plan that splits ops, which takes as long as it is to.
class Splits : public Planner {
 public:
  explicit Splits(int64_t step_time) : step_time_(step_time) {}
  std::string_view name() const override { return "splits"; }
  std::string_view description() const override { return "splits"; }
  bool iterative() const override { return false; }
  PlanSpace space() const override { return PlanSpace::kReplicated; }
  Result<PlannerResult> Plan(const Problem& problem, Evaluator& evaluator,
                             const PlannerOptions& options) const override {
    const GroupPlacement devices = AllOn(0, problem.groups.size());
    PW_ASSIGN(const Score score, EvaluateGroups(problem, devices, evaluator));
    PlannerResult result = MakeResult(problem, "splits", devices, score, options);
    result.space = PlanSpace::kReplicated;
    result.step_time = Nanos(step_time_);
    return result;
  }

 private:
  int64_t step_time_;
};

// A chain of 4,000 ops of 10 ns: no placement takes less than 40,000.
TEST_F(Portfolio, PlacesNothingOfManyOpsWhereTheBoundSaysThatItLoses) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  for (int i = 0; i < 4000; ++i) {
    std::vector<std::string> before;
    if (i > 0) before.push_back("op" + std::to_string(i - 1));
    spec.ops.push_back({"op" + std::to_string(i), {10, 10}, before, {8}});
  }
  for (const int64_t step_time : {40'000, 40'001}) {
    test_ = MakeTestProblem(spec);
    table_.clear();
    log_ = {};
    table_.push_back(std::make_unique<OfSplits>("hopeless", &log_));
    table_.push_back(std::make_unique<Splits>(step_time));
    Add("placed", 10, 1);
    AddOfLayouts("layouts", {100'000});
    PlannerOptions options;
    options.budget.iterations = 20;
    options.promising = {"splits"};
    options.hopeless = {"hopeless"};
    options.started = Clock::now();
    const PlannerResult result =
        MakeAuto(table_)->Plan(test_->problem, *test_->evaluator, options).Take();
    EXPECT_EQ(SlicesOf("placed"), step_time > 40'000 ? 1 : 0);
    EXPECT_GT(SlicesOf("layouts"), 0);
    EXPECT_EQ(SlicesOf("hopeless"), 0);
    EXPECT_EQ(result.baselines.front().algorithm, "splits");
  }
}

// By estimate a plan that splits ops comes first: placements that take more than three times as long get no moves, whatever
// the threads.
TEST_F(Portfolio, MovesNothingWhereSplittingIsFarAhead) {
  Add("placed", 10, 1);
  const int64_t placed = Plan(1).step_time.count;
  for (const int64_t step_time : {placed / 3 - 1, placed / 3 + 1}) {
    for (const int threads : {1, 2}) {
      table_.clear();
      log_ = {};
      Add("placed", 10, 4);
      AddOfLayouts("layouts", {1});
      table_.push_back(std::make_unique<Splits>(step_time));
      PlannerOptions options;
      options.budget.iterations = 100;
      options.threads = threads;
      options.promising = {"splits"};
      options.started = Clock::now();
      MakeAuto(table_)->Plan(test_->problem, *test_->evaluator, options).Take();
      EXPECT_EQ(SlicesOf("placed") > 0, 3 * step_time > placed) << step_time << " " << threads;
    }
  }
}

// Written for each device, the step of a move would take seconds: the best plan stays, and a note says so.
TEST_F(Portfolio, SearchesNoLayoutsOfStepsThatAreTooLarge) {
  for (const double unwritten : {1.0, 1e9}) {
    table_.clear();
    log_ = {};
    table_.push_back(std::make_unique<Splits>(5));
    AddOfLayouts("layouts", {100});
    layouts_->unwritten = unwritten;
    const PlannerResult result = Plan(1'000'000);
    EXPECT_EQ(SlicesOf("layouts") > 0, unwritten == 1);
    EXPECT_EQ(result.algorithm, "splits");
    const bool noted =
        std::any_of(result.notes.begin(), result.notes.end(), [](const std::string& note) {
          return note.starts_with("the best plan's layouts are not moved");
        });
    EXPECT_EQ(noted, unwritten > 1);
  }
}

// What was found before is a baseline and the best plan, if no other one is better; those that were tried then are not run.
TEST_F(Portfolio, GoesOnFromWhatWasFound) {
  for (const char* name : {"a", "b"}) table_.push_back(std::make_unique<OfSplits>(name, &log_));
  Add("placed", 10, 1);
  AddOfLayouts("layouts", {100});
  PlannerOptions options;
  options.budget.iterations = 1;
  options.started = Clock::now();
  Result<PlannerResult> found = Splits(5).Plan(test_->problem, *test_->evaluator, options);
  ASSERT_TRUE(found.ok());
  found.value().algorithm = "2d tensor=2";
  for (const char* tried : {"b", "2d tensor=2"}) {
    found.value().baselines.push_back(BaselineOf(test_->problem, found.value(), false));
    found.value().baselines.back().algorithm = tried;
  }
  options.found = &found.value();
  const PlannerResult result =
      MakeAuto(table_)->Plan(test_->problem, *test_->evaluator, options).Take();
  EXPECT_EQ(result.algorithm, "2d tensor=2");
  EXPECT_EQ(result.step_time, Nanos(5));
  std::vector<std::string> baselines;
  for (const Baseline& one : result.baselines) baselines.push_back(one.algorithm);
  EXPECT_EQ(std::count(baselines.begin(), baselines.end(), "2d tensor=2"), 1);
  EXPECT_EQ(std::count(baselines.begin(), baselines.end(), "b"), 1);
  EXPECT_EQ(std::count(log_.slices.begin(), log_.slices.end(), "a"), 1);
  EXPECT_EQ(std::count(log_.slices.begin(), log_.slices.end(), "b"), 0);
}

TEST_F(Portfolio, LeavesOutWhoIsNotForIt) {
  Add("x", 10, 2, false);
  Add("y", 10, 2);
  const PlannerResult result = Plan(1000);
  EXPECT_THAT(log_.slices, ElementsAre("y", "y"));
  ASSERT_EQ(result.baselines.size(), 1u);
  EXPECT_EQ(result.baselines[0].algorithm, "y");
}

}  // namespace
}  // namespace placewright
