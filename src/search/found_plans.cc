#include "search/found_plans.h"

#include <fmt/format.h>

#include <algorithm>

#include "search/evaluation/plan_result.h"

namespace placewright {

void FoundPlans::Add(Scored& among, PlannerResult result, const Score& score, bool search) {
  among.emplace_back(score, result.plan);
  baselines_.push_back(BaselineOf(problem_, result, search));
  if (search) AddMoves(result.iterations);  // what others tried is no move that a budget counts
  // What is said of plans that are not taken is of no use to who reads of another.
  if (search) notes_.insert(notes_.end(), result.notes.begin(), result.notes.end());
  if (!search) history.Note(result, false);
  if (best_ && !(score < best_score_)) return;
  best_notes_ = search ? std::vector<std::string>() : result.notes;
  best_ = std::move(result);
  best_score_ = score;
  best_is_searched_ = search;
}

void FoundPlans::AddInitial(Scored& among, PlannerResult result, const Score& score) {
  among.emplace_back(score, result.plan);
  history.Note(result, false);
  if (best_ && !(score < best_score_)) return;
  best_ = std::move(result);
  best_score_ = score;
}

void FoundPlans::AddNotRun(const Planner& planner) {
  not_run_ += (not_run_.empty() ? "" : ", ") + std::string(planner.name());
}

void FoundPlans::AddFailure(std::string_view planner, Error error) {
  notes_.push_back(fmt::format("{}: {}", planner, error.message));
  Keep(std::move(error));
}

void FoundPlans::AddRefusal(const Planner& planner, Error error) {
  const bool unsuited =
      error.code == ErrorCode::kUsage || error.code == ErrorCode::kClusterUnsuited;
  if (!unsuited) return AddFailure(planner.name(), std::move(error));
  std::string& names = problem_.constraints.Empty() ? unsuited_ : constrained_;
  names += (names.empty() ? "" : ", ") + std::string(planner.name());
  Keep(std::move(error));
}

void FoundPlans::Keep(Error error) {
  if (!error_) error_ = std::move(error);
}

std::vector<StepPlan> FoundPlans::BestOf(Scored& plans, size_t max) {
  std::stable_sort(plans.begin(), plans.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<StepPlan> best;
  for (size_t i = 0; i < std::min(max, plans.size()); ++i) best.push_back(plans[i].second);
  return best;
}

Result<PlannerResult> FoundPlans::Take(double seconds) && {
  if (!best_ && error_) return *std::move(error_);
  if (!best_) return MakeError(ErrorCode::kUsage, "the table of planners is empty");
  best_->baselines = std::move(baselines_);
  best_->notes = std::move(best_notes_);
  best_->notes.insert(best_->notes.end(), notes_.begin(), notes_.end());
  if (!unsuited_.empty()) {
    best_->notes.push_back(
        fmt::format("not for this step and cluster: {} (--algo NAME says why)", unsuited_));
  }
  if (!constrained_.empty()) {
    best_->notes.push_back(
        "not run, as they choose the devices of every op themselves, against --pin, --forbid and "
        "--colocate: " +
        constrained_);
  }
  if (!not_run_.empty()) {
    best_->notes.push_back("not run, as no time or moves were left: " + not_run_);
  }
  std::move(history).EndWith(*best_, best_is_searched_, seconds);
  best_->iterations = iterations_;
  return *std::move(best_);
}

}  // namespace placewright
