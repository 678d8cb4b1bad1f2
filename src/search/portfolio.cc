// auto: every planner of a table, and the best of their plans.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <new>
#include <optional>
#include <utility>

#include "base/thread_pool.h"
#include "search/evaluation/plan_result.h"
#include "search/found_plans.h"
#include "search/layout_runs.h"
#include "search/planner_table.h"
#include "search/problem/layout_problem.h"

namespace placewright {
namespace {

constexpr int64_t kLayoutMove = 10;  // as many moves of whole ops take about as long
// Of the work of a round, what searches over placements get as long as they may win.
constexpr double kLeastPlaced = 0.2, kMostPlaced = 0.8;
// While one that joins late has not run to its end: the share of placements, and of how many rounds it is that they
// get before the next moves of layouts.
constexpr double kJoiningShare = 0.9, kJoiningRounds = 3;
constexpr double kFarBehind = 1.5;  // times the best plan
constexpr double kLost = 3;         // the same, before the first move
constexpr double kCatchesUp = 10;   // rounds
constexpr size_t kLayoutStarts = 3;
// Of 27 steps and clusters (docs/algorithms/auto.md) one has a better candidate after more than two that are not.
constexpr int64_t kPatience = 16;
// Of so many ops placements take long to try: not before something that splits ops shows whether they may win.
constexpr size_t kManyOps = 4000;
constexpr std::chrono::seconds kForLast(2);  // less is in vain for a planner that needs seconds

// The best plan so far, and what everybody reached.
class Portfolio {
 public:
  Portfolio(const Problem& problem, Evaluator& evaluator, const PlannerOptions& options)
      : problem_(problem),
        evaluator_(evaluator),
        options_(options),
        deadline_(options.budget.deadline),
        found_(problem) {
    options_.patience = kPatience;
  }

  Status AddInitial() {
    const StepPlan& initial = *options_.initial;
    if (!initial.IsPlaced()) return AddInitialLayouts(initial);
    const GroupPlacement groups = GroupsOf(problem_, initial);
    const EvaluationOptions in_its_order{.order = initial.switches.order};
    PW_ASSIGN(const Score score, EvaluateGroups(problem_, groups, evaluator_, in_its_order));
    PlannerResult result = MakeResult(problem_, "init", groups, score, options_);
    result.plan.switches.order = initial.switches.order;
    found_.AddInitial(found_.placed, std::move(result), score);
    return Ok();
  }

  // The placement of the graph's file, if it keeps to the problem's constraints and is connected.
  void AddGiven() {
    const GroupPlacement groups = GroupsOf(problem_, *options_.given);
    const Result<Score> score = EvaluateGroups(problem_, groups, evaluator_);
    if (!(PlanOf(problem_, groups) == *options_.given) || !score.ok()) return;
    found_.Add(found_.placed, MakeResult(problem_, "given", groups, score.value(), options_),
               score.value(), false);
  }

  // What was found before, which is among what was tried then.
  void AddFound() {
    const PlannerResult& found = *options_.found;
    for (const Baseline& baseline : found.baselines) found_.AddBaseline(baseline);
    found_.AddInitial(found_.split, found, ScoreInParts(found));
  }

  // On the threads of the options, those that need the calling thread there; what they make is
  // added in their order. A planner that finds no connected plan is left out: another may find one.
  void RunConstructive(const std::vector<const Planner*>& planners) {
    std::vector<std::optional<Result<PlannerResult>>> made(planners.size());
    std::atomic<bool> no_memory = false;
    std::vector<std::vector<size_t>> turns(1);  // planners; the first are the calling thread's
    for (size_t i = 0; i < planners.size(); ++i) {
      if (planners[i]->on_calling_thread()) {
        turns[0].push_back(i);
      } else {
        turns.push_back({i});
      }
    }
    const int count = static_cast<int>(turns.size());
    ThreadPool pool(std::clamp(options_.threads, 1, count));
    const auto run = [&](size_t i) {
      // There is one plan at least, whatever the deadline.
      if (no_memory || ((!found_.empty() || i > 0) && options_.budget.Expired())) return;
      try {
        const std::unique_ptr<Evaluator> own =
            pool.threads() > 1 ? evaluator_.ForProblem(problem_, 1) : nullptr;
        made[i] = planners[i]->Plan(problem_, own ? *own : placing(), options_);
      } catch (const std::bad_alloc&) {
        no_memory = true;
      }
    };
    pool.ParallelFor(count, [&](int turn) {
      for (size_t i : turns[turn]) run(i);
    });
    for (size_t i = 0; i < planners.size(); ++i) Take(*planners[i], std::move(made[i]));
    out_of_memory_ = out_of_memory_ || no_memory;
    if (out_of_memory_ && found_.empty()) throw std::bad_alloc();  // nothing to save
  }

