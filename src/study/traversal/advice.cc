#include "study/traversal/advice.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "base/random.h"

namespace placewright {
namespace {

using Point = std::array<double, 3>;

Point PointOf(const GroupGraphStatistics& s) {
  return {std::log(static_cast<double>(std::max<int64_t>(1, s.nodes))),
          std::log(std::max(0.1, s.degree)),
          std::log(static_cast<double>(std::max<int64_t>(1, s.diameter)))};
}

// Standard deviations of the evidence.
Point SpreadOf(const std::vector<TraversalEvidence>& evidence) {
  Point mean{}, spread{};
  const auto n = static_cast<double>(evidence.size());
  for (const TraversalEvidence& one : evidence) {
    const Point point = PointOf(one.statistics);
    for (size_t i = 0; i < 3; ++i) mean[i] += point[i] / n;
  }
  for (const TraversalEvidence& one : evidence) {
    const Point point = PointOf(one.statistics);
    for (size_t i = 0; i < 3; ++i) spread[i] += (point[i] - mean[i]) * (point[i] - mean[i]) / n;
  }
  for (double& one : spread) one = std::max(std::sqrt(one), 0.05);
  return spread;
}

size_t IndexOf(TraversalOrder order) {
  const auto all = AllTraversalOrders();
  return static_cast<size_t>(std::find(all.begin(), all.end(), order) - all.begin());
}

}  // namespace

std::array<int, 3> StudiedDevices(int devices) {
  std::array<int, 3> studied{3, 5, 8};
  std::stable_sort(studied.begin(), studied.end(),
                   [&](int a, int b) { return std::abs(a - devices) < std::abs(b - devices); });
  return studied;
}

std::vector<TraversalEvidence> EvidenceOf(const TraversalStore& store, int devices,
                                          int64_t episodes, TraversalPolicy policy) {
  std::vector<TraversalEvidence> evidence;
  for (const GraphFamily family : StudiedFamilies()) {
    for (const auto& [graph, means] : MeanTimes(store, family, devices, policy, episodes)) {
      TraversalEvidence one{family, graph,
                            family == GraphFamily::kReal
                                ? RealGraphStatistics(graph)
                                : CountGroupGraph(MakeFamilyGraph(family, graph, 1).graph),
                            means};
      const double best = *std::min_element(means.begin(), means.end());
      for (double& ratio : one.to_best) ratio /= best;
      evidence.push_back(one);
    }
  }
  return evidence;
}

std::optional<OrderAdvice> AdviseOrder(const GroupGraphStatistics& statistics,
                                       const std::vector<TraversalEvidence>& evidence,
                                       size_t nearest) {
  if (evidence.empty()) return std::nullopt;
  const Point spread = SpreadOf(evidence), asked = PointOf(statistics);
  std::vector<std::pair<double, size_t>> by_distance;
  for (size_t i = 0; i < evidence.size(); ++i) {
    const Point point = PointOf(evidence[i].statistics);
    double square = 0;
    for (size_t k = 0; k < 3; ++k) {
      const double apart = (point[k] - asked[k]) / spread[k];
      square += apart * apart;
    }
    by_distance.emplace_back(std::sqrt(square), i);
  }
  std::sort(by_distance.begin(), by_distance.end());
  by_distance.resize(std::min(by_distance.size(), nearest));
  OrderAdvice advice;
  advice.distance = by_distance.front().first;
  PerOrder sums{};
  for (const auto& [distance, i] : by_distance) {
    const TraversalEvidence& one = evidence[i];
    advice.nearest.push_back(one);
    const PerOrder win = WinOf(one.to_best);
    for (size_t order = 0; order < kTraversalOrders; ++order) {
      sums[order] += std::log(one.to_best[order]);
      advice.wins[order] += win[order];
    }
  }
  std::array<size_t, kTraversalOrders> ranked{};
  std::iota(ranked.begin(), ranked.end(), 0);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](size_t a, size_t b) { return sums[a] < sums[b]; });
  for (size_t order = 0; order < kTraversalOrders; ++order) {
    advice.to_best[order] = std::exp(sums[order] / static_cast<double>(advice.nearest.size()));
  }
  advice.order = AllTraversalOrders()[ranked[0]];
  return advice;
}

double ChanceOf(const OrderAdvice& advice) {
  constexpr int kDraws = 9999;
  constexpr double kRounding = 1e-12;  // sums in another sequence
  std::vector<PerOrder> logarithms;
  for (const TraversalEvidence& one : advice.nearest) {
    PerOrder& of_graph = logarithms.emplace_back();
    for (size_t order = 0; order < kTraversalOrders; ++order) {
      of_graph[order] = std::log(one.to_best[order]);
    }
  }
  // By how much the best order is ahead of the second best.
  const auto lead = [&] {
    PerOrder sums{};
    for (const PerOrder& of_graph : logarithms) {
      for (size_t order = 0; order < kTraversalOrders; ++order) sums[order] += of_graph[order];
    }
    std::partial_sort(sums.begin(), sums.begin() + 2, sums.end());
    return sums[1] - sums[0];
  };
  const double advised = lead();
  Random random(0);
  int as_far = 1;  // the advice's own
  for (int draw = 0; draw < kDraws; ++draw) {
    for (PerOrder& of_graph : logarithms) {
      for (size_t i = kTraversalOrders; i > 1; --i) {
        std::swap(of_graph[i - 1], of_graph[random.Below(i)]);
      }
    }
    as_far += lead() >= advised - kRounding ? 1 : 0;
  }
  return static_cast<double>(as_far) / (kDraws + 1);
}

AdviceScore ScoreAdvice(const std::vector<TraversalEvidence>& evidence) {
  AdviceScore score;
  double advised = 0, reversed = 0;
  for (const TraversalEvidence& one : evidence) {
    std::vector<TraversalEvidence> others;
    std::copy_if(evidence.begin(), evidence.end(), std::back_inserter(others),
                 [&](const TraversalEvidence& other) { return other.family != one.family; });
    const std::optional<OrderAdvice> advice = AdviseOrder(one.statistics, others);
    if (!advice) continue;
    const double by_advice = one.to_best[IndexOf(advice->order)],
                 always = one.to_best[IndexOf(TraversalOrder::kReversedTopo)];
    ++score.graphs;
    advised += std::log(by_advice);
    reversed += std::log(always);
    if (by_advice < always) ++score.better;
    if (by_advice > always) ++score.worse;
  }
  if (score.graphs == 0) return score;
  score.advised = std::exp(advised / static_cast<double>(score.graphs));
  score.reversed_topo = std::exp(reversed / static_cast<double>(score.graphs));
  return score;
}

}  // namespace placewright
