#include "search/evaluator.h"

#include "search/evaluation/compiled_step.h"

namespace placewright {

Error NoLayouts() {
  return MakeError(ErrorCode::kUsage, "plans that split or copy ops are not evaluated here", "",
                   "Give --space replicated, without --measured.");
}

Bytes Evaluation::TotalOver() const {
  int64_t total = 0;
  for (const Device& device : devices) total = SaturatingAdd(total, device.over.count);
  return Bytes(total);
}

Evaluation Evaluator::EvaluateOne(const Placement& candidate, const EvaluationOptions& options) {
  return std::move(Evaluate({&candidate, 1}, options).front());
}

Result<Evaluation> Evaluator::EvaluatePlan(const StepPlan& plan, const EvaluationOptions& options) {
  return std::move(EvaluatePlans({&plan, 1}, options).front());
}

std::vector<Result<Evaluation>> Evaluator::EvaluatePlans(std::span<const StepPlan> candidates,
                                                         const EvaluationOptions&) {
  return {candidates.size(), Result<Evaluation>(NoLayouts())};
}

Result<std::unique_ptr<CompiledStep>> Evaluator::Compile(const StepPlan&) { return NoLayouts(); }
Result<const CompiledStep*> Evaluator::CompileAndKeep(const StepPlan&) { return NoLayouts(); }

}  // namespace placewright
