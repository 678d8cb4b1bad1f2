#include "search/engines/engine_planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/units.h"
#include "search/evaluation/plan_result.h"
#include "search/layouts/layout_devices.h"

namespace placewright {
namespace {

constexpr size_t kMaxTensorParallel = 8;
constexpr int64_t kOtherBuckets[] = {0,
                                     int64_t{100} << 20};  // bytes, beside those of DDP's default

class EngineSearch {
 public:
  EngineSearch(TrainingEngine engine, std::string_view name, const LayoutProblem& problem,
               Evaluator& evaluator, const PlannerOptions& options)
      : engine_(engine),
        name_(name),
        problem_(problem),
        evaluator_(evaluator),
        options_(options),
        times_(TimesOf(problem)) {
    result_.algorithm = name;
    result_.space = PlanSpace::kReplicated;
  }

  Result<PlannerResult> Plan() {
    if (by_batch() && problem_.axes.samples() == 0) return problem_.axes.WhyNoBatch();
    PW_ASSIGN(const std::vector<DeviceId> usable, DevicesToSplitOver(problem_, times_));
    const std::vector<std::vector<DeviceId>> sets = DeviceSets(usable);
    if (sets.empty()) {
      if (!by_batch() && usable.size() > 1) return NoUnits();
      return TakeOne(usable);
    }
    for (const std::vector<DeviceId>& devices : sets) PW_RETURN_IF_ERROR(TryAllOn(devices));
    PW_RETURN_IF_ERROR(TurnUnits());
    PW_RETURN_IF_ERROR(TryBuckets());
    PW_RETURN_IF_ERROR(CompareAllOff());
    if (result_.cut_short) {
      result_.notes.push_back(
          fmt::format("{} was ended by its time after {} plans", name_, result_.iterations));
    }
    return std::move(result_);
  }

 private:
  bool by_batch() const { return engine_ != TrainingEngine::kTensorParallel; }

  Error NoUnits() const {
    return MakeError(ErrorCode::kUsage,
                     "the step has no layer whose columns and rows can be split evenly over "
                     "several devices of one machine",
                     "", "Use --for ddp or --for fsdp2, or write layouts by hand (--layouts).");
  }

  // How many of `count` devices can take part, or 0.
  size_t Fitting(size_t count) const {
    if (!by_batch()) count = std::min(count, kMaxTensorParallel);
    for (; count > 1; --count) {
      if (by_batch() ? problem_.axes.samples() % static_cast<int64_t>(count) == 0
                     : !UnitsOf(engine_, problem_, count).empty()) {
        return count;
      }
    }
    return 0;
  }

  // Distinct, of several devices each.
  std::vector<std::vector<DeviceId>> DeviceSets(const std::vector<DeviceId>& usable) const {
    std::vector<std::vector<DeviceId>> all = UsableGroups(problem_.cluster.host_groups(), usable);
    for (auto& group : UsableGroups(problem_.cluster.groups(), usable)) all.push_back(group);
    if (by_batch()) all.insert(all.begin(), usable);
    std::vector<std::vector<DeviceId>> sets;
    for (std::vector<DeviceId>& devices : all) {
      const size_t count = Fitting(devices.size());
      if (count < 2) continue;
      if (count < devices.size()) SortFastestFirst(times_, devices);
      devices.resize(count);
      std::sort(devices.begin(), devices.end());
      if (std::find(sets.begin(), sets.end(), devices) == sets.end()) sets.push_back(devices);
    }
    return sets;
  }

  // Nothing can be shared out.
  Result<PlannerResult> TakeOne(std::vector<DeviceId> usable) {
    SortFastestFirst(times_, usable);
    StepPlan plan;
    plan.layouts.layouts = {PlacedOn(usable.front())};
    plan.layouts.of_group = IdVector<GroupId, LayoutId>(problem_.graph.group_count(), LayoutId(0));
    plan.switches.local_batch_norm = problem_.local_batch_norm;
    PW_ASSIGN(const bool better, Try(std::move(plan)));
    static_cast<void>(better);
    result_.notes.push_back(fmt::format(
        "{}: all on {}, as {}", name_, problem_.cluster.device(usable.front()).name,
        usable.size() == 1 ? "there is no other device" : "the batch has no equal parts"));
    return std::move(result_);
  }

  Status TryAllOn(const std::vector<DeviceId>& devices) {
    if (TimeIsOver()) return Ok();
    std::vector<EngineUnit> units = UnitsOf(engine_, problem_, devices.size());
    std::vector<bool> on(units.size(), true);
    PW_ASSIGN(const bool better, Try(PlanOf(engine_, problem_, devices, units, on)));
    if (!better) return Ok();
    devices_ = devices;
    units_ = std::move(units);
    on_ = std::move(on);
    return Ok();
  }

