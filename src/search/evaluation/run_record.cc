#include "search/evaluation/run_record.h"

#include <chrono>

namespace placewright {

void RunRecord::Update(const ScoredPlacement& best, bool changed) {
  if (changed || result.plan.empty()) {
    result.feasible = best.score.feasible;
    result.step_time = Nanos(best.score.step_time);
    result.plan = PlanOf(problem_, best.devices);
  }
  const bool better =
      best.score.feasible &&
      (result.history.empty() || best.score.step_time < result.history.back().step_time.count);
  ReportProgress(best, better);
  if (!better) return;
  const double seconds = SecondsSince(options_.started);
  if (!result.first_feasible_seconds) result.first_feasible_seconds = seconds;
  result.history.push_back(
      {result.iterations, seconds, Nanos(best.score.step_time), result.algorithm});
}

void RunRecord::ReportProgress(const ScoredPlacement& best, bool better) {
  if (!options_.progress) return;
  const Clock::time_point now = Clock::now();
  if (!better && now - reported_ < std::chrono::milliseconds(250)) return;
  reported_ = now;
  options_.progress(
      {result.algorithm, result.iterations, Nanos(best.score.step_time), best.score.feasible});
}

}  // namespace placewright
