#include "planning/strategy_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "cost/cost_model.h"
#include "planning/all_peaks.h"
#include "planning/micro_batch_period.h"
#include "planning/rewritten_step.h"
#include "search/evaluation/plan_result.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/layouts/layout_search.h"
#include "search/problem/problem.h"
#include "search/proof/replicated_bound.h"
#include "search/strategies/strategy_space.h"
#include "sim/memory/device_memory.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

constexpr double kAsFast = 1.03;  // times the best estimate that is left: a rewriting's turn
constexpr double kNotFarSlower =
    2;  // times the best estimate: what may be tried first as it is sooner done
constexpr size_t kKeptRewritings = 3;
constexpr auto kWrittenSize = static_cast<double>(kWrittenMicroBatches);
constexpr size_t kNamedUntried = 3;
constexpr double kShareAsRecorded =
    0.4;  // of the strategies' time, where planners of `auto` follow
constexpr int64_t kSlackOfPeaks =
    100;  // of the memory, a part more than the best plan takes beside tensors

// `auto` leaves half of the time for the plan of the best.
std::optional<Clock::time_point> DeadlineOf(const StrategySearchOptions& options,
                                            Clock::time_point begun) {
  std::optional<Clock::time_point> deadline = options.planning.budget.deadline;
  if (deadline && options.for_auto) *deadline -= (*deadline - begun) / 2;
  return deadline;
}

StrategyResult ResultOf(const StrategyEstimate& estimate) {
  StrategyResult result;
  result.strategy = estimate.strategy;
  result.estimated_time = estimate.time;
  result.estimated_memory = result.memory = estimate.memory;
  result.capacity = estimate.capacity;
  result.fits = estimate.Fits();
  result.why_not = estimate.why_not;
  result.layer_optimum = estimate.layer_optimum;
  if (result.why_not.empty() && !result.fits) {
    result.why_not = DoesNotFitIn(result.memory, result.capacity);
  }
  return result;
}

class StrategySearcher {
 public:
  StrategySearcher(const Graph& step, const Cluster& cluster, const CostOptions& costs,
                   const StrategySearchOptions& options)
      : step_(step), cluster_(cluster), costs_(costs), options_(options) {}

  Result<StrategySearchResult> Run() {
    {
      PW_ASSIGN(const auto base,
                MakeLayouts(step_, cluster_, costs_, options_.policy, options_.wishes));
      PW_ASSIGN(StrategyEstimator estimator,
                StrategyEstimator::Make(
                    *base, {options_.strategies.micro_batches, options_.strategies.recompute}));
      TakeEstimates(estimator.Unpipelined());
      if (WhatToTry() != Tried::kNothing) TryEarly();
      TakeEstimates(estimator.All());
    }
    done_.resize(estimates_.size(), false);
    if (WhatToTry() == Tried::kAsRecorded) Simulate(/*rewritten=*/false);
    if (WhatToTry() == Tried::kAll || (found_.best && !FoundSome())) Simulate(/*rewritten=*/true);
    if (options_.in_all_peaks && options_.for_auto && FoundSome()) {
      PW_RETURN_IF_ERROR(SearchInAllPeaks());
    }
    RankStrategyResults(found_.strategies);
    if (found_.out_of_time && FoundSome()) NameUntried();
    if (found_.rewrites()) PW_RETURN_IF_ERROR(BoundAnyRewriting());
    KeepStep();
    return std::move(found_);
  }

 private:
  // What is small of a step in lanes is kept; of other steps their graph, as the search behind needs the memory.
  void KeepStep() {
    *at_work_ = nullptr;
    if (!FoundSome() || found_.folded) return;
    const Transforms transforms = TransformsFor(found_.best->rewriting);
    for (auto& [rewriting, written, step] : rewritten_) {
      if (rewriting != transforms || written || !step.ok()) continue;
      if (!MayCompileInLanes(*step.value()->problem().layouts, found_.plan.plan)) {
        found_.rewritten = step.value()->TakeGraph();
        return;
      }
      found_.compiler = [kept = std::shared_ptr<RewrittenStep>(std::move(step).Take())](
                            const StepPlan& plan) { return kept->evaluator().Compile(plan); };
      return;
    }
  }

