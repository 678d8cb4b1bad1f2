// What belongs to experts whose rows are sorted by them (sharding/routing.h), where each device has some of the experts.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_ROUTED_EXPERTS_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_ROUTED_EXPERTS_H_

#include "base/ids.h"
#include "graph/graph.h"
#include "sharding/named_axes.h"

namespace placewright {

// The groups of what is between the sort and the return of rows that `axis` of experts splits, and beside them of what
// makes more of what they read and less of what they give: tokens of which each expert has a copy, and the sum over the
// experts of a token. Tokens then cross once, and not for each of their experts. None where no rows are sorted by them.
// Complexity: O(ops + edges) for each step away from the rows.
IdVector<GroupId, bool> GroupsOfRoutedRows(const Graph& graph, const NamedAxes& axes, AxisId axis);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_ROUTED_EXPERTS_H_
