#include "search/tag/strategy_work.h"

#include <algorithm>
#include <limits>

#include "graph/contraction.h"
#include "search/floors/part_floors.h"
#include "search/layouts/layout_devices.h"

namespace placewright {

StrategyWork::StrategyWork(const LayoutProblem& problem, const Strategies& strategies)
    : problem_(problem), strategies_(strategies), kinds_(problem.cluster.kinds().size()) {
  FindWork();
  FindEdges();
  FindUses();
}

const UnitWork& StrategyWork::Of(size_t unit, DeviceId device) const {
  return work_[unit * kinds_ + static_cast<size_t>(problem_.cluster.device(device).kind)];
}

void StrategyWork::FindWork() {
  const PartFloors floors(problem_);
  const Graph& graph = problem_.graph;
  const AxisId batch = problem_.axes.batch();
  std::vector<DeviceId> one_of(kinds_);
  for (const std::vector<DeviceId>& group : strategies_.device_groups()) {
    one_of[static_cast<size_t>(problem_.cluster.device(group.front()).kind)] = group.front();
  }
  const Csr<GroupId, OpId> members = graph.GroupMembers();
  work_.resize(strategies_.units().size() * kinds_);
  for (size_t unit = 0; unit < strategies_.units().size(); ++unit) {
    for (const GroupId group : strategies_.units()[unit]) {
      for (const OpId op : members[group]) {
        const bool split = batch.valid() && problem_.axes.SplitBy(op, batch).valid();
        for (size_t kind = 0; kind < kinds_; ++kind) {
          if (!one_of[kind].valid()) continue;
          const auto whole = std::max(0.0, static_cast<double>(floors.Whole(op, one_of[kind])));
          UnitWork& work = work_[unit * kinds_ + kind];
          if (split) {
            const auto launch = static_cast<double>(floors.Fixed(op, one_of[kind]));
            work.fixed += std::min(whole, launch);
            work.shared += whole - std::min(whole, launch);
          } else if (graph.op(op).phase == Phase::kOptimizer) {
            work.update += whole;
          } else {
            work.fixed += whole;
          }
        }
      }
    }
  }
}

void StrategyWork::FindEdges() {
  const Graph& graph = problem_.graph;
  const size_t units = strategies_.units().size();
  const auto node = [&](OpId op) {
    const int32_t unit = strategies_.unit_of()[graph.group(op)];
    return unit < 0 ? GroupId(units) : GroupId(unit);
  };
  IdVector<OpId, GroupId> node_of;
  for (const OpId op : graph.ops()) node_of.push_back(node(op));
  const ContractedGraph contracted = Contract(graph, node_of, units + 1);
  for (const GroupId from : IdRange<GroupId>(units)) {
    for (const GroupEdge& edge : contracted.successors[from]) {
      if (edge.group.index() >= units) continue;
      edges_.push_back({from.index(), edge.group.index(), static_cast<double>(edge.bytes.count)});
    }
  }
  gradients_.assign(units, 0);
  const IdVector<GroupId, double> gradients = GradientBytes(graph);
  for (size_t unit = 0; unit < units; ++unit) {
    for (const GroupId group : strategies_.units()[unit]) gradients_[unit] += gradients[group];
  }
}

double StrategyWork::RateBetween(DeviceId from, DeviceId to) const {
  if (from == to) return std::numeric_limits<double>::infinity();
  if (!problem_.cluster.Connected(from, to)) return 1e-9;
  return static_cast<double>(problem_.cluster.route(from, to).bandwidth.count) * 1e-9;
}

// Of a ring over its devices in their order.
double StrategyWork::RateWithin(const Slice& slice) const {
  double narrowest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < slice.devices.size(); ++i) {
    const DeviceId next = slice.devices[(i + 1) % slice.devices.size()];
    narrowest = std::min(narrowest, RateBetween(slice.devices[i], next));
  }
  return narrowest;
}

void StrategyWork::FindUses() {
  const std::vector<std::vector<DeviceId>>& groups = strategies_.device_groups();
  const auto samples = static_cast<double>(std::max<int64_t>(1, problem_.axes.samples()));
  for (const Slice& slice : strategies_.slices()) {
    SliceUse use;
    use.rate = RateWithin(slice);
    const auto n = static_cast<double>(slice.devices.size());
    double speeds = 0;
    for (const DeviceId device : slice.devices) {
      speeds += 1 / std::max(1.0, strategies_.device_times().Total(device));
    }
    for (const int32_t number : slice.groups) {
      // A slice may have some devices of a group alone.
      double d = 0;
      DeviceId first;
      for (const DeviceId device : groups[static_cast<size_t>(number)]) {
        const bool has = std::binary_search(slice.devices.begin(), slice.devices.end(), device);
        if (has && !first.valid()) first = device;
        d += has ? 1 : 0;
      }
      use.widest = std::max(use.widest, 2 * d * (n - d) / n);
      if (slice.groups.size() == 1) use.widest = 2 * (n - 1) / n;
      double share = 1;
      if (slice.option == SliceOption::kModelParallel) {
        share = 1 / std::max(1.0, strategies_.device_times().Total(first)) / speeds;
      } else if (!slice.shares.empty()) {
        const auto at = std::lower_bound(slice.devices.begin(), slice.devices.end(), first);
        share = static_cast<double>(slice.shares[static_cast<size_t>(at - slice.devices.begin())]) /
                samples;
      }
      use.share.push_back(share);
      use.has.push_back(share * d);
    }
    uses_.push_back(std::move(use));
  }
}

}  // namespace placewright
