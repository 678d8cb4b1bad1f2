// Where an axis lies in a tensor.
#ifndef PLACEWRIGHT_SHARDING_AXIS_PLACES_H_
#define PLACEWRIGHT_SHARDING_AXIS_PLACES_H_

#include "graph/graph.h"
#include "plan/distributed_step.h"
#include "sharding/named_axes.h"

namespace placewright {

// Of one that the op reads or makes, which has these axes of the op's rule: `axis` is a factor of `split`. Without a
// dimension where it does not have `split`.
AxisPlace PlaceInRule(const NamedAxes& axes, OpId op, RuleAxisId split, AxisId axis,
                      const TensorAxes& tensor);

// The first place of the axis among the tensor's factors; likewise.
AxisPlace PlaceInTensor(const Graph& graph, const NamedAxes& axes, TensorId tensor, AxisId axis);

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_AXIS_PLACES_H_
