// The ops of a graph in groups of like time with little data between them: METIS, Scotch, or an
// acyclic partitioning (partition.h); or TAG's grouping (tag_groups.h).
//
//   nodes  ops, views included; weight: the op's time
//   edges  data, weighted by the bytes that the consumer reads; explicit and write-after-read
//          orders, without weight
//
// Colocation is not looked at, but by TAG's: groups are a picture of the flow, not a placement.
#ifndef PLACEWRIGHT_GRAPH_PARTITION_OP_GROUPING_H_
#define PLACEWRIGHT_GRAPH_PARTITION_OP_GROUPING_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "graph/graph.h"

namespace placewright {

enum class GroupingMethod : uint8_t { kAcyclic, kMetis, kScotch, kTag };
inline constexpr std::array<GroupingMethod, 4> kGroupingMethods = {
    GroupingMethod::kAcyclic, GroupingMethod::kMetis, GroupingMethod::kScotch,
    GroupingMethod::kTag};
std::string_view ToString(GroupingMethod method);  // "acyclic", "metis", "scotch", "tag"

struct OpGrouping {
  struct Part {
    int64_t ops = 0;
    Nanos time;
  };
  IdVector<OpId, int32_t> part_of;
  std::vector<Part> parts;
  Bytes cut;             // weight of the edges between parts
  bool acyclic = false;  // the graph of parts has no cycle; always for kAcyclic
};

// kTag may make fewer parts. Errors: kUsage (more than 2^25 parts times ops), kInternal (a library
// failed).
Result<OpGrouping> GroupOps(const Graph& graph, const IdVector<OpId, Nanos>& time,
                            GroupingMethod method, int parts);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_PARTITION_OP_GROUPING_H_
