// Cutting a graph into parts of given shares with little weight between them: METIS and Scotch on
// undirected graphs, and an acyclic partitioning of our own on directed ones.
//
// METIS draws from libc's rand() and Scotch from a generator of its library: all calls of both run
// under one mutex, on one thread, with the generator seeded for each, so that the same input gives
// the same parts in every run and from any thread of the caller.
//
// Signals: METIS takes SIGTERM and SIGABRT for itself while it runs; they are given back as they
// were, and SIGTERM waits until then, but in the calling thread only: in another one METIS's
// handler would jump to nowhere. So METIS runs on no worker (Planner::on_calling_thread), workers
// of our pools block all signals, and a program with threads of its own that may be sent SIGTERM
// has to block it in them (pthread_sigmask).
#ifndef PLACEWRIGHT_GRAPH_PARTITION_PARTITION_H_
#define PLACEWRIGHT_GRAPH_PARTITION_PARTITION_H_

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace placewright {

struct WeightedEdge {
  int32_t to;
  int64_t weight;  // >= 0
};

// Nodes 0 .. n-1. In an undirected graph every edge is in both rows with the same weight; there are
// no self-loops and no repeated edges (`MakeUndirected` sees to that).
struct WeightedGraph {
  std::vector<int32_t> offsets{0};
  std::vector<WeightedEdge> edges;
  // [constraint][node], each >= 0, one or two constraints (time, or time and memory).
  std::vector<std::vector<int64_t>> weights;

  int32_t nodes() const { return static_cast<int32_t>(offsets.size()) - 1; }
};

// The undirected graph of a directed one: weights of both directions and of repeated edges add up
// (saturating at kMaxQuantity), self-loops go. Complexity: O(nodes + edges log degree).
WeightedGraph MakeUndirected(const WeightedGraph& directed);

struct PartitionOptions {
  // [part][constraint], shares of the total, each >= 0; equal for all parts if empty. A part of
  // share 0 stays (nearly) empty.
  std::vector<std::vector<double>> shares;
  int parts = 2;            // 1 .. 1024
  double imbalance = 0.05;  // a part may exceed its share of a constraint by this, where possible
  uint64_t seed = 0;
};

// The part of each node. Balance is aimed at, not promised. The libraries count in 32 bits, so
// weights are scaled down where their sum needs more (a node keeps at least weight 1).
// Errors: kInternal, with the library's word for it (out of memory).
//
// METIS 5.1, multilevel recursive bisection (Karypis and Kumar 1998).
Result<std::vector<int32_t>> PartitionMetis(const WeightedGraph& graph,
                                            const PartitionOptions& options);
// Scotch 7: static mapping onto a complete graph with weighted nodes (Pellegrini 1994). It knows
// one constraint: the first.
Result<std::vector<int32_t>> PartitionScotch(const WeightedGraph& graph,
                                             const PartitionOptions& options);

// Parts 0 .. p-1 such that every edge of the *directed* graph leads to the same or a later part, so
// that the graph of parts has no cycle. Nodes on a common cycle stay together.
//
// Method: strongly connected components are contracted; several topological orders are cut into
// contiguous runs by dynamic programming, which minimises the weight of the edges that cross a cut,
// summed over the cuts, under weight(run) <= (1 + imbalance) * share * total, relaxed until
// possible; then nodes move to other parts between those of their neighbours while the cut falls
// and balance allows (the constraint of Moreira et al. 2017 and Herrmann et al. 2019, who start
// from recursive bisection instead). The order with the smallest cut wins. Only the first
// constraint counts. Complexity: O(orders * (nodes * parts + edges)). No randomness: `seed` is not
// used.
std::vector<int32_t> PartitionAcyclic(const WeightedGraph& graph, const PartitionOptions& options);

// Asynchronous fluid communities (Pares et al. 2017), as networkx has them: a community of n nodes
// has the density 1/n, and each node in random order joins the community with the most density
// among its own and its neighbours', until none moves or after 100 rounds. Neither weights nor
// shares count. Deviation: a node that no community reaches (in graphs of several components) joins
// that of the node before it. A part is empty only where there are fewer nodes than parts.
std::vector<int32_t> PartitionFluid(const WeightedGraph& graph, const PartitionOptions& options);

// Sum of weights of edges between parts, each edge of each row once; saturating.
int64_t CutWeight(const WeightedGraph& graph, const std::vector<int32_t>& part_of);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_PARTITION_PARTITION_H_
