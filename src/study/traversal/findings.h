// What the runs of the traversal-order study say: Tables II-IV of the paper, and whether their counts
// are more than chance.
//
// A win is the lowest mean over the repeats (sec. IV-C); orders with equal means share it. Beside the
// counts: Friedman's test that the orders are alike, over graphs; of each order, Wilcoxon's signed
// ranks of its means against those of a control in the same order, corrected by Holm's method over the
// orders; and the median over graphs of the worst order's mean over the best's. A learned policy has three controls:
// uniform draws, the same first network, which learns nothing, and the policy that learns from rewards of the other
// sign. Where opposite rewards lead to the same steps, what differs from the first network is no effect of the reward,
// but of what both do besides: the bonus for entropy draws a policy toward uniform draws.
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

// Against a control, over graphs that have both: by order the median ratio of means, and p.
struct ControlFinding {
  TraversalPolicy control = TraversalPolicy::kUniform;
  size_t graphs = 0;
  PerOrder ratio{}, p{};
};

struct TraversalFinding {
  GraphFamily family = GraphFamily::kCifar10;
  int devices = 0;
  int64_t episodes = 0;
  size_t graphs = 0;  // with runs under the policy
  int repeats = 0;    // of each, the fewest
  PerOrder wins{};
  std::optional<std::array<int, kTraversalOrders>> published;
  double friedman_p = 1;
  double worst_to_best = 1;              // median over graphs
  std::vector<ControlFinding> controls;  // of learned policies
};

// Of all families and numbers of devices, after 10, 20 and 50 episodes (or of the long runs, after 500);
// those without runs are left out.
std::vector<TraversalFinding> FindTraversalResults(const TraversalStore& store,
                                                   TraversalPolicy policy);
// What a policy is compared with; nothing where it is a control itself.
std::span<const TraversalPolicy> ControlsOf(TraversalPolicy policy);

// By graph, the mean nanoseconds of each order over all repeats that are there; of runs of 50 episodes,
// or beyond that of as many.
std::map<int, PerOrder> MeanTimes(const TraversalStore& store, GraphFamily family, int devices,
                                  TraversalPolicy policy, int64_t episodes);

// Friedman's statistic over `blocks` of as many values as there are orders; ties share ranks. 0 where all are equal.
double FriedmanStatistic(std::span<const PerOrder> blocks);
// Its p: of up to 20 blocks the share of 9,999 draws (and of what was found itself) in which values change places
// within their blocks and the statistic is as large, as chi-square is rough there; beyond that the tail of chi-square.
// 1 without blocks.
double FriedmanP(std::span<const PerOrder> blocks);
// The tail of chi-square with 5 degrees of freedom.
double ChiSquareTail(double x);
// Of the middle two of an even number the mean; 1 of none.
double MedianOf(std::vector<double> values);
// One win, shared alike by the orders whose mean is the lowest.
PerOrder WinOf(const PerOrder& means);
// Two-sided p of Wilcoxon's signed ranks, exact (ties share ranks, zeros are left out). 1 without any.
double WilcoxonP(std::span<const double> differences);
// Holm's correction: each p as compared with 0.05.
std::vector<double> HolmCorrected(std::span<const double> ps);

}  // namespace placewright

#endif  // PLACEWRIGHT_STUDY_TRAVERSAL_FINDINGS_H_
