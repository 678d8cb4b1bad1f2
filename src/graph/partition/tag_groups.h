// TAG's grouping of ops (Zhang et al., sec. 4.1.1): what a search over layouts takes as one op.
//
//   simplified  dropped are ops that hand on what they read (identities; views always), that do
//               nothing (no-ops), and dangling ones: no update, no graph output and no write of
//               what is there before the step needs them
//   nodes       colocation groups that keep an op; weight: their kept ops' time
//   edges       the bytes that would cross between two of them, a slice (storage, version, range)
//               once; orders carry none and are no edges
//   parts       METIS, at most 60; a part may take twice its share of the time, where possible
//
// The graph itself stays as it is, so that order and meaning do. Groups of dropped ops alone lie
// with what they read, or else with what reads them.
//
// Deviation: TAG cuts single ops; layouts are of whole colocation groups here. METIS bisects
// (partition.h), and the factor of 2 is dealt to the levels: 2^(1/levels) each.
#ifndef PLACEWRIGHT_GRAPH_PARTITION_TAG_GROUPS_H_
#define PLACEWRIGHT_GRAPH_PARTITION_TAG_GROUPS_H_

#include <cstdint>

#include "base/result.h"
#include "base/units.h"
#include "graph/graph.h"

namespace placewright {

inline constexpr int kTagParts = 60;
inline constexpr int kMaxTagParts = 1024;

struct TagGrouping {
  IdVector<GroupId, int32_t> part_of;  // of every colocation group
  int32_t parts = 0;                   // none is empty
  int64_t dropped = 0;                 // ops, views not counted
};

// Parts are numbered by their first group. `time`: of every op, at least 0; `parts`: 1 .. kMaxTagParts.
// Errors: kInternal (METIS failed). Complexity: O(inputs log inputs) and METIS's.
Result<TagGrouping> TagGroups(const Graph& graph, const IdVector<OpId, Nanos>& time,
                              int parts = kTagParts);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_PARTITION_TAG_GROUPS_H_
