// The training of one policy on one or several problems: what the program asks of `learn`.
#ifndef PLACEWRIGHT_TORCH_API_POLICY_TRAINING_H_
#define PLACEWRIGHT_TORCH_API_POLICY_TRAINING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/stored_policy.h"
#include "search/planner.h"
#include "torch_api/learned_algorithms.h"

namespace placewright {

// Both outlive the training; nullptr where it only learns from given games.
struct TrainingProblem {
  const Problem* problem = nullptr;
  Evaluator* evaluator = nullptr;
  std::string name = {};  // as the user gave it, "vgg-19 random:3"
};

struct TrainingRequest {
  std::vector<TrainingProblem> problems;  // at least one; devices equal in number
                                          // unless the policy describes them
  PlannerOptions options;                 // budget: iterations are placements of all problems
  const StoredPolicy* start = nullptr;    // a policy to start from
  bool resume = false;                    // whether `start` is a training that goes on
  // Of `tag`: a training whose first games on these problems, by name, are in the place of its own.
  const StoredPolicy* games = nullptr;
};

// Of all placements so far.
struct SampleCounts {
  int64_t samples = 0, invalid = 0;
  double seconds = 0;     // sum of the step times of those that fit
  double evaluating = 0;  // seconds spent in the evaluator
};

struct TrainingUpdate {
  size_t problem = 0;
  int64_t samples = 0, invalid = 0;
  double mean_seconds = 0;  // step time of those that fit; 0 where none does
  double entropy = 0;       // mean, of a decision
};

// Since the beginning, interruptions left out.
struct TrainingProgress {
  int64_t samples = 0, invalid = 0, updates = 0;
  int64_t lessons = 0;               // steps toward teachers' plans, before the first update
  std::vector<TrainingUpdate> last;  // done just now: one, or one of each problem
  // Where games are played, and an update is a pass over their lessons: games, and the loss of each pass, as it went and
  // then on lessons that are held out.
  struct Loss {
    double training = 0;
    std::optional<double> held_out;
  };
  int64_t games = 0;
  std::vector<Loss> losses;
  // Of this process: samples, seconds in the evaluator or in games, and in all.
  int64_t samples_here = 0;
  double evaluating = 0, seconds = 0;

  // An update more: of a problem whose counts were `before` when it began.
  void AddUpdate(size_t problem, const SampleCounts& before, const SampleCounts& now,
                 double entropy);
};

// Whether a stored training had these settings, this seed and so many problems. Errors: kPlanMismatch.
Status CheckSameTraining(const AgentSettings& settings, const StoredPolicy& stored,
                         uint64_t stored_seed, uint64_t seed, uint64_t stored_problems,
                         uint64_t problems);

class PolicyTraining {
 public:
  virtual ~PolicyTraining() = default;
  // Draws, evaluates and learns until the next update is done, on one problem after the other in
  // turn. False where the budget ended before that: what it had begun is not part of the training.
  virtual bool Advance() = 0;
  // Why Advance was false, where no budget ended it.
  virtual Status status() const { return Ok(); }
  virtual TrainingProgress progress() const = 0;
  // Of the given problem: the best placement that the policy drew.
  virtual const PlannerResult& result(size_t problem) const = 0;
  // As of the last update, with the state that a later training goes on from.
  virtual const StoredPolicy& stored() const = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_POLICY_TRAINING_H_
