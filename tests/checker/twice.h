// A step done twice in one graph: its second half reads the parameters, states and buffers that the first has left.
#ifndef TESTS_CHECKER_TWICE_H_
#define TESTS_CHECKER_TWICE_H_

#include "graph/graph.h"

namespace placewright::tests {

// Both halves read the same inputs. Ops and tensors of the second half are named "again." and what the first half's are;
// outputs are those of the second. Groups are the step's; the batch may be another one no more.
Graph Twice(const Graph& step);

}  // namespace placewright::tests

#endif  // TESTS_CHECKER_TWICE_H_
