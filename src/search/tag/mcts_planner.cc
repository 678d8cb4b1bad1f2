#include "search/tag/mcts_planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "search/layouts/data_parallel.h"
#include "search/layouts/layout_record.h"
#include "search/sfb/sfb_search.h"
#include "search/tag/floor_prior.h"
#include "search/tag/network_prior.h"
#include "search/tag/strategy_game.h"

namespace placewright {
namespace {

constexpr int64_t kSfbEvery = 200;  // moves
constexpr size_t kSfbStrategies = 3;

class MctsRun : public PlannerRun {
 public:
  MctsRun(const Problem& problem, Evaluator& evaluator, const PlannerOptions& options,
          const MctsOptions& mcts, std::string_view name)
      : problem_(*problem.layouts),
        evaluator_(evaluator),
        options_(options),
        mcts_(mcts),
        record_(evaluator_, options_, book_, name) {}

  Status Start(const Problem& problem) {
    PW_ASSIGN(game_, StrategyGame::Make(problem, evaluator_, book_, options_.budget, mcts_.game));
    record_.Keep(game_->base_state(), game_->base());
    LookAtDataParallelism(problem);
    LookAtStarts();
    MakePrior();
    game_->SetPrior(prior_.get());
    game_->SetOnScored([this](const LayoutState& state, const Score& score) {
      record_.result.iterations = game_->looked_at();
      record_.Keep(state, score);
    });
    TreeOptions tree = mcts_.tree;
    tree.seed = options_.seed;
    tree_.emplace(*game_, tree);
    tree_->Grow(1);  // data parallelism, which was looked at
    return Ok();
  }

  bool Advance(int64_t max_moves) override {
    const int64_t done = record_.result.iterations;
    const int64_t left = options_.budget.iterations.value_or(kMaxQuantity) - done;
    const int64_t to_sfb = kSfbEvery - done % kSfbEvery;
    const int64_t count = std::min({int64_t{mcts_.tree.leaves}, max_moves, left, to_sfb});
    if (count <= 0 || record_.IsEnough()) return false;
    if (tree_->Grow(static_cast<int>(count)) == 0) return false;
    record_.result.iterations = game_->looked_at();
    if (record_.result.iterations % kSfbEvery == 0) TryFactors(kSfbStrategies);
    return true;
  }

  // The tree goes on from its own strategies alone.
  void Offer(const Score&, const StepPlan&) override {}
  const PlannerResult& result() const override { return record_.result; }

  Status Finish() override {
    TryFactors(1);
    PW_RETURN_IF_ERROR(record_.Finish());
    record_.result.notes.push_back(Note());
    return Ok();
  }

 private:
  void MakePrior() {
    const Strategies& strategies = game_->strategies();
    if (mcts_.prior == MctsOptions::Prior::kFloor) {
      prior_ = std::make_unique<FloorPrior>(strategies, game_->work());
    } else if (mcts_.prior == MctsOptions::Prior::kNetwork) {
      features_.emplace(problem_, strategies, game_->work(), mcts_.view);
      prior_ =
          std::make_unique<NetworkPrior>(*features_, strategies, *mcts_.network, mcts_.feedback,
                                         mcts_.untrained ? "untrained network" : "network");
    }
  }

  // In its other forms, which strategies do not have: by speed, in buckets, late. No moves.
  void LookAtDataParallelism(const Problem& problem) {
    allowed_ = problem.constraints.Empty() && problem_.axes.samples() > 1;
    if (!allowed_) return;
    PlannerOptions quiet = options_;
    quiet.progress = nullptr;
    for (const DataParallelKind kind :
         {DataParallelKind::kLate, DataParallelKind::kProportional, DataParallelKind::kHorovod}) {
      const bool of_base = kind == DataParallelKind::kLate && mcts_.late_base;
      if (!mcts_.starts && !of_base) continue;
      if (options_.budget.Expired()) return record_.NoteNoTime();
      const auto made = DataParallelPlanner(kind).Plan(problem, evaluator_, quiet);
      if (!made.ok()) continue;
      const PlannerResult& result = made.value();
      const Score score{result.feasible, result.over.count, result.step_time.count};
      if (mcts_.starts) record_.Keep(StateOf(problem_, result.plan, book_), score);
      if (of_base) game_->SetBase(score);
    }
  }

