#include "search/plan_history.h"

#include <algorithm>
#include <utility>

namespace placewright {

void PlanHistory::Note(const PlannerRun& run) {
  size_t& noted = noted_[&run];
  Note(run.result(), noted, true);
  noted = run.result().history.size();
}

void PlanHistory::Note(const PlannerResult& result, bool search) { Note(result, 0, search); }

void PlanHistory::Note(const PlannerResult& result, size_t from, bool search) {
  for (size_t i = from; i < result.history.size(); ++i) {
    HistoryPoint point = result.history[i];
    if (!points_.empty() && point.step_time >= points_.back().step_time) continue;
    if (!search) point.iterations = 0;
    // Planners run side by side: one may have ended before another whose plan was taken first.
    if (!points_.empty()) point.seconds = std::max(point.seconds, points_.back().seconds);
    points_.push_back(std::move(point));
  }
}

void PlanHistory::Withdraw(const PlannerResult& result, bool has_plan) {
  std::erase_if(points_, [&](const HistoryPoint& point) {
    return point.algorithm == result.algorithm && (!has_plan || point.step_time < result.step_time);
  });
}

void PlanHistory::EndWith(PlannerResult& plan, bool search, double seconds) && {
  if (!plan.feasible) points_.clear();
  if (plan.feasible && (points_.empty() || points_.back().step_time > plan.step_time)) {
    points_.push_back({0, seconds, plan.step_time, ""});
  }
  if (!points_.empty() && points_.back().algorithm != plan.algorithm) {
    points_.back().algorithm = plan.algorithm;
    points_.back().iterations =
        search && !plan.history.empty() ? plan.history.back().iterations : 0;
  }
  plan.first_feasible_seconds.reset();
  if (!points_.empty()) plan.first_feasible_seconds = points_.front().seconds;
  plan.history = std::move(points_);
}

}  // namespace placewright
