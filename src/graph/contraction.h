// A graph seen through a grouping of its ops: groups as nodes, summed traffic as edges; and back.
//
// The weight of edge (G, H) is the number of bytes that would cross if G and H lay on two devices:
//   sum of length(u) over the distinct units u = (storage, version, byte range)
//   that G makes or keeps at home and that an op of H reads.
// A unit read by many ops of H counts once, as it crosses once. Views read nothing themselves;
// graph inputs of kind kInput lie everywhere and cross nothing. `after` edges carry 0 bytes.
#ifndef PLACEWRIGHT_GRAPH_CONTRACTION_H_
#define PLACEWRIGHT_GRAPH_CONTRACTION_H_

#include <vector>

#include "base/result.h"
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
// By colocation groups.
ContractedGraph ContractColocation(const Graph& graph);

// A value for each group (a device, say) handed to each op of the group.
template <class T>
IdVector<OpId, T> ExpandToOps(const ContractedGraph& contracted, const IdVector<GroupId, T>& of) {
  IdVector<OpId, T> result(contracted.group_of.size());
  for (OpId op : IdRange<OpId>(result.size())) result[op] = of[contracted.group_of[op]];
  return result;
}

// The reverse: the value of each group's ops, or of an empty group T(). Errors: kPlanMismatch,
// naming the first two ops of one group whose values differ.
template <class T>
Result<IdVector<GroupId, T>> CollapseToGroups(const ContractedGraph& contracted,
                                              const IdVector<OpId, T>& of, const Graph& graph) {
  IdVector<GroupId, T> result(contracted.group_count());
  for (GroupId group : IdRange<GroupId>(contracted.group_count())) {
    const std::span<const OpId> ops = contracted.members[group];
    if (!ops.empty()) result[group] = of[ops[0]];
    for (OpId op : ops) {
      if (of[op] == result[group]) continue;
      return MakeError(ErrorCode::kPlanMismatch, "the ops " + graph.op(ops[0]).name + " and " +
                                                     graph.op(op).name +
                                                     " belong to one group, but differ");
    }
  }
  return result;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_CONTRACTION_H_