  // With the time that they would take: by their sizes as long as what was simulated last. Half of it is not for strategies.
  void NameUntried() {
    double sizes = 0;
    std::set<std::string> algorithms;
    for (const StrategyResult& one : found_.strategies) {
      const bool beats = one.fits && !one.evaluated && one.estimated_time < found_.plan.step_time;
      if (!beats || found_.untried.size() == kNamedUntried) continue;
      if (!algorithms.insert(one.strategy.algorithm).second) continue;
      sizes += static_cast<double>(std::max<int64_t>(1, one.strategy.rewriting.micro_batches));
      found_.untried.push_back(one);
    }
    const std::chrono::duration<double> needed = (Now() - begun_) + took_ * (sizes / last_size_);
    found_.suggested_time = std::chrono::minutes(1 + static_cast<int64_t>(2 * needed.count() / 60));
  }

  Status BoundAnyRewriting() {
    PW_ASSIGN(const auto base,
              MakeLayouts(step_, cluster_, costs_, options_.policy, options_.wishes));
    PW_ASSIGN(Problem problem,
              BuildProblem(base->graph, cluster_, base->costs, {}, options_.policy));
    problem.layouts = base.get();
    found_.any_rewriting = ReplicatedLowerBound(problem);
    // A critical path is one of parts on devices, of which micro-batches may make smaller ones.
    if (found_.any_rewriting && found_.any_rewriting->argument != "work")
      found_.any_rewriting.reset();
    return Ok();
  }

  // More of them than before: what is known of the one that was tried is kept.
  void TakeEstimates(std::vector<StrategyEstimate> estimates) {
    std::optional<StrategyResult> tried;
    if (early_) tried = std::move(found_.strategies[*early_]);
    found_.strategies.clear();
    estimates_ = std::move(estimates);
    for (const StrategyEstimate& one : estimates_) found_.strategies.push_back(ResultOf(one));
    if (!tried) return;
    const std::string name = Describe(tried->strategy);
    for (size_t i = 0; i < estimates_.size(); ++i) {
      const Strategy& one = estimates_[i].strategy;
      if (one.algorithm != tried->strategy.algorithm || Describe(one) != name) continue;
      found_.strategies[i] = *std::move(tried);
      early_ = best_ = i;
      return;
    }
  }

  bool Rewrites(size_t i) const { return !TransformsFor(estimates_[i].strategy.rewriting).empty(); }
  bool HasRoom(size_t i, double share) const {
    const StrategyEstimate& one = estimates_[i];
    return one.why_not.empty() &&
           static_cast<double>(one.memory.count) <= share * static_cast<double>(one.capacity.count);
  }

  enum class Tried : uint8_t { kNothing, kAsRecorded, kAll };

  // What `auto` may not come to by its own planners, which have no settings, on the step as it was recorded: everything,
  // where the best by estimate rewrites the step or what does not has no room to spare; settings, where they are as good as
  // the best, as far as estimates can say.
  Tried WhatToTry() const {
    if (!options_.for_auto || options_.in_all_peaks) return Tried::kAll;
    const StrategyEstimate* best = nullptr;  // those that fit are in the order of their times
    for (size_t i = 0; i < estimates_.size(); ++i) {
      const StrategyEstimate& one = estimates_[i];
      if (!one.Fits()) continue;
      if (best == nullptr && Rewrites(i)) return Tried::kAll;
      if (Rewrites(i)) continue;
      if (best == nullptr && HasRoom(i, kRoomToSpare)) best = &one;
      if (best == nullptr || one.strategy.settings.empty()) continue;
      const double close = kMisjudged * static_cast<double>(best->time.count);
      return static_cast<double>(one.time.count) <= close ? Tried::kAsRecorded : Tried::kNothing;
    }
    return best == nullptr ? Tried::kAll : Tried::kNothing;
  }

  bool IsSafe(size_t i) const {
    // No pipeline: of those transfers are not estimated.
    return HasRoom(i, kRoomToSpare) && estimates_[i].strategy.rewriting.schedule.empty();
  }

  // By estimate: those that about fit, the first of them with room to spare; then those that exceed memory by a little, the
  // smallest first; all others only where there are none of these.
  std::vector<size_t> Order() const {
    std::vector<size_t> order, more, all;
    for (size_t i = 0; i < estimates_.size(); ++i) {
      if (HasRoom(i, kAboutFits)) {
        order.push_back(i);
      } else if (HasRoom(i, kALittleMore)) {
        more.push_back(i);
      } else if (estimates_[i].why_not.empty()) {
        all.push_back(i);
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return estimates_[a].time < estimates_[b].time; });
    const auto safe = std::find_if(order.begin(), order.end(), [&](size_t i) { return IsSafe(i); });
    if (safe != order.end()) std::rotate(order.begin(), safe, safe + 1);
    order.insert(order.end(), more.begin(), more.end());
    return order.empty() ? all : order;
  }

