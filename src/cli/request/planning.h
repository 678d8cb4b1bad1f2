// The way from options to a written plan, shared by `plan` and `compare`.
#ifndef PLACEWRIGHT_CLI_REQUEST_PLANNING_H_
#define PLACEWRIGHT_CLI_REQUEST_PLANNING_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands/command.h"
#include "cli/request/distributed.h"
#include "cli/request/inputs.h"
#include "cli/terminal/options.h"
#include "plan/plan.h"
#include "planning/plan_session.h"
#include "planning/strategy_search.h"
#include "search/planner.h"
#include "sim/simulator.h"

namespace placewright {

// A problem with everything it points to; never moved once made.
struct Planning {
  Inputs inputs;
  std::unique_ptr<PlanSession> session;
  Clock::time_point loaded;     // when the graph had been read or recorded: --time counts from here
  Clock::duration chosen_in{};  // trying strategies
  // That were tried, where `auto` chooses; the graph is what the best makes of it, where that rewrites it.
  std::optional<StrategySearchResult> strategies;

  const Problem& problem() const { return session->problem(); }
  const PreparedProblem& prepared() const { return session->prepared(); }
  const Bound& bound() const { return prepared().bound(); }
  LayoutProblem* layouts() const { return session->layouts(); }  // where ops may be split or copied
};

// Loads, builds, proves that something may fit, bounds. Errors: those of the readers, kConstraint,
// kInfeasible with its proof.
// `space`: what plans may do with ops beyond placing them. `choose`: what strategies are searched with, where `auto` chooses one;
// nullptr: the step stays as it is. `in_all_peaks`: as StrategySearchOptions has it, with half of --time from now on.
Result<std::unique_ptr<Planning>> Prepare(const InputOptions& input, const SearchOptions& search,
                                          const SpaceOptions& space = {},
                                          const PlannerOptions* choose = nullptr,
                                          bool in_all_peaks = false);

// The strategies of the step, as `auto` tries them, with the time or evaluations of `search` for themselves; none where it
// tries none (MayChooseStrategies, or ops may not be split). `planning`: of the step as it was recorded.
Result<std::vector<StrategyResult>> TryStrategies(const Planning& planning,
                                                  const InputOptions& input,
                                                  const SearchOptions& search,
                                                  const SpaceOptions& space,
                                                  const PlannerOptions& options);

// --init: where to start, and what a plan given there was made for another of: "graph", "sizes"
// (--batch, --dim), "cluster", "memory reserve". That is no error where all ops and devices have
// the same names: a search goes on after a small change of the graph.
struct Initial {
  StepPlan plan;
  std::vector<std::string> differs;
};
// A plan or map for this problem's graph and cluster. Errors: those of the readers, kPlanMismatch,
// kPlanInvalid, kUsage (a plan that splits ops, where the problem's may not).
Result<Initial> LoadInitial(const std::string& path, const InputOptions& input,
                            const Planning& planning);
// The same of --expert, a placement. Errors: kUsage (a plan that splits or copies ops), too.
Result<Initial> LoadExpert(const std::string& path, const InputOptions& input,
                           const Planning& planning);

// `error`, of reading a plan for these inputs: kPlanMismatch with what it was made for another of, if it was.
Error OfOtherPlan(const Plan& plan, const InputOptions& input, const Inputs& inputs, Error error);

// What planners are called with. `interrupted` may be nullptr.
PlannerOptions MakePlannerOptions(const SearchOptions& search, const Budget& budget,
                                  Context& context);

// What a planner's result comes to (PlanSession::StepOf). Errors name `file`.
Result<StepInputs> StepOf(const Planning& planning, const PlannerResult& result,
                          const std::string& file, bool in_lanes = false);
// PlanSession::Replay, naming the graph's file.
Result<SimResult> Replay(const Planning& planning, const StepInputs& of,
                         const PlannerResult& result);

// Everything the plan file and the report say. `seconds`: of the search, since the start.
Plan MakePlan(const Planning& planning, const InputOptions& input, const SearchOptions& search,
              const StepInputs& of, const PlannerResult& result, const SimResult& replay,
              double seconds);

// Of a plan that does not fit: what is missing, or the proof that nothing fits. `advice`: for looking.
Error DoesNotFit(const Planning& planning, const StepInputs& of, const Plan& plan,
                 const Budget& advice);
// Of one whose tensors fit, but not what is taken beside them; none: its tensors do not.
std::optional<Error> IsCrowded(const Planning& planning, const StepInputs& of,
                               const PlannerResult& result, const SimResult& replay);

// What a plan says of its graph, cluster, costs and links.
void NameInputs(const Inputs& inputs, const InputOptions& input, Plan& plan);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_PLANNING_H_
