#include "cli/request/rank_prediction.h"

#include <cmath>
#include <utility>
#include <vector>

#include "cli/request/measured_prediction.h"
#include "sim/contention.h"

namespace placewright {
namespace {

int64_t Scaled(int64_t count, double by) {
  return static_cast<int64_t>(std::ceil(static_cast<double>(count) * by));
}

Cluster SlowerLinks(Cluster cluster, double slower) {
  for (const LinkId id : cluster.links()) {
    const Link link = cluster.link(id);
    cluster.SetLink(id, BytesPerSecond(Scaled(link.bandwidth.count, 1 / slower)),
                    Nanos(Scaled(link.latency.count, slower)), link.source);
  }
  return cluster;
}

IdVector<CollectiveId, CostTable::CollectiveCost> SlowerCollectives(const CostTable& costs,
                                                                    double slower) {
  IdVector<CollectiveId, CostTable::CollectiveCost> collectives = costs.collectives();
  for (CostTable::CollectiveCost& one : collectives) {
    one.time = Nanos(Scaled(one.time.count, slower));
  }
  return collectives;
}

}  // namespace

std::optional<Nanos> PredictOverRanks(const PlanInputs& loaded, const Placement& placement,
                                      const IdVector<DeviceId, int32_t>& rank_of) {
  const Graph& graph = loaded.graph.graph;
  const Cluster& described = loaded.cluster.cluster;
  bool cores = !rank_of.empty();
  for (const DeviceId device : described.devices()) {
    cores = cores && described.kind(device).device_class == DeviceClass::kCpu;
  }
  if (!cores) return std::nullopt;
  // Of what crosses beside ops, ops wait for it as long as it does for them: a core gives both half its time.
  // Longer ops and exchanges meet differently again.
  constexpr int kPasses = 5;
  std::optional<Nanos> time;
  CostTable costs = loaded.costs;
  Cluster cluster = described;
  double slower = 1;  // exchanges, than alone
  for (int pass = 0; pass < kPasses; ++pass) {
    const SimResult result =
        Predict(graph, cluster, costs, placement, loaded.plan.policy, &loaded.sequences).result;
    if (pass > 0) time = result.step_time;
    Nanos all, beside;
    std::vector<Nanos> more;
    for (const ExchangeTime& of : ExchangeTimesOf(graph, placement, *result.schedule, rank_of)) {
      all += of.all;
      beside += of.beside_ops;
      const double alone = static_cast<double>(of.beside_ops.count) / slower;
      more.emplace_back(static_cast<int64_t>(alone));
    }
    if (beside.count == 0) break;
    costs = LongerCosts(loaded.costs, graph, placement, more);
    slower = 1 + static_cast<double>(beside.count) / static_cast<double>(all.count);
    cluster = SlowerLinks(described, slower);
    costs.SetCollectives(SlowerCollectives(loaded.costs, slower));
  }
  return time;
}

}  // namespace placewright
