#include "search/problem/unit_info.h"

#include <algorithm>
#include <numeric>

#include "search/problem/lifetimes.h"

namespace placewright {
namespace {

void AddLiveBytes(const Problem& problem, const OpGraph& graph, std::vector<UnitInfo>& units) {
  const Lifetimes lives = FindLifetimes(problem, graph);
  for (size_t s = 0; s < lives.first.size(); ++s) {
    if (!lives.AliveAtPeak(s)) continue;
    int64_t& bytes = units[lives.unit[s]].live_at_peak;
    bytes = SaturatingAdd(bytes, problem.program.storage_bytes[s]);
  }
}

// accompanies[u]: the unit of the first exec op elsewhere that reads content which u holds from
// before the step.
std::vector<int32_t> FirstReaders(const OpGraph& graph, const std::vector<UnitInfo>& units) {
  std::vector<int32_t> accompanies(units.size(), -1);
  for (int32_t op : graph.order) {
    for (const OpInput& input : graph.Inputs(op)) {
      if (input.home_unit < 0 || input.home_unit == graph.unit_of[op]) continue;
      int32_t& with = accompanies[input.home_unit];
      if (with < 0 && !units[input.home_unit].forward) with = graph.unit_of[op];
    }
  }
  return accompanies;
}

// For the other units without forward ops: a unit of the same module that they read from, if it is
// a forward unit or accompanies one; else any such.
void AddForwardCompanions(const OpGraph& graph, const std::vector<UnitInfo>& units,
                          std::vector<int32_t>& accompanies) {
  std::vector<char> same_module(units.size(), 0), settled(units.size(), 0);
  for (size_t u = 0; u < units.size(); ++u) settled[u] = accompanies[u] >= 0;
  for (int32_t op : graph.order) {
    const int32_t unit = graph.unit_of[op];
    if (units[unit].forward || settled[unit]) continue;
    for (const OpInput& input : graph.Inputs(op)) {
      if (input.producer < 0 || graph.unit_of[input.producer] == unit) continue;
      const int32_t other = graph.unit_of[input.producer];
      const bool same = units[other].module == units[unit].module;
      const int32_t with = units[other].forward ? other : accompanies[other];
      const bool better = accompanies[unit] < 0 || (same && !same_module[unit]);
      if (with < 0 || with == unit || !better) continue;
      accompanies[unit] = with;
      same_module[unit] = same;
    }
  }
}

// Follows chains of companions to their ends; a chain that runs in a circle ends where it started.
void SetLeaders(const std::vector<int32_t>& accompanies, std::vector<UnitInfo>& units) {
  for (size_t u = 0; u < units.size(); ++u) {
    int32_t leader = static_cast<int32_t>(u);
    for (int hops = 0; hops < 64 && accompanies[leader] >= 0 && !units[leader].forward; ++hops) {
      leader = accompanies[leader];
    }
    const bool ends = units[leader].forward || accompanies[leader] < 0;
    units[u].leader = ends ? leader : static_cast<int32_t>(u);
  }
}

}  // namespace

std::vector<UnitInfo> DescribeUnits(const Problem& problem, const OpGraph& graph) {
  const Graph& ops = *problem.graph;
  std::vector<UnitInfo> units(problem.units.size());
  std::vector<char> seen(units.size(), 0), has_exec(units.size(), 0), module_set(units.size(), 0);
  int32_t position = 0;
  for (OpId op : ops.topological_order()) {
    const int32_t u = problem.unit_of[op];
    UnitInfo& unit = units[u];
    if (!seen[u]) unit.position = position, unit.module = ops.op(op).module, seen[u] = 1;
    ++position;
    if (ops.op(op).phase == Phase::kForward && !module_set[u]) {
      unit.module = ops.op(op).module;
      module_set[u] = 1;
    }
    const int32_t exec = problem.program.exec_of[op.index()];
    if (exec < 0) continue;
    has_exec[u] = 1;
    unit.forward |= ops.op(op).phase == Phase::kForward;
    unit.time = SaturatingAdd(unit.time, std::max<int64_t>(0, problem.program.least_time[exec]));
  }
  for (size_t u = 0; u < units.size(); ++u) {
    units[u].persistent = problem.units[u].persistent.count;
    if (!has_exec[u]) units[u].forward = module_set[u] && units[u].persistent == 0;
  }
  std::vector<int32_t> accompanies = FirstReaders(graph, units);
  AddForwardCompanions(graph, units, accompanies);
  SetLeaders(accompanies, units);
  AddLiveBytes(problem, graph, units);
  return units;
}

std::vector<int64_t> LeaderBytes(const std::vector<UnitInfo>& units) {
  std::vector<int64_t> bytes(units.size(), 0);
  for (const UnitInfo& unit : units) {
    bytes[unit.leader] =
        SaturatingAdd(bytes[unit.leader], SaturatingAdd(unit.persistent, unit.live_at_peak));
  }
  return bytes;
}

void PlaceFollowers(const std::vector<UnitInfo>& units,
                    const std::vector<std::vector<int32_t>>& allowed,
                    std::vector<int32_t>& device_of) {
  for (size_t u = 0; u < units.size(); ++u) {
    if (units[u].leader == static_cast<int32_t>(u)) continue;
    const int32_t wanted = device_of[units[u].leader];
    const bool may = std::find(allowed[u].begin(), allowed[u].end(), wanted) != allowed[u].end();
    device_of[u] = may ? wanted : allowed[u].front();
  }
}

std::vector<int32_t> UnitsByPosition(const std::vector<UnitInfo>& units) {
  std::vector<int32_t> order(units.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return units[a].position < units[b].position; });
  return order;
}

}  // namespace placewright
