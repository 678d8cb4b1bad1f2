#include "search/layouts/layout_search.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/elementary.h"
#include "search/layouts/expert_hybrid.h"
#include "search/layouts/layout_moves.h"
#include "search/layouts/layout_record.h"
#include "search/layouts/layout_scorer.h"
#include "search/layouts/start_improvement.h"

namespace placewright {
namespace {

constexpr int64_t kReturnAfter = 100, kCoolingMoves = 1000;
// Moves without a better plan after which local search perturbs the best one: some, and so many for each group.
constexpr int64_t kStaleAfter = 100, kStalePerGroup = 20;

class LayoutRun : public PlannerRun {
 public:
  LayoutRun(const Problem& problem, Evaluator& evaluator, const PlannerOptions& options,
            LayoutRule rule, std::string_view name)
      : problem_(*problem.layouts),
        evaluator_(evaluator),
        options_(options),
        rule_(rule),
        scorer_(problem_, evaluator_, book_, options_.budget),
        record_(evaluator_, options_, book_, name),
        chances_(ChancesOf(rule)),
        random_(options.seed) {}

  Status Start(const Problem& problem, const StepPlan& placed) {
    PW_ASSIGN(LayoutMoves moves, LayoutMoves::Make(problem, book_));
    moves_.emplace(std::move(moves));
    PW_RETURN_IF_ERROR(TryStarts(placed));
    GoBack();
    return Ok();
  }

  // Up to kAhead moves.
  bool Advance(int64_t max_moves) override {
    const int64_t done = record_.result.iterations;
    const int64_t left = options_.budget.iterations.value_or(kMaxQuantity) - done;
    const int64_t in_period = done % Period();
    const int64_t count =
        std::min({int64_t{LayoutScorer::kAhead}, max_moves, left, Period() - in_period});
    if (count <= 0 || record_.IsEnough()) return false;
    if (rule_ != LayoutRule::kMcmc && done > 0 && in_period == 0) GoBack();
    const bool stale = rule_ == LayoutRule::kLocalSearch && done > 0 && in_period == 0 && IsStale();
    std::vector<Proposal> proposals;
    if (stale) proposals = Perturb();
    if (proposals.empty()) proposals = DrawAhead(done, count);
    TryInTurn(proposals);
    return !proposals.empty();  // else there is nothing to choose
  }

  // As it is, and a placement with what the best plan splits or copies, too.
  void Offer(const Score& score, const StepPlan& plan) override {
    const LayoutState before = record_.best();
    const Score score_before = record_.best_score();
    LayoutState placed = StateOf(problem_, plan, book_), mixed = before;
    for (const GroupId group : IdRange<GroupId>(mixed.of_group.size())) {
      const bool placed_there = book_[before.of_group[group]].shares.size() == 1;
      if (placed_there) mixed.of_group[group] = placed.of_group[group];
    }
    const bool splits =
        plan.IsPlaced() && mixed.of_group != placed.of_group && mixed.of_group != before.of_group;
    std::vector<LayoutScorer::Trial> trials;
    if (score < record_.best_score() && moves_->MayBe(placed)) trials.push_back({&placed});
    if (splits && moves_->MayBe(mixed)) {
      trials.push_back({&mixed, LayoutScorer::LongestOf(score_before)});
    }
    scorer_.ScoreInTurn(trials, [&](size_t i, const LayoutScorer::Scored& scored) {
      if (scored.ok() && scored.value()) record_.Keep(*trials[i].state, *scored.value());
      return false;
    });
    if (record_.best_score() < score_before) GoBack();
  }

  const PlannerResult& result() const override { return record_.result; }
  Status Finish() override { return record_.Finish(); }

 private:
  static constexpr int64_t kDrawsInVain = 1000;
  static constexpr int64_t kDrawsAnew = 100;  // of what was tried
  static constexpr int64_t kNearPart = 7;     // a step that is a seventh longer is near

  bool IsLocalSearch() const {
    return rule_ == LayoutRule::kLocalSearch || rule_ == LayoutRule::kLocalSearchOfUnits;
  }

  Status TryStarts(const StepPlan& placed) {
    std::vector<LayoutState> starts;
    const auto add = [&](const StepPlan& plan) {
      starts.push_back(StateOf(problem_, plan, book_));
    };
    if (options_.initial && !options_.initial->IsPlaced()) add(*options_.initial);
    for (const StepPlan& plan : options_.starts) add(plan);
    if (!placed.empty()) add(placed);
    // No more than a placement is given.
    if (starts.empty() || (starts.size() == 1 && IsPlaced(starts[0], book_))) {
      for (LayoutState& state : moves_->PlainStates()) starts.push_back(std::move(state));
      if (rule_ != LayoutRule::kLocalSearchOfUnits) {
        const Result<HybridLayouts> hybrid = LayOutAsExperts(problem_);
        if (hybrid.ok()) add(hybrid.value().plan);
      }
    }
    ScoreStarts(std::move(starts));
    if (record_.any()) {
      ImproveStarts();
      return Ok();
    }
    if (error_) return *std::move(error_);
    return MakeError(ErrorCode::kUnreachable, "no start keeps to all constraints", "",
                     "Loosen --pin, --forbid or --colocate.");
  }