  // Whether a placement may be faster than the best plan so far, by the bound of placements.
  bool PlacementsMayWin() {
    if (!options_.bound) Guarded([&] { options_.bound = LowerBound(problem_); });
    for (const auto& [score, plan] : found_.split) {
      if (!options_.bound || score.over > 0 || options_.bound->value.count < score.step_time)
        continue;
      found_.AddNote(
          fmt::format("no placement of whole ops was tried, as none takes less than {} ({})",
                      FormatNanos(options_.bound->value), options_.bound->argument));
      return false;
    }
    return true;
  }

  // Whether moves of whole ops are worth their time: constructive placements are not lost beside a plan that splits ops.
  bool PlacedMayCatchUp() const {
    const Score placed = BestPlaced();
    return std::none_of(found_.split.begin(), found_.split.end(), [&](const auto& plan) {
      const Score& score = plan.first;
      return score.over == 0 &&
             (placed.over > 0 ||
              static_cast<double>(placed.step_time) > kLost * static_cast<double>(score.step_time));
    });
  }

  // A third of what is left goes to plans that split or copy ops whole steps at a time, the rest to the search.
  void LeaveTimeForLayoutSearch() { LeaveOf(3); }
  // A quarter of what is left goes to planners that need seconds, where that gives them some.
  void LeaveTimeForLast() {
    if (!options_.budget.deadline) return;
    const Clock::duration quarter = TimeLeft() / 4;
    if (quarter >= kForLast) *options_.budget.deadline -= quarter;
  }
  // The same where a search over layouts comes behind them: without these seconds they are not run.
  void LeaveTimeBehindLast() {
    RestoreTime();
    if (!options_.budget.deadline) return;
    if (TimeLeft() / 4 >= kForLast) {
      LeaveOf(4);
    } else {
      options_.budget.deadline = Clock::now();
    }
  }
  void RestoreTime() { options_.budget.deadline = deadline_; }

  // Searches that place ops whole. `iterations` of the budget are shared by all searches.
  void StartPlaced(const std::vector<const IterativePlanner*>& planners) {
    if (options_.budget.Stopped()) {
      if (found_.empty()) found_.Keep(NoPlanInTime("auto"));
      return;
    }
    if (!options_.bound && !planners.empty()) {
      Guarded([&] { options_.bound = LowerBound(problem_); });
    }
    for (const IterativePlanner* planner : planners) {
      if (planner->joins_after(problem_) > 0) {
        if (Limited()) late_.push_back(planner);
      } else {
        Guarded([&] { StartRun(*planner); });
      }
    }
    for (const auto& run : runs_) live_.push_back(run.get());
    waits_for_others_ = live_.empty();
    first_placed_ = BestPlaced();
  }

  // Up to `moves` of them. A slice goes to the search that has had the fewest moves; one that joins later
  // (IterativePlanner::joins_after) then runs to its end. Whether there is more to try.
  bool AdvancePlaced(int64_t moves) {
    const int64_t until = MovesMade() + std::min(moves, MovesLeft());
    const auto any = [&] {
      return joining_ != nullptr || !live_.empty() || (waits_for_others_ && !late_.empty());
    };
    while (!out_of_memory_ && any()) {
      if (joining_ != nullptr) {
        bool goes_on = false;
        Guarded([&] { goes_on = joining_->Advance(until - MovesMade()); });
        found_.history.Note(*joining_);
        if (!goes_on) Guarded([&] { OfferToOthers(*std::exchange(joining_, nullptr)); });
      } else if (!late_.empty() &&
                 (live_.empty() || PlacedMoves() >= late_.front()->joins_after(problem_))) {
        Guarded([&] { joining_ = StartRun(*late_.front()); });
        late_.erase(late_.begin());
      } else {
        const auto next = std::min_element(live_.begin(), live_.end(),
                                           [](const PlannerRun* a, const PlannerRun* b) {
                                             return a->result().iterations < b->result().iterations;
                                           });
        bool goes_on = false;
        Guarded([&] { goes_on = (*next)->Advance(until - MovesMade()); });
        found_.history.Note(**next);
        if (runs_.size() > 1) Guarded([&] { OfferToOthers(**next); });
        if (!goes_on || !Limited()) live_.erase(next);
      }
      if (MovesMade() >= until || PlacedTimeIsOver()) break;
    }
    return any();
  }

