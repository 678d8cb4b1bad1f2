#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "planning/rewritten_step.h"
#include "planning/strategy_search.h"
#include "search/evaluation/plan_result.h"
#include "search/layouts/layout_search.h"

namespace placewright {
namespace {

// Of a plan that was evaluated before.
class KnownEvaluator : public Evaluator {
 public:
  explicit KnownEvaluator(const Evaluation& known) : known_(known) {}

  std::vector<Evaluation> Evaluate(std::span<const Placement> candidates,
                                   const EvaluationOptions&) override {
    return std::vector<Evaluation>(candidates.size(), known_);
  }
  std::vector<Result<Evaluation>> EvaluatePlans(std::span<const StepPlan> candidates,
                                                const EvaluationOptions&) override {
    return std::vector<Result<Evaluation>>(candidates.size(), known_);
  }
  std::unique_ptr<MoveEvaluator> StartMoves(size_t) override { return nullptr; }
  std::unique_ptr<Evaluator> ForProblem(const Problem&, int) const override {
    return std::make_unique<KnownEvaluator>(known_);
  }

 private:
  const Evaluation known_;
};

}  // namespace

void LeaveMoves(int64_t evaluations, Budget& budget) {
  if (!budget.iterations) return;
  *budget.iterations = std::max<int64_t>(0, *budget.iterations - evaluations);
}

std::string DoesNotFitIn(Bytes memory, Bytes capacity) {
  return fmt::format("does not fit: {} of {}", FormatBytes(memory), FormatBytes(capacity));
}

Status StrategySearchResult::LayOut(const Problem& problem) {
  if (!folded) return Ok();
  KnownEvaluator evaluator(*folded);
  PW_ASSIGN(PlannerResult laid_out, LaidOut(*best, problem, evaluator, {}));
  plan.plan = std::move(laid_out.plan);
  folded.reset();
  return Ok();
}

std::vector<StrategyResult> StrategySearchResult::Shown() const {
  std::vector<StrategyResult> shown;
  std::set<std::string> algorithms;
  for (const StrategyResult& one : strategies) {
    if (one.evaluated) algorithms.insert(one.strategy.algorithm);
  }
  for (const StrategyResult& one : strategies) {
    const bool nearest = shown.empty() && !one.fits;
    if (algorithms.insert(one.strategy.algorithm).second || one.evaluated || nearest) {
      shown.push_back(one);
    }
  }
  return shown;
}

std::vector<std::string> StrategySearchResult::Promising() const {
  std::vector<std::string> names;
  for (const StrategyResult& one : strategies) {
    const Strategy& strategy = one.strategy;  // auto runs planners with the settings that they have
    if (one.fits && strategy.settings.empty() && TransformsFor(strategy.rewriting).empty()) {
      names.push_back(strategy.algorithm);
    }
  }
  return names;
}

std::vector<std::string> StrategySearchResult::Hopeless() const {
  const StrategyResult* fastest = nullptr;
  for (const StrategyResult& one : strategies) {
    const bool better = one.fits && (fastest == nullptr || one.BestTime() < fastest->BestTime());
    if (better && TransformsFor(one.strategy.rewriting).empty()) fastest = &one;
  }
  std::vector<std::string> names;
  for (const StrategyResult& one : strategies) {
    if (fastest == nullptr || !one.strategy.settings.empty()) continue;
    if (!TransformsFor(one.strategy.rewriting).empty()) continue;
    const bool none = one.capacity.count == 0 && !one.why_not.empty();
    const double lacks = static_cast<double>(one.memory.count) /
                         static_cast<double>(std::max<int64_t>(1, one.capacity.count));
    const double behind = static_cast<double>(one.BestTime().count) /
                          static_cast<double>(std::max<int64_t>(1, fastest->BestTime().count));
    if (none || lacks > kALittleMore || behind > kALittleMore)
      names.push_back(one.strategy.algorithm);
  }
  return names;
}

std::vector<std::string> StrategySearchResult::NotesOfTime() const {
  std::vector<std::string> notes;
  if (first_was_late) {
    notes.push_back(fmt::format(
        "the first plan that fits came after {:.1f} s: behind --time, as there was none before",
        history.front().seconds));
  }
  if (!out_of_time) return notes;
  notes.push_back(
      fmt::format("time ended the strategies when {} had been simulated: another machine may try "
                  "more or fewer, whatever --iterations says",
                  evaluations));
  if (untried.empty()) return notes;
  std::vector<std::string> names;
  for (const StrategyResult& one : untried) {
    names.push_back(
        fmt::format("{} ({})", Describe(one.strategy), FormatNanos(one.estimated_time)));
  }
  notes.push_back(fmt::format(
      "estimated to be faster, but not simulated for lack of time: {}; --time {}s may try {}",
      fmt::join(names, "; "), std::chrono::seconds(suggested_time).count(),
      names.size() == 1 ? "it" : "them"));
  return notes;
}

PlannerResult StrategySearchResult::ForAuto() const {
  PlannerResult result = plan;
  result.iterations = evaluations;
  result.history = history;
  result.first_feasible_seconds = history.front().seconds;
  result.baselines = baselines;
  if (any_rewriting && result.step_time.count > 0) {
    const double left = 100.0 *
                        static_cast<double>((result.step_time - any_rewriting->value).count) /
                        static_cast<double>(result.step_time.count);
    result.notes.push_back(
        fmt::format("{}: at most {:.1f}% below this is possible under any rewriting ({})",
                    plan.algorithm, left, FormatNanos(any_rewriting->value)));
  }
  for (std::string& note : NotesOfTime()) result.notes.push_back(std::move(note));
  return result;
}

namespace {

// The best strategy's plan, and what a search over layouts makes of it with what is left of the budget, where that is more
// than an evaluation takes.
Result<PlannerResult> GoOnFrom(const StrategySearchResult& found, const Problem& problem,
                               Evaluator& evaluator, PlannerOptions options) {
  PlannerResult result = found.ForAuto();
  LeaveMoves(found.evaluations, options.budget);
  if (options.budget.iterations.value_or(1) <= 0 || options.budget.Stopped()) return result;
  const auto& deadline = options.budget.deadline;
  if (deadline && Clock::now() + 2 * found.best_took > *deadline) return result;
  options.starts = {found.plan.plan};
  const LayoutSearchPlanner search;
  PW_ASSIGN(const PlannerResult searched, search.Plan(problem, evaluator, options));
  result.iterations += searched.iterations;
  result.baselines.push_back(BaselineOf(problem, searched, true));
  if (!searched.feasible || searched.step_time >= result.step_time) return result;
  result.plan = searched.plan;
  result.step_time = searched.step_time;
  result.algorithm = searched.algorithm;
  for (HistoryPoint point : searched.history) {
    if (point.step_time >= result.history.back().step_time) continue;
    point.iterations += found.evaluations;
    result.history.push_back(std::move(point));
  }
  return result;
}

}  // namespace

Result<PlannerResult> SearchBehind(
    const StrategySearchResult* strategies, const Problem& problem, Evaluator& evaluator,
    PlannerOptions options,
    const std::function<Result<PlannerResult>(const PlannerOptions&)>& search) {
  if (strategies == nullptr) return search(options);
  const bool has_plan = strategies->has_plan();
  if (strategies->rewrites() || (options.budget.Stopped() && has_plan)) {
    return GoOnFrom(*strategies, problem, evaluator, std::move(options));
  }
  options.promising = strategies->Promising();
  options.hopeless = strategies->Hopeless();
  PlannerResult best;
  // What is evaluated next takes about as long as the best did, and would end behind the deadline.
  const auto& deadline = options.budget.deadline;
  if (has_plan && deadline && Clock::now() + 2 * strategies->best_took > *deadline) {
    return strategies->ForAuto();
  }
  if (has_plan) {
    best = strategies->ForAuto();
    options.found = &best;
    LeaveMoves(strategies->evaluations, options.budget);
  }
  PW_ASSIGN(PlannerResult result, search(options));
  if (!has_plan) return result;
  result.iterations += strategies->evaluations;
  for (std::string& note : strategies->NotesOfTime()) result.notes.push_back(std::move(note));
  return result;
}

void RankStrategyResults(std::vector<StrategyResult>& strategies) {
  const auto rank = [](const StrategyResult& one) {
    const int kind = one.fits ? (one.evaluated ? 0 : 1) : one.capacity.count > 0 ? 2 : 3;
    return std::tuple(kind, one.fits ? one.BestTime().count : one.Over().count);
  };
  std::stable_sort(
      strategies.begin(), strategies.end(),
      [&](const StrategyResult& a, const StrategyResult& b) { return rank(a) < rank(b); });
}

void TakeFullestDevice(const Cluster& cluster, const Evaluation& evaluation,
                       StrategyResult& result) {
  double fullest = -1;
  for (size_t d = 0; d < evaluation.devices.size(); ++d) {
    const Bytes peak = evaluation.devices[d].peak;
    const Bytes capacity = cluster.device(DeviceId(d)).capacity;
    const double share =
        static_cast<double>(peak.count) / static_cast<double>(std::max<int64_t>(1, capacity.count));
    if (share <= fullest) continue;
    fullest = share;
    result.memory = peak;
    result.capacity = capacity;
  }
  result.why_not = result.fits ? "" : DoesNotFitIn(result.memory, result.capacity);
}

}  // namespace placewright
