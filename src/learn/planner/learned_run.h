// A learned planner at work on one problem: it draws placements from its policy, hands them to the
// evaluator in batches, and trains the policy with what they came to.
//
// An iteration is one placement evaluated. The policy draws `draw` placements at a time, whatever
// the slices; where the budget ends within them, the rest are left out. Its result is the best
// placement that it drew itself, or the start that it was given where that is better; offers of
// others are left aside.
#ifndef PLACEWRIGHT_LEARN_PLANNER_LEARNED_RUN_H_
#define PLACEWRIGHT_LEARN_PLANNER_LEARNED_RUN_H_

#include <functional>
#include <memory>

#include "learn/agent/agent.h"
#include "search/evaluation/run_record.h"
#include "search/planner.h"

namespace placewright {

class LearnedRun : public PlannerRun {
 public:
  // The problem and the evaluator outlive it. Makes the policy and draws a first placement, which
  // is no iteration. Errors: those of MakeAgent.
  static Result<std::unique_ptr<LearnedRun>> Start(const AgentSettings& settings,
                                                   const Problem& problem, Evaluator& evaluator,
                                                   const PlannerOptions& options);

  bool Advance(int64_t max_moves) override;
  void Offer(const Score&, const Placement&) override {}
  const PlannerResult& result() const override { return record_.result; }

 private:
  LearnedRun(const AgentSettings& settings, const Problem& problem, Evaluator& evaluator,
             const PlannerOptions& options);

  Status Build(const AgentSettings& settings);
  void Draw();
  void EvaluateDrawn(int64_t count);
  GroupPlacement PlacementOfRow(int64_t row) const;
  void Consider(const Evaluation& evaluation, const GroupPlacement& devices, bool first);
  void NoteSamples();

  Evaluator& evaluator_;
  const PlannerOptions options_;
  const AgentProblem problem_;
  RewardScale scale_;
  Agent agent_;
  std::unique_ptr<Trainer> trainer_;
  bool pretrained_ = false;
  at::Tensor drawn_;             // [draw, D], on the CPU; undefined before the first
  std::vector<double> rewards_;  // of the first rows of drawn_
  int64_t invalid_samples_ = 0;
  ScoredPlacement best_;
  RunRecord record_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_PLANNER_LEARNED_RUN_H_
