// How much more memory is enough for a plan that fits: the counterpart of CheckNotProvenInfeasible,
// which says how much is needed at least.
#ifndef PLACEWRIGHT_SEARCH_PROOF_MEMORY_ADVICE_H_
#define PLACEWRIGHT_SEARCH_PROOF_MEMORY_ADVICE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "search/evaluator.h"
#include "search/problem/problem.h"
#include "search/proof/plan_source.h"

namespace placewright {

struct MoreMemory {
  DeviceId device;
  int64_t bytes = 0;
};
struct MemoryAdvice {
  std::vector<MoreMemory> more;  // ascending devices; empty: the memory that is there is enough
  std::string algorithm;         // constructive planner that finds its plan then; empty: none does
};

// The smallest change found with which a plan fits when simulated, if possible one that some
// constructive planner then finds. Candidates: what every constructive planner's plan, and `plan`
// if there is one, lacks on each device; then (not in large graphs), by bisection, less on one
// device alone. `at_least`: bytes proven necessary in all. Deterministic. Nothing where no plan is
// connected, or none fits with what a cluster file can state.
std::optional<MemoryAdvice> FindMemoryAdvice(const Problem& problem, Evaluator& evaluator,
                                             const PlanSource& plans, int64_t at_least,
                                             const Placement* plan = nullptr);

// "64 MiB more on d0 (12,352 MiB usable in all) is enough: checked by simulation" or the like.
std::string DescribeMemoryAdvice(const Problem& problem, const std::optional<MemoryAdvice>& advice);

// "; or keep less memory in reserve ...", where `missing` bytes are no more than all devices keep.
std::string ReserveAdvice(const Problem& problem, int64_t missing);

// "; or loosen --pin, --forbid and --colocate", where there are any; else "".
std::string ConstraintAdvice(const Problem& problem);

// "needs 2.0 KiB (2,048 B) on d0, which has 1.0 KiB (1,024 B)", of the device with the largest
// lack; how many others lack memory, too.
std::string DescribeOverflow(const Problem& problem, const Evaluation& result);

// kNothingFound for a plan of `algorithm` that does not fit though nothing proves that none does:
// what it needs and what there is, the largest indivisible group, and what would be enough.
Error NothingFits(const Problem& problem, Evaluator& evaluator, const PlanSource& plans,
                  std::string_view algorithm, const Placement& plan);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROOF_MEMORY_ADVICE_H_
