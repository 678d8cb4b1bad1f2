// What belongs to experts whose rows are sorted by them (sharding/routing.h), where each device has some of the experts.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_ROUTED_EXPERTS_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_ROUTED_EXPERTS_H_

#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "sharding/named_axes.h"

namespace placewright {

// Finds regions once: there is an axis of experts for every layer that has some.
class RoutedExperts {
 public:
  // Both must outlive it. Complexity: O(ops + edges).
  RoutedExperts(const Graph& graph, const NamedAxes& axes);

  // The groups of what is between the sort and the return of rows that `axis` of experts splits, and beside them of what
  // makes more of what they read and less of what they give: tokens of which each expert has a copy, and the sum over the
  // experts of a token. Tokens then cross once, and not for each of their experts. None where no rows are sorted by them.
  // Complexity: O(groups + storages), and for each step away from the rows O(what is looked at there).
  IdVector<GroupId, bool> GroupsOf(AxisId axis) const;

  // FindRoutedRows(graph).regions.
  const std::vector<std::vector<OpId>>& regions() const { return regions_; }

 private:
  const Graph& graph_;
  const NamedAxes& axes_;
  const std::vector<std::vector<OpId>> regions_;
  IdVector<GroupId, std::vector<OpId>> ops_of_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_ROUTED_EXPERTS_H_