  bool FoundSome() const { return found_.best && found_.plan.feasible; }

  Clock::time_point Now() const { return options_.now ? options_.now() : Clock::now(); }

  // What `auto` leaves of its time is of use where it suffices for more than an evaluation of the best.
  const std::optional<Clock::time_point>& Deadline() const {
    const auto& whole = options_.planning.budget.deadline;
    const bool is_of_use =
        deadline_ && (!FoundSome() || 2 * found_.best_took <= *whole - *deadline_);
    return has_all_time_ || !is_of_use ? whole : deadline_;
  }

  bool Expired() const {
    const auto& deadline = Deadline();
    return options_.planning.budget.Stopped() || (deadline && Now() >= *deadline);
  }

  // `best`: by estimate, of all that are left.
  bool IsOver(int64_t best) {
    const Budget& budget = options_.planning.budget;
    const int64_t min = FoundSome() ? 1 : kMinEvaluations;
    const bool out_of_time = TimeIsOver(best) && found_.evaluations >= min;
    found_.out_of_time |= out_of_time;
    is_over_ |= budget.Stopped() || out_of_time ||
                found_.evaluations >= std::max(min, budget.iterations.value_or(kMaxQuantity));
    found_.cut_short |= is_over_;
    return is_over_ || found_.evaluations >= options_.strategies.evaluations;
  }

  bool TimeIsOver(int64_t best) const {
    const auto& deadline = Deadline();
    if (has_all_time_ || !deadline || !FoundSome() || !options_.for_auto) return Expired();
    const auto found = static_cast<double>(found_.plan.step_time.count);
    const double gain = kMisjudged - static_cast<double>(best) / found;
    const double share = std::clamp(kShareOfGain * gain, 0.0, share_);
    return Now() - begun_ >= (*deadline - begun_) * share;
  }

  // How many instances of ops there are, about, in units of the step's: a stage has its layers alone.
  double SizeOf(size_t i) const {
    return static_cast<double>(
        std::max<int64_t>(1, estimates_[i].strategy.rewriting.micro_batches));
  }

  // By what the last one took. `size`: as SizeOf has it.
  bool TakesTooLong(double size) const {
    if (!Deadline() || !FoundSome() || has_all_time_) return false;
    return Now() + std::chrono::duration_cast<Clock::duration>(took_ * (size / last_size_)) >
           *Deadline();
  }

  void PassOver() { found_.cut_short = found_.out_of_time = true; }

  // Whether it may still be better than what was found.
  bool MayWin(size_t i) const {
    const StrategyEstimate& one = estimates_[i];
    if (!FoundSome()) return true;
    if (!HasRoom(i, kAboutFits)) return false;
    const int64_t best = found_.plan.step_time.count;
    const double behind = options_.for_auto ? kMisjudged : kFarBehind;
    return one.floor.count < best &&
           static_cast<double>(one.time.count) <= behind * static_cast<double>(best);
  }

  // `rewritten`: those that rewrite the step, too.
  void Simulate(bool rewritten) {
    share_ = rewritten ? 1 : kShareAsRecorded;
    const std::vector<size_t> order = Order();
    const auto is_open = [&](size_t i) { return !done_[i] && (rewritten || !Rewrites(i)); };
    const auto may_be_next = [&](size_t i) { return is_open(i) && MayWin(i); };
    if (early_ && early_ != order.front()) done_[*early_] = true;
    for (const size_t first : order) {
      const bool early = first == early_ && is_open(first);
      if (!early && !may_be_next(first)) continue;
      int64_t best = kMaxQuantity;  // by estimate, of all that were left before
      for (const size_t i : order) {
        if (is_open(i) && (early || MayWin(i))) best = std::min(best, estimates_[i].time.count);
      }
      const double close = kAsFast * static_cast<double>(best);
      const Transforms transforms = TransformsFor(estimates_[first].strategy.rewriting);
      for (const size_t i : order) {
        const bool alike = TransformsFor(estimates_[i].strategy.rewriting) == transforms;
        const bool is_close = static_cast<double>(estimates_[i].time.count) <= close;
        if (i == early_) done_[i] = true;
        if (!alike || !(i == first || is_close) || !may_be_next(i)) continue;
        has_all_time_ = i == order.front() && early_ && early_ != i;
        if (IsOver(best)) return;
        done_[i] = true;
        if (TakesTooLong(MayFold(i) ? kWrittenSize : SizeOf(i))) {
          PassOver();
        } else {
          TryTimed(transforms, i);
        }
        has_all_time_ = false;
      }
    }
  }

