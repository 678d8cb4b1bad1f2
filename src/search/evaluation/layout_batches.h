// Plans of a problem with layouts, several at a time (internal to the module).
#ifndef PLACEWRIGHT_SEARCH_EVALUATION_LAYOUT_BATCHES_H_
#define PLACEWRIGHT_SEARCH_EVALUATION_LAYOUT_BATCHES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "plan/layout_book.h"
#include "plan/step_plan.h"
#include "search/evaluation/compiled_step.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/evaluator.h"

namespace placewright {

class LayoutBatches {
 public:
  // Both must outlive it. `stop`: as LayoutEvaluator has it.
  LayoutBatches(const LayoutProblem& problem, ThreadPool& pool, StopCheck stop)
      : problem_(problem), pool_(pool), stop_(std::move(stop)) {}

  // As Evaluator::EvaluatePlans. What was evaluated lately is known: baselines come to the same on devices that are
  // alike.
  std::vector<Result<Evaluation>> Evaluate(std::span<const StepPlan> candidates,
                                           const EvaluationOptions& options);
  // As those of Evaluator. Where a step is compiled, what threads work with is made anew afterwards.
  Result<std::unique_ptr<CompiledStep>> Compile(const StepPlan& plan);
  Result<const CompiledStep*> CompileAndKeep(const StepPlan& plan);

 private:
  static constexpr size_t kKnown = 64;

  // What one thread works with.
  struct Slot {
    Slot(const LayoutProblem& problem, const StopCheck& stop)
        : evaluator(problem, LaneUse::kWhereItPays, stop) {}
    LayoutBook book;
    Layouts layouts;  // all of the book, and those of a plan's groups
    std::map<LayoutId, Error> refused;
    LayoutEvaluator evaluator;
    std::optional<StepPlan> last;  // that it has evaluated, without a limit
  };
  struct Known {
    uint64_t hash;
    StepPlan plan;
    Evaluation evaluation;
  };

  Slot& SlotOf(size_t thread);
  Result<std::unique_ptr<CompiledStep>> Make(const StepPlan& plan);
  Result<Evaluation> EvaluateIn(Slot& slot, const StepPlan& plan, Nanos limit, bool feedback) const;
  std::optional<CompiledStep> CompileInLanes(const StepPlan& plan);
  const Known* FindKnown(uint64_t hash, const StepPlan& plan) const;
  void Remember(Known known);

  const LayoutProblem& problem_;
  ThreadPool& pool_;
  const StopCheck stop_;
  std::deque<Slot> slots_;   // by thread
  std::deque<Known> known_;  // the latest last
  StepPlan kept_plan_;
  std::unique_ptr<CompiledStep> kept_;  // its step; or nullptr
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_EVALUATION_LAYOUT_BATCHES_H_