  // Classes first, then single units.
  Status TurnUnits() {
    std::map<std::string_view, std::vector<size_t>> classes;
    for (size_t i = 0; i < units_.size(); ++i) classes[units_[i].alike].push_back(i);
    std::vector<std::vector<size_t>> together, single;
    for (auto& [alike, members] : classes) {
      if (members.size() > 1) {
        for (const size_t member : members) single.push_back({member});
      }
      together.push_back(std::move(members));
    }
    PW_RETURN_IF_ERROR(Turn(together));
    return Turn(single);
  }

  Status Turn(const std::vector<std::vector<size_t>>& choices) {
    for (bool any = true; any;) {
      any = false;
      for (const std::vector<size_t>& members : choices) {
        if (TimeIsOver()) return Ok();
        std::vector<bool> turned = on_;
        for (const size_t member : members) turned[member] = !turned[member];
        if (std::find(turned.begin(), turned.end(), true) == turned.end()) continue;
        PW_ASSIGN(const bool better, Try(PlanOf(engine_, problem_, devices_, units_, turned)));
        if (better) on_ = std::move(turned);
        any |= better;
      }
    }
    return Ok();
  }

  Status TryBuckets() {
    if (engine_ != TrainingEngine::kDdp) return Ok();
    for (const int64_t bytes : kOtherBuckets) {
      if (TimeIsOver()) return Ok();
      StepPlan plan = result_.plan;
      plan.switches.fusion = Bytes(bytes);
      PW_ASSIGN(const bool better, Try(std::move(plan)));
      static_cast<void>(better);
    }
    return Ok();
  }

  // A user who asked for parts gets some, and hears where none would be faster.
  Status CompareAllOff() {
    if (units_.empty() || !result_.feasible || TimeIsOver()) return Ok();
    const std::vector<bool> none(units_.size(), false);
    PW_ASSIGN(const Evaluation evaluation,
              evaluator_.EvaluatePlan(PlanOf(engine_, problem_, devices_, units_, none),
                                      {.abandon_above = result_.step_time}));
    if (evaluation.abandoned || !(evaluation.score() < best_)) return Ok();
    result_.notes.push_back(
        fmt::format("{}: with every parameter on every device{} a step takes {}, which is less",
                    name_, by_batch() ? " (--for ddp)" : "", FormatNanos(evaluation.step_time)));
    return Ok();
  }

  // There is a plan, and no time for another.
  bool TimeIsOver() {
    const bool over = !result_.plan.empty() && options_.budget.Expired();
    result_.cut_short |= over;
    return over;
  }

  // Whether it is the best so far.
  Result<bool> Try(StepPlan plan) {
    const Nanos longest = result_.feasible ? result_.step_time : Nanos(kMaxQuantity);
    PW_ASSIGN(const Evaluation evaluation,
              evaluator_.EvaluatePlan(plan, {.abandon_above = longest}));
    ++result_.iterations;
    const bool better =
        !evaluation.abandoned && (result_.plan.empty() || evaluation.score() < best_);
    if (better) {
      best_ = evaluation.score();
      result_.plan = std::move(plan);
      result_.SetEvaluation(evaluation);
      if (result_.feasible) Found();
    }
    if (options_.progress) {
      options_.progress({name_, result_.iterations, result_.step_time, result_.feasible});
    }
    return better;
  }

  void Found() {
    const double seconds = SecondsSince(options_.started);
    if (!result_.first_feasible_seconds) result_.first_feasible_seconds = seconds;
    result_.history.push_back({result_.iterations, seconds, result_.step_time, result_.algorithm});
  }

  const TrainingEngine engine_;
  const std::string_view name_;
  const LayoutProblem& problem_;
  Evaluator& evaluator_;
  const PlannerOptions& options_;
  const DeviceTimes times_;
  PlannerResult result_;
  Score best_;
  // Of the best plan.
  std::vector<DeviceId> devices_;
  std::vector<EngineUnit> units_;
  std::vector<bool> on_;
};

}  // namespace

std::string_view EnginePlanner::name() const {
  switch (engine_) {
    case TrainingEngine::kDdp: return "ddp";
    case TrainingEngine::kFsdp2: return "fsdp2";
    case TrainingEngine::kTensorParallel: return "tp";
  }
  return "";
}

std::string_view EnginePlanner::description() const {
  switch (engine_) {
    case TrainingEngine::kDdp:
      return "what DistributedDataParallel can say: equal shares of the batch, all parameters "
             "everywhere";
    case TrainingEngine::kFsdp2:
      return "what fully_shard can say: equal shares, each module's parameters in parts or "
             "everywhere";
    case TrainingEngine::kTensorParallel:
      return "what parallelize_module can say: column-wise and row-wise layers, all samples "
             "everywhere";
  }
  return "";
}

Result<PlannerResult> EnginePlanner::Plan(const Problem& problem, Evaluator& evaluator,
                                          const PlannerOptions& options) const {
  PW_RETURN_IF_ERROR(
      CheckMaySplit(problem, name(), "decides for whole modules on all its devices"));
  return EngineSearch(engine_, name(), *problem.layouts, evaluator, options).Plan();
}

}  // namespace placewright
