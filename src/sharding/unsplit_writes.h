// Groups that are whole although their ops can be split: something is written in place in them through a view that a
// split of the axis does not split (the diagonal of a matrix that is a sum over samples, say). The view would be one
// of a copy (all of what is split, or a completed sum), and what is written there would be lost to what reads the
// storage by another view. The compiler makes them whole, the independent checker expects it.
#ifndef PLACEWRIGHT_SHARDING_UNSPLIT_WRITES_H_
#define PLACEWRIGHT_SHARDING_UNSPLIT_WRITES_H_

#include <map>
#include <set>

#include "graph/graph.h"
#include "sharding/named_axes.h"

namespace placewright {

// [group]: that a step all of whose groups are split by the axis would read or keep such a storage. Every instance of
// such a group then does everything. `axes` are the graph's. O(ops + edges), nothing without writes through views;
// once more for each time that a group becomes whole because of another one.
IdVector<GroupId, bool> FindUnsplitWrites(const Graph& graph, const NamedAxes& axes, AxisId axis);
// The same of each of several axes: where nothing is written through views, in one pass for all of them.
std::map<AxisId, IdVector<GroupId, bool>> FindUnsplitWrites(const Graph& graph,
                                                            const NamedAxes& axes,
                                                            const std::set<AxisId>& of);

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_UNSPLIT_WRITES_H_
