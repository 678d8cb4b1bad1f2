// The compiler's passes over a whole step, on arrays: what rewrites/separate_gradients.h and
// rewrites/fuse_all_reduces.h do to the graph.
#ifndef PLACEWRIGHT_COMPILE_ARRAY_PASSES_H_
#define PLACEWRIGHT_COMPILE_ARRAY_PASSES_H_

#include "base/units.h"
#include "compile/step_arrays.h"

namespace placewright {

// Returns whether any gradients are made apart now.
bool SeparateGradients(const PartPrices& prices, StepArrays& arrays);

// False: a gradient that is summed is written in place later, which only the graph can express; the arrays are as
// they were.
bool FuseAllReduces(const Graph& graph, Bytes limit, PartPrices& prices, StepArrays& arrays);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_ARRAY_PASSES_H_
