// A graph's groups as the traversal-order study counts them: Table I.
#ifndef PLACEWRIGHT_STUDY_TRAVERSAL_GROUP_GRAPH_H_
#define PLACEWRIGHT_STUDY_TRAVERSAL_GROUP_GRAPH_H_

#include <cstdint>

#include "graph/graph.h"
#include "search/units/placement_units.h"

namespace placewright {

struct GroupGraphStatistics {
  int64_t nodes = 0, edges = 0;
  double degree = 0;           // edges / nodes; 0 without nodes
  int64_t diameter = 0;        // the greatest distance along edges
  bool diameter_exact = true;  // false: `diameter` is a lower bound
};

// Of a graph's colocation groups, in the order of their first ops; edges are data between two of them
// that goes with that order. Complexity: O(groups * edges), at most 2 * 10^8 edges looked at.
GroupGraphStatistics CountGroupGraph(const Graph& graph);
// Of what a planner decides a device for; edges that go with the order of the units.
GroupGraphStatistics CountUnitGraph(const PlacementUnits& units);

}  // namespace placewright

#endif  // PLACEWRIGHT_STUDY_TRAVERSAL_GROUP_GRAPH_H_
