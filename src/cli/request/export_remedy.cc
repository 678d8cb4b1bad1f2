#include "cli/request/export_remedy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "cli/request/plan_export.h"
#include "cost/cost_model.h"
#include "planning/quick_fit.h"
#include "search/evaluation/group_placement.h"

namespace placewright {
namespace {

constexpr std::chrono::seconds kRemedyPatience{10};
constexpr int kRounds = 4;  // of plans: each may be refused for something else

// The options of `plan` that a remedy names: "--colocate-each 'm.layers.*'".
std::vector<std::string> OptionsIn(std::string_view remedy) {
  std::vector<std::string> options;
  for (size_t at = 0; (at = remedy.find("--colocate", at)) != std::string_view::npos;) {
    const size_t open = remedy.find('\'', at);
    const size_t close = open == std::string_view::npos ? open : remedy.find('\'', open + 1);
    if (close == std::string_view::npos) break;
    options.emplace_back(remedy.substr(at, close + 1 - at));
    at = close + 1;
  }
  return options;
}

Constraints ConstraintsOf(const std::vector<std::string>& options) {
  Constraints constraints;
  for (const std::string& option : options) {
    const size_t open = option.find('\'');
    std::string glob = option.substr(open + 1, option.size() - open - 2);
    const bool each = option.starts_with("--colocate-each ");
    (each ? constraints.colocate_each : constraints.colocate).push_back(std::move(glob));
  }
  return constraints;
}

// The step that was planned, with whole ops, and what these cost.
Result<PlanInputs> WholeStep(const PlanInputs& plan, const std::string& plan_path,
                             const PlanInputOptions& options) {
  PlanInputs whole;
  whole.plan = plan.plan;
  whole.plan.space = PlanSpace::kPlaced;
  whole.cluster = plan.cluster;
  GraphInputOptions of_graph;
  if (plan.plan.batch_option > 0) of_graph.batch = plan.plan.batch_option;
  of_graph.transforms = plan.plan.distribution.transforms.value_or(Transforms());
  of_graph.dimensions = plan.plan.dimensions;
  of_graph.sha256 = plan.plan.graph.sha256;
  PW_ASSIGN(whole.graph,
            LoadGraph(options.graph.value_or(FilesOf(plan.plan, plan_path).front()), of_graph));
  CostOptions costs;
  costs.profile = plan.plan.cost_profile;
  PW_ASSIGN(costs.precision, ParseFloatPrecision(plan.plan.precision));
  PW_ASSIGN(whole.costs, ModelCosts(whole.graph.graph, whole.cluster.cluster, costs));
  return whole;
}

class Trials {
 public:
  Trials(const ExportFormat& format, const PlanInputs& plan, const StopToken& stop)
      : format_(format), plan_(plan) {
    options_.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    options_.budget.stop = stop;
    options_.budget.deadline = Clock::now() + kRemedyPatience;
    options_.started = Clock::now();
  }

  // Grows `options` until a plan fits and can be written; nullopt: none was found.
  std::optional<PlannerResult> Find(std::vector<std::string>& options) {
    for (int round = 0; round < kRounds && !options_.budget.Expired(); ++round) {
      Result<Problem> problem = BuildProblem(plan_.graph.graph, plan_.cluster.cluster, plan_.costs,
                                             ConstraintsOf(options), plan_.plan.policy);
      if (!problem.ok()) return std::nullopt;
      Result<QuickFit> fit = FindFit(problem.value(), nullptr, options_);
      if (!fit.ok() || !fit.value().fits) return std::nullopt;
      std::vector<std::string> notes;
      const TextSink nowhere = [](std::string_view) { return Ok(); };
      const Status written = format_.write(
          plan_, PlacementOf(problem.value(), fit.value().plan.plan), nowhere, &notes);
      if (written.ok()) return std::move(fit.value().plan);
      refusal_ = written.error();
      const size_t before = options.size();
      for (std::string& option : OptionsIn(written.error().remedy)) {
        const bool known = std::find(options.begin(), options.end(), option) != options.end();
        if (!known) options.push_back(std::move(option));
      }
      if (options.size() == before) return std::nullopt;
    }
    return std::nullopt;
  }

  bool TimedOut() const { return options_.budget.Expired(); }
  // Of the last plan that fits, as the format has it.
  const std::optional<Error>& refusal() const { return refusal_; }

 private:
  const ExportFormat& format_;
  const PlanInputs& plan_;
  PlannerOptions options_;
  std::optional<Error> refusal_;
};

}  // namespace

Error WithTriedRemedy(Error error, const ExportFormat& format, const PlanInputs& plan,
                      const std::string& plan_path, const PlanInputOptions& options,
                      const StopToken& stop) {
  if (error.code != ErrorCode::kNotExpressible) return error;
  const bool splits = NeedsWholeOps(format, plan);
  std::vector<std::string> wanted = OptionsIn(error.remedy);
  if (wanted.empty() && !splits) return error;
  std::optional<PlanInputs> whole;
  if (splits) {
    Result<PlanInputs> read = WholeStep(plan, plan_path, options);
    if (!read.ok()) return error;
    whole = read.Take();
  }
  Trials trials(format, whole ? *whole : plan, stop);
  const std::optional<PlannerResult> found = trials.Find(wanted);
  if (stop.StopRequested()) return error;
  std::string all = splits ? "--space placed" : "";
  for (const std::string& option : wanted) all += (all.empty() ? "" : " ") + option;
  if (found) {
    error.remedy = fmt::format(
        "Plan again with {}, besides the options given: tried with --algo {}, that fits ({} a "
        "step) "
        "and can be written.",
        all, found->algorithm, FormatNanos(found->step_time));
  } else if (trials.refusal() && !trials.TimedOut()) {
    error.remedy = fmt::format(
        "With {} a plan fits, and cannot be written either: {}. Another format may "
        "have it (`placewright export --help`).",
        all, trials.refusal()->message);
  } else {
    error.remedy = fmt::format(
        "With {} no plan that fits and can be written was found within {} s. A smaller batch or "
        "more "
        "memory may help, or another format (`placewright export --help`).",
        all, kRemedyPatience.count());
  }
  return error;
}

}  // namespace placewright
