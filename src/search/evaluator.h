// The one seam through which candidate plans are evaluated: planners, proofs, the portfolio and
// learners hand in plans and get back how good they are. Whether that was simulated
// (search/evaluation/simulated.h), measured on real devices or made up by a test they do not see.
#ifndef PLACEWRIGHT_SEARCH_EVALUATOR_H_
#define PLACEWRIGHT_SEARCH_EVALUATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "plan/step_plan.h"

namespace placewright {

struct CompiledStep;  // evaluation/compiled_step.h
struct Problem;

// How good a plan is: what fits first, then less overflow, then less time.
struct Score {
  bool feasible = false;
  int64_t over = kMaxQuantity;  // bytes above capacity, summed over devices; 0 if feasible
  int64_t step_time = kMaxQuantity;
  friend bool operator<(const Score& a, const Score& b) {
    return std::tie(a.over, a.step_time) < std::tie(b.over, b.step_time);
  }
};

// What a step did where, on request: what learners take as features and local search as a guide.
struct Feedback {
  // A part or copy of an op of the problem's graph, or of LayoutProblem::graph, that is no view. `origin`: that op, or
  // none of what lies between ops that are split: joins, sums, collectives.
  struct Instance {
    OpId origin;
    DeviceId device;
    Nanos start, end;
    friend auto operator<=>(const Instance&, const Instance&) = default;
  };
  struct Device {
    Nanos busy;                   // time spent computing
    Nanos idle_before_transfers;  // idle while an op here waits only for transfers; whole ops alone
  };
  struct Link {
    Nanos busy;
    Bytes moved;  // in transfers
    int32_t transfers = 0, collectives = 0;
  };
  std::vector<Instance> instances;  // of EvaluatePlans: all that ran, in the order of the step
  Schedule schedule;                // of Evaluate: start and end of every op and transfer
  std::vector<Device> devices;      // [device]
  std::vector<Link> links;          // [link]
};

struct Evaluation {
  struct Device {
    Bytes peak;  // memory in use at its highest
    Bytes over;  // peak - capacity if positive, else 0
  };
  bool abandoned = false;  // the step takes longer than the limit; nothing else is known
  bool feasible = false;   // every device within its capacity
  Nanos step_time;
  std::vector<Device> devices;       // [device]
  std::optional<Feedback> feedback;  // where it was asked for
  // Of a plan that splits or copies ops: what StepSwitches::gradients_apart comes to.
  std::optional<bool> gradients_apart;

  Bytes TotalOver() const;  // saturating
  Score score() const { return {feasible, TotalOver().count, step_time.count}; }
};

struct EvaluationOptions {
  // Candidates may be given up as soon as their step time must exceed this. It holds for all
  // candidates of a batch alike and is not lowered by what is found on the way.
  Nanos abandon_above = Nanos(kMaxQuantity);
  bool feedback = false;
  // Of EvaluatePlans: one for each candidate, in the place of abandon_above; or empty.
  std::span<const Nanos> limits{};
  // Of Evaluate: in which order devices take what is ready. None: as the problem has it.
  std::optional<SchedulingPolicy> order = {};
};

// Candidates that differ from an incumbent in a few ops, one after the other: the incremental form.
// For one thread; several of one Evaluator may run at a time.
class MoveEvaluator {
 public:
  virtual ~MoveEvaluator() = default;
  // Evaluates `placement` in full and makes it the incumbent.
  virtual const Evaluation& SetIncumbent(const Placement& placement) = 0;
  virtual const Placement& incumbent() const = 0;
  // The incumbent with `moves` applied, each op at most once; moves keep colocation groups together
  // and list the views that move with them. `abandoned` exactly if the step time is above
  // `abandon_above`. The reference is valid until the next call.
  virtual const Evaluation& Try(std::span<const OpMove> moves,
                                Nanos abandon_above = Nanos(kMaxQuantity)) = 0;
  // Makes the placement of the last Try the incumbent.
  virtual void Accept() = 0;
  // How long a device computes in a step of the incumbent.
  virtual Nanos IncumbentBusy(DeviceId device) const = 0;
  // When everything happens under the incumbent; valid until the next call.
  virtual const Schedule& IncumbentSchedule() = 0;
};

// kUsage: there are no plans that split or copy ops.
Error NoLayouts();

// Evaluates plans of one problem. Every placement covers all ops, keeps colocation groups
// together and has a route for all that crosses (CheckPlacementLegal): that is the caller's to see
// to. Deterministic where the implementation can be: simulated results do not depend on threads.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Whole ops. results[i] is that of candidates[i]. One call at a time; threads are the evaluator's own.
  virtual std::vector<Evaluation> Evaluate(std::span<const Placement> candidates,
                                           const EvaluationOptions& options = {}) = 0;
  // Any plans. Of a problem with layouts a placement, too, is a plan that splits nothing, and is evaluated as one; a plan
  // without groups that compiling adds has these where its first group lies. Errors: of the kinds of CompileStep for
  // that plan; kUsage (plans that split or copy ops, where the problem or the evaluator has none).
  virtual std::vector<Result<Evaluation>> EvaluatePlans(std::span<const StepPlan> candidates,
                                                        const EvaluationOptions& options = {});
  // So many plans are evaluated at a time.
  virtual int threads() const { return 1; }
  // The step of a plan of a problem with layouts, with gradients made apart where that is better, if the plan does not
  // say it; on many devices that are alike it may be in lanes (CompiledStep::lanes). Errors: those of CompileStep; kUsage.
  virtual Result<std::unique_ptr<CompiledStep>> Compile(const StepPlan& plan);
  // The same to look at. It is kept until the next call, and handed over where that is Compile of the same plan.
  virtual Result<const CompiledStep*> CompileAndKeep(const StepPlan& plan);
  // `memory_limit`: bytes that the incremental form may keep, about.
  virtual std::unique_ptr<MoveEvaluator> StartMoves(size_t memory_limit) = 0;
  // The same kind of evaluator for the problem, or for a variant of it (other capacities, say),
  // which must outlive it. On `threads` threads. Several may be made at a time.
  virtual std::unique_ptr<Evaluator> ForProblem(const Problem& variant, int threads) const = 0;

  Evaluation EvaluateOne(const Placement& candidate, const EvaluationOptions& options = {});
  Result<Evaluation> EvaluatePlan(const StepPlan& plan, const EvaluationOptions& options = {});
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_EVALUATOR_H_
