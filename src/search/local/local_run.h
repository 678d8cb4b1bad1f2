// A run of chains together with what they look at, and a run that has nothing to try.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_LOCAL_RUN_H_
#define PLACEWRIGHT_SEARCH_LOCAL_LOCAL_RUN_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "search/evaluation/plan_result.h"
#include "search/local/chain_runner.h"
#include "search/planner.h"

namespace placewright {

// What searches work out of a problem first; not copied or moved, since parts refer to others.
struct LocalProblem {
  LocalProblem(const Problem& problem, CandidateScope scope);
  LocalProblem(const LocalProblem&) = delete;
  LocalProblem& operator=(const LocalProblem&) = delete;

  bool HasChoice() const;  // some group may lie on several devices
  void MakeContext();      // move sets and context, which only moves need; once

  const Problem& problem;
  OpGraph graph;
  CandidateDevices candidates;
  GroupInfos groups;
  std::optional<MoveSets> move_sets;
  std::optional<LocalContext> context;
};

class LocalRun : public PlannerRun {
 public:
  LocalRun(std::unique_ptr<LocalProblem> local, Evaluator& evaluator, const PlannerOptions& options,
           const std::vector<ChainSpec>& chains, const ChainRunnerOptions& how)
      : local_(std::move(local)),
        runner_(local_->problem, evaluator, options, *local_->context, chains, how) {}
  bool Advance(int64_t max_moves) override { return runner_.Advance(max_moves); }
  void Offer(const Score& score, const StepPlan& plan) override {
    runner_.Offer({score, GroupsOf(local_->problem, plan)});
  }
  const PlannerResult& result() const override { return runner_.result(); }

 private:
  std::unique_ptr<LocalProblem> local_;
  ChainRunner runner_;
};

class FinishedRun : public PlannerRun {
 public:
  explicit FinishedRun(PlannerResult result) : result_(std::move(result)) {}
  bool Advance(int64_t) override { return false; }
  void Offer(const Score&, const StepPlan&) override {}
  const PlannerResult& result() const override { return result_; }

 private:
  PlannerResult result_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_LOCAL_RUN_H_
