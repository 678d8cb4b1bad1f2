// What waits for sums of gradients (internal to rewrites/).
#ifndef PLACEWRIGHT_COMPILE_REWRITES_GRADIENT_READERS_H_
#define PLACEWRIGHT_COMPILE_REWRITES_GRADIENT_READERS_H_

#include "compile/array_changes.h"
#include "compile/step_arrays.h"
#include "graph/graph.h"

namespace placewright {

// Whether what the op makes is read, by nothing but the update and sums over micro-batches, perhaps through
// views, casts of pieces and further collectives. `readers`: of the step, to which passes may have added tensors since.
bool IsReadByUpdate(const Graph& original, const StepArrays& arrays, const ArrayReaders& readers,
                    const ArrayOp& op);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_REWRITES_GRADIENT_READERS_H_