  void TryTimed(const Transforms& transforms, size_t i) {
    Clock::time_point begun = Now();
    const auto end = [&](double size) {
      took_ = Now() - begun;
      last_size_ = size;
      if (best_ != i) return;
      found_.best_took = std::chrono::duration_cast<Clock::duration>(took_ * (SizeOf(i) / size));
    };
    if (MayFold(i)) {
      const bool is_folded = TryFolded(transforms, i);
      end(kWrittenSize);
      if (is_folded) return;
      unfoldable_.insert(KindOf(i));
      if (TakesTooLong(SizeOf(i))) return PassOver();
      begun = Now();
    }
    const Result<std::unique_ptr<RewrittenStep>>& step = RewrittenBy(transforms, {}, i);
    if (step.ok()) {
      Try(*step.value(), i, std::nullopt);
    } else {
      Refuse(i, step.error());
    }
    end(SizeOf(i));
  }

  // What decides whether some micro-batches stand for all.
  std::pair<std::string, std::vector<std::string>> KindOf(size_t i) const {
    return {estimates_[i].strategy.algorithm, estimates_[i].strategy.settings};
  }

  // The first that Simulate comes to is no pipeline, so that it need not wait for the estimates of these; where it would
  // take long, one that is sooner done goes before it.
  void TryEarly() {
    const std::vector<size_t> order = Order();
    if (order.empty() || !IsSafe(order.front()) || IsOver(0)) return;
    early_ = order.front();
    if (SizeOf(*early_) * static_cast<double>(step_.op_count()) >= options_.many_instances) {
      const double slowest = kNotFarSlower * static_cast<double>(estimates_[*early_].time.count);
      for (const size_t i : order) {
        const bool is_near = static_cast<double>(estimates_[i].time.count) <= slowest;
        if (is_near && IsSafe(i) && SizeOf(i) < SizeOf(*early_)) early_ = i;
      }
    }
    TryTimed(TransformsFor(estimates_[*early_].strategy.rewriting), *early_);
  }

  // The last few are kept. `written`: so many micro-batches of it alone.
  const Result<std::unique_ptr<RewrittenStep>>& RewrittenBy(const Transforms& transforms,
                                                            std::optional<int64_t> written,
                                                            size_t i) {
    const auto known = std::find_if(rewritten_.begin(), rewritten_.end(), [&](const auto& one) {
      return one.transforms == transforms && one.written == written;
    });
    if (known != rewritten_.end()) return known->step;
    if (rewritten_.size() == kKeptRewritings) rewritten_.pop_front();
    const auto stop = [at_work = at_work_] {
      return *at_work != nullptr && (*at_work)->IsGivenUp();
    };
    rewritten_.push_back(
        {transforms, written,
         RewrittenStep::Make(step_, cluster_, costs_, estimates_[i].strategy.rewriting, options_,
                             stop, written)});
    return rewritten_.back().step;
  }

  bool MayFold(size_t i) const {
    const Rewriting& rewriting = estimates_[i].strategy.rewriting;
    return options_.folds && !options_.in_all_peaks && rewriting.schedule.empty() &&
           rewriting.micro_batches > kFoldedMicroBatches && !unfoldable_.contains(KindOf(i)) &&
           SizeOf(i) * static_cast<double>(step_.op_count()) >= options_.many_instances;
  }

  // False: all of its micro-batches have to be simulated.
  bool TryFolded(const Transforms& transforms, size_t i) {
    const auto& step = RewrittenBy(transforms, kWrittenMicroBatches, i);
    if (step.ok()) return Try(*step.value(), i, kWrittenMicroBatches);
    if (!IsGivenUp()) return false;
    Refuse(i, step.error());
    return true;
  }

  // Of all micro-batches what some of them came to; none: it does not follow from these.
  static std::optional<Evaluation> Unfolded(const RewrittenStep& step, const StepPlan& plan,
                                            Evaluation evaluation, int64_t micro_batches) {
    const auto compiled = step.evaluator().CompileAndKeep(plan);
    if (!compiled.ok()) return std::nullopt;
    const std::optional<Nanos> period =
        PeriodOfMicroBatches(step.problem().layouts->graph, *compiled.value());
    if (!period) return std::nullopt;
    evaluation.step_time += *period * (micro_batches - kWrittenMicroBatches);
    return evaluation;
  }

