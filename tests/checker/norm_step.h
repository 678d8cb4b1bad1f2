// A step of two batch norms, made by hand.
#ifndef TESTS_CHECKER_NORM_STEP_H_
#define TESTS_CHECKER_NORM_STEP_H_

#include "graph/graph.h"

namespace placewright::tests {

// x p, a norm with weight, bias and running statistics, a rectifier, a norm with running statistics alone,
// the sum of squares; backward; a decay of a gradient in place, and updates.
Graph NormStep();

}  // namespace placewright::tests

#endif  // TESTS_CHECKER_NORM_STEP_H_
