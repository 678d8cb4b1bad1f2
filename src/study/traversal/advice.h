// Which traversal order a graph is best visited in, by what the study found on graphs like it.
//
// Graphs are alike by how many groups they have, edges for each, and their diameter (the paper's sec.
// IV-D: guidelines by size, degree and diameter), each as a logarithm over its spread in the study. An
// order is judged by its mean step over the best order's, averaged over the nearest graphs, on the
// number of devices nearest to the one asked for; runs are those with Placeto's sign.
#ifndef PLACEWRIGHT_STUDY_TRAVERSAL_ADVICE_H_
#define PLACEWRIGHT_STUDY_TRAVERSAL_ADVICE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "study/traversal/findings.h"
#include "study/traversal/group_graph.h"

namespace placewright {

inline constexpr size_t kNearestGraphs = 7;

// One graph of the study.
struct TraversalEvidence {
  GraphFamily family = GraphFamily::kCifar10;
  int graph = 0;
  GroupGraphStatistics statistics;
  PerOrder to_best{};  // mean step over that of the best order
};
// All graphs with runs on so many devices, after so many episodes, those of `real` among them.
std::vector<TraversalEvidence> EvidenceOf(const TraversalStore& store, int devices,
                                          int64_t episodes,
                                          TraversalPolicy policy = TraversalPolicy::kImprovement);
// 3, 5 and 8, those nearest to `devices` first.
std::array<int, 3> StudiedDevices(int devices);

struct OrderAdvice {
  TraversalOrder order = TraversalOrder::kReversedTopo;
  PerOrder to_best{};                      // averaged over the nearest graphs
  PerOrder wins{};                         // of these; equal ones share a win
  std::vector<TraversalEvidence> nearest;  // the nearest first
  double distance = 0;                     // of the nearest, in spreads
};
// Of the `nearest` graphs, or of all where there are fewer. Nothing without evidence.
std::optional<OrderAdvice> AdviseOrder(const GroupGraphStatistics& statistics,
                                       const std::vector<TraversalEvidence>& evidence,
                                       size_t nearest = kNearestGraphs);

// How likely the best order would be as far ahead of the second best if the orders were alike: the share
// of 9,999 draws in which every nearest graph's means change places among the orders (and of the advice
// itself). That the best was chosen is in it, as it is not in a test of these two orders.
double ChanceOf(const OrderAdvice& advice);

// The advice for every graph from those of the other families alone, beside taking reversed-topo
// always: mean steps over the best order's.
struct AdviceScore {
  size_t graphs = 0;
  double advised = 1, reversed_topo = 1;  // geometric means
  size_t better = 0, worse = 0;  // graphs on which the advice beats reversed-topo, loses to it
};
AdviceScore ScoreAdvice(const std::vector<TraversalEvidence>& evidence);

}  // namespace placewright

#endif  // PLACEWRIGHT_STUDY_TRAVERSAL_ADVICE_H_