  // What is simulated once a plan fits and time is over, or somebody asked to stop.
  bool IsGivenUp() const { return FoundSome() && Expired(); }

  void Refuse(size_t i, const Error& error) {
    if (error.code == ErrorCode::kCancelled || IsGivenUp()) {
      found_.cut_short = is_over_ = true;  // it stays what it is estimated to be
      found_.out_of_time |= !options_.planning.budget.Stopped();
      return;
    }
    StrategyResult& result = found_.strategies[i];
    result.why_not = error.message;
    result.fits = false;
    result.memory = result.capacity = Bytes();
  }

  bool RefuseHere(size_t i, const Error& error) {
    Refuse(i, error);
    return true;
  }

  // `written`: so many of the step's micro-batches are in it; then false where these do not stand for all.
  bool Try(const RewrittenStep& step, size_t i, std::optional<int64_t> written) {
    StrategyResult& result = found_.strategies[i];
    LastEvaluation evaluator(step.evaluator());
    Result<PlannerResult> planned =
        LaidOut(result.strategy, step.problem(), evaluator, options_.planning);
    if (!planned.ok()) return RefuseHere(i, planned.error());
    PlannerResult& plan = planned.value();
    std::optional<Evaluation> folded;
    if (written) {
      if (evaluator.count() == 1) {
        folded =
            Unfolded(step, plan.plan, evaluator.last(), result.strategy.rewriting.micro_batches);
      }
      if (!folded) return false;
      plan.step_time = folded->step_time;
    }
    Status there = Ok();
    if (options_.in_all_peaks && plan.feasible &&
        (!FoundSome() || plan.step_time < found_.plan.step_time)) {
      there = CheckPeaks(step, plan);
      if (IsGivenUp()) return RefuseHere(i, GivenUp());
    }
    ++found_.evaluations;
    result.evaluated = true;
    result.fits = plan.feasible;
    result.step_time = plan.step_time;
    TakeFullestDevice(cluster_, evaluator.last(), result);
    const auto score = [](const PlannerResult& of) {
      return std::tuple(!of.feasible, of.feasible ? 0 : of.over.count, of.step_time.count);
    };
    if (!there.ok()) {
      result.why_not = there.error().message;
      result.fits = plan.feasible = false;
      plan.over = Bytes(1);  // tensors fit: nearer than what they do not fit in
    }
    plan.algorithm = Describe(result.strategy);
    found_.baselines.push_back(BaselineOf(step.problem(), plan, false));
    if (!found_.best || score(plan) < score(found_.plan)) {
      found_.best = result.strategy;
      best_ = i;
      if (plan.feasible) {
        const auto& deadline = options_.planning.budget.deadline;
        if (found_.history.empty()) found_.first_was_late = deadline && Now() > *deadline;
        found_.history.push_back({found_.evaluations, SecondsSince(options_.planning.started),
                                  plan.step_time, plan.algorithm});
      }
      found_.plan = std::move(plan);
      found_.folded = std::move(folded);
    }
    if (options_.tried) options_.tried(result, found_.evaluations, found_.strategies[best_]);
    return true;
  }

  // Those of the step of one rewriting, by which planners do not search.
  Status CheckPeaks(const RewrittenStep& step, const PlannerResult& plan) const {
    return CheckAllPeaks(step.problem(), step.evaluator(), step_, plan);
  }

