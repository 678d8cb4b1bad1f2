// How TAG's network is trained (Zhang et al., sec. 4.2.2): by what tree searches found that follow it, in rounds.
//
//   first round    `games` games that follow the prior of floors, then `epochs` passes over their lessons
//   `rounds` more  `round-games` games that follow the network, then `round-epochs` passes over the lessons of the last
//                  `replay` rounds
//
// The first games can be those of another training (TrainingRequest::games): controls that see less, or trainings without
// one of the models, are fitted to the same games.
//
// Games are on one problem after the other. Of the last `held-out` problems nothing is learned: their lessons say how the
// network does on what it has not seen.
//
// Deviations: the paper draws graph and topology of each game at random; the weights that its authors published come
// from one fit of searches without a network, which is the first round.
#ifndef PLACEWRIGHT_LEARN_TAG_TAG_TRAINING_H_
#define PLACEWRIGHT_LEARN_TAG_TAG_TRAINING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "learn/tag/tag_parameters.h"
#include "search/tag/self_play.h"
#include "torch_api/policy_training.h"

namespace placewright {

class TagTraining : public PolicyTraining {
 public:
  // A game on a problem, by number. `network`: whose prior it follows; nullptr: that of floors.
  using Play =
      std::function<Result<TagGame>(size_t problem, uint64_t seed, const TagNetwork* network)>;

  // Problems whose steps may be split; without one, but with its name, where nothing is played: with given games and no
  // further rounds. Errors: kUsage (a problem of whole ops; nothing that is learned from; no given game
  // on these problems), kPlanMismatch (a policy of another size; settings, seed or number of problems of a training that
  // goes on; given games that do not show what this network sees), kField (its state is damaged).
  static Result<std::unique_ptr<PolicyTraining>> Start(const AgentSettings& settings,
                                                       const TrainingRequest& request);
  // With other games than self-play's.
  static Result<std::unique_ptr<PolicyTraining>> Start(const AgentSettings& settings,
                                                       const TrainingRequest& request, Play play);

  // A game, or a pass over lessons. False, too, after the last round, and where a game failed.
  bool Advance() override;
  Status status() const override { return status_; }
  TrainingProgress progress() const override { return progress_; }
  const PlannerResult& result(size_t problem) const override { return results_[problem]; }
  const StoredPolicy& stored() const override { return stored_; }

 private:
  struct Game {
    int64_t number = 0;  // of all
    int64_t round = 0;
    std::string problem;  // its name
    bool held_out = false;
    std::vector<TagLesson> lessons;
  };

  TagTraining(AgentSettings settings, const TrainingRequest& request, Play play);

  Status Build(const StoredPolicy* start, bool resume);
  Status TakeGames(const StoredPolicy& stored);
  Status Restore(const StoredPolicy& stored);
  void StoreNumbers();  // all of the state but games
  // A game that is learned from, or held out, by its problem.
  bool IsHeldOut(size_t problem) const;
  void Keep(Game game);

  int64_t GamesOf(int64_t round) const;
  int64_t EpochsOf(int64_t round) const;
  bool PlayNext();
  bool LearnOnce();
  void BeginRound();
  // Of all games that are kept.
  std::vector<const TagLesson*> Lessons(bool held_out) const;
  double LossOf(std::span<const TagLesson* const> lessons) const;

  const AgentSettings settings_;
  const PlannerOptions options_;
  const std::vector<std::string> problems_;  // their names
  const Play play_;
  TrainedTagNetwork network_;
  std::optional<TagNetwork> prior_;  // what games follow; made once a round
  std::vector<Game> games_;          // of the rounds that are learned from
  std::vector<PlannerResult> results_;
  int64_t round_ = 0, played_ = 0, learned_ = 0;  // games and epochs of this round
  const Clock::time_point started_ = Clock::now();
  TrainingProgress progress_;
  StoredPolicy stored_;
  Status status_ = Ok();
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_TAG_TAG_TRAINING_H_
