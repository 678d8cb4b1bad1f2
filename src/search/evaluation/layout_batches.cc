#include "search/evaluation/layout_batches.h"

#include <algorithm>

#include "base/random.h"
#include "search/evaluation/compiled_step.h"
#include "search/problem/layout_problem.h"
#include "sharding/layout_check.h"

namespace placewright {
namespace {

uint64_t Mix(uint64_t hash, int64_t number) {
  return Random(hash ^ static_cast<uint64_t>(number)).Next();
}

// However layouts are numbered.
uint64_t HashOf(const StepPlan& plan) {
  std::vector<uint64_t> of_layout;
  for (const Layout& layout : plan.layouts.layouts) {
    uint64_t hash = 0;
    for (const Share& share : layout.shares) {
      hash = Mix(hash, share.device.value());
      for (const auto& [axis, interval] : share.box) {
        hash = Mix(Mix(Mix(hash, axis.value()), interval.from), interval.to);
      }
    }
    of_layout.push_back(hash);
  }
  uint64_t hash = Mix(plan.switches.broadcasts ? 1 : 0, plan.switches.fusion.count);
  if (plan.switches.prefetch) hash = Mix(hash, *plan.switches.prefetch);
  if (plan.switches.unit_collectives) hash = Mix(hash, 1);
  if (plan.switches.order) hash = Mix(hash, static_cast<int64_t>(*plan.switches.order));
  for (const LayoutId id : plan.layouts.of_group) {
    hash = Random(hash ^ of_layout[id.index()]).Next();
  }
  return hash;
}

}  // namespace

LayoutBatches::Slot& LayoutBatches::SlotOf(size_t thread) {
  while (slots_.size() <= thread) slots_.emplace_back(problem_, stop_);
  return slots_[thread];
}

std::vector<Result<Evaluation>> LayoutBatches::Evaluate(std::span<const StepPlan> candidates,
                                                        const EvaluationOptions& options) {
  std::vector<std::optional<Result<Evaluation>>> made(candidates.size());
  std::vector<uint64_t> hashes;
  std::vector<size_t> open;  // candidates
  const auto limit_of = [&](size_t i) {
    return options.limits.empty() ? options.abandon_above : options.limits[i];
  };
  for (size_t i = 0; i < candidates.size(); ++i) {
    hashes.push_back(HashOf(candidates[i]));
    const Known* const known = options.feedback ? nullptr : FindKnown(hashes[i], candidates[i]);
    if (known == nullptr) {
      open.push_back(i);
    } else if (known->evaluation.step_time > limit_of(i)) {
      made[i] = Evaluation{.abandoned = true};
    } else {
      made[i] = known->evaluation;
    }
  }
  const auto threads = static_cast<size_t>(pool_.threads());
  for (size_t from = 0; from < open.size(); from += threads) {
    const size_t count = std::min(threads, open.size() - from);
    SlotOf(count - 1);
    pool_.ParallelFor(static_cast<int>(count), [&](int slot) {
      const size_t i = open[from + static_cast<size_t>(slot)];
      made[i] = EvaluateIn(slots_[static_cast<size_t>(slot)], candidates[i], limit_of(i),
                           options.feedback);
    });
  }
  for (const size_t i : open) {
    if (!made[i]->ok() || made[i]->value().abandoned || options.feedback) continue;
    // Under a limit gradients may be made together because apart they would take longer than it.
    const bool whole = made[i]->value().feasible || limit_of(i) == Nanos(kMaxQuantity);
    if (whole) Remember({hashes[i], candidates[i], made[i]->value()});
  }
  std::vector<Result<Evaluation>> results;
  for (std::optional<Result<Evaluation>>& one : made) results.push_back(*std::move(one));
  return results;
}

Result<Evaluation> LayoutBatches::EvaluateIn(Slot& slot, const StepPlan& plan, Nanos limit,
                                             bool feedback) const {
  slot.last.reset();
  PW_RETURN_IF_ERROR(CheckTransforms(problem_, plan.transforms));
  slot.layouts.of_group = slot.book.Add(plan.layouts, problem_.graph.group_count());
  const std::vector<Layout>& all = slot.book.all();
  for (size_t i = slot.layouts.layouts.size(); i < all.size(); ++i) {
    Status right = CheckLayout(all[i], problem_.axes, problem_.cluster);
    if (!right.ok()) slot.refused.emplace(LayoutId(i), std::move(right.error()));
  }
  slot.layouts.layouts.insert(slot.layouts.layouts.end(),
                              all.begin() + static_cast<ptrdiff_t>(slot.layouts.layouts.size()),
                              all.end());
  for (const auto& [id, error] : slot.refused) {
    const IdVector<GroupId, LayoutId>& used = slot.layouts.of_group;
    if (std::find(used.begin(), used.end(), id) != used.end()) return error;
  }
  if (feedback) return slot.evaluator.EvaluateWithFeedback(slot.layouts, plan.switches);
  if (limit == Nanos(kMaxQuantity)) slot.last = plan;
  PW_ASSIGN(Evaluation evaluation, slot.evaluator.Evaluate(slot.layouts, plan.switches, limit));
  evaluation.gradients_apart = slot.evaluator.gradients_apart();
  return evaluation;
}

const LayoutBatches::Known* LayoutBatches::FindKnown(uint64_t hash, const StepPlan& plan) const {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& known) {
    return known.hash == hash && known.plan == plan;
  });
  return found == known_.end() ? nullptr : &*found;
}