  // As many as there is time for, and until one can be compiled.
  void ScoreStarts(std::vector<LayoutState> starts) {
    std::erase_if(starts, [&](const LayoutState& state) { return !moves_->MayBe(state); });
    std::vector<LayoutScorer::Trial> trials;
    for (const LayoutState& state : starts) trials.push_back({&state});
    const bool all = scorer_.ScoreInTurn(trials, [&](size_t i, const LayoutScorer::Scored& scored) {
      if (!scored.ok()) {
        if (!error_) error_ = scored.error();
        return false;
      }
      const Score& score = *scored.value();
      if (!IsPlaced(starts[i], book_) && (!split_start_ || score < split_score_)) {
        split_start_ = starts[i];
        split_score_ = score;
      }
      record_.Keep(starts[i], score);
      return record_.IsEnough();
    });
    if (!all) record_.NoteNoTime();
  }

  // The best one; where it splits nothing, the best of those that do may come to less.
  void ImproveStarts() {
    if (record_.IsEnough() || rule_ == LayoutRule::kLocalSearchOfUnits) return;
    StartImprovement improvement(*moves_, scorer_,
                                 [this](const LayoutState& state, const Score& score) {
                                   record_.Keep(state, score);
                                   return !record_.IsEnough();
                                 });
    const bool other =
        IsPlaced(record_.best(), book_) && split_start_ &&
        split_score_.over <= record_.best_score().over &&
        split_score_.step_time <= record_.best_score().step_time / kNearPart * (kNearPart + 1);
    bool in_time = improvement.Improve(record_.best(), record_.best_score());
    if (other && !record_.IsEnough())
      in_time = improvement.Improve(*std::move(split_start_), split_score_);
    split_start_.reset();
    if (!in_time && !record_.IsEnough()) record_.NoteNoTime();
  }

  void GoBack() {
    current_ = record_.best();
    current_score_ = record_.best_score();
  }

  // A neighbour of the current plan, and how long its step may be.
  struct Proposal {
    LayoutMoves::Neighbour to;
    uint64_t hash;
    Nanos longest;
    Random after;  // the draws go on from here
  };

  std::vector<Proposal> DrawAhead(int64_t move, int64_t count) {
    std::vector<Proposal> proposals;
    Random random = random_;
    for (; count > 0; --count, ++move) {
      std::optional<Proposal> next = DrawNext(proposals, random);
      if (!next) break;
      next->longest = LongestTaken(TemperatureAt(move), random);
      next->after = random;
      proposals.push_back(*std::move(next));
    }
    return proposals;
  }

  // Local search draws again where it comes to what was tried, or is to be before it.
  std::optional<Proposal> DrawNext(const std::vector<Proposal>& before, Random& random) {
    for (int64_t vain = 0; vain < kDrawsInVain; ++vain) {
      std::optional<LayoutMoves::Neighbour> next = moves_->Draw(current_, chances_, random);
      if (!next) continue;
      const uint64_t hash = HashOf(next->state);
      const bool anew = IsLocalSearch() && vain < kDrawsAnew;
      const bool ahead = std::any_of(before.begin(), before.end(),
                                     [&](const Proposal& other) { return other.hash == hash; });
      if (anew && (ahead || tried_.contains(hash))) continue;
      return Proposal{*std::move(next), hash, Nanos(0), random};
    }
    return std::nullopt;
  }

  bool IsStale() const {
    const auto groups = static_cast<int64_t>(current_.of_group.size());
    return record_.result.iterations - record_.best_at() > kStaleAfter + kStalePerGroup * groups;
  }

  // Taken however long its step is; none where it may not be.
  std::vector<Proposal> Perturb() {
    LayoutState perturbed = moves_->Perturbed(record_.best(), random_);
    if (!moves_->MayBe(perturbed)) return {};
    const uint64_t hash = HashOf(perturbed);
    return {{{std::move(perturbed), {}}, hash, Nanos(kMaxQuantity), random_}};
  }

  int64_t Period() const { return rule_ == LayoutRule::kAnnealing ? kCoolingMoves : kReturnAfter; }

  double TemperatureAt(int64_t move) const {
    const double scale = static_cast<double>(record_.best_score().step_time);
    const double through = static_cast<double>(move % Period()) / static_cast<double>(Period());
    switch (rule_) {
      case LayoutRule::kLocalSearch:
      case LayoutRule::kLocalSearchOfUnits: return scale * 0.001 * (1 - through);
      case LayoutRule::kAnnealing: return scale * 0.1 * PortableExp(through * PortableLog(0.01));
      case LayoutRule::kMcmc: return scale * 0.002;
    }
    return 0;
  }

  static MoveChances ChancesOf(LayoutRule rule) {
    switch (rule) {
      case LayoutRule::kLocalSearch: return MoveChances::Learned(LayoutMoves::kAll);
      case LayoutRule::kLocalSearchOfUnits: return MoveChances::Learned(LayoutMoves::kOfUnits);
      case LayoutRule::kAnnealing: return MoveChances::Fixed(LayoutMoves::kAll);
      case LayoutRule::kMcmc: return MoveChances::OneAtATime(LayoutMoves::kOfSingleGroups);
    }
    return MoveChances::Fixed(LayoutMoves::kAll);
  }

