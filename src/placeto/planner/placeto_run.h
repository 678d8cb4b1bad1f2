// Placeto at work on one problem, as a search that goes on step by step. An iteration is one
// placement evaluated: a visit of one unit.
//
// A policy that has settled goes on from the same placement for ever. Where none of the last so many
// episodes (`restart`) found a better one, a planner's run begins anew, with other first values and a
// placement drawn uniformly, unless it was given a policy. Placements that it has seen are no
// iterations, but for the last of an episode of such alone. Trainings of policies do neither.
#ifndef PLACEWRIGHT_PLACETO_PLANNER_PLACETO_RUN_H_
#define PLACEWRIGHT_PLACETO_PLANNER_PLACETO_RUN_H_

#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "placeto/agent/agent.h"
#include "placeto/planner/step_environment.h"
#include "search/evaluation/run_record.h"
#include "search/planner.h"
#include "torch_api/policy_training.h"

namespace placewright {

class PlacetoRun : public PlannerRun {
 public:
  enum class Use { kPlan, kPlanByPolicy, kTraining };
  // The problem and the evaluator outlive it; of kPlan, the learner is its own. Begins with the plan of options.initial, else with
  // everything on one device. Errors: kInternal (a partitioner failed).
  static Result<std::unique_ptr<PlacetoRun>> Start(const AgentSettings& settings,
                                                   const Problem& problem, Evaluator& evaluator,
                                                   const PlannerOptions& options,
                                                   std::shared_ptr<PlacetoLearner> learner,
                                                   Use use);

  bool Advance(int64_t max_moves) override;
  void Offer(const Score&, const StepPlan&) override {}
  const PlannerResult& result() const override { return record_.result; }

  // One placement more. False where no unit has a choice.
  bool Step();
  bool HasChoice() const { return has_choice_; }  // whether any unit has
  const PlacetoAgent& agent() const { return *agent_; }
  const SampleCounts& total() const { return total_; }

  // Between two episodes. Restoring follows Start; errors: kField, kPlanMismatch.
  void Store(const std::string& prefix, StoredPolicy& policy) const;
  Status Restore(const std::string& prefix, const StoredPolicy& policy);

 private:
  PlacetoRun(const Problem& problem, Evaluator& evaluator, const PlannerOptions& options);

  void Consider();
  void BeginAnew();

  Evaluator& evaluator_;
  const PlannerOptions options_;
  const Problem& problem_;
  const OpGraph graph_;
  const CandidateDevices candidates_;
  const GroupInfos groups_;
  PlacementUnits units_;
  std::optional<PlacetoGraph> placeto_graph_;
  std::unique_ptr<StepEnvironment> environment_;
  std::unique_ptr<PlacetoAgent> agent_;
  SampleCounts total_;
  std::shared_ptr<PlacetoLearner> learner_;
  ScoredPlacement best_;
  bool has_choice_ = false, learns_ = false;
  bool any_ = false;  // whether best_ holds a placement
  // Episodes without a better placement after which it begins anew; those since the last; the lowest
  // cost since it began, and how often it did.
  int64_t restart_ = 0, since_ = 0;  // 0: never
  double lowest_ = std::numeric_limits<double>::infinity();
  uint64_t lives_ = 0;
  RunRecord record_;
};

// An agent's options as the settings have them.
PlacetoOptions PlacetoOptionsOf(const AgentSettings& settings);

// A learner as the settings want it, with first values of the seed or those of `stored`, which may be
// nullptr. Errors: kPlanMismatch.
Result<std::shared_ptr<PlacetoLearner>> MakePlacetoLearner(const AgentSettings& settings,
                                                           size_t devices, uint64_t seed,
                                                           const StoredPolicy* stored);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLACETO_PLANNER_PLACETO_RUN_H_
