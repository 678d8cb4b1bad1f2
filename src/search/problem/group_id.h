// The index of a colocation group in Problem::groups, and the tables by it that planners hand on.
#ifndef PLACEWRIGHT_SEARCH_PROBLEM_GROUP_ID_H_
#define PLACEWRIGHT_SEARCH_PROBLEM_GROUP_ID_H_

#include <vector>

#include "base/ids.h"

namespace placewright {

// Not GroupId: constraints may have joined groups of the graph.
using ColocationGroupId = Id<struct ColocationGroupTag>;

using GroupPlacement = IdVector<ColocationGroupId, DeviceId>;             // where each group runs
using GroupDevices = IdVector<ColocationGroupId, std::vector<DeviceId>>;  // ascending devices

// The ids of a table by group.
template <class T>
IdRange<ColocationGroupId> IdsOf(const IdVector<ColocationGroupId, T>& table) {
  return IdRange<ColocationGroupId>(table.size());
}

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROBLEM_GROUP_ID_H_
