// What a batch norm in training is called with, for those that compute it in parts (compile/rewrites/batch_norm.h).
#ifndef PLACEWRIGHT_SHARDING_BATCH_NORM_CALL_H_
#define PLACEWRIGHT_SHARDING_BATCH_NORM_CALL_H_

#include <cstdint>
#include <optional>

#include "graph/graph.h"

namespace placewright {

// The arguments of a batch norm or of its backward. Tensors: which input of the op, or -1.
struct BatchNormCall {
  bool backward = false;
  int32_t grad = -1, x = -1, weight = -1, bias = -1;
  int32_t running_mean = -1, running_var = -1, save_mean = -1, save_invstd = -1;
  double momentum = 0, eps = 0;
};
// Nothing where the op is none, or its arguments are not those of its operator.
std::optional<BatchNormCall> BatchNormCallOf(const Op& op);

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_BATCH_NORM_CALL_H_