void LayoutBatches::Remember(Known known) {
  known_.push_back(std::move(known));
  if (known_.size() > kKnown) known_.pop_front();
}

Result<std::unique_ptr<CompiledStep>> LayoutBatches::Make(const StepPlan& plan) {
  PW_RETURN_IF_ERROR(CheckTransforms(problem_, plan.transforms));
  LayoutBook book;
  StepPlan decided{book.Of(book.Add(plan.layouts, problem_.graph.group_count())), plan.switches,
                   plan.transforms};
  if (MayCompileInLanes(problem_, decided)) {
    std::optional<CompiledStep> step = CompileInLanes(decided);
    slots_.clear();
    if (step) return std::make_unique<CompiledStep>(*std::move(step));
  }
  if (!decided.switches.gradients_apart) {
    // What is wrong with it the compiler says better.
    const Result<Evaluation> evaluation = std::move(Evaluate({&decided, 1}, {}).front());
    if (evaluation.ok()) decided.switches.gradients_apart = evaluation.value().gradients_apart;
  }
  slots_.clear();  // mostly the search has ended, and the graph needs the memory
  PW_ASSIGN(CompiledStep step, CompileStep(problem_, decided));
  return std::make_unique<CompiledStep>(std::move(step));
}

// From the step that was evaluated last, if it is this plan's, else evaluated anew: a search writes anew what differs from
// its last steps, of all devices. None: devices are not alike, or what is wrong with it the compiler says better.
std::optional<CompiledStep> LayoutBatches::CompileInLanes(const StepPlan& plan) {
  for (Slot& slot : slots_) {
    if (!slot.evaluator.classes() || slot.last != plan) continue;
    Result<CompiledStep> step = slot.evaluator.CompileInLanes(plan);
    if (step.ok()) return std::move(step).Take();
    return std::nullopt;
  }
  slots_.clear();
  LayoutEvaluator evaluator(problem_);
  if (!CheckLayouts(problem_.graph, problem_.axes, plan.layouts, problem_.cluster).ok()) {
    return std::nullopt;
  }
  (void)evaluator.Evaluate(plan.layouts, plan.switches);
  if (!evaluator.classes()) return std::nullopt;
  Result<CompiledStep> step = evaluator.CompileInLanes(plan);
  if (step.ok()) return std::move(step).Take();
  return std::nullopt;
}

Result<std::unique_ptr<CompiledStep>> LayoutBatches::Compile(const StepPlan& plan) {
  const bool made = kept_ != nullptr && kept_plan_ == plan;
  if (!made) PW_RETURN_IF_ERROR(CompileAndKeep(plan));
  slots_.clear();
  known_.clear();
  return std::move(kept_);
}

Result<const CompiledStep*> LayoutBatches::CompileAndKeep(const StepPlan& plan) {
  kept_.reset();
  PW_ASSIGN(kept_, Make(plan));
  kept_plan_ = plan;
  return static_cast<const CompiledStep*>(kept_.get());
}

}  // namespace placewright
