// auto: every planner of a table, and the best of their plans.
#include <algorithm>

#include "search/evaluate.h"
#include "search/planner.h"

namespace placewright {
namespace {

class AutoPlanner : public Planner {
 public:
  explicit AutoPlanner(std::vector<const Planner*> table) : table_(std::move(table)) {}
  std::string_view name() const override { return "auto"; }
  std::string_view description() const override {
    return "all constructive planners, then search until the budget ends; the best plan of all";
  }
  bool iterative() const override { return true; }

  Result<PlannerResult> Plan(const Problem& problem, const PlannerOptions& options) const override {
    PlannerResult best;
    PlannerOptions inner = options;
    bool any = false;
    Score best_score;
    Simulator simulator(problem.program);
    std::vector<std::pair<Score, std::vector<int32_t>>> starts;
    if (options.initial) {
      const std::vector<int32_t> units = UnitsOf(problem, *options.initial);
      PW_ASSIGN(const Score score, EvaluateUnits(problem, units, simulator));
      best = MakeResult(problem, "init", units, score, options);
      best_score = score;
      any = true;
      starts.emplace_back(score, units);
    }
    for (const bool iterative : {false, true}) {
      std::stable_sort(starts.begin(), starts.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& start : starts) inner.starts.push_back(ExpandUnits(problem, start.second));
      for (const Planner* planner : table_) {
        if (planner->iterative() != iterative) continue;
        if (options.budget.Interrupted() && any && best_score.feasible) continue;
        PW_ASSIGN(PlannerResult result, planner->Plan(problem, inner));
        const Score score = ScoreOf(problem, result, simulator);
        if (!iterative) starts.emplace_back(score, UnitsOf(problem, result.placement));
        Merge(best, best_score, any, std::move(result), score);
        any = true;
      }
    }
    return best;
  }

 private:
  static Score ScoreOf(const Problem& problem, const PlannerResult& result, Simulator& simulator) {
    if (result.feasible) return {true, 0, result.step_time.count};
    SimOptions sim;
    sim.order = problem.order;
    const SimResult& simulated = simulator.Run(result.placement, sim);
    return {false, simulated.TotalOver().count, simulated.step_time.count};
  }

  static void Merge(PlannerResult& best, Score& best_score, bool any, PlannerResult result,
                    const Score& score) {
    std::vector<Baseline> baselines = std::move(best.baselines);
    baselines.push_back({result.algorithm, result.feasible, result.step_time});
    std::vector<HistoryPoint> history = std::move(best.history);
    for (HistoryPoint& point : result.history) {
      if (history.empty() || point.step_time < history.back().step_time) {
        history.push_back(std::move(point));
      }
    }
    const int64_t iterations = best.iterations + result.iterations;
    const std::optional<double> first =
        best.first_feasible_seconds ? best.first_feasible_seconds : result.first_feasible_seconds;
    if (!any || score < best_score) best = std::move(result), best_score = score;
    best.baselines = std::move(baselines);
    best.history = std::move(history);
    best.iterations = iterations;
    best.first_feasible_seconds = first;
  }

  std::vector<const Planner*> table_;
};

}  // namespace

std::unique_ptr<Planner> MakeAuto(std::vector<const Planner*> table) {
  return std::make_unique<AutoPlanner>(std::move(table));
}

}  // namespace placewright
