#include "search/layouts/layout_search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "search/evaluation/plan_result.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/layouts/expert_hybrid.h"
#include "search/layouts/layout_moves.h"

namespace placewright {
namespace {

constexpr int64_t kReturnAfter = 100, kCoolingMoves = 1000;

class Searcher {
 public:
  Searcher(const Problem& problem, const PlannerOptions& options, LayoutRule rule,
           std::string_view name)
      : problem_(*problem.layouts),
        options_(options),
        rule_(rule),
        name_(name),
        evaluator_(problem_),
        random_(options.seed) {
    result_.algorithm = name;
    result_.space = PlanSpace::kReplicated;
  }

  Status Start(const Problem& problem, const Placement& placed) {
    PW_ASSIGN(LayoutMoves moves, LayoutMoves::Make(problem, book_));
    moves_.emplace(std::move(moves));
    for (const DistributionSpec& spec : options_.layout_starts) TrySpec(spec);
    if (!placed.empty()) Try(StateOfPlacement(placed));
    if (options_.layout_starts.empty()) {
      for (LayoutState& state : moves_->PlainStates()) Try(std::move(state));
      const Result<HybridLayouts> hybrid = LayOutAsExperts(problem_);
      if (hybrid.ok()) TrySpec(hybrid.value().spec);
    }
    if (best_) return Ok();
    if (error_) return *std::move(error_);
    return MakeError(ErrorCode::kUnreachable, "no start keeps to all constraints", "",
                     "Loosen --pin, --forbid or --colocate.");
  }

  void Run() {
    current_ = *best_;
    current_score_ = best_score_;
    const int64_t limit = options_.budget.iterations.value_or(kMaxQuantity);
    int64_t drawn_in_vain = 0;
    for (int64_t move = 0; move < limit; ++move) {
      if (move > 0 && options_.budget.Expired()) break;
      Prepare(move);
      std::optional<LayoutState> next;
      while (!next && drawn_in_vain < kDrawsInVain) {
        next = moves_->Draw(current_, rule_ == LayoutRule::kMcmc, random_);
        if (next && random_.Below(5) == 0) {  // two at once
          std::optional<LayoutState> second =
              moves_->Draw(*next, rule_ == LayoutRule::kMcmc, random_);
          if (second) next = std::move(second);
        }
        ++drawn_in_vain;
      }
      if (!next) break;  // there is nothing to choose
      drawn_in_vain = 0;
      ++result_.iterations;
      Step(*std::move(next));
      if (!options_.budget.iterations && !options_.budget.deadline) break;
    }
  }

  // The plan in the words of a layout file; what that resolves to is what counts.
  Result<PlannerResult> Take() {
    DistributionSpec spec = SpecOf(problem_, book_, *best_);
    PW_ASSIGN(const LayoutState stated, StateOf(problem_, spec, book_));
    PW_ASSIGN(const Evaluation evaluation, EvaluateState(problem_, book_, stated));
    result_.feasible = evaluation.feasible;
    result_.step_time = evaluation.step_time;
    result_.over = evaluation.TotalOver();
    std::set<DeviceId> devices;
    for (const LayoutId id : best_->of_group) {
      for (const Share& share : book_[id].shares) devices.insert(share.device);
    }
    for (const DeviceId device : devices) {
      result_.devices.push_back(problem_.cluster.device(device).name);
    }
    result_.layouts = std::move(spec);
    return std::move(result_);
  }

 private:
  static constexpr int64_t kDrawsInVain = 1000;

  LayoutState StateOfPlacement(const Placement& placed) {
    LayoutState state;
    state.of_group = IdVector<GroupId, LayoutId>(problem_.graph.group_count());
    for (const OpId op : problem_.graph.ops()) {
      const DeviceId device = op.index() < placed.size() ? placed[op] : DeviceId();
      LayoutId& id = state.of_group[problem_.graph.group(op)];
      if (device.valid() && !id.valid()) id = book_.Add({"", {{device, 0, 0}}});
    }
    const LayoutId any = *std::find_if(state.of_group.begin(), state.of_group.end(),
                                       [](LayoutId id) { return id.valid(); });
    for (LayoutId& id : state.of_group) {
      if (!id.valid()) id = any;
    }
    return state;
  }

  void TrySpec(const DistributionSpec& spec) {
    Result<LayoutState> state = StateOf(problem_, spec, book_);
    if (state.ok()) {
      Try(state.Take());
    } else if (!error_) {
      error_ = std::move(state.error());
    }
  }