  // A plan that was offered to the search over layouts is that of the one that made it.
  void AddSearches() {
    for (const auto& run : runs_) {
      found_.history.Note(*run);
      PlannerResult result = run->result();
      out_of_memory_ = out_of_memory_ || result.out_of_memory;
      const Score score = ScoreOf(result);
      found_.Add(found_.placed, std::move(result), score, true);
    }
    layouts_.ForEach([&](PlannerRun& run) { AddLayouts(run); });
    layouts_.Clear();
    runs_.clear();
  }

  // The rest of the budget goes to searches over layouts, from the best plans so far, and, as long as they may
  // still find the best plan, to those over placements. Without moves of the first ones there is nothing to
  // share, so that their number repeats the plan.
  void SearchLayoutsAndPlacements(const std::vector<const IterativePlanner*>& planners) {
    if (MovesLeft() <= 0 || (options_.budget.Expired() && HasPlan())) {
      for (const IterativePlanner* planner : planners) found_.AddNotRun(*planner);
      return;
    }
    if (HasPlan() && OpsOfAllDevices() > kMostOpsForMoves) {
      return found_.AddNote(
          fmt::format("the best plan's layouts are not moved: that would simulate all devices one "
                      "by one, {:.1f} "
                      "million ops, and not one of those that are alike",
                      OpsOfAllDevices() / 1e6));
    }
    const PlannerOptions options = OptionsForLayouts();
    for (const IterativePlanner* planner : planners) {
      if (MovesLeft() <= 0) {
        found_.AddNotRun(*planner);
        continue;
      }
      const size_t before = layouts_.size();
      Guarded([&] { StartLayouts(*planner, options); });
      if (layouts_.size() == before) continue;
      // One move in any case: without any the number of moves would not say that there were starts.
      Guarded([&] { layouts_.Advance(layouts_.last(), Limited() ? 1 : kMaxQuantity); });
      found_.history.Note(layouts_.last());
    }
    if (layouts_.empty()) return;
    // They began with the best one, or with the one that was given.
    offered_ = options_.initial ? Score{} : BestPlaced();
    if (Limited()) ShareOut();
  }

  // `place`, and beside it, on another thread, what RunReplicated will add: with a third of the time. That is up to twice as many threads as the options say for as long as both take.
  void RunBesideReplicated(const std::function<void()>& place,
                           const std::vector<const Planner*>& planners) {
    made_ahead_.resize(planners.size());
    PlannerOptions options = options_;
    options.progress = nullptr;  // the planning thread's
    if (options.budget.deadline) *options.budget.deadline = Clock::now() + TimeLeft() / 3;
    // What the evaluator keeps of layouts is of use to the searches over them, later.
    placing_ = evaluator_.ForProblem(problem_, options_.threads);
    std::atomic<bool> no_memory = false;
    ThreadPool(2).ParallelFor(2, [&](int task) {
      if (task == 0) return place();
      for (size_t i = 0; i < planners.size(); ++i) {
        if (options.budget.Expired() || out_of_memory_) return;
        try {
          made_ahead_[i] = planners[i]->Plan(problem_, evaluator_, options);
        } catch (const std::bad_alloc&) {
          no_memory = true;
          return;
        }
      }
    });
    if (no_memory && !HasPlan()) throw std::bad_alloc();  // nothing to save
    out_of_memory_ = out_of_memory_ || no_memory;
  }

  // Plans that split or copy ops. One that cannot be made says why in a note.
  void RunReplicated(const std::vector<const Planner*>& planners) {
    made_ahead_.resize(planners.size());
    for (size_t i = 0; i < planners.size(); ++i) {
      const Planner& planner = *planners[i];
      if (std::optional<Result<PlannerResult>> made = std::move(made_ahead_[i])) {
        GuardedAlways([&] { AddReplicated(planner, *std::move(made)); });
      } else if (options_.budget.Expired() && HasPlan()) {
        found_.AddNotRun(planner);
      } else {
        Guarded([&] { AddReplicated(planner, planner.Plan(problem_, evaluator_, options_)); });
      }
    }
  }

