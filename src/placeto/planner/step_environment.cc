#include "placeto/planner/step_environment.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

#include "base/stop.h"
#include "sim/placeto/from_step.h"

namespace placewright {
namespace {

// Whether Placeto's simulator sees the same ops whatever their placement.
bool SameForAllPlacements(const SimGraph& sim_graph) {
  for (const VersionId version : sim_graph.version_ids()) {
    if (sim_graph.version_overwriter[version].valid()) return false;
  }
  for (const ExecOpId op : sim_graph.exec_ops()) {
    for (int32_t device = 1; device < sim_graph.devices; ++device) {
      if (sim_graph.Time(op, DeviceId(device)) != sim_graph.Time(op, DeviceId(0))) return false;
    }
  }
  return true;
}

}  // namespace

PlacetoGraph MakePlacetoGraph(const OpGraph& graph, const GroupInfos& groups,
                              const PlacementUnits& units) {
  const auto size = static_cast<size_t>(units.size());
  std::vector<double> cost(size, 0), bytes(size, 0);
  IdVector<ColocationGroupId, int32_t> unit_of(groups.size(), 0);
  for (size_t unit = 0; unit < size; ++unit) {
    for (const ColocationGroupId group : units.groups[unit]) {
      cost[unit] += static_cast<double>(groups[group].time);
      unit_of[group] = static_cast<int32_t>(unit);
    }
  }
  std::vector<int32_t> source_of;  // by slice that another unit reads
  for (const ExecOpId op : graph.exec_ops()) {
    for (const OpInput& input : graph.Inputs(op)) {
      const ColocationGroupId source = graph.SourceOf(input);
      if (!source.valid() || unit_of[source] == unit_of[graph.group_of[op]]) continue;
      const auto slice = static_cast<size_t>(input.crossing.index());
      if (source_of.size() <= slice) source_of.resize(slice + 1, -1);
      if (source_of[slice] >= 0) continue;
      source_of[slice] = unit_of[source];
      bytes[static_cast<size_t>(unit_of[source])] += static_cast<double>(input.length);
    }
  }
  std::vector<std::pair<int32_t, int32_t>> edges;
  for (const auto& [from, to] : units.edges) {
    if (from < to) edges.emplace_back(static_cast<int32_t>(from), static_cast<int32_t>(to));
  }
  return PlacetoGraph(cost, bytes, edges);
}

std::vector<int32_t> UnitsInOrder(const Problem& problem, const PlacementUnits& units,
                                  TraversalOrder order) {
  std::vector<int32_t> by_name(units.groups.size());
  std::iota(by_name.begin(), by_name.end(), 0);
  std::stable_sort(by_name.begin(), by_name.end(), [&](int32_t a, int32_t b) {
    const auto name = [&](int32_t unit) -> const std::string& {
      const std::vector<OpId>& ops = units.ops[static_cast<size_t>(unit)];
      return problem.graph->op(*std::min_element(ops.begin(), ops.end())).name;
    };
    return name(a) < name(b);
  });
  if (order == TraversalOrder::kLexico) return by_name;
  Csr<OpId, OpId> rows;
  for (int64_t unit = 0, next = 0; unit < units.size(); ++unit) {
    const auto edges = static_cast<int64_t>(units.edges.size());
    for (; next < edges && units.edges[static_cast<size_t>(next)].first == unit; ++next) {
      const int64_t to = units.edges[static_cast<size_t>(next)].second;
      if (unit < to) rows.items.push_back(OpId(static_cast<int32_t>(to)));
    }
    rows.offsets.push_back(static_cast<int32_t>(rows.items.size()));
  }
  return TraverseRows(rows, order, by_name);
}

StepEnvironment::StepEnvironment(const Problem& problem, Evaluator& evaluator,
                                 const CandidateDevices& candidates, const PlacementUnits& units,
                                 bool placeto_simulator)
    : problem_(problem), evaluator_(evaluator), candidates_(candidates), units_(units) {
  if (placeto_simulator) placeto_.emplace(problem, units);
}

PlacetoOutcome StepEnvironment::Evaluate(std::span<const int32_t> device_of,
                                         std::vector<double>& starts) {
  std::vector<DeviceId> devices;
  for (const int32_t device : device_of) devices.push_back(DeviceId(device));
  placement_ = PlaceUnits(units_, candidates_, devices);
  const Placement placement = ExpandGroups(problem_, placement_);
  EvaluationOptions options;
  options.feedback = !placeto_;
  const Clock::time_point start = Clock::now();
  evaluation_ = evaluator_.EvaluateOne(placement, options);
  starts.assign(units_.groups.size(), 0);
  PlacetoOutcome outcome;
  outcome.lacking = static_cast<double>(evaluation_.TotalOver().count) * 1e-9;
  outcome.time = placeto_ ? placeto_->Run(placement, starts)
                          : static_cast<double>(evaluation_.step_time.count);
  seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
  if (!evaluation_.feedback) return outcome;
  for (size_t unit = 0; unit < units_.ops.size(); ++unit) {
    int64_t first = kMaxQuantity;
    for (const OpId op : units_.ops[unit]) {
      first = std::min(first, evaluation_.feedback->schedule.ops[op].start.count);
    }
    starts[unit] = static_cast<double>(first);
  }
  return outcome;
}

PlacetoSimulation::PlacetoSimulation(const Problem& problem, const PlacementUnits& units)
    : problem_(problem),
      units_(units),
      compiled_serves_all_(SameForAllPlacements(problem.sim_graph)) {}

double PlacetoSimulation::Run(const Placement& placement, std::vector<double>& starts) {
  const SimGraph& sim_graph = problem_.sim_graph;
  if (!compiled_ || !compiled_serves_all_) {
    compiled_ = CompilePlacetoCase(
                    MakePlacetoCase(sim_graph, *problem_.graph, *problem_.cluster, placement))
                    .Take();
  }
  std::vector<int32_t> device_of;
  for (const ExecOpId op : sim_graph.exec_ops()) {
    device_of.push_back(placement[sim_graph.op_of[op]].value());
  }
  PlacetoSimulator simulator(*compiled_);
  const double time = simulator.Run(device_of);
  IdVector<OpId, double> start_of(problem_.graph->op_count(), -1);
  for (const ExecOpId op : sim_graph.exec_ops()) {
    start_of[sim_graph.op_of[op]] = simulator.starts()[op.index()];
  }
  starts.assign(units_.ops.size(), 0);
  for (size_t unit = 0; unit < units_.ops.size(); ++unit) {
    double first = std::numeric_limits<double>::infinity();
    for (const OpId op : units_.ops[unit]) {
      if (start_of[op] >= 0) first = std::min(first, start_of[op]);
    }
    starts[unit] = first < std::numeric_limits<double>::infinity() ? first : 0;  // views alone
  }
  return time;
}

}  // namespace placewright
