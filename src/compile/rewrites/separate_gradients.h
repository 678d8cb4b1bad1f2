// Gradients of input and weight that one op makes, made by two: so that one of them can be sent, or enter a
// collective, while the other is still computed.
//
// An instance of an op with separable results (sharding/separable_results.h) becomes the same op twice, each
// with a mask of its gradients: first what leaves the device, then, by a control edge, what stays. Under data
// parallelism weight and bias leave, under a split of the output channels the input's gradient, whose parts
// are summed over the devices.
//
// Why the result is the same: each gradient is a function of the op's arguments, whatever else its mask asks
// for; both ops read what the one read, at the same versions.
//
// Why nothing comes later: the two take as long as the one (compile/step_costs.h), and the second begins where
// the first ends. So what stays is there when it was before, and what leaves is there earlier. Without the
// control edge a device that serves the longest path first would compute the gradients of all inputs, and then
// those of all weights, which are waited for at the end. As with any list schedule, a step may still be longer:
// what is ready earlier may come before something that more waits for. Evaluation therefore compares both
// (search/evaluation/compiled_step.h).
//
// Only ops with several instances: what lies on one device stays as it is. Of one op all instances are
// computed apart, or none; and none where both gradients leave, or neither.
#ifndef PLACEWRIGHT_COMPILE_REWRITES_SEPARATE_GRADIENTS_H_
#define PLACEWRIGHT_COMPILE_REWRITES_SEPARATE_GRADIENTS_H_

#include "compile/array_changes.h"

namespace placewright {

// Whether any are made apart now. Complexity: O(ops + edges).
bool SeparateGradients(const PartPrices& prices, ArrayWriter& writer, ArrayChanges& changes);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_REWRITES_SEPARATE_GRADIENTS_H_