  // Iterative planners may start from every plan so far, the best first.
  void OfferStarts() {
    for (const auto& run : runs_) {
      found_.placed.emplace_back(ScoreOf(run->result()), run->result().plan);
    }
    options_.starts = FoundPlans::BestOf(found_.placed);
  }

  Result<PlannerResult> Take() && {
    Result<PlannerResult> best = std::move(found_).Take(SecondsSince(options_.started));
    if (best.ok()) best.value().out_of_memory = out_of_memory_;
    return best;
  }

 private:
  // A move may make devices differ, and feedback is of all of them: about 1 us and 700 bytes an op.
  static constexpr double kMostOpsForMoves = 1.5e6;
  double OpsOfAllDevices() const {
    const auto ops = static_cast<double>(problem_.graph->op_count()) * problem_.layouts->unwritten;
    return ops * static_cast<double>(problem_.layouts->cluster.device_count());
  }
  // Precondition: there is a deadline.
  Clock::duration TimeLeft() const { return *options_.budget.deadline - Clock::now(); }
  // From now on there is one `share`-th of the time that was left.
  void LeaveOf(int64_t share) {
    if (options_.budget.deadline) options_.budget.deadline = Clock::now() + TimeLeft() / share;
  }

  void Take(const Planner& planner, std::optional<Result<PlannerResult>> made) {
    if (!made) {
      found_.AddNotRun(planner);
    } else if (!made->ok()) {
      found_.Keep(std::move(made->error()));
    } else {
      out_of_memory_ = out_of_memory_ || made->value().out_of_memory;
      const Score score = ScoreOf(made->value());
      found_.Add(found_.placed, made->Take(), score, false);
    }
  }

  void AddReplicated(const Planner& planner, Result<PlannerResult> made) {
    if (!made.ok()) return found_.AddRefusal(planner, std::move(made.error()));
    const Score score = ScoreInParts(made.value());
    found_.Add(found_.split, made.Take(), score, false);
  }

  // The same of a plan to start from that splits or copies ops.
  Status AddInitialLayouts(const StepPlan& initial) {
    PlannerResult result;
    result.algorithm = "init";
    result.space = PlanSpace::kReplicated;
    result.plan = {initial.layouts, AsStart(*problem_.layouts, initial.switches)};
    PW_ASSIGN(const Evaluation evaluation, evaluator_.EvaluatePlan(result.plan));
    result.SetEvaluation(evaluation);
    if (result.feasible) {
      result.history = {{0, SecondsSince(options_.started), result.step_time, result.algorithm}};
    }
    found_.AddInitial(found_.split, std::move(result), evaluation.score());
    options_.initial.reset();  // what searches over layouts start from is chosen later
    return Ok();
  }

  // Starts of searches over layouts: the best plans that split or copy ops, then the best placement, if none was given.
  PlannerOptions OptionsForLayouts() {
    OfferStarts();
    PlannerOptions options = options_;
    options.starts = FoundPlans::BestOf(found_.split, kLayoutStarts);
    if (!options_.starts.empty() && !options_.initial) {
      options.starts.push_back(options_.starts.front());
    }
    return options;
  }

  void StartLayouts(const IterativePlanner& planner, const PlannerOptions& options) {
    Result<std::unique_ptr<PlannerRun>> run = planner.Start(problem_, evaluator_, options);
    if (run.ok()) {
      layouts_.Add(run.Take());
    } else {
      found_.AddFailure(planner.name(), std::move(run.error()));
    }
  }

  // Memory that runs out ends the portfolio with what it has.
  template <class Body>
  void Guarded(const Body& body) {
    if (!out_of_memory_) GuardedAlways(body);
  }
  // What was made before it ran out counts all the same.
  template <class Body>
  void GuardedAlways(const Body& body) {
    try {
      body();
    } catch (const std::bad_alloc&) {
      if (!HasPlan()) throw;  // nothing to save
      out_of_memory_ = true;
    }
  }

