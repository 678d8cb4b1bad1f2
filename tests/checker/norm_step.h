// A step of three batch norms, made by hand.
#ifndef TESTS_CHECKER_NORM_STEP_H_
#define TESTS_CHECKER_NORM_STEP_H_

#include "graph/graph.h"

namespace placewright::tests {

// bn2(relu(bn1(x p)) + bn3(x p)), of which bn1 has weight and bias, all have running statistics; the sum of its
// squares; backward; a decay of a gradient in place, and updates.
Graph NormStep();

}  // namespace placewright::tests

#endif  // TESTS_CHECKER_NORM_STEP_H_
