#include "learn/tag/tag_training.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "learn/rl/learning_thread.h"
#include "learn/store/stored_training.h"
#include "learn/tag/stored_lessons.h"
#include "search/tag/mcts_planner.h"
#include "search/tag/tag_planner.h"

namespace placewright {
namespace {

// Streams of a training's random numbers, beside those of the network's first values (agent.cc).
enum TagStream : uint64_t { kGames = 201, kOrders = 202 };

std::string PrefixOf(int64_t game) { return fmt::format("game{}.", game); }

std::vector<std::string> NamesOf(const std::vector<TrainingProblem>& problems) {
  std::vector<std::string> names;
  for (const TrainingProblem& problem : problems) names.push_back(problem.name);
  return names;
}

}  // namespace

Result<std::unique_ptr<PolicyTraining>> TagTraining::Start(const AgentSettings& settings,
                                                           const TrainingRequest& request) {
  for (const TrainingProblem& one : request.problems) {
    if (one.problem == nullptr || one.problem->layouts != nullptr) continue;
    return MakeError(ErrorCode::kUsage, "the games may not split or copy ops of a step", "",
                     "Train on graphs whose batch is proven, on several devices.");
  }
  SelfPlayOptions options;
  options.visits = settings.Integer("visits");
  options.most_actions = static_cast<size_t>(settings.Integer("choices"));
  options.feedback = settings.Is("feedback", "on");
  options.view = TagViewOf(settings);
  options.game = MctsOptionsOf(settings).game;
  options.tree = MctsOptionsOf(settings).tree;
  const Play play = [problems = request.problems, budget = request.options.budget, options](
                        size_t problem, uint64_t seed, const TagNetwork* network) {
    SelfPlayOptions of_game = options;
    of_game.seed = seed;
    of_game.network = network;
    return PlayGame(*problems[problem].problem, *problems[problem].evaluator, budget, of_game);
  };
  return Start(settings, request, play);
}

Result<std::unique_ptr<PolicyTraining>> TagTraining::Start(const AgentSettings& settings,
                                                           const TrainingRequest& request,
                                                           Play play) {
  std::unique_ptr<TagTraining> training(new TagTraining(settings, request, std::move(play)));
  PW_RETURN_IF_ERROR(training->Build(request.start, request.resume));
  if (request.games != nullptr && !request.resume) {
    PW_RETURN_IF_ERROR(training->TakeGames(*request.games));
  }
  return std::unique_ptr<PolicyTraining>(std::move(training));
}

TagTraining::TagTraining(AgentSettings settings, const TrainingRequest& request, Play play)
    : settings_(std::move(settings)),
      options_(request.options),
      problems_(NamesOf(request.problems)),
      play_(std::move(play)),
      results_(problems_.size()) {}

Status TagTraining::Build(const StoredPolicy* start, bool resume) {
  PW_CHECK(!problems_.empty());
  if (settings_.Integer("held-out") >= static_cast<int64_t>(problems_.size())) {
    return MakeError(ErrorCode::kUsage,
                     fmt::format("held-out={} of {} graph{} leaves none to learn from",
                                 settings_.Integer("held-out"), problems_.size(),
                                 problems_.size() == 1 ? "" : "s"),
                     "", "Hold out fewer, or give more graphs.");
  }
  PW_ASSIGN(network_, TrainedTagNetwork::Make(settings_, options_.seed, start));
  for (PlannerResult& result : results_) result.algorithm = settings_.algorithm().name;
  if (resume) PW_RETURN_IF_ERROR(Restore(*start));
  network_.Store(settings_, stored_);
  StoreNumbers();
  return Ok();
}

bool TagTraining::IsHeldOut(size_t problem) const {
  return problem + static_cast<size_t>(settings_.Integer("held-out")) >= problems_.size();
}

// With its lessons as a training that goes on reads them.
void TagTraining::Keep(Game game) {
  const std::string prefix = PrefixOf(game.number);
  StateWriter state(stored_, prefix);
  state.Integer("round", game.round);
  state.Integer("held_out", game.held_out ? 1 : 0);
  stored_.state[prefix + "problem"] = game.problem;
  StoreLessons(game.lessons, state);
  game.lessons = RestoreLessons(StateReader(stored_, prefix)).Take();
  games_.push_back(std::move(game));
}

Status TagTraining::TakeGames(const StoredPolicy& stored) {
  const auto differs = [](const std::string& what) {
    return MakeError(ErrorCode::kPlanMismatch, what, "",
                     "Give the file of a `train tag` with all that --resume goes on from.");
  };
  if (stored.algorithm != settings_.algorithm().name) {
    return differs(fmt::format("the games are of {}", stored.algorithm));
  }
  for (const auto& [name, wanted] : {std::pair{"features", "own"}, {"feedback", "on"}}) {
    const auto found = stored.settings.find(name);
    if (found != stored.settings.end() && found->second == wanted) continue;
    return differs(fmt::format("the games were played without {}={}", name, wanted));
  }
  const std::set<std::string> names(problems_.begin(), problems_.end());
  if (names.size() < problems_.size()) {
    return MakeError(ErrorCode::kUsage, "a graph is named twice on the same cluster", "",
                     "Name it once: graph and cluster say which game is meant.");
  }
  const StateReader all(stored, "");
  PW_ASSIGN(const int64_t games, all.Integer("games"));
  for (int64_t number = 0; number < games; ++number) {
    const StateReader of_game(stored, PrefixOf(number));
    const auto name = stored.state.find(PrefixOf(number) + "problem");
    if (!of_game.Has("round") || name == stored.state.end()) continue;
    PW_ASSIGN(const int64_t round, of_game.Integer("round"));
    const auto problem = std::find(problems_.begin(), problems_.end(), name->second);
    if (round != 0 || problem == problems_.end()) continue;
    Game game;
    game.number = progress_.games++;
    game.problem = *problem;
    game.held_out = IsHeldOut(static_cast<size_t>(problem - problems_.begin()));
    PW_ASSIGN(game.lessons, RestoreLessons(of_game));
    for (TagLesson& lesson : game.lessons) {
      if (settings_.Is("feedback", "off")) lesson.graph = WithoutFeedback(std::move(lesson.graph));
      lesson.graph = SeenAs(TagViewOf(settings_), std::move(lesson.graph));
    }
    Keep(std::move(game));
  }
  if (Lessons(false).empty()) {
    return MakeError(ErrorCode::kUsage, "none of the games is on a graph that is learned from", "",
                     "Name graphs and clusters as that training did: --games FILE has them.");
  }
  played_ = GamesOf(0);
  StoreNumbers();
  return Ok();
}

void TagTraining::StoreNumbers() {
  StateWriter state(stored_, "");
  StoreTraining(options_.seed, problems_.size(), state);
  state.Integer("round", round_);
  state.Integer("played", played_);
  state.Integer("learned", learned_);
  state.Integer("games", progress_.games);
  state.Integer("samples", progress_.samples);
  std::vector<double> losses;
  for (const TrainingProgress::Loss& loss : progress_.losses) {
    losses.push_back(loss.training);
    losses.push_back(loss.held_out.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  state.Tensor("losses", at::tensor(losses, at::kDouble).reshape({-1, 2}));
  std::vector<int64_t> results;
  for (const PlannerResult& result : results_) {
    results.insert(results.end(),
                   {result.feasible ? 1 : 0, result.step_time.count, result.iterations});
  }
  state.Tensor("results", at::tensor(results, at::kLong).reshape({-1, 3}));
}

Status TagTraining::Restore(const StoredPolicy& stored) {
  const StateReader state(stored, "");
  PW_RETURN_IF_ERROR(CheckStoredTraining(settings_, stored, options_.seed, problems_.size()));
  PW_ASSIGN(round_, state.Integer("round"));
  PW_ASSIGN(played_, state.Integer("played"));
  PW_ASSIGN(learned_, state.Integer("learned"));
  PW_ASSIGN(progress_.games, state.Integer("games"));
  PW_ASSIGN(progress_.samples, state.Integer("samples"));
  PW_ASSIGN(const at::Tensor losses, state.Tensor("losses", at::kDouble, 2));
  PW_ASSIGN(const at::Tensor results, state.Tensor("results", at::kLong, 2));
  if (losses.size(1) != 2 || results.size(0) != static_cast<int64_t>(problems_.size()) ||
      results.size(1) != 3) {
    return MakeError(ErrorCode::kField, "the training's curves or results have other sizes",
                     "state", "Train it again, or leave --resume out.");
  }
  for (int64_t i = 0; i < losses.size(0); ++i) {
    const double held_out = losses[i][1].item<double>();
    TrainingProgress::Loss& loss = progress_.losses.emplace_back();
    loss.training = losses[i][0].item<double>();
    if (!std::isnan(held_out)) loss.held_out = held_out;
  }
  progress_.updates = losses.size(0);
  for (size_t i = 0; i < problems_.size(); ++i) {
    const int64_t* const row = results.data_ptr<int64_t>() + 3 * i;
    results_[i].feasible = row[0] != 0;
    results_[i].step_time = Nanos(row[1]);
    results_[i].iterations = row[2];
  }
  for (int64_t number = 0; number < progress_.games; ++number) {
    const StateReader of_game(stored, PrefixOf(number));
    if (!of_game.Has("round")) continue;
    Game& game = games_.emplace_back();
    game.number = number;
    const auto name = stored.state.find(PrefixOf(number) + "problem");
    if (name == stored.state.end() ||
        std::find(problems_.begin(), problems_.end(), name->second) == problems_.end()) {
      return MakeError(ErrorCode::kField, "a game is of none of the training's graphs",
                       PrefixOf(number) + "problem",
                       "Name graphs and clusters as the training did, or leave --resume out.");
    }
    game.problem = name->second;
    PW_ASSIGN(game.round, of_game.Integer("round"));
    PW_ASSIGN(const int64_t held_out, of_game.Integer("held_out"));
    game.held_out = held_out != 0;
    PW_ASSIGN(game.lessons, RestoreLessons(of_game));
  }
  // Games are written once, when they have been played.
  for (const auto& [name, value] : stored.state) {
    if (name.starts_with("game") && name != "games") stored_.state[name] = value;
  }
  for (const auto& [name, tensor] : stored.state_tensors) {
    if (name.starts_with("game")) stored_.state_tensors[name] = tensor;
  }
  return network_.optimizer->Restore(StateReader(stored, "optimizer."));
}

int64_t TagTraining::GamesOf(int64_t round) const {
  return settings_.Integer(round == 0 ? "games" : "round-games");
}

int64_t TagTraining::EpochsOf(int64_t round) const {
  return settings_.Integer(round == 0 ? "epochs" : "round-epochs");
}

bool TagTraining::Advance() {
  for (;; BeginRound()) {
    if (options_.budget.Expired()) return false;
    if (played_ < GamesOf(round_)) return PlayNext();
    if (learned_ < EpochsOf(round_) && !Lessons(false).empty()) return LearnOnce();
    if (round_ == settings_.Integer("rounds")) return false;
  }
}

void TagTraining::BeginRound() {
  ++round_;
  played_ = learned_ = 0;
  prior_.reset();
  const int64_t first = round_ - settings_.Integer("replay") + 1;
  const auto is_old = [&](const Game& game) { return game.round < first; };
  for (const Game& game : games_) {
    if (!is_old(game)) continue;
    const std::string prefix = PrefixOf(game.number);
    std::erase_if(stored_.state, [&](const auto& of) { return of.first.starts_with(prefix); });
    std::erase_if(stored_.state_tensors,
                  [&](const auto& of) { return of.first.starts_with(prefix); });
  }
  std::erase_if(games_, is_old);
}

bool TagTraining::PlayNext() {
  const std::optional<int64_t>& limit = options_.budget.iterations;
  if (limit && progress_.samples >= *limit) return false;
  if (round_ > 0 && !prior_) {
    Result<TagNetwork> network = TagNetwork::FromPolicy(TagSizeOf(settings_), stored_);
    PW_CHECK(network.ok());
    prior_ = std::move(network).Take();
  }
  const size_t problem = static_cast<size_t>(played_) % problems_.size();
  const auto number = static_cast<uint64_t>(progress_.games);
  const uint64_t seed = Random(options_.seed).Fork(kGames).Fork(number).Next();
  const Clock::time_point start = Clock::now();
  Result<TagGame> game = play_(problem, seed, prior_ ? &*prior_ : nullptr);
  if (!game.ok()) {
    status_ = game.error();
    return false;
  }
  if (options_.budget.Expired()) return false;  // it may have ended early
  TagGame outcome = std::move(game).Take();
  if (!outcome.lessons.empty()) {
    Keep({progress_.games, round_, problems_[problem], IsHeldOut(problem),
          std::move(outcome.lessons)});
  }
  PlannerResult& result = results_[problem];
  if (outcome.best.feasible &&
      (!result.feasible || outcome.best.step_time < result.step_time.count)) {
    result.feasible = true;
    result.step_time = Nanos(outcome.best.step_time);
  }
  result.iterations += outcome.looked_at;
  ++played_;
  ++progress_.games;
  progress_.samples += outcome.looked_at;
  progress_.samples_here += outcome.looked_at;
  progress_.evaluating += std::chrono::duration<double>(Clock::now() - start).count();
  progress_.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  StoreNumbers();
  return true;
}

std::vector<const TagLesson*> TagTraining::Lessons(bool held_out) const {
  std::vector<const TagLesson*> lessons;
  for (const Game& game : games_) {
    if (game.held_out != held_out) continue;
    for (const TagLesson& lesson : game.lessons) lessons.push_back(&lesson);
  }
  return lessons;
}

double TagTraining::LossOf(std::span<const TagLesson* const> lessons) const {
  const at::NoGradGuard no_gradients;
  const auto batch = static_cast<size_t>(settings_.Integer("batch"));
  double sum = 0;
  for (size_t from = 0; from < lessons.size(); from += batch) {
    const size_t count = std::min(batch, lessons.size() - from);
    const TagBatch some(lessons.subspan(from, count), network_.parameters->options());
    sum += network_.network->Loss(some).item<double>() * static_cast<double>(count);
  }
  return sum / static_cast<double>(lessons.size());
}

bool TagTraining::LearnOnce() {
  const LearningThread learning;
  const std::vector<const TagLesson*> all = Lessons(false), others = Lessons(true);
  const auto batch = static_cast<size_t>(settings_.Integer("batch"));
  Random random =
      Random(options_.seed).Fork(kOrders).Fork(static_cast<uint64_t>(progress_.updates));
  const auto order = RandomPermutation(static_cast<int64_t>(all.size()), random);
  double sum = 0;
  for (size_t from = 0; from < all.size(); from += batch) {
    if (options_.budget.Expired()) return false;
    std::vector<const TagLesson*> lessons;
    for (size_t i = from; i < std::min(from + batch, all.size()); ++i) {
      lessons.push_back(all[static_cast<size_t>(order[i])]);
    }
    const at::Tensor loss =
        network_.network->Loss(TagBatch(lessons, network_.parameters->options()));
    sum += loss.item<double>() * static_cast<double>(lessons.size());
    network_.optimizer->Climb(-loss);
  }
  TrainingProgress::Loss& loss = progress_.losses.emplace_back();
  loss.training = sum / static_cast<double>(all.size());
  if (!others.empty()) loss.held_out = LossOf(others);
  ++learned_;
  ++progress_.updates;
  progress_.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  network_.Store(settings_, stored_);
  StoreNumbers();
  return true;
}

}  // namespace placewright
