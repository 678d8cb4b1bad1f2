// The linear program of SCT scheduling (Hanen and Munier, "An approximation algorithm for
// scheduling dependent tasks on m processors with small communication delays", 1995), as Baechi
// uses it (Jeon et al., SoCC 2020, sec. 3.2.2):
//
//   minimise  w
//   s_i + p_i                <= w                   for every node i
//   s_i + p_i + c_ij * x_ij  <= s_j                 for every edge (i, j)
//   sum over j of x_ij       >= |successors(i)| - 1 for every node i
//   sum over i of x_ij       >= |predecessors(j)| - 1
//   s >= 0, 0 <= x <= 1
//
// x_ij = 0 says that j follows i at once on i's device: j is i's favourite child. The relaxation is
// rounded at 1/2, so that every node has at most one favourite child and is that of at most one.
#ifndef PLACEWRIGHT_SEARCH_CONSTRUCTIVE_SCT_PROGRAM_H_
#define PLACEWRIGHT_SEARCH_CONSTRUCTIVE_SCT_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/stop.h"
#include "graph/partition/partition.h"

namespace placewright {

struct SctSolution {
  std::vector<int32_t> favourite_child;  // [node], -1: none
  // Without an optimum, favourites are those of the heaviest edges, each node at most once as
  // parent and once as child.
  enum class End : uint8_t { kOptimal, kIterationLimit, kBudget, kFailure } end = End::kOptimal;
  int status =
      0;  // Clp's word for it: 0 optimal, 1 and 2 infeasible, 3 at a limit, 4 errors, 5 ended
  int64_t iterations = 0;
  double objective = 0;  // w, in the unit of the node weights; 0 without an optimum
};

// `dag`: acyclic, weights[0] = p, edge weights = c. Solved by Clp's dual simplex, one thread.
// A limit of 0 stops before the first iteration; a budget that expires ends it within one.
SctSolution SolveSct(const WeightedGraph& dag, int64_t iteration_limit, const Budget& budget = {});

// Why there is no optimum, a sentence for the user; "" if there is one.
std::string DescribeEnd(const SctSolution& solution, int64_t iteration_limit);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_CONSTRUCTIVE_SCT_PROGRAM_H_
