// What constructive planners want to know about colocation groups: where they lie in the step,
// which module they belong to, which forward group they accompany, and a static estimate of their
// memory.
#ifndef PLACEWRIGHT_SEARCH_PROBLEM_GROUP_INFO_H_
#define PLACEWRIGHT_SEARCH_PROBLEM_GROUP_INFO_H_

#include <cstdint>
#include <vector>

#include "search/problem/op_graph.h"
#include "search/problem/problem.h"

namespace placewright {

struct GroupInfo {
  int32_t position = 0;  // of its first op (views count) in the graph's topological order
  ModuleId module;       // of its first forward op, else of its first op
  bool forward = false;  // has a forward exec op, or none but forward ops
  // The group it is placed with where a method places forward ops only and the rest follows
  // (Baechi's co-placement): of parameters the group of their first reader; of backward ops a
  // forward group whose result they read, of the same module if there is one. Otherwise itself.
  ColocationGroupId leader;
  int64_t time = 0;  // minimum time of its ops, summed
  // Granule-rounded persistent bytes, and bytes of its other storages that are alive when a run of
  // the whole graph in topological order on one device is at its memory peak.
  int64_t persistent = 0, live_at_peak = 0;
};

using GroupInfos = IdVector<ColocationGroupId, GroupInfo>;

// O(ops + edges).
GroupInfos DescribeGroups(const Problem& problem, const OpGraph& graph);

// Bytes that each leader brings to its device: persistent and live-at-peak bytes of itself and of
// all that follow it; 0 for followers.
IdVector<ColocationGroupId, int64_t> LeaderBytes(const GroupInfos& groups);

// The device of every group from those of the leaders: followers go with their leader where they
// may, else to their first preferred device. `device_of` has an entry per group; those of followers
// are overwritten.
void PlaceFollowers(const GroupInfos& groups, const GroupDevices& allowed,
                    GroupPlacement& device_of);

// The groups by position.
std::vector<ColocationGroupId> GroupsByPosition(const GroupInfos& groups);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROBLEM_GROUP_INFO_H_
