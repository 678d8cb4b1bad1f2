// For tests: layouts in words, compiled and evaluated.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_TEST_SPECS_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_TEST_SPECS_H_

#include <vector>

#include "base/result.h"
#include "plan/layout_spec.h"
#include "planning/plan_words.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/problem/layout_problem.h"

namespace placewright {

inline Result<CompiledStep> CompileSpec(const LayoutProblem& problem,
                                        const DistributionSpec& spec) {
  PW_ASSIGN(const StepPlan plan, ResolvePlan(problem, spec));
  return DecideAndCompile(problem, plan);
}

inline Result<Evaluation> EvaluateSpec(const LayoutProblem& problem, const DistributionSpec& spec) {
  PW_ASSIGN(const StepPlan plan, ResolvePlan(problem, spec));
  return EvaluateCompiled(problem, plan);
}

inline std::vector<Feedback::Instance> InstancesOf(const CompiledStep& compiled) {
  return EvaluateStep(compiled, /*feedback=*/true).feedback->instances;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_TEST_SPECS_H_
