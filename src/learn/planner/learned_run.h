// A learned planner at work on one problem: it draws placements from its policy, hands them to the
// evaluator in batches, and trains the policy with what they came to.
//
// An iteration is one placement evaluated. The policy draws `draw` placements at a time, whatever
// the slices; where the budget ends within them, the rest are left out. Its result is the best
// placement that it drew itself, or the start that it was given where that is better; offers of
// others are left aside.
//
// Where a plan to start from is given, the policy first learns to draw that plan (behaviour cloning:
// a few steps up its likelihood); its samples are then changes of it.
//
// A policy that has settled draws the same few placements for ever. A run of its own (Start) changes
// what was sampled before (`repeats`), and where none of the last `restart` samples was better than
// those before it begins anew: with the parameters that it began with, pre-trained ones included,
// and other random numbers. Trainings of policies (Build) do neither.
#ifndef PLACEWRIGHT_LEARN_PLANNER_LEARNED_RUN_H_
#define PLACEWRIGHT_LEARN_PLANNER_LEARNED_RUN_H_

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "learn/agent/agent.h"
#include "search/evaluation/run_record.h"
#include "search/local/memory_repair.h"
#include "search/planner.h"
#include "torch_api/policy_training.h"

namespace placewright {

class LearnedRun : public PlannerRun {
 public:
  // The problem and the evaluator outlive it. With parameters of its own, or those of `stored`
  // (--policy), which may be nullptr. Errors: those of MakeAgent and Load.
  static Result<std::unique_ptr<LearnedRun>> Start(const AgentSettings& settings,
                                                   const Problem& problem, Evaluator& evaluator,
                                                   const PlannerOptions& options,
                                                   const StoredPolicy* stored);

  // In two steps, for several runs that share parameters: first all are built, then all begin, with
  // an optimizer of all parameters.
  static Result<std::unique_ptr<LearnedRun>> Build(const AgentSettings& settings,
                                                   const Problem& problem, Evaluator& evaluator,
                                                   const PlannerOptions& options,
                                                   const std::shared_ptr<Parameters>& parameters);
  // Draws a first placement, which is no iteration. `pretrained`: the parameters are no first
  // values, so that Advance does not begin with pre-training, and the first placement is the
  // policy's likeliest.
  void Begin(std::shared_ptr<PolicyOptimizer> optimizer, bool pretrained);

  // Has a teacher plan. Errors: those of TeachersPlans.
  Status FindTeachersPlans(int64_t moves);
  // After that: a step up the mean likelihood of what the teachers of all runs, which share an optimizer,
  // plan.
  static void LearnFromTeachers(std::span<const std::unique_ptr<LearnedRun>> runs);

  // Advance learns nothing from now on: LearnTogether does, once an update of every run is due.
  void WaitForOthers() { learns_together_ = true; }
  bool UpdateIsDue() const { return trainer_->UpdateIsDue(); }
  static void LearnTogether(std::span<const std::unique_ptr<LearnedRun>> runs,
                            const Budget& budget);

  bool Advance(int64_t max_moves) override;
  void Offer(const Score&, const StepPlan&) override {}
  const PlannerResult& result() const override { return record_.result; }

  const SampleCounts& total() const { return total_; }
  // What the next Advance begins with is drawn anew: the state can be stored.
  bool AtUpdate() const { return drawn_ == nullptr && trainer_->AtUpdate(); }
  const TrainerReport& last_update() const { return trainer_->last_update(); }
  // The state but for parameters and optimizer. Restoring follows Begin; errors: kField,
  // kPlanMismatch (another problem).
  void Store(StateWriter& state) const;
  Status Restore(const StateReader& state);

 private:
  struct Drawn {
    at::Tensor decisions;         // [draw, D], on the CPU
    std::vector<double> rewards;  // of the first rows
  };
  // A policy from its first update to where it begins anew.
  struct Life {
    uint64_t number = 0;
    double best = -std::numeric_limits<double>::infinity();  // reward
    int64_t since = 0;                                       // samples after that
  };

  LearnedRun(const AgentSettings& settings, const Problem& problem, Evaluator& evaluator,
             const PlannerOptions& options);

  // Changes single decisions of what was drawn until the placement is new; those of earlier lives
  // count. After some tries it stays as it was drawn.
  void VaryRepeats();
  void EvaluateDrawn(int64_t count);
  GroupPlacement PlacementOf(const at::Tensor& row) const;
  Evaluation Evaluate(const GroupPlacement& devices);
  void Consider(const Evaluation& evaluation, const GroupPlacement& devices, bool first);
  void NotePretrained();
  void Imitate(const GroupPlacement& start);
  at::Tensor LikelihoodOfTaught() const;
  at::Tensor DecisionsFor(const GroupPlacement& placement) const;  // [1, D]
  void Climb(const at::Tensor& decisions);                         // their likelihood
  // The likeliest placement of a policy that was trained before, made to fit.
  void NoteFasterPlan(const MemoryRepair& chosen);
  Result<MemoryRepair> ZeroShot(const AgentSettings& settings,
                                const std::shared_ptr<Parameters>& parameters);
  void BeginFrom(const GroupPlacement& first, const Evaluation& evaluation,
                 std::shared_ptr<PolicyOptimizer> optimizer, bool pretrained);
  void BeginAnew();
  void NoteSamples();

  Evaluator& evaluator_;
  const PlannerOptions options_;
  const AgentProblem problem_;
  RewardScale scale_;
  Agent agent_;
  std::unique_ptr<Trainer> trainer_;
  bool stored_ = false;  // begun with a stored policy
  bool pretrained_ = false, learns_together_ = false;
  std::unique_ptr<Drawn> drawn_;
  const int64_t imitation_;  // steps
  int64_t restart_ = 0;      // 0: never
  bool varies_repeats_ = false;
  std::unordered_set<uint64_t> sampled_;  // hashes of placements, where repeats are varied
  Random variations_;
  Life life_;
  std::shared_ptr<PolicyOptimizer> optimizer_;
  std::vector<at::Tensor> first_values_;  // of the parameters, where it may begin anew
  SampleCounts total_;
  std::vector<std::string> notes_;      // of the first placement
  at::Tensor taught_, taught_weights_;  // decisions [R, D] of the teacher's plans, [R]
  ScoredPlacement best_;
  RunRecord record_;
};

// Parameters as the settings want them: first values of `seed`, or those of `stored`, which may be
// nullptr. Errors: those of PolicyTensors; kPlanMismatch (a policy of another vocabulary).
Result<std::shared_ptr<Parameters>> MakeParameters(const AgentSettings& settings, uint64_t seed,
                                                   const StoredPolicy* stored);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_PLANNER_LEARNED_RUN_H_
