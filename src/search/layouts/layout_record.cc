#include "search/layouts/layout_record.h"

#include <utility>

#include "search/evaluation/compiled_step.h"
#include "search/evaluation/plan_result.h"

namespace placewright {

LayoutRecord::LayoutRecord(Evaluator& evaluator, const PlannerOptions& options,
                           const LayoutBook& book, std::string_view name)
    : evaluator_(evaluator), options_(options), book_(book) {
  result.algorithm = name;
  result.space = PlanSpace::kReplicated;
}

void LayoutRecord::Keep(const LayoutState& state, const Score& score) {
  if (best_ && !(score < best_score_)) return;
  bests_.push_back(state);
  if (bests_.size() > kBests) bests_.erase(bests_.begin());
  best_ = state;
  best_score_ = score;
  best_at_ = result.iterations;
  result.plan = PlanOf(book_, state);
  result.feasible = score.feasible;
  result.step_time = Nanos(score.step_time);
  result.over = Bytes(score.over);
  if (score.feasible) {
    const double seconds = SecondsSince(options_.started);
    if (!result.first_feasible_seconds) result.first_feasible_seconds = seconds;
    result.history.push_back(
        {result.iterations, seconds, Nanos(score.step_time), result.algorithm});
  }
  if (!options_.progress) return;
  options_.progress(
      {result.algorithm, result.iterations, Nanos(best_score_.step_time), best_score_.feasible});
}

void LayoutRecord::NoteNoTime() {
  if (!result.notes.empty()) return;
  result.notes.push_back(result.algorithm + ": there was no time for all plans to start from");
}

Status LayoutRecord::Finish() {
  std::optional<Error> failure;
  for (; !bests_.empty(); bests_.pop_back()) {
    Status taken = TakePlan(bests_.back());
    if (taken.ok()) {
      EndHistory();
      return taken;
    }
    if (!failure) failure = taken.error();
  }
  return *std::move(failure);
}

Status LayoutRecord::TakePlan(const LayoutState& state) {
  StepPlan plan = PlanOf(book_, state);
  PW_ASSIGN(const CompiledStep* const compiled, evaluator_.CompileAndKeep(plan));
  result.SetEvaluation(EvaluateStep(*compiled));
  result.plan = std::move(plan);
  return Ok();
}

// What is handed out may be another plan than the last best one, which did not compile.
void LayoutRecord::EndHistory() {
  std::vector<HistoryPoint>& points = result.history;
  if (!result.feasible) return points.clear();
  while (!points.empty() && points.back().step_time < result.step_time) points.pop_back();
  if (!points.empty() && points.back().step_time == result.step_time) return;
  points.push_back(
      {result.iterations, SecondsSince(options_.started), result.step_time, result.algorithm});
}

}  // namespace placewright
