// A step with views of permuted results, made by hand.
#ifndef TESTS_CHECKER_PERMUTED_STEP_H_
#define TESTS_CHECKER_PERMUTED_STEP_H_

#include "graph/graph.h"

namespace placewright::tests {

// Attention's way with its batch: x [6 4 8] a, transposed to [4 6 8] and doubled there, so that the result lies in
// memory as [6 4 8], transposed back and seen as [24 8]: a view that fits that order alone. Likewise backward, and of a
// gradient that is a sum over parts. Parameters a and b are updated.
Graph PermutedStep();

}  // namespace placewright::tests

#endif  // TESTS_CHECKER_PERMUTED_STEP_H_
