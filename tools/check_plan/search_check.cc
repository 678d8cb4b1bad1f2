#include "check_plan/search_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"

namespace placewright::check {
namespace {

// The plan to start from, which no baseline stands for, has this name in the history.
constexpr std::string_view kInitial = "init";

MaybeViolation AtItem(ViolationKind kind, std::string_view list, size_t i, std::string message) {
  return Violation{kind, std::move(message), fmt::format("{}[{}]", list, i)};
}

std::string Outcome(bool feasible, Nanos step_time) {
  return fmt::format("{} ns, which {}", step_time.count, feasible ? "fits" : "does not fit");
}

MaybeViolation CheckAlgorithmNames(const Plan& plan) {
  if (plan.algorithm.empty()) return Violation{ViolationKind::kNames, "is empty", "algorithm"};
  std::set<std::string_view> names;
  for (size_t i = 0; i < plan.baselines.size(); ++i) {
    const std::string& name = plan.baselines[i].algorithm;
    if (name.empty()) return AtItem(ViolationKind::kBaselines, "baselines", i, "has no name");
    for (const std::string& device : plan.baselines[i].devices) {
      const bool known = std::any_of(plan.devices.begin(), plan.devices.end(),
                                     [&](const DeviceUse& use) { return use.name == device; });
      if (known) continue;
      return AtItem(
          ViolationKind::kBaselines, "baselines", i,
          fmt::format("runs on {}, which is no device of the plan", Printable(device, 80)));
    }
    if (names.insert(name).second) continue;
    return AtItem(ViolationKind::kBaselines, "baselines", i,
                  fmt::format("{} is there already", Printable(name, 80)));
  }
  return std::nullopt;
}

MaybeViolation CheckBestBaseline(const Plan& plan) {
  for (size_t i = 0; i < plan.baselines.size(); ++i) {
    const Baseline& baseline = plan.baselines[i];
    if (!baseline.feasible || (plan.feasible && plan.step_time <= baseline.step_time)) continue;
    return AtItem(
        ViolationKind::kBaselines, "baselines", i,
        fmt::format("{} fits and takes {} ns, the plan {}", Printable(baseline.algorithm, 80),
                    baseline.step_time.count,
                    plan.feasible ? fmt::format("{} ns", plan.step_time.count) : "does not fit"));
  }
  return std::nullopt;
}

// Where there are baselines, the plan is the one of its algorithm.
MaybeViolation CheckOwnBaseline(const Plan& plan) {
  bool found = plan.baselines.empty() || plan.algorithm == kInitial;
  for (size_t i = 0; i < plan.baselines.size(); ++i) {
    const Baseline& baseline = plan.baselines[i];
    if (baseline.algorithm != plan.algorithm) continue;
    found = true;
    if (baseline.feasible == plan.feasible && baseline.step_time == plan.step_time) continue;
    return AtItem(ViolationKind::kBaselines, "baselines", i,
                  fmt::format("the plan is of this algorithm and takes {}; here it is {}",
                              Outcome(plan.feasible, plan.step_time),
                              Outcome(baseline.feasible, baseline.step_time)));
  }
  if (found) return std::nullopt;
  return Violation{
      ViolationKind::kBaselines,
      fmt::format("the plan's algorithm {} is not among them", Printable(plan.algorithm, 80)),
      "baselines"};
}

// The last time that the history has of the algorithm, which is its best.
std::optional<Nanos> Reached(const Plan& plan, std::string_view algorithm) {
  for (auto point = plan.history.rbegin(); point != plan.history.rend(); ++point) {
    if (point->algorithm == algorithm) return point->step_time;
  }
  return std::nullopt;
}

// Whether the first of the history that is as good is a search's.
bool SearchWasThere(const Plan& plan, Nanos step_time) {
  const auto point = std::find_if(plan.history.begin(), plan.history.end(),
                                  [&](const HistoryPoint& p) { return p.step_time <= step_time; });
  if (point == plan.history.end()) return false;
  return std::any_of(plan.baselines.begin(), plan.baselines.end(), [&](const Baseline& b) {
    return b.search && b.algorithm == point->algorithm;
  });
}

// Baselines stand in the order in which they ran, searches side by side and with those that need seconds: one that
// fits and is better than all before it is in the history, if no search was as good by then. A search may have led
// with another plan than its last one.
MaybeViolation CheckBaselinesInHistory(const Plan& plan) {
  Nanos best(std::numeric_limits<int64_t>::max());
  if (!plan.history.empty() && plan.history[0].algorithm == kInitial) {
    best = plan.history[0].step_time;
  }
  for (size_t i = 0; i < plan.baselines.size(); ++i) {
    const Baseline& baseline = plan.baselines[i];
    const std::optional<Nanos> reached = Reached(plan, baseline.algorithm);
    bool right = !baseline.feasible || baseline.search || baseline.step_time >= best ||
                 SearchWasThere(plan, baseline.step_time);
    if (reached) {
      right = baseline.feasible && (baseline.step_time == *reached ||
                                    (baseline.search && baseline.step_time < *reached));
    }
    if (baseline.feasible) best = std::min(best, baseline.step_time);
    if (right) continue;
    return AtItem(
        ViolationKind::kBaselines, "baselines", i,
        fmt::format("{} is {}, but the history {}", Printable(baseline.algorithm, 80),
                    Outcome(baseline.feasible, baseline.step_time),
                    reached ? fmt::format("has it at {} ns", reached->count) : "lacks it"));
  }
  return std::nullopt;
}

MaybeViolation CheckHistory(const Plan& plan) {
  const auto wrong = [](size_t i, std::string message) {
    return AtItem(ViolationKind::kHistory, "history", i, std::move(message));
  };
  for (size_t i = 0; i < plan.history.size(); ++i) {
    const HistoryPoint& point = plan.history[i];
    if (i > 0 && point.step_time >= plan.history[i - 1].step_time) {
      return wrong(i, fmt::format("{} ns is no improvement on {} ns", point.step_time.count,
                                  plan.history[i - 1].step_time.count));
    }
    if (point.iterations > plan.iterations) {
      return wrong(i, fmt::format("{} iterations are more than the plan's {}", point.iterations,
                                  plan.iterations));
    }
  }
  if (plan.history.empty()) return std::nullopt;
  const size_t last = plan.history.size() - 1;
  const HistoryPoint& end = plan.history[last];
  if (!plan.feasible) return wrong(last, "is a plan that fits, but the plan does not");
  if (end.step_time != plan.step_time) {
    return wrong(last, fmt::format("ends at {} ns, not at the step time of {} ns",
                                   end.step_time.count, plan.step_time.count));
  }
  if (end.algorithm == plan.algorithm) return std::nullopt;
  return wrong(last, fmt::format("ends with {}, but the plan is of {}",
                                 Printable(end.algorithm, 80), Printable(plan.algorithm, 80)));
}

// Where there are baselines, nothing else led but the plan to start from.
MaybeViolation CheckHistoryNames(const Plan& plan) {
  for (size_t i = 0; i < plan.history.size() && !plan.baselines.empty(); ++i) {
    const std::string& name = plan.history[i].algorithm;
    const bool known = std::any_of(plan.baselines.begin(), plan.baselines.end(),
                                   [&](const Baseline& b) { return b.algorithm == name; });
    if (known || name == kInitial) continue;
    return AtItem(ViolationKind::kHistory, "history", i,
                  fmt::format("{} is not among the baselines", Printable(name, 80)));
  }
  return std::nullopt;
}

MaybeViolation CheckSeconds(const Plan& plan) {
  const auto wrong = [](std::string place, std::string message) {
    return Violation{ViolationKind::kSeconds, std::move(message), std::move(place)};
  };
  double before = 0;
  for (size_t i = 0; i < plan.history.size(); ++i) {
    const double seconds = plan.history[i].seconds;
    if (seconds < before) {
      return wrong(fmt::format("history[{}].seconds", i),
                   fmt::format("{} is before the {} of what precedes it", seconds, before));
    }
    before = seconds;
  }
  if (plan.seconds < before) {
    return wrong("seconds",
                 fmt::format("{} is before the history's end at {}", plan.seconds, before));
  }
  const auto text = [](std::optional<double> s) { return s ? fmt::format("{}", *s) : "null"; };
  std::optional<double> first;
  if (!plan.history.empty()) first = plan.history[0].seconds;
  if (plan.first_feasible_seconds == first) return std::nullopt;
  return wrong("first_feasible_seconds",
               fmt::format("{} is not the history's first, {}", text(plan.first_feasible_seconds),
                           text(first)));
}

}  // namespace

MaybeViolation CheckSearch(const Plan& plan) {
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckAlgorithmNames(plan));
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckBestBaseline(plan));
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckHistory(plan));
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckOwnBaseline(plan));
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckBaselinesInHistory(plan));
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckHistoryNames(plan));
  return CheckSeconds(plan);
}

}  // namespace placewright::check
