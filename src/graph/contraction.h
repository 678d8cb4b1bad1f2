// A graph seen through a grouping of its ops: groups as nodes, summed traffic as edges.
//
// The weight of edge (G, H) is the number of bytes that would cross if G and H lay on two devices:
//   sum of length(s) over the distinct slices s = (storage, version, byte range)
//   that G makes or keeps at home and that an op of H reads.
// A slice read by many ops of H counts once, as it crosses once. Views read nothing themselves;
// graph inputs of kind kInput lie everywhere and cross nothing. `after` edges carry 0 bytes.
#ifndef PLACEWRIGHT_GRAPH_CONTRACTION_H_
#define PLACEWRIGHT_GRAPH_CONTRACTION_H_

#include <vector>

#include "graph/graph.h"

namespace placewright {

struct GroupEdge {
  GroupId group;  // the other end
  Bytes bytes;    // saturates at kMaxQuantity
  friend bool operator==(const GroupEdge&, const GroupEdge&) = default;
};

struct ContractedGraph {
  IdVector<OpId, GroupId> group_of;
  Csr<GroupId, OpId> members;            // ops ascending
  Csr<GroupId, GroupEdge> successors;    // by group ascending; no edge from a group to itself
  Csr<GroupId, GroupEdge> predecessors;  // the same edges, reversed
  size_t group_count() const { return members.offsets.size() - 1; }
};

// `grouping` gives every op a group below `groups`; groups may be empty, and the contracted graph
// may have cycles even though the graph has none. Complexity: O(inputs log inputs).
ContractedGraph Contract(const Graph& graph, const IdVector<OpId, GroupId>& grouping,
                         size_t groups);
}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_CONTRACTION_H_
