#include "learn/units/cost_features.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "search/constructive/mean_transfer.h"

namespace placewright {
namespace {

// Appends numbers to a row of a table.
class Row {
 public:
  explicit Row(float* at) : at_(at) {}
  void Add(double value) { *at_++ = static_cast<float>(value); }
  void AddPlace(double place) {
    constexpr double kPi = 3.14159265358979323846;
    Add(place);
    for (int k = 0; k < kPlaceHarmonics; ++k) {
      const double angle = kPi * std::ldexp(place, k);
      Add(std::sin(angle));
      Add(std::cos(angle));
    }
  }
  const float* end() const { return at_; }

 private:
  float* at_;
};

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// By exec op: when it could begin, and how much then follows, its own time included, if every op
// took its shortest time and nothing was moved.
struct Levels {
  IdVector<ExecOpId, double> begin, rest;
  double length = 0;  // of the longest path
};

Levels FindLevels(const Problem& problem, const OpGraph& graph) {
  const auto time = [&](ExecOpId op) {
    return static_cast<double>(std::max<int64_t>(0, problem.sim_graph.min_time[op]));
  };
  Levels levels{IdVector<ExecOpId, double>(graph.group_of.size(), 0),
                IdVector<ExecOpId, double>(graph.group_of.size(), 0)};
  for (const ExecOpId op : graph.order) {
    const double end = levels.begin[op] + time(op);
    levels.length = std::max(levels.length, end);
    for (const ExecOpId next : graph.Successors(op)) {
      levels.begin[next] = std::max(levels.begin[next], end);
    }
  }
  for (auto it = graph.order.rbegin(); it != graph.order.rend(); ++it) {
    double after = 0;
    for (const ExecOpId next : graph.Successors(*it)) after = std::max(after, levels.rest[next]);
    levels.rest[*it] = after + time(*it);
  }
  return levels;
}

// Of a unit, from those of its groups.
struct UnitCosts {
  double time = 0, persistent = 0, live = 0, read = 0;
  double begin = 0, rest = 0;  // of its ops, weighted by their times
  double work_before = 0, bytes_before_leader = 0;
  bool forward = false;
};

IdVector<ColocationGroupId, double> BytesRead(const OpGraph& graph, size_t groups) {
  IdVector<ColocationGroupId, double> bytes(groups, 0);
  for (const ExecOpId op : graph.exec_ops()) {
    for (const OpInput& input : graph.Inputs(op)) {
      const ColocationGroupId source = graph.SourceOf(input);
      if (source.valid() && source != graph.group_of[op]) {
        bytes[source] += static_cast<double>(input.length);
      }
    }
  }
  return bytes;
}

std::vector<UnitCosts> CostsOfUnits(const Problem& problem, const OpGraph& graph,
                                    const GroupInfos& groups, const PlacementUnits& units,
                                    const Levels& levels) {
  const IdVector<ColocationGroupId, double> read = BytesRead(graph, groups.size());
  IdVector<ColocationGroupId, double> work_before(groups.size(), 0), bytes_before(groups.size(), 0);
  const IdVector<ColocationGroupId, int64_t> leader_bytes = LeaderBytes(groups);
  double work = 0, bytes = 0;
  for (const ColocationGroupId group : GroupsByPosition(groups)) {
    work_before[group] = work;
    bytes_before[group] = bytes;
    work += static_cast<double>(groups[group].time);
    bytes += static_cast<double>(leader_bytes[group]);
  }
  std::vector<UnitCosts> costs;
  for (size_t unit = 0; unit < units.groups.size(); ++unit) {
    UnitCosts& of_unit = costs.emplace_back();
    for (const ColocationGroupId id : units.groups[unit]) {
      const GroupInfo& group = groups[id];
      of_unit.time += static_cast<double>(group.time);
      of_unit.persistent += static_cast<double>(group.persistent);
      of_unit.live += static_cast<double>(group.live_at_peak);
      of_unit.read += read[id];
      of_unit.forward |= group.forward;
    }
    const auto count = static_cast<double>(units.groups[unit].size());
    for (const ColocationGroupId id : units.groups[unit]) {
      of_unit.work_before += Ratio(work_before[id], work) / count;
      of_unit.bytes_before_leader += Ratio(bytes_before[groups[id].leader], bytes) / count;
    }
    double weights = 0;
    for (const OpId op : units.ops[unit]) {
      const ExecOpId exec = problem.sim_graph.exec_of[op];
      if (!exec.valid()) continue;
      // Ops that take no time count a little, so that units of them alone have a place.
      const double weight =
          static_cast<double>(std::max<int64_t>(1, problem.sim_graph.min_time[exec]));
      of_unit.begin += weight * Ratio(levels.begin[exec], levels.length);
      of_unit.rest += weight * Ratio(levels.rest[exec], levels.length);
      weights += weight;
    }
    of_unit.begin = Ratio(of_unit.begin, weights);
    of_unit.rest = Ratio(of_unit.rest, weights);
  }
  return costs;
}

}  // namespace

at::Tensor CostFeatures(const Problem& problem, const OpGraph& graph,
                        const CandidateDevices& candidates, const GroupInfos& groups,
                        const PlacementUnits& units) {
  const Levels levels = FindLevels(problem, graph);
  const std::vector<UnitCosts> costs = CostsOfUnits(problem, graph, groups, units, levels);
  const MeanTransfer transfer(*problem.cluster, candidates.accelerators);
  UnitCosts total;
  double moving = 0;
  const auto moving_time = [&](const UnitCosts& unit) {
    return unit.read > 0 ? static_cast<double>(transfer.Time(static_cast<int64_t>(
                               std::min(unit.read, static_cast<double>(kMaxQuantity)))))
                         : 0;
  };
  for (const UnitCosts& unit : costs) {
    total.time += unit.time;
    total.persistent += unit.persistent;
    total.live += unit.live;
    total.read += unit.read;
    moving += moving_time(unit);
  }
  double memory = 0, largest = 0;
  for (const DeviceId device : candidates.accelerators) {
    const auto capacity = static_cast<double>(candidates.capacity[device]);
    memory += capacity;
    largest = std::max(largest, capacity);
  }
  const double bytes = total.persistent + total.live;
  const auto count = static_cast<double>(units.size());
  const auto share = [&](double part, double whole) {
    return std::log1p(count * Ratio(part, whole));
  };
  const at::Tensor features =
      at::zeros({units.size(), kCostFeatures}, at::TensorOptions().dtype(at::kFloat));
  auto* first = features.data_ptr<float>();
  for (const UnitCosts& unit : costs) {
    Row row(first);
    row.Add(share(unit.time, total.time));
    row.Add(share(unit.persistent, total.persistent));
    row.Add(share(unit.live, total.live));
    row.Add(share(unit.read, total.read));
    row.Add(std::log1p(Ratio(moving_time(unit), unit.time)));
    row.Add(unit.forward ? 1 : 0);
    row.Add(unit.begin);
    row.Add(unit.rest);
    row.Add(std::min(unit.begin, unit.rest));
    row.Add(1 - unit.begin - unit.rest);
    row.AddPlace(unit.work_before);
    row.AddPlace(unit.bytes_before_leader);
    row.Add(std::min(4.0, Ratio(bytes, memory)));
    row.Add(std::min(4.0, Ratio(bytes, largest)));
    row.Add(std::log1p(Ratio(total.time, levels.length)));
    row.Add(std::log1p(Ratio(moving, total.time)));
    row.Add(1 / static_cast<double>(candidates.accelerators.size()));
    first += kCostFeatures;
    PW_CHECK(row.end() == first);
  }
  return features;
}

std::vector<double> EdgeTimes(const Problem& problem, const OpGraph& graph,
                              const CandidateDevices& candidates, const PlacementUnits& units) {
  constexpr int64_t kNone = -1, kSeveral = -2;
  IdVector<ColocationGroupId, int64_t> unit_of(problem.groups.size(), kNone);
  for (size_t unit = 0; unit < units.groups.size(); ++unit) {
    for (const ColocationGroupId group : units.groups[unit]) {
      unit_of[group] = unit_of[group] == kNone ? static_cast<int64_t>(unit) : kSeveral;
    }
  }
  std::vector<int64_t> bytes(units.edges.size(), 0);
  for (const ExecOpId op : graph.exec_ops()) {
    for (const OpInput& input : graph.Inputs(op)) {
      const ColocationGroupId source = graph.SourceOf(input);
      if (!source.valid()) continue;
      const UnitEdge edge(unit_of[source], unit_of[graph.group_of[op]]);
      const auto found = std::lower_bound(units.edges.begin(), units.edges.end(), edge);
      if (found == units.edges.end() || *found != edge) continue;
      int64_t& moved = bytes[static_cast<size_t>(found - units.edges.begin())];
      moved = SaturatingAdd(moved, input.length);
    }
  }
  const MeanTransfer transfer(*problem.cluster, candidates.accelerators);
  std::vector<double> times;
  for (const int64_t moved : bytes) {
    times.push_back(static_cast<double>(std::max<int64_t>(1, transfer.Time(moved))));
  }
  return times;
}

at::Tensor DeviceFeatures(const Problem& problem, const CandidateDevices& candidates) {
  const size_t devices = problem.cluster->device_count();
  int64_t fastest = kMaxQuantity, largest = 1;
  for (const DeviceId device : problem.cluster->devices()) {
    fastest = std::min(fastest, std::max<int64_t>(1, candidates.work[device]));
    largest = std::max(largest, candidates.capacity[device]);
  }
  const auto accelerators = static_cast<double>(candidates.accelerators.size());
  // Places follow the chain; accelerators that it leaves out come behind it.
  std::vector<DeviceId> order = candidates.chain;
  for (const DeviceId device : candidates.accelerators) {
    if (std::find(order.begin(), order.end(), device) == order.end()) order.push_back(device);
  }
  const at::Tensor features = at::zeros({static_cast<int64_t>(devices), kDeviceFeatureCount},
                                        at::TensorOptions().dtype(at::kFloat));
  auto* first = features.data_ptr<float>();
  for (const DeviceId device : problem.cluster->devices()) {
    const auto found = std::find(order.begin(), order.end(), device);
    Row row(first + static_cast<int64_t>(device.index()) * kDeviceFeatureCount);
    row.Add(found != order.end() ? 1 : 0);
    row.Add(Ratio(static_cast<double>(fastest),
                  static_cast<double>(std::max<int64_t>(1, candidates.work[device]))));
    row.Add(static_cast<double>(candidates.capacity[device]) / static_cast<double>(largest));
    if (found == order.end()) continue;
    row.AddPlace((static_cast<double>(found - order.begin()) + 0.5) / accelerators);
    row.Add(1 / accelerators);
  }
  return features;
}

}  // namespace placewright
