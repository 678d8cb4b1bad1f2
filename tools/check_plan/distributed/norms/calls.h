// The ops that a batch norm in parts is made of, executed on values (internal to the checker).
#ifndef CHECK_PLAN_DISTRIBUTED_NORMS_CALLS_H_
#define CHECK_PLAN_DISTRIBUTED_NORMS_CALLS_H_

#include <optional>
#include <string_view>
#include <vector>

#include "check_plan/distributed/norms/value.h"
#include "graph/graph.h"

namespace placewright::check {

// Elementwise ops, sums over all elements of a part, and what is done with small tensors; of norms themselves
// those with given statistics and the sums of the backward.
bool IsNormCall(std::string_view type);

// All results of the operator, in its order; of one in place what it leaves in its first input. `inputs` are
// those of the op. Nothing where it has other arguments than are known here, or sizes that do not fit.
// Meanings: LibTorch's, in float64.
std::optional<std::vector<NormValue>> RunNormCall(const Op& op,
                                                  const std::vector<const NormValue*>& inputs,
                                                  const std::vector<NormPart>& parts);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_NORMS_CALLS_H_
