// The one seam through which candidate plans are evaluated: planners, proofs, the portfolio and
// learners hand in placements and get back how good they are. Whether that was simulated
// (search/evaluation/simulated.h), measured on real devices or made up by a test they do not see.
#ifndef PLACEWRIGHT_SEARCH_EVALUATOR_H_
#define PLACEWRIGHT_SEARCH_EVALUATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "base/units.h"
#include "plan/placement.h"
#include "plan/schedule.h"

namespace placewright {

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
  struct Device {
    Nanos busy;                   // time spent computing
    Nanos idle_before_transfers;  // idle while an op here waits only for transfers
  };
  struct Link {
    Nanos busy;
    Bytes moved;
    int32_t transfers = 0;
  };
  Schedule schedule;            // start and end of every op and transfer
  std::vector<Device> devices;  // [device]
  std::vector<Link> links;      // [link]
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

  Bytes TotalOver() const;  // saturating
  Score score() const { return {feasible, TotalOver().count, step_time.count}; }
};

struct EvaluationOptions {
  // Candidates may be given up as soon as their step time must exceed this. It holds for all
  // candidates of a batch alike and is not lowered by what is found on the way.
  Nanos abandon_above = Nanos(kMaxQuantity);
  bool feedback = false;
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

// Evaluates placements of one problem. Every placement covers all ops, keeps colocation groups
// together and has a route for all that crosses (CheckPlacementLegal): that is the caller's to see
// to. Deterministic where the implementation can be: simulated results do not depend on threads.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // results[i] is that of candidates[i]. One call at a time; threads are the evaluator's own.
  virtual std::vector<Evaluation> Evaluate(std::span<const Placement> candidates,
                                           const EvaluationOptions& options = {}) = 0;
  // `memory_limit`: bytes that the incremental form may keep, about.
  virtual std::unique_ptr<MoveEvaluator> StartMoves(size_t memory_limit) = 0;
  // The same kind of evaluator for the problem, or for a variant of it (other capacities, say),
  // which must outlive it. On `threads` threads. Several may be made at a time.
  virtual std::unique_ptr<Evaluator> ForProblem(const Problem& variant, int threads) const = 0;

  Evaluation EvaluateOne(const Placement& candidate, const EvaluationOptions& options = {});
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_EVALUATOR_H_
