// What the runs of the traversal-order study say: Tables II-IV of the paper, and whether their counts
// are more than chance.
//
// A win is the lowest mean over the repeats (sec. IV-C); orders with equal means share it. Beside the
// counts: Friedman's test that the orders are alike, over graphs; of each order, Wilcoxon's signed
// ranks of its means against those of a control in the same order, corrected by Holm's method over the
// orders; and the median over graphs of the worst order's mean over the best's. What survives the
// untrained control (the same first network, which learns nothing) is due to learning.
#ifndef PLACEWRIGHT_STUDY_TRAVERSAL_FINDINGS_H_
#define PLACEWRIGHT_STUDY_TRAVERSAL_FINDINGS_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "study/traversal/runs.h"

namespace placewright {

inline constexpr size_t kTraversalOrders = 6;  // in the order of AllTraversalOrders
using PerOrder = std::array<double, kTraversalOrders>;

struct TraversalFinding {
  GraphFamily family = GraphFamily::kCifar10;
  int devices = 0;
  int64_t episodes = 0;
  size_t graphs = 0;  // with runs under the policy
  int repeats = 0;    // of each, the fewest
  PerOrder wins{};
  std::optional<std::array<int, kTraversalOrders>> published;
  double friedman_p = 1;
  double worst_to_best = 1;  // median over graphs
  // Against the control, over graphs that have both: the median ratio of means, and p.
  size_t controlled = 0;
  PerOrder to_control{}, control_p{};
};

// Of all families and numbers of devices, after 10, 20 and 50 episodes (or of the long runs, after 500);
// those without runs are left out.
std::vector<TraversalFinding> FindTraversalResults(const TraversalStore& store,
                                                   TraversalPolicy policy, TraversalPolicy control);

// By graph, the mean nanoseconds of each order over all repeats that are there; of runs of 50 episodes,
// or beyond that of as many.
std::map<int, PerOrder> MeanTimes(const TraversalStore& store, GraphFamily family, int devices,
                                  TraversalPolicy policy, int64_t episodes);

// p of Friedman's test over `blocks` of as many values as there are orders (ties share ranks): the
// chi-square approximation with 5 degrees of freedom. 1 without blocks.
double FriedmanP(std::span<const PerOrder> blocks);
// One win, shared alike by the orders whose mean is the lowest.
PerOrder WinOf(const PerOrder& means);
// Two-sided p of Wilcoxon's signed ranks, exact (ties share ranks, zeros are left out). 1 without any.
double WilcoxonP(std::span<const double> differences);
// Holm's correction: each p as compared with 0.05.
std::vector<double> HolmCorrected(std::span<const double> ps);

}  // namespace placewright

#endif  // PLACEWRIGHT_STUDY_TRAVERSAL_FINDINGS_H_
