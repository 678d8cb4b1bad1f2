#include "search/layout_runs.h"

#include <algorithm>

namespace placewright {

Score ScoreInParts(const PlannerResult& result) {
  return {result.feasible, result.over.count, result.step_time.count};
}

PlannerRun* LayoutRuns::Next() const {
  PlannerRun* next = nullptr;
  for (const One& one : runs_) {
    if (!one.goes_on) continue;
    const bool fewer = next == nullptr || one.run->result().iterations < next->result().iterations;
    if (fewer) next = one.run.get();
  }
  return next;
}

void LayoutRuns::Advance(PlannerRun& run, int64_t max_moves) {
  const auto one = std::find_if(runs_.begin(), runs_.end(),
                                [&](const One& other) { return other.run.get() == &run; });
  one->goes_on = false;
  one->goes_on = run.Advance(max_moves);
}

void LayoutRuns::OfferToOthers(const PlannerRun& from) {
  const Score score = ScoreInParts(from.result());
  for (const One& one : runs_) {
    const bool better = score < ScoreInParts(one.run->result());
    if (better) one.run->Offer(score, from.result().plan);
  }
}

void LayoutRuns::OfferToAll(const Score& score, const StepPlan& plan) {
  for (const One& one : runs_) one.run->Offer(score, plan);
}

int64_t LayoutRuns::MovesMade() const {
  int64_t moves = 0;
  for (const One& one : runs_) moves += one.run->result().iterations;
  return moves;
}

Score LayoutRuns::Best() const {
  Score best{false, kMaxQuantity, kMaxQuantity};
  for (const One& one : runs_) best = std::min(best, ScoreInParts(one.run->result()));
  return best;
}

}  // namespace placewright