  // The run, or nullptr where it could not begin.
  PlannerRun* StartRun(const IterativePlanner& planner) {
    Result<std::unique_ptr<PlannerRun>> run = planner.Start(problem_, placing(), options_);
    if (!run.ok()) {
      found_.Keep(std::move(run.error()));
      return nullptr;
    }
    runs_.push_back(run.Take());
    found_.history.Note(*runs_.back());
    return runs_.back().get();
  }

  // Rounds of as much work as the first placed moves were. Who gains more for its work gets more of the next one.
  // All follows from moves and scores, so that fewer moves are the beginning of more, but for the last one: it is always
  // of layouts, behind what placements have found by then.
  void ShareOut() {
    const double round = static_cast<double>(FirstPlacedMoves(problem_));
    double share = Joins() ? kJoiningShare : kMostPlaced;
    double placed_gain = GainOf(first_placed_, BestPlaced());
    bool placed_goes_on = true;
    while (!out_of_memory_ && MovesLeft() > 0 && !options_.budget.Expired()) {
      placed_goes_on = placed_goes_on && PlacedMayWin(placed_gain);
      const bool layouts_go_on = layouts_.Next() != nullptr;
      if (!placed_goes_on && !layouts_go_on) return;
      if (!placed_goes_on) share = 0;
      if (!layouts_go_on) share = 1;
      const int64_t left = MovesLeft() - (layouts_go_on ? 1 : 0);
      const bool places = placed_goes_on && left > 0;
      if (places) {
        const Score before = BestPlaced();
        const double rounds = Joins() ? kJoiningRounds : 1;
        const int64_t moves = std::max<int64_t>(1, std::llround(rounds * round * share));
        placed_goes_on = AdvancePlaced(std::min(moves, left));
        placed_gain = GainOf(before, BestPlaced()) / (rounds * share);
      }
      if (!layouts_go_on) continue;
      // What placements offer is always followed by a move, so that the number of moves says that it was offered.
      if (out_of_memory_ || MovesLeft() <= 0) return;
      const bool last = places && PlacedTimeIsOver();
      OfferPlaced();
      const Score before = layouts_.Best();
      const double moves = last ? 1 : round * (1 - share) / kLayoutMove;
      AdvanceLayouts(std::max<int64_t>(1, std::llround(moves)));
      if (last) return;
      const double gain = GainOf(before, layouts_.Best()) / (1 - share);
      share = placed_gain + gain > 0 ? placed_gain / (placed_gain + gain) : 0.5;
      share = Joins() ? kJoiningShare : std::clamp(share, kLeastPlaced, kMostPlaced);
    }
  }

  // Where layouts are searched, too, time is left to offer them the best placement.
  bool PlacedTimeIsOver() const {
    Budget budget = options_.budget;
    if (budget.deadline) *budget.deadline -= offering_;
    return budget.Expired();
  }

  // In step time; without measure where more fits than before.
  static double GainOf(const Score& before, const Score& after) {
    if (after.over < before.over) return static_cast<double>(kMaxQuantity);
    return static_cast<double>(before.step_time - after.step_time);
  }

  // Whether one that joins late has not yet shown what it finds.
  bool Joins() const { return joining_ != nullptr || !late_.empty(); }

  // Whether it may still come to the best plan at the rate of its last round.
  bool PlacedMayWin(double gain) const {
    const Score placed = BestPlaced(), best = layouts_.Best();
    if (!(best < placed)) return true;
    if (placed.over > 0) return best.over > 0;
    const double behind = static_cast<double>(placed.step_time - best.step_time);
    return behind <= (kFarBehind - 1) * static_cast<double>(best.step_time) &&
           (Joins() || behind <= kCatchesUp * gain);
  }

  // One slice at least: each to the search over layouts that has had the fewest moves, whose plan the others are offered
  // if it is better than theirs. Precondition: one goes on.
  void AdvanceLayouts(int64_t moves) {
    const int64_t until = layouts_.MovesMade() + std::min(moves, MovesLeft());
    do {
      PlannerRun& run = *layouts_.Next();
      Guarded([&] { layouts_.Advance(run, until - layouts_.MovesMade()); });
      found_.history.Note(run);
      Guarded([&] { layouts_.OfferToOthers(run); });
    } while (layouts_.Next() != nullptr && layouts_.MovesMade() < until && !out_of_memory_ &&
             !options_.budget.Expired());
  }