  // One start more, as long as there is time for it.
  void Try(LayoutState state) {
    if ((best_ && options_.budget.Expired()) || !moves_->MayBe(state)) return;
    const std::optional<Score> score = ScoreOf(state);
    if (score) Offer(std::move(state), *score);
  }

  // None: it cannot be compiled, or takes longer than the limit.
  std::optional<Score> ScoreOf(const LayoutState& state, Nanos limit = Nanos(kMaxQuantity)) {
    const Result<Evaluation> evaluation =
        evaluator_.Evaluate(book_.Of(state), OptionsOf(problem_, state), limit);
    if (!evaluation.ok()) {
      if (!error_) error_ = evaluation.error();
      return std::nullopt;
    }
    if (evaluation.value().abandoned) return std::nullopt;
    return evaluation.value().score();
  }

  void Offer(LayoutState state, const Score& score) {
    if (best_ && !(score < best_score_)) return;
    best_ = std::move(state);
    best_score_ = score;
    if (score.feasible) {
      const double seconds = SecondsSince(options_.started);
      if (!result_.first_feasible_seconds) result_.first_feasible_seconds = seconds;
      result_.history.push_back(
          {result_.iterations, seconds, Nanos(score.step_time), result_.algorithm});
    }
    Report();
  }

  void Report() const {
    if (!options_.progress) return;
    options_.progress(
        {name_, result_.iterations, Nanos(best_score_.step_time), best_score_.feasible});
  }

  void Prepare(int64_t move) {
    const int64_t period = rule_ == LayoutRule::kAnnealing ? kCoolingMoves : kReturnAfter;
    if (rule_ != LayoutRule::kMcmc && move > 0 && move % period == 0) {
      current_ = *best_;
      current_score_ = best_score_;
    }
    const double scale = static_cast<double>(best_score_.step_time);
    const double through = static_cast<double>(move % period) / static_cast<double>(period);
    switch (rule_) {
      case LayoutRule::kLocalSearch: temperature_ = scale * 0.01 * (1 - through); break;
      case LayoutRule::kAnnealing: temperature_ = scale * 0.1 * std::pow(0.01, through); break;
      case LayoutRule::kMcmc: temperature_ = scale * 0.01; break;
    }
  }

  void Step(LayoutState next) {
    // What takes longer than this is not taken; what fits less badly may take as long as it likes.
    const int64_t longest = current_score_.step_time + LongerByChance();
    const bool fits = current_score_.over == 0;
    const std::optional<Score> score =
        ScoreOf(next, Nanos(fits ? std::min(longest, kMaxQuantity) : kMaxQuantity));
    if (!score) return;
    const bool worse = current_score_ < *score;
    if (worse && (score->over != current_score_.over || score->step_time > longest)) return;
    current_ = next;
    current_score_ = *score;
    Offer(std::move(next), *score);
  }

  // How much longer a step may be: one that is t longer is taken with the chance exp(-t / temperature).
  int64_t LongerByChance() {
    const double chance = random_.Unit();
    if (temperature_ <= 0 || chance <= 0) return 0;
    return static_cast<int64_t>(-std::log(chance) * temperature_);
  }

  const LayoutProblem& problem_;
  const PlannerOptions& options_;
  const LayoutRule rule_;
  const std::string_view name_;
  LayoutEvaluator evaluator_;
  LayoutBook book_;
  std::optional<LayoutMoves> moves_;
  Random random_;
  LayoutState current_;
  Score current_score_;
  double temperature_ = 0;
  std::optional<LayoutState> best_;
  Score best_score_;
  std::optional<Error> error_;  // of the first state that could not be compiled
  PlannerResult result_;
};

}  // namespace

Result<PlannerResult> SearchLayouts(const Problem& problem, const PlannerOptions& options,
                                    LayoutRule rule, std::string_view name,
                                    const Placement& placed) {
  if (problem.layouts == nullptr) {
    return MakeError(ErrorCode::kUsage, "the search may not split or copy ops", "",
                     "Give --space replicated.");
  }
  Searcher searcher(problem, options, rule, name);
  PW_RETURN_IF_ERROR(searcher.Start(problem, placed));
  searcher.Run();
  return searcher.Take();
}

Result<PlannerResult> LayoutSearchPlanner::Plan(const Problem& problem, Evaluator&,
                                                const PlannerOptions& options) const {
  Placement placed;
  if (options.initial) {
    placed = *options.initial;
  } else if (!options.starts.empty()) {
    placed = options.starts.front();
  }
  return SearchLayouts(problem, options, LayoutRule::kLocalSearch, name(), placed);
}

}  // namespace placewright
