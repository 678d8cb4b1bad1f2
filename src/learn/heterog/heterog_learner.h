// HeteroG as TAG's authors compare with it (Zhang et al., sec. 5.2; Yi et al., CoNEXT 2020): a graph network decides all
// units at once, and is trained by REINFORCE on the machines that it plans for.
//
//   a unit's slices   everything on one device of a group; or the batch shared out over all devices, evenly or by speed,
//                     with gradients by AllReduce or parameters on servers (search/tag/slices.h). Where constraints leave
//                     a unit none of these, all that it may have
//   policy            softmax over a unit's slices of the scores of TAG's network, which sees the step under data
//                     parallelism; `preference` is added to the score of data parallelism
//   reward            - sqrt(T / T_base), as Mars has it in seconds; T_base: of data parallelism over all devices. What
//                     does not fit, cannot be compiled or takes longer than `invalid-steps` T_base counts as these
//   gradient          of the mean over an update of (reward - baseline) ln pi, summed over the units, plus the entropy
//
// Deviations: HeteroG's own network and features are other ones; it shares TAG's here, so that what is compared is one
// shot against a search. It has all ops on one device or on all, so that it has no sets of device groups.
#ifndef PLACEWRIGHT_LEARN_HETEROG_HETEROG_LEARNER_H_
#define PLACEWRIGHT_LEARN_HETEROG_HETEROG_LEARNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "learn/rl/policy_optimizer.h"
#include "learn/store/stored_tensors.h"
#include "learn/tag/tag_network.h"
#include "search/agent_settings.h"
#include "search/tag/features.h"
#include "search/tag/strategy_game.h"
#include "torch_api/policy_training.h"

namespace placewright {

// On one problem, with a network that several may share.
class HeterogLearner {
 public:
  // All must outlive it; `book`: of its states; `numbers`: of the network's parameters. Errors: those of StrategyGame::Make.
  static Result<std::unique_ptr<HeterogLearner>> Make(const AgentSettings& settings,
                                                      const Problem& problem, Evaluator& evaluator,
                                                      LayoutBook& book, const Budget& budget,
                                                      uint64_t seed,
                                                      const TagAutogradNetwork& network,
                                                      const at::TensorOptions& numbers);

  const StrategyGame& game() const { return *game_; }
  // Of what is scored; `number`: of strategies drawn until then, this one included.
  using OnScored = std::function<void(const LayoutState&, const Score&, int64_t number)>;
  void SetOnScored(OnScored on_scored) { on_scored_ = std::move(on_scored); }

  // Scores up to `max_count` strategies of an update, which are drawn together. How many; 0 once the budget has expired.
  int64_t Sample(int64_t max_count);
  bool UpdateIsDue() const { return !drawn_.empty() && rewards_.size() == drawn_.size(); }
  // A step up of what was sampled. Its mean entropy of a unit's decision, in nats.
  double Learn(PolicyOptimizer& optimizer);
  // What each unit likes most, without learning from it.
  std::optional<Score> ScoreLikeliest();

  const SampleCounts& total() const { return total_; }
  // Between updates.
  void Store(StateWriter& state) const;
  Status Restore(const StateReader& state);

 private:
  using Choice = std::vector<int32_t>;  // [unit]: which of its slices

  HeterogLearner(const AgentSettings& settings, const LayoutProblem& problem, uint64_t seed,
                 std::unique_ptr<StrategyGame> game, const Budget& budget,
                 const TagAutogradNetwork& network, const at::TensorOptions& numbers);
  void FindChoices(const at::TensorOptions& numbers);
  at::Tensor LogPriors() const;  // [slices of all units]
  void Draw();
  // `drawn`: whether they are moves.
  std::vector<std::optional<Score>> ScoresOf(const std::vector<Choice>& choices, bool drawn);

  const int64_t per_update_;
  const double preference_, entropy_, decay_, invalid_steps_;
  const bool feedback_;
  const uint64_t seed_;
  const Budget& budget_;
  const TagAutogradNetwork& network_;
  const std::unique_ptr<StrategyGame> game_;
  const TagFeatures features_;
  std::vector<std::vector<int32_t>> slices_;  // [unit], of Strategies::slices()
  std::vector<int64_t> first_;                // [unit]: where its slices begin among those of all
  std::optional<TagBatch> batch_;
  at::Tensor preferred_;  // [slices of all units]: what is added to scores
  OnScored on_scored_;
  std::vector<Choice> drawn_;
  std::vector<double> rewards_;  // of the first of these
  int64_t updates_ = 0;
  std::optional<double> baseline_;
  SampleCounts total_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_HETEROG_HETEROG_LEARNER_H_
