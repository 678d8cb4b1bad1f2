// auto: every planner of a table, and the best of their plans.
#include <algorithm>
#include <new>
#include <optional>

#include "search/evaluate.h"
#include "search/planner.h"

namespace placewright {
namespace {

// The best plan so far, and what everybody reached.
class Portfolio {
 public:
  Portfolio(const Problem& problem, const PlannerOptions& options)
      : problem_(problem), options_(options), simulator_(problem.program) {}

  Status AddInitial() {
    const std::vector<int32_t> units = UnitsOf(problem_, *options_.initial);
    PW_ASSIGN(const Score score, EvaluateUnits(problem_, units, simulator_));
    best_ = MakeResult(problem_, "init", units, score, options_);
    best_score_ = score;
    history_ = best_->history;
    first_feasible_seconds_ = best_->first_feasible_seconds;
    plans_.emplace_back(score, best_->placement);
    return Ok();
  }

  // The placement of the graph's file, if it keeps to the problem's constraints and is connected.
  void AddGiven() {
    const std::vector<int32_t> units = UnitsOf(problem_, *options_.given);
    const Result<Score> score = EvaluateUnits(problem_, units, simulator_);
    if (ExpandUnits(problem_, units) != *options_.given || !score.ok()) return;
    Add(MakeResult(problem_, "given", units, score.value(), options_), score.value(), false);
  }

  // A planner that finds no connected plan is left out: another may find one.
  void Run(const Planner& planner) {
    if (options_.budget.Interrupted() && best_ && best_->feasible) return;
    if (out_of_memory_) return;
    try {
      Result<PlannerResult> planned = planner.Plan(problem_, options_);
      if (!planned.ok()) {
        if (!error_) error_ = std::move(planned.error());
        return;
      }
      out_of_memory_ = planned.value().out_of_memory;
      const Score score = ScoreOf(planned.value());
      Add(planned.Take(), score, planner.iterative());
    } catch (const std::bad_alloc&) {
      if (!best_) throw;  // nothing to save
      out_of_memory_ = true;
    }
  }

  // Iterative planners may start from every plan so far, the best first.
  void OfferStarts() {
    std::stable_sort(plans_.begin(), plans_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [score, placement] : plans_) options_.starts.push_back(std::move(placement));
  }

  Result<PlannerResult> Take() && {
    if (!best_ && error_) return *std::move(error_);
    if (!best_) return MakeError(ErrorCode::kUsage, "the table of planners is empty");
    best_->baselines = std::move(baselines_);
    best_->notes = std::move(notes_);
    best_->history = std::move(history_);
    best_->iterations = iterations_;
    best_->out_of_memory = out_of_memory_;
    best_->first_feasible_seconds = first_feasible_seconds_;
    return *std::move(best_);
  }

 private:
  void Add(PlannerResult result, const Score& score, bool search) {
    plans_.emplace_back(score, result.placement);
    baselines_.push_back({result.algorithm, result.feasible, result.step_time,
                          DevicesInUse(result.placement, *problem_.graph, *problem_.cluster),
                          search});
    iterations_ += result.iterations;
    for (const std::string& note : result.notes) notes_.push_back(note);
    if (!first_feasible_seconds_) first_feasible_seconds_ = result.first_feasible_seconds;
    for (HistoryPoint& point : result.history) {
      if (history_.empty() || point.step_time < history_.back().step_time) {
        history_.push_back(std::move(point));
      }
    }
    if (best_ && !(score < best_score_)) return;
    best_ = std::move(result);
    best_score_ = score;
  }

  Score ScoreOf(const PlannerResult& result) {
    if (result.feasible) return {true, 0, result.step_time.count};
    SimOptions sim;
    sim.order = problem_.order;
    const SimResult& simulated = simulator_.Run(result.placement, sim);
    return {false, simulated.TotalOver().count, simulated.step_time.count};
  }

  const Problem& problem_;
  PlannerOptions options_;
  Simulator simulator_;
  std::optional<PlannerResult> best_;
  Score best_score_;
  std::optional<Error> error_;  // of the first planner that failed
  std::vector<std::pair<Score, Placement>> plans_;
  std::vector<Baseline> baselines_;
  std::vector<std::string> notes_;
  std::vector<HistoryPoint> history_;
  std::optional<double> first_feasible_seconds_;
  int64_t iterations_ = 0;
  bool out_of_memory_ = false;
};

class AutoPlanner : public Planner {
 public:
  explicit AutoPlanner(std::vector<const Planner*> table) : table_(std::move(table)) {}
  std::string_view name() const override { return "auto"; }
  std::string_view description() const override {
    return "all constructive planners, then search until the budget ends; the best plan of all";
  }
  bool iterative() const override { return true; }

  Result<PlannerResult> Plan(const Problem& problem, const PlannerOptions& options) const override {
    Portfolio portfolio(problem, options);
    if (options.initial) PW_RETURN_IF_ERROR(portfolio.AddInitial());
    if (options.given) portfolio.AddGiven();
    for (const Planner* planner : table_) {
      if (!planner->iterative()) portfolio.Run(*planner);
    }
    portfolio.OfferStarts();
    for (const Planner* planner : table_) {
      if (planner->iterative() && planner->in_auto()) portfolio.Run(*planner);
    }
    return std::move(portfolio).Take();
  }

 private:
  std::vector<const Planner*> table_;
};

}  // namespace

std::unique_ptr<Planner> MakeAuto(std::vector<const Planner*> table) {
  return std::make_unique<AutoPlanner>(std::move(table));
}

}  // namespace placewright
