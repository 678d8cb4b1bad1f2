// Counts of rows that every part has in an order of its own (sharding/routing.h; internal to the checker).
#ifndef CHECK_PLAN_DISTRIBUTED_COUNTED_ROWS_H_
#define CHECK_PLAN_DISTRIBUTED_COUNTED_ROWS_H_

#include "check_plan/distributed/contents.h"
#include "check_plan/distributed/facets.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"

namespace placewright::check {

// The rows that a tensor of counts, of the step, was counted of: the part of them that its first maker reads. All
// of them where it has been moved, since nothing moves other counts. Precondition: facets.Counts of its original.
Part RowsCounted(const Graph& original, const DistributedStep& step, const Facets& facets,
                 const Contents& contents, TensorId counts);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_COUNTED_ROWS_H_
