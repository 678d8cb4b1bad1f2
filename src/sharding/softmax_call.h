// A softmax, its logarithm, or the backward of one, which several ops can compute in parts of the dimension that it is
// along (compile/rewrites/softmax.h).
#ifndef PLACEWRIGHT_SHARDING_SOFTMAX_CALL_H_
#define PLACEWRIGHT_SHARDING_SOFTMAX_CALL_H_

#include <cstdint>
#include <optional>

#include "graph/graph.h"
#include "sharding/op_rule.h"

namespace placewright {

// Inputs: x, or in the backward grad and y, all of one shape.
struct SoftmaxCall {
  bool backward = false;
  bool logarithm = false;
  int64_t dimension = 0;  // as stated: below 0 from behind
};

// Nothing where the op is none of these, or has other arguments than its operator.
std::optional<SoftmaxCall> SoftmaxCallOf(const Op& op);

// Sums, or what else is over all parts, are brought together between the several ops that compute a part of such an op.
bool HasSynchronisedAxis(const OpRule& rule);

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_SOFTMAX_CALL_H_
