// Layouts evaluated as a compiled step would be, without its graph: ten times as often or more.
#ifndef PLACEWRIGHT_SEARCH_EVALUATION_SIMULATED_LAYOUTS_H_
#define PLACEWRIGHT_SEARCH_EVALUATION_SIMULATED_LAYOUTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/stop_check.h"
#include "plan/step_plan.h"
#include "search/evaluation/compiled_step.h"
#include "search/evaluator.h"
#include "search/problem/layout_problem.h"

namespace placewright {

// When steps are written and simulated in lanes (compile/lane_classes.h), where devices are alike: results are the same. Where
// there are many devices and no step that is nearly the same was written before; always; never.
enum class LaneUse : uint8_t { kWhereItPays, kAlways, kNever };

// For one thread. Evaluations equal those of EvaluateCompiled (compiled_step.h) to the nanosecond and the byte.
class LayoutEvaluator {
 public:
  // `problem` must outlive it. `stop`: evaluations that it gives up are errors (kCancelled).
  explicit LayoutEvaluator(const LayoutProblem& problem, LaneUse lanes = LaneUse::kWhereItPays,
                           StopCheck stop = {});
  ~LayoutEvaluator();

  // Layouts that CheckLayouts accepts; `layouts.layouts` only grows from call to call. Exactly those whose step
  // takes longer than `abandon_above` are given up; where their work alone does (search/floors/layout_floor.h),
  // errors are not looked for. Errors: of the kinds of EvaluateCompiled, in other words; a step whose ops of an update
  // would lie apart from the parameter that they serve is not refused.
  Result<Evaluation> Evaluate(const Layouts& layouts, const StepSwitches& switches,
                              Nanos abandon_above = Nanos(kMaxQuantity));

  // Of the last evaluation: whether its gradients are made apart, where that was open because the step is then faster, or
  // needs less memory that there is not; none where it was given up or failed.
  std::optional<bool> gradients_apart() const;
  // Of the last evaluation: how many classes its devices were, or none where it was not in lanes.
  std::optional<size_t> classes() const;
  // And how many ops of the original were then written as others were (compile/block_scripts.h); 0 where none was.
  int64_t ops_repeated() const;
  // And the step of the last evaluation, which was in lanes and of this plan; gradients are made apart as that found
  // better. Once for each evaluation. Errors: kPlanInvalid, where only all devices say what each link does.
  Result<CompiledStep> CompileInLanes(StepPlan plan);

  // With what ran where and when, and gradients_apart. What a device waits for is said where the step was compiled.
  Result<Evaluation> EvaluateWithFeedback(const Layouts& layouts, const StepSwitches& switches);

  // Whether that can be done without a graph; else there is the slow way, EvaluateCompiled. Costs by name, views that an
  // op hands out beside what it makes, and sizes that only a file knows are left to it.
  static bool Suffices(const LayoutProblem& problem);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether steps of plans like this one are compiled in lanes where devices are alike: there are many.
bool MayCompileInLanes(const LayoutProblem& problem, const StepPlan& plan);

// The step of a plan, with decided what the plan leaves open: where LayoutEvaluator alone is not at hand. `in_lanes`: it may
// be one in lanes. Errors: those of both.
Result<CompiledStep> DecideAndCompile(const LayoutProblem& problem, StepPlan plan,
                                      bool in_lanes = false);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_EVALUATION_SIMULATED_LAYOUTS_H_