  // Of the searches, or else of the constructive plans.
  Score BestPlaced() const {
    Score best{false, kMaxQuantity, kMaxQuantity};
    for (const auto& [score, plan] : found_.placed) best = std::min(best, score);
    for (const auto& run : runs_) best = std::min(best, ScoreOf(run->result()));
    return best;
  }

  // What searches over placements have found since the last time: a search over layouts may put its own splits
  // into a placement that by itself is worse than its plan.
  void OfferPlaced() {
    const PlannerRun* best = nullptr;
    for (const auto& run : runs_) {
      const Score score = ScoreOf(run->result());
      if (!(score < offered_)) continue;
      offered_ = score;
      best = run.get();
    }
    if (best == nullptr) return;
    const Clock::time_point begin = Clock::now();
    Guarded([&] { layouts_.OfferToAll(offered_, best->result().plan); });
    offering_ = std::max(offering_, (Clock::now() - begin) * 3 / 2);  // two evaluations
  }

  // Also where memory has run out: the plan is made of what is there. Without one its moves count all the same.
  void AddLayouts(PlannerRun& run) {
    Status finished = Ok();
    bool has_memory = true;
    try {
      finished = run.Finish();
    } catch (const std::bad_alloc&) {
      if (found_.empty()) throw;
      out_of_memory_ = true;
      has_memory = false;
    }
    const PlannerResult& result = run.result();
    if (finished.ok()) found_.history.Note(run);
    const bool has_plan = finished.ok() && has_memory;
    found_.history.Withdraw(result, has_plan);  // what does not compile
    if (has_plan) return found_.Add(found_.split, result, ScoreInParts(result), true);
    found_.AddMoves(result.iterations);
    if (!finished.ok()) found_.AddFailure(result.algorithm, finished.error());
  }

  void OfferToOthers(const PlannerRun& from) {
    const PlannerResult& result = from.result();
    const Score score = ScoreOf(result);
    for (const auto& run : runs_) {
      if (run.get() != &from) run->Offer(score, result.plan);
    }
  }

  bool HasPlan() const { return !found_.empty() || !runs_.empty(); }
  bool Limited() const { return options_.budget.iterations || options_.budget.deadline; }
  int64_t PlacedMoves() const {
    int64_t moves = 0;
    for (const auto& run : runs_) moves += run->result().iterations;
    return moves;
  }
  int64_t MovesMade() const { return PlacedMoves() + layouts_.MovesMade(); }
  int64_t MovesLeft() const {
    if (!options_.budget.iterations) return kMaxQuantity;
    return std::max<int64_t>(0, *options_.budget.iterations - MovesMade());
  }

  Score ScoreOf(const PlannerResult& result) const {
    if (result.feasible) return {true, 0, result.step_time.count};
    return placing().EvaluateOne(PlacementOf(problem_, result.plan)).score();
  }
  // Of placements: evaluator_ may be at work on layouts beside.
  Evaluator& placing() const { return placing_ ? *placing_ : evaluator_; }

  const Problem& problem_;
  Evaluator& evaluator_;
  PlannerOptions options_;
  const std::optional<Clock::time_point> deadline_;
  std::vector<std::unique_ptr<PlannerRun>> runs_;  // over placements
  std::vector<PlannerRun*> live_;                  // those of them that go on
  std::vector<const IterativePlanner*> late_;      // to join them
  PlannerRun* joining_ = nullptr;                  // one that is late and runs to its end
  Score first_placed_;                             // before their first move
  Score offered_;                  // of the best placement that the search over layouts knows
  Clock::duration offering_{};     // what it takes to offer one, about
  bool waits_for_others_ = false;  // there are late ones alone
  LayoutRuns layouts_;
  std::unique_ptr<Evaluator> placing_;
  std::vector<std::optional<Result<PlannerResult>>> made_ahead_;  // by planner of RunReplicated
  FoundPlans found_;
  std::atomic<bool> out_of_memory_ = false;
};

class AutoPlanner : public Planner {
 public:
  explicit AutoPlanner(const PlannerTable& table) {
    for (const auto& planner : table) {
      if (!planner->in_auto()) continue;
      const bool placed = planner->space() == PlanSpace::kPlaced;
      if (const IterativePlanner* search = planner->AsIterative()) {
        (placed ? iterative_ : layout_searches_).push_back(search);
      } else {
        (placed ? constructive_ : replicated_).push_back(planner.get());
      }
    }
  }
  std::string_view name() const override { return "auto"; }
  std::string_view description() const override {
    return "all constructive planners, then search until the budget ends; the best plan of all";
  }
  bool iterative() const override { return true; }