  // No moves.
  void LookAtStarts() {
    std::vector<LayoutState> starts;
    for (const auto* plan : {&options_.initial, &options_.given}) {
      if (*plan) starts.push_back(StateOf(problem_, **plan, book_));
    }
    for (const StepPlan& plan : options_.starts) starts.push_back(StateOf(problem_, plan, book_));
    KeepAll(starts, Nanos(kMaxQuantity));
  }

  void KeepAll(const std::vector<LayoutState>& states, Nanos longest) {
    const std::vector<std::optional<Score>> scores = game_->ScoresOf(states, longest);
    for (size_t i = 0; i < states.size(); ++i) {
      const bool may = scores[i] && game_->strategies().MayBe(states[i]);
      if (may) record_.Keep(states[i], *scores[i]);
    }
  }

  // Of the last `count` strategies that were the best, whose gradients were not looked at.
  void TryFactors(size_t count) {
    const bool in_time = record_.result.notes.empty();  // for all starts
    if (!mcts_.sfb || !in_time || !problem_.axes.batch().valid()) return;
    const std::vector<LayoutState> bests = record_.bests();
    for (size_t i = bests.size(); i > 0 && count > 0; --i, --count) {
      const LayoutState& state = bests[i - 1];
      if (!with_factors_.insert(HashOf(state)).second) continue;
      const StepPlan plan = PlanOf(book_, state);
      const auto evaluation = evaluator_.EvaluatePlan(plan, {.feedback = true});
      if (!evaluation.ok()) continue;
      const auto plans = SfbCandidates(problem_, plan, evaluation.value().feedback->instances);
      if (!plans.ok()) continue;
      std::vector<LayoutState> states;
      for (const StepPlan& candidate : plans.value()) {
        states.push_back(StateOf(problem_, candidate, book_));
        with_factors_.insert(HashOf(states.back()));
      }
      KeepAll(states, record_.best_score().feasible ? Nanos(record_.best_score().step_time)
                                                    : Nanos(kMaxQuantity));
    }
  }

  std::string Note() const {
    const Score& base = game_->base();
    return fmt::format(
        "{}: {} units, {} slices over {} device groups, prior {}; {} strategies looked at, {} "
        "simulated; base {:.3f} ms ({}data parallelism{}{})",
        record_.result.algorithm, game_->strategies().units().size(),
        game_->strategies().slices().size(), game_->strategies().device_groups().size(),
        prior_ == nullptr ? "uniform" : prior_->name(), record_.result.iterations,
        game_->simulated(), static_cast<double>(base.step_time) * 1e-6,
        mcts_.late_base && allowed_ ? "late " : "",
        allowed_ ? "" : ", as far as constraints and the batch allow",
        base.feasible ? "" : ", if it fitted in memory");
  }