  // A step that is t longer is taken with the chance exp(-t / temperature). What fits less badly than now may
  // take as long as it likes.
  Nanos LongestTaken(double temperature, Random& random) const {
    const double chance = random.Unit();
    if (current_score_.over > 0) return Nanos(kMaxQuantity);
    const double longer = temperature > 0 && chance > 0 ? -PortableLog(chance) * temperature : 0;
    return Nanos(std::min(kMaxQuantity, current_score_.step_time + static_cast<int64_t>(longer)));
  }

  // Until one is taken.
  void TryInTurn(const std::vector<Proposal>& proposals) {
    std::vector<LayoutScorer::Trial> trials;
    for (const Proposal& proposal : proposals) {
      trials.push_back({&proposal.to.state, proposal.longest});
    }
    scorer_.ScoreInTurn(trials, [&](size_t i, const LayoutScorer::Scored& scored) {
      const Proposal& proposal = proposals[i];
      ++record_.result.iterations;
      random_ = proposal.after;
      if (IsLocalSearch()) tried_.insert(proposal.hash);
      const std::optional<Score> score = scored.ok() ? scored.value() : std::nullopt;
      const bool better = score && *score < current_score_;
      for (const MoveKind kind : proposal.to.kinds) chances_.Count(kind, better);
      return score && Takes(proposal, *score);
    });
  }

  bool Takes(const Proposal& proposal, const Score& score) {
    const bool worse = current_score_ < score;
    if (worse && score.over != current_score_.over) return false;
    if (worse && score.step_time > proposal.longest.count) return false;
    current_ = proposal.to.state;
    current_score_ = score;
    record_.Keep(proposal.to.state, score);
    return true;
  }

  const LayoutProblem& problem_;
  Evaluator& evaluator_;
  const PlannerOptions options_;
  const LayoutRule rule_;
  LayoutBook book_;
  LayoutScorer scorer_;
  LayoutRecord record_;
  std::optional<LayoutMoves> moves_;
  MoveChances chances_;
  Random random_;
  LayoutState current_;
  Score current_score_;
  std::unordered_set<uint64_t> tried_;  // by local search
  std::optional<LayoutState>
      split_start_;  // while starts are tried: the best of those that split something
  Score split_score_;
  std::optional<Error> error_;  // of the first state that could not be compiled
};

}  // namespace

Result<std::unique_ptr<PlannerRun>> StartLayoutSearch(const Problem& problem, Evaluator& evaluator,
                                                      const PlannerOptions& options,
                                                      LayoutRule rule, std::string_view name,
                                                      const StepPlan& placed) {
  if (problem.layouts == nullptr) {
    return MakeError(ErrorCode::kUsage, "the search may not split or copy ops", "",
                     "Give --space replicated.");
  }
  auto run = std::make_unique<LayoutRun>(problem, evaluator, options, rule, name);
  PW_RETURN_IF_ERROR(run->Start(problem, placed));
  return std::unique_ptr<PlannerRun>(std::move(run));
}

Result<PlannerResult> SearchLayouts(const Problem& problem, Evaluator& evaluator,
                                    const PlannerOptions& options, LayoutRule rule,
                                    std::string_view name, const StepPlan& placed) {
  PW_ASSIGN(const std::unique_ptr<PlannerRun> run,
            StartLayoutSearch(problem, evaluator, options, rule, name, placed));
  return RunToItsEnd(*run, options.budget);
}

Result<PlannerResult> SearchOfEitherSpace::Plan(const Problem& problem, Evaluator& evaluator,
                                                const PlannerOptions& options) const {
  if (problem.layouts == nullptr) return IterativePlanner::Plan(problem, evaluator, options);
  PW_ASSIGN(const std::unique_ptr<PlannerRun> run, Start(problem, evaluator, options));
  return SearchLayouts(problem, evaluator, options, layout_rule(), name(), run->result().plan);
}

const SettableAlgorithm* LayoutSearchPlanner::settable() const {
  static const SettableAlgorithm algorithm{
      "layout-search",
      std::string(LayoutSearchPlanner().description()),
      {WordSetting("moves", {"all", "units"},
                   "what moves change; units: whole units alone, as strategies of mcts do")}};
  return &algorithm;
}

Result<std::unique_ptr<PlannerRun>> LayoutSearchPlanner::Start(
    const Problem& problem, Evaluator& evaluator, const PlannerOptions& options) const {
  PW_ASSIGN(const AgentSettings settings, AgentSettings::Parse(*settable(), settings_));
  const LayoutRule rule =
      settings.Is("moves", "units") ? LayoutRule::kLocalSearchOfUnits : LayoutRule::kLocalSearch;
  const bool placed = options.initial && options.initial->IsPlaced();
  return StartLayoutSearch(problem, evaluator, options, rule, name(),
                           placed ? *options.initial : StepPlan());
}

}  // namespace placewright