  // A search over layouts goes on from the best with as much less memory as that takes beside tensors. What it finds is kept
  // where it fits in all peaks.
  Status SearchInAllPeaks() {
    Budget budget = options_.planning.budget;
    budget.deadline = deadline_;
    LeaveMoves(found_.evaluations, budget);
    if (budget.iterations.value_or(1) <= 0 || budget.Stopped()) return Ok();
    if (budget.deadline && Now() + 4 * found_.best_took > *budget.deadline) return Ok();
    const Rewriting& rewriting = found_.best->rewriting;
    PW_ASSIGN(const auto step,
              RewrittenStep::Make(step_, cluster_, costs_, rewriting, options_, {}));
    PW_ASSIGN(const auto peaks,
              PeaksOfPlan(step->problem(), step->evaluator(), step_, found_.plan));
    Cluster tight = cluster_;
    for (const DeviceId id : cluster_.devices()) {
      const DevicePeaks& memory = peaks[id];
      const Bytes beside = memory.Device() - memory.context - memory.allocated;
      const Bytes reserve(beside.count + memory.offered.count / kSlackOfPeaks);
      if (reserve <= cluster_.device(id).reserve || !HasContext(cluster_, id)) continue;
      PW_RETURN_IF_ERROR(tight.SetReserve(id, reserve));
    }
    PW_ASSIGN(const auto with_less,
              RewrittenStep::Make(step_, tight, costs_, rewriting, options_, {}));
    PlannerOptions options = options_.planning;
    options.budget = budget;
    options.starts = {found_.plan.plan};
    const LayoutSearchPlanner search;
    PW_ASSIGN(PlannerResult searched,
              search.Plan(with_less->problem(), with_less->evaluator(), options));
    const bool faster = searched.feasible && searched.step_time < found_.plan.step_time;
    if (!faster || !CheckPeaks(*step, searched).ok()) return Ok();
    found_.evaluations += searched.iterations;
    found_.baselines.push_back(BaselineOf(step->problem(), searched, true));
    found_.history.push_back({found_.evaluations, SecondsSince(options_.planning.started),
                              searched.step_time, searched.algorithm});
    found_.plan = std::move(searched);
    return Ok();
  }

  const Graph& step_;
  const Cluster& cluster_;
  const CostOptions& costs_;
  const StrategySearchOptions& options_;
  // This one, up to its end: what it leaves behind is not given up.
  const std::shared_ptr<const StrategySearcher*> at_work_ =
      std::make_shared<const StrategySearcher*>(this);
  size_t best_ = 0;              // of the strategies
  std::optional<size_t> early_;  // the one that was tried before pipelines were estimated
  const Clock::time_point begun_ = Now();
  bool is_over_ = false;
  bool has_all_time_ = false;  // what is simulated: until the budget's deadline
  const std::optional<Clock::time_point> deadline_ = DeadlineOf(options_, begun_);
  std::chrono::duration<double, Clock::period> took_{};  // the last that was simulated
  double last_size_ = 1;
  // Of these some micro-batches do not stand for all.
  std::set<std::pair<std::string, std::vector<std::string>>> unfoldable_;
  double share_ = 1;  // of the time, at most, once something fits
  struct Rewritten {
    Transforms transforms;
    std::optional<int64_t> written;
    Result<std::unique_ptr<RewrittenStep>> step;
  };
  std::deque<Rewritten> rewritten_;
  std::vector<StrategyEstimate> estimates_;
  std::vector<bool> done_;      // simulated, refused or passed over
  StrategySearchResult found_;  // strategies in the order of the estimates until it is over
};

}  // namespace

bool MayChooseStrategies(const Graph& graph, const Constraints& constraints) {
  const BatchScaling* const laws = graph.batch_scaling();
  return graph.format() == "aten" && laws != nullptr && laws->reason.empty() &&
         constraints.Empty() && MayBeRewritten(graph.transforms());
}

Result<std::vector<StrategyResult>> EstimatedToFit(const Graph& graph, const Cluster& cluster,
                                                   const CostOptions& costs,
                                                   SchedulingPolicy policy) {
  PW_ASSIGN(const auto base, MakeLayouts(graph, cluster, costs, policy, {}));
  PW_ASSIGN(StrategyEstimator estimator, StrategyEstimator::Make(*base, {}));
  estimator.Unpipelined();
  std::vector<StrategyResult> fitting;
  std::set<std::string> algorithms;
  for (const StrategyEstimate& one : estimator.All()) {
    const bool is_first = one.Fits() && algorithms.insert(one.strategy.algorithm).second;
    if (is_first) fitting.push_back(ResultOf(one));
  }
  return fitting;
}

Result<StrategySearchResult> SearchStrategies(const Graph& graph, const Cluster& cluster,
                                              const CostOptions& costs,
                                              const StrategySearchOptions& options) {
  if (!MayBeRewritten(graph.transforms())) {
    return MakeError(ErrorCode::kUsage,
                     fmt::format("strategies rewrite a step as it was recorded, and {} is "
                                 "rewritten already ({})",
                                 Printable(graph.name(), 80), Describe(graph.transforms())),
                     "", "Read it without a rewriting.");
  }
  return StrategySearcher(graph, cluster, costs, options).Run();
}

}  // namespace placewright