  Result<PlannerResult> Plan(const Problem& problem, Evaluator& evaluator,
                             const PlannerOptions& options) const override {
    Portfolio portfolio(problem, evaluator, options);
    if (options.initial) PW_RETURN_IF_ERROR(portfolio.AddInitial());
    if (options.given) portfolio.AddGiven();
    if (options.found != nullptr) portfolio.AddFound();
    std::vector<const Planner*> first, last;
    for (const Planner* planner : constructive_) {
      (planner->RunsLast(problem) ? last : first).push_back(planner);
    }
    const auto begin = [&] {
      portfolio.RunConstructive(first);
      portfolio.OfferStarts();
      portfolio.StartPlaced(iterative_);
    };
    if (problem.layouts != nullptr && !layout_searches_.empty()) {
      std::vector<const Planner*> replicated = BestFirst(options.promising);
      if (options.found != nullptr) {
        std::erase_if(replicated, [&](const Planner* planner) {
          const auto& tried = options.found->baselines;
          return std::any_of(tried.begin(), tried.end(), [&](const Baseline& baseline) {
            return baseline.algorithm == planner->name();
          });
        });
      }
      const bool many = problem.graph->op_count() >= kManyOps && !options.initial && !options.given;
      if (many) {
        std::erase_if(replicated, [&](const Planner* planner) {
          const auto& none = options.hopeless;
          return std::find(none.begin(), none.end(), planner->name()) != none.end();
        });
      }
      if (options.found == nullptr && (many || !options.promising.empty()) && !replicated.empty()) {
        portfolio.RunReplicated({replicated.front()});
        replicated.erase(replicated.begin());
      }
      const auto run_replicated = [&] {
        portfolio.LeaveTimeForLayoutSearch();
        portfolio.RunReplicated(replicated);
      };
      if (many && !portfolio.PlacementsMayWin()) {
        run_replicated();
      } else if (options.threads == 1) {
        begin();
        // Judged before the others are run, as on several threads.
        const bool may_catch_up = portfolio.PlacedMayCatchUp();
        run_replicated();
        portfolio.RestoreTime();
        if (may_catch_up) portfolio.AdvancePlaced(FirstPlacedMoves(problem));
        if (!last.empty()) portfolio.LeaveTimeBehindLast();
        portfolio.RunConstructive(last);
      } else {
        const auto place = [&] {
          begin();
          if (portfolio.PlacedMayCatchUp()) portfolio.AdvancePlaced(FirstPlacedMoves(problem));
        };
        portfolio.RunBesideReplicated(place, replicated);
        run_replicated();
        if (!last.empty()) portfolio.LeaveTimeBehindLast();
        portfolio.RunConstructive(last);
      }
      portfolio.RestoreTime();
      portfolio.SearchLayoutsAndPlacements(layout_searches_);
      portfolio.AddSearches();
      return std::move(portfolio).Take();
    }
    begin();
    if (!last.empty()) portfolio.LeaveTimeForLast();
    portfolio.AdvancePlaced(kMaxQuantity);
    portfolio.AddSearches();
    portfolio.RestoreTime();
    portfolio.RunConstructive(last);
    return std::move(portfolio).Take();
  }

 private:
  // Those of `promising` in its order, then the others in that of the table.
  std::vector<const Planner*> BestFirst(const std::vector<std::string>& promising) const {
    std::vector<const Planner*> ordered = replicated_;
    const auto rank = [&](const Planner* planner) {
      return std::find(promising.begin(), promising.end(), planner->name()) - promising.begin();
    };
    std::stable_sort(ordered.begin(), ordered.end(),
                     [&](const Planner* a, const Planner* b) { return rank(a) < rank(b); });
    return ordered;
  }

  std::vector<const Planner*> constructive_;
  std::vector<const IterativePlanner*> iterative_;
  std::vector<const Planner*> replicated_;
  std::vector<const IterativePlanner*> layout_searches_;
};

}  // namespace

std::unique_ptr<Planner> MakeAuto(const PlannerTable& table) {
  return std::make_unique<AutoPlanner>(table);
}

}  // namespace placewright
