// Steps with views of permuted results, and with zeros that are written, made by hand.
#ifndef TESTS_CHECKER_PERMUTED_STEP_H_
#define TESTS_CHECKER_PERMUTED_STEP_H_

#include "graph/graph.h"

namespace placewright::tests {

// Attention's way with its batch: x [6 4 8] a, transposed to [4 6 8] and doubled there, so that the result lies in
// memory as [6 4 8], transposed back and seen as [24 8]: a view that fits that order alone. Likewise backward, and of a
// gradient that is a sum over parts. Parameters a and b are updated.
Graph PermutedStep();

// One-hot rows as PyTorch 1.13 makes them: zeros [6 4], of which a part is like any other, with ones written where an
// index [6 1] says, which needs whole rows; their mean over the samples, times w [4], is the loss, and w is updated.
Graph OneHotStep();

}  // namespace placewright::tests

#endif  // TESTS_CHECKER_PERMUTED_STEP_H_
