// What instances are of: the ops of the original, or some of the results of one (internal to the checker).
//
// An op whose results can be computed apart (sharding/separable_results.h) may be several ops of the step on a
// device, each with a mask of fewer results. What instances with one mask make is a unit: it has the op's
// inputs, those of its outputs that are of the mask, and intervals and sums of its own.
#ifndef CHECK_PLAN_DISTRIBUTED_UNITS_H_
#define CHECK_PLAN_DISTRIBUTED_UNITS_H_

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "check_plan/violation.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"
#include "sharding/op_rule.h"
#include "sharding/separable_results.h"

namespace placewright::check {

using UnitId = Id<struct UnitTag>;

class Units {
 public:
  // Both must outlive it.
  Units(const Graph& original, const DistributedStep& step);

  size_t size() const { return origins_.size(); }
  IdRange<UnitId> all() const { return IdRange<UnitId>(size()); }
  UnitId of(OpId instance) const {
    return unit_of_[instance];
  }  // none: it is of no op of the original
  OpId origin(UnitId unit) const { return origins_[unit]; }
  // The op of the original, with the outputs of the unit.
  const Op& op(UnitId unit) const;
  const std::optional<OpRule>& rule(UnitId unit) const { return rules_[unit]; }
  IdVector<UnitId, int32_t> CountInstances() const;
  // Of tensors of the original (sharding/routing.h): every part of it is in an order of its own; and it has no
  // dimension of rows, but counts them.
  bool in_own_order(TensorId tensor) const { return in_own_order_[tensor]; }
  bool Counts(TensorId tensor) const { return counts_[tensor]; }

  // Every result of an op that is computed apart is of one unit that has instances.
  MaybeViolation CheckResults() const;

 private:
  struct SomeResults {
    GradientMask mask;
    Op op;
  };
  UnitId UnitWith(OpId origin, const GradientMask& mask);

  const Graph& original_;
  const DistributedStep& step_;
  IdVector<UnitId, OpId> origins_;  // the original's ops in their order, then some results of them
  IdVector<UnitId, std::optional<OpRule>> rules_;
  std::vector<SomeResults> apart_;                // of the units behind the ops
  std::map<OpId, std::vector<UnitId>> apart_of_;  // by origin
  IdVector<OpId, UnitId> unit_of_;
  IdVector<TensorId, bool> in_own_order_, counts_;
};

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_UNITS_H_
