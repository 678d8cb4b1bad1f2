// What instances are of: the ops of the original, or some of the results of one (internal to the checker).
//
// An op whose results can be computed apart (sharding/separable_results.h) may be several ops of the step on a
// device, each with a mask of fewer results. What instances with one mask make is a facet: it has the op's
// inputs, those of its outputs that are of the mask, and intervals and sums of its own.
#ifndef CHECK_PLAN_DISTRIBUTED_FACETS_H_
#define CHECK_PLAN_DISTRIBUTED_FACETS_H_

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

using FacetId = Id<struct FacetTag>;

class Facets {
 public:
  // Both must outlive it.
  Facets(const Graph& original, const DistributedStep& step);

  size_t size() const { return origins_.size(); }
  IdRange<FacetId> all() const { return IdRange<FacetId>(size()); }
  FacetId of(OpId instance) const {
    return facet_of_[instance];
  }  // none: it is of no op of the original
  OpId origin(FacetId facet) const { return origins_[facet]; }
  // The op of the original, with the outputs of the facet.
  const Op& op(FacetId facet) const;
  const std::optional<OpRule>& rule(FacetId facet) const { return rules_[facet]; }
  // Of tensors of the original (sharding/routing.h): every part of it is in an order of its own; and it has no
  // dimension of rows, but counts them.
  bool in_own_order(TensorId tensor) const { return in_own_order_[tensor]; }
  bool Counts(TensorId tensor) const { return counts_[tensor]; }

  // Every result of an op that is computed apart is of one facet that has instances.
  MaybeViolation CheckResults() const;

 private:
  struct SomeResults {
    GradientMask mask;
    Op op;
  };
  IdVector<FacetId, int32_t> CountInstances() const;
  FacetId FacetWith(OpId origin, const GradientMask& mask);

  const Graph& original_;
  const DistributedStep& step_;
  IdVector<FacetId, OpId> origins_;  // the original's ops in their order, then some results of them
  IdVector<FacetId, std::optional<OpRule>> rules_;
  std::vector<SomeResults> apart_;                 // of the facets behind the ops
  std::map<OpId, std::vector<FacetId>> apart_of_;  // by origin
  IdVector<OpId, FacetId> facet_of_;
  IdVector<TensorId, bool> in_own_order_, counts_;
};

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_FACETS_H_
