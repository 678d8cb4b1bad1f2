#include "bench/harness/traversal/guidelines.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace placewright {
namespace {

constexpr int64_t kEpisodes = 50;

// Logarithm of the mean step of some orders over that of the others.
double LeadOf(const TraversalEvidence& graph, const std::vector<TraversalOrder>& orders) {
  double recommended = 0, others = 0;
  for (size_t i = 0; i < kTraversalOrders; ++i) {
    const bool has = std::count(orders.begin(), orders.end(), AllTraversalOrders()[i]) > 0;
    (has ? recommended : others) += std::log(graph.to_best[i]);
  }
  const auto count = static_cast<double>(orders.size());
  return recommended / count - others / (kTraversalOrders - count);
}

}  // namespace

bool Guideline::IsFor(const TraversalEvidence& graph) const {
  const GroupGraphStatistics& has = graph.statistics;
  return (!family || graph.family == *family) && has.nodes > more_groups_than &&
         has.diameter > diameter_above && has.diameter <= diameter_up_to;
}

std::span<const Guideline> Guidelines() {
  using enum TraversalOrder;
  static const std::vector<Guideline> guidelines = {
      {"an order that goes backward is good in general", {kReversedTopo, kDfsPostorder}, {}},
      {"bfs is good above 200 groups with a directed diameter above 100", {kBfs}, {}, 200, 100},
      {"on cifar10: backward orders", {kReversedTopo, kDfsPostorder}, GraphFamily::kCifar10},
      {"on cifar10 up to a diameter of 100: depth first",
       {kDfsPreorder, kDfsPostorder},
       GraphFamily::kCifar10,
       0,
       0,
       100},
      {"on cifar10 above a diameter of 100: topological",
       {kTopo, kReversedTopo},
       GraphFamily::kCifar10,
       0,
       100},
      {"on nmt, with attention: reversed-topo", {kReversedTopo}, GraphFamily::kNmt},
      {"on ptb, of high degree: bfs", {kBfs}, GraphFamily::kPtb}};
  return guidelines;
}

std::vector<GuidelineFinding> JudgeGuidelines(const TraversalStore& store, TraversalPolicy policy) {
  std::vector<std::vector<TraversalEvidence>> by_devices;
  for (const int devices : {3, 5, 8}) {
    by_devices.push_back(EvidenceOf(store, devices, kEpisodes, policy));
  }
  std::vector<GuidelineFinding> findings;
  std::vector<double> ps;
  for (const Guideline& guideline : Guidelines()) {
    std::map<std::pair<GraphFamily, int>, std::vector<double>> leads;  // by graph
    for (const std::vector<TraversalEvidence>& evidence : by_devices) {
      for (const TraversalEvidence& graph : evidence) {
        if (!guideline.IsFor(graph)) continue;
        leads[{graph.family, graph.graph}].push_back(LeadOf(graph, guideline.orders));
      }
    }
    std::vector<double> means;
    for (const auto& [graph, of_graph] : leads) {
      double sum = 0;
      for (const double lead : of_graph) sum += lead;
      means.push_back(sum / static_cast<double>(of_graph.size()));
    }
    GuidelineFinding& finding = findings.emplace_back();
    finding.graphs = means.size();
    finding.ratio = std::exp(means.empty() ? 0 : MedianOf(means));
    ps.push_back(WilcoxonP(means));
  }
  const std::vector<double> corrected = HolmCorrected(ps);
  for (size_t i = 0; i < findings.size(); ++i) {
    findings[i].p = corrected[i];
    if (corrected[i] > 0.05) continue;
    findings[i].verdict = findings[i].ratio < 1 ? Verdict::kHolds : Verdict::kFails;
  }
  return findings;
}

std::vector<FamilyAdvice> AdviseFamilies(const TraversalStore& store) {
  std::vector<FamilyAdvice> advised;
  for (const int devices : {3, 5, 8}) {
    const std::vector<TraversalEvidence> all = EvidenceOf(store, devices, kEpisodes);
    for (const GraphFamily family : StudiedFamilies()) {
      std::vector<TraversalEvidence> own;
      std::copy_if(all.begin(), all.end(), std::back_inserter(own),
                   [&](const TraversalEvidence& one) { return one.family == family; });
      if (own.empty()) continue;
      OrderAdvice advice = *AdviseOrder(own.front().statistics, own, own.size());
      const double chance = ChanceOf(advice);
      advised.push_back({family, devices, std::move(advice), chance});
    }
  }
  return advised;
}

}  // namespace placewright
