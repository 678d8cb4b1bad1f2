#include "compile/step_costs.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "cost/communication.h"
#include "cost/instance_costs.h"
#include "cost/slowest.h"
#include "cost/work.h"
#include "sharding/separable_results.h"

namespace placewright {
namespace {

// Of ops whose instances are on several GPUs of one kind: each is taken to be as slow as the slowest of these.
IdVector<OpId, double> SlowestOfEach(const DistributedStep& step, const Cluster& cluster,
                                     const StepLanes* lanes) {
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
  SlowestOfMany slowest;
  IdVector<OpId, double> factors(step.graph.op_count(), 1);
  for (const OpId op : step.graph.ops()) {
    if (!step.origin[op].valid()) continue;
    const auto same = [](const Use& a, const Use& b) {
      return std::tie(a.origin, a.kind) < std::tie(b.origin, b.kind);
    };
    const auto [from, to] = std::equal_range(uses.begin(), uses.end(), use_of(op), same);
    int64_t gpus = 0;
    for (auto use = from; use != to; ++use) gpus += DevicesLike(lanes, use->device);
    factors[op] = slowest.Of(static_cast<size_t>(gpus));
  }
  return factors;
}

// Two ops that make the results of one between them, on one device.
struct Separated {
  OpId first, second;
  Op whole;
};

// What makes other results than its origin, beside another one on its device.
std::vector<Separated> SeparatedOps(const DistributedStep& step, const Graph& original) {
  std::map<std::pair<OpId, DeviceId>, std::vector<OpId>> parts;
  for (const OpId op : step.graph.ops()) {
    const OpId origin = step.origin[op];
    const auto mask = origin.valid() ? SeparableResults(step.graph.op(op)) : std::nullopt;
    if (!mask || *mask == SeparableResults(original.op(origin))) continue;
    parts[{origin, step.placement[op]}].push_back(op);
  }
  std::vector<Separated> separated;
  for (const auto& [place, ops] : parts) {
    if (ops.size() != 2) continue;
    const Op &first = step.graph.op(ops[0]), &second = step.graph.op(ops[1]);
    if (first.inputs != second.inputs) continue;
    Op both = first;
    both.outputs.insert(both.outputs.end(), second.outputs.begin(), second.outputs.end());
    std::stable_sort(both.outputs.begin(), both.outputs.end(), [&](TensorId a, TensorId b) {
      return step.graph.tensor(a).output_index < step.graph.tensor(b).output_index;
    });
    GradientMask mask = *SeparableResults(first);
    for (size_t i = 0; i < mask.size(); ++i) {
      mask[i] = mask[i] || (*SeparableResults(second))[i];
    }
    separated.push_back({ops[0], ops[1], WithResults(step.graph, both, mask)});
  }
  return separated;
}

// Both have been given the time of the whole.
void ShareTime(const DistributedStep& step, const Separated& one, CostTable& costs) {
  const DeviceId device = step.placement[one.first];
  const Nanos time = costs.time(one.first, device);
  if (time == CostTable::kUnsupported) return;
  const Nanos first = TimeOfFirst(time, ShareOfFirst(WorkOf(step.graph, one.first).flops,
                                                     WorkOf(step.graph, one.second).flops));
  costs.SetTime(one.first, device, first);
  costs.SetTime(one.second, device, time - first);
}

}  // namespace

double ShareOfFirst(double first_flops, double second_flops) {
  const double all = first_flops + second_flops;
  return all > 0 ? first_flops / all : 0.5;
}

Nanos TimeOfFirst(Nanos whole, double share) {
  return Nanos(static_cast<int64_t>(static_cast<double>(whole.count) * share));
}

namespace {

// Without its collectives.
Result<CostTable> CostsOfOps(const DistributedStep& step, const Graph& original,
                             const Cluster& cluster, const StepLanes* lanes,
                             const CostOptions& options, CostModelReport* report) {
  StepInstances instances{.devices = step.placement,
                          .originals = {},
                          .slower = SlowestOfEach(step, cluster, lanes),
                          .wholes = IdVector<OpId, const Op*>(step.graph.op_count(), nullptr)};
  for (const OpId op : step.graph.ops()) {
    const OpId origin = step.origin[op];
    instances.originals.push_back(origin.valid() ? &original.op(origin) : nullptr);
  }
  const std::vector<Separated> separated = SeparatedOps(step, original);
  for (const Separated& one : separated) {
    instances.wholes[one.first] = &one.whole;
    instances.wholes[one.second] = &one.whole;
  }
  PW_ASSIGN(CostTable costs, ModelInstanceCosts(step.graph, cluster, options, instances, report));
  for (const Separated& one : separated) ShareTime(step, one, costs);
  for (size_t i = 0; i < step.in_kernel.size(); ++i) {
    const DeviceId device = step.placement[OpId(i)];
    const bool gpu = cluster.kind(device).device_class == DeviceClass::kGpu;
    if (gpu && step.in_kernel[i] != 0) costs.SetTime(OpId(i), device, Nanos());
  }
  costs.SetCompiled();
  return costs;
}

}  // namespace

Result<CostTable> CostsOfStep(const DistributedStep& step, const Graph& original,
                              const Communication& communication, const CostOptions& options,
                              CostModelReport* report) {
  PW_ASSIGN(CostTable costs,
            CostsOfOps(step, original, communication.cluster(), nullptr, options, report));
  PW_ASSIGN(auto collectives, CollectiveCosts(step.graph, step.placement, communication));
  costs.SetCollectives(std::move(collectives));
  return costs;
}

Result<CostTable> CostsOfStep(const StepInLanes& in_lanes, const Graph& original,
                              const Communication& communication, const CostOptions& options,
                              CostModelReport* report) {
  PW_ASSIGN(CostTable costs, CostsOfOps(in_lanes.step, original, communication.cluster(),
                                        &in_lanes.lanes, options, report));
  costs.SetCollectives(in_lanes.collectives);
  return costs;
}

}  // namespace placewright
