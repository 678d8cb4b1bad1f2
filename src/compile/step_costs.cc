#include "compile/step_costs.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "cost/communication.h"
#include "cost/slowest.h"

namespace placewright {
namespace {

// Of ops whose instances are on several GPUs of one kind: each is taken to be as slow as the slowest of these.
IdVector<OpId, double> SlowestOfEach(const DistributedStep& step, const Cluster& cluster) {
  struct Use {
    OpId origin;
    int32_t kind;
    DeviceId device;
    auto operator<=>(const Use&) const = default;
  };
  const auto use_of = [&](OpId op) {
    const DeviceId device = step.placement[op];
    return Use{step.origin[op], cluster.device(device).kind, device};
  };
  std::vector<Use> uses;
  for (const OpId op : step.graph.ops()) {
    const bool gpu = cluster.kind(step.placement[op]).device_class == DeviceClass::kGpu;
    if (gpu && step.origin[op].valid()) uses.push_back(use_of(op));
  }
  std::sort(uses.begin(), uses.end());
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  std::vector<double> by_count = {1, 1};
  IdVector<OpId, double> factors(step.graph.op_count(), 1);
  for (const OpId op : step.graph.ops()) {
    if (!step.origin[op].valid()) continue;
    const auto same = [](const Use& a, const Use& b) {
      return std::tie(a.origin, a.kind) < std::tie(b.origin, b.kind);
    };
    const auto [from, to] = std::equal_range(uses.begin(), uses.end(), use_of(op), same);
    const size_t count = static_cast<size_t>(to - from);
    while (by_count.size() <= count) {
      by_count.push_back(SlowestOf(static_cast<int32_t>(by_count.size())));
    }
    factors[op] = by_count[count];
  }
  return factors;
}

}  // namespace

Result<CostTable> CostsOfStep(const DistributedStep& step, const Graph& original,
                              const Communication& communication, const CostOptions& options,
                              CostModelReport* report) {
  IdVector<OpId, const Op*> originals;
  for (const OpId op : step.graph.ops()) {
    const OpId origin = step.origin[op];
    originals.push_back(origin.valid() ? &original.op(origin) : nullptr);
  }
  CostOptions of_step = options;
  of_step.devices = &step.placement;
  of_step.originals = &originals;
  const IdVector<OpId, double> slower = SlowestOfEach(step, communication.cluster());
  of_step.slower = &slower;
  PW_ASSIGN(CostTable costs, ModelCosts(step.graph, communication.cluster(), of_step, report));
  PW_ASSIGN(auto collectives, CollectiveCosts(step.graph, step.placement, communication));
  costs.SetCollectives(std::move(collectives));
  costs.SetCompiled();
  return costs;
}

}  // namespace placewright