  const LayoutProblem& problem_;
  Evaluator& evaluator_;
  const PlannerOptions options_;
  const MctsOptions mcts_;
  LayoutBook book_;
  LayoutRecord record_;
  std::unique_ptr<StrategyGame> game_;
  std::optional<TagFeatures> features_;
  std::unique_ptr<StrategyPrior> prior_;  // nullptr: uniform
  std::optional<Tree<StrategyGame>> tree_;
  bool allowed_ = false;                       // data parallelism, by constraints and batch
  std::unordered_set<uint64_t> with_factors_;  // by hash of the state
};

}  // namespace

Result<std::unique_ptr<PlannerRun>> StartMcts(const Problem& problem, Evaluator& evaluator,
                                              const PlannerOptions& options,
                                              const MctsOptions& mcts, std::string_view name) {
  if (problem.layouts == nullptr) {
    return MakeError(ErrorCode::kUsage, "the search may not split or copy ops", "",
                     "Give --space replicated.");
  }
  auto run = std::make_unique<MctsRun>(problem, evaluator, options, mcts, name);
  PW_RETURN_IF_ERROR(run->Start(problem));
  return std::unique_ptr<PlannerRun>(std::move(run));
}

namespace {

AgentSetting Published(AgentSetting setting, std::string value, std::string code = "") {
  setting.published = std::move(value);
  setting.code = std::move(code);
  return setting;
}

const SettableAlgorithm& Settable() {
  static const SettableAlgorithm algorithm = [] {
    SettableAlgorithm mcts{
        "mcts",
        std::string(MctsPlanner().description()),
        {WordSetting("values", {"tuned", "published", "code"},
                     "where settings come from that are not stated: ours, the paper, or its "
                     "authors' program"),
         Published(WordSetting("prior", {"floor", "uniform"},
                               "what is expected of a slice: by work and bytes, or nothing"),
                   "uniform")}};
    for (const AgentSetting& setting : MctsSearchSettings()) mcts.settings.push_back(setting);
    return mcts;
  }();
  return algorithm;
}

}  // namespace

const std::vector<AgentSetting>& MctsSearchSettings() {
  static const std::vector<AgentSetting> settings = {
      Published(RealSetting("even", 0.5, 0, 1, "part of every prior that is the same for all"),
                "0"),
      Published(RealSetting("exploration", 3, 0, 1000,
                            "c of PUCT; 0: the root of a tenth of a vertex's actions"),
                "0"),
      IntegerSetting("leaves", 4, 1, 64, "strategies simulated together, for any threads"),
      Published(WordSetting("first-play", {"parent", "zero"},
                            "what an untried action is worth: as its vertex, or as data "
                            "parallelism"),
                "zero"),
      Published(WordSetting("scaled", {"on", "off"},
                            "values to [0, 1] by the smallest and greatest so far"),
                "off"),
      Published(WordSetting("base", {"early", "late"},
                            "what speed-ups are over: data parallelism that reduces gradients as "
                            "they come, or behind the backward pass"),
                "late"),
      Published(WordSetting("starts", {"on", "off"},
                            "whether data parallelism by speed, in buckets and late is looked at, "
                            "too"),
                "off"),
      Published(WordSetting("reward", {"raw", "root4"},
                            "speed-ups as they are, or above 1 their fourth root"),
                "raw", "root4"),
      Published(
          WordSetting("shares", {"both", "even"}, "of the batch: even and by speed, or even alone"),
          "even"),
      Published(WordSetting("copies", {"on", "off"}, "whether units may be duplicated"), "on",
                "off"),
      WordSetting("sfb", {"best", "none"},
                  "gradients from factors: of the best strategies, or never")};
  return settings;
}

MctsOptions MctsOptionsOf(const AgentSettings& settings) {
  MctsOptions options;
  options.game.even = settings.Number("even");
  options.game.fourth_root = settings.Is("reward", "root4");
  options.game.slices.by_speed = settings.Is("shares", "both");
  options.game.slices.copies = settings.Is("copies", "on");
  options.tree.exploration = settings.Number("exploration");
  options.tree.leaves = static_cast<int>(settings.Integer("leaves"));
  options.tree.first_play_of_parent = settings.Is("first-play", "parent");
  options.tree.scaled = settings.Is("scaled", "on");
  options.sfb = settings.Is("sfb", "best");
  options.late_base = settings.Is("base", "late");
  options.starts = settings.Is("starts", "on");
  return options;
}

const SettableAlgorithm* MctsPlanner::settable() const { return &Settable(); }

Result<std::unique_ptr<PlannerRun>> MctsPlanner::Start(const Problem& problem, Evaluator& evaluator,
                                                       const PlannerOptions& options) const {
  PW_ASSIGN(const AgentSettings settings, AgentSettings::Parse(Settable(), settings_));
  MctsOptions mcts = MctsOptionsOf(settings);
  mcts.prior =
      settings.Is("prior", "floor") ? MctsOptions::Prior::kFloor : MctsOptions::Prior::kUniform;
  return StartMcts(problem, evaluator, options, mcts, name());
}

}  // namespace placewright
