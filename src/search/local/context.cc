#include "search/local/context.h"

#include <algorithm>
#include <utility>

namespace placewright {
namespace {

void AddNeighbours(LocalContext& context) {
  const OpGraph& graph = context.graph;
  const size_t units = context.problem.units.size();
  std::vector<std::pair<int32_t, int32_t>> pairs;
  for (int32_t op = 0; op < graph.ops; ++op) {
    for (const OpInput& input : graph.Inputs(op)) {
      const int32_t from = input.producer >= 0 ? graph.unit_of[input.producer] : input.home_unit;
      if (from < 0 || from == graph.unit_of[op]) continue;
      pairs.emplace_back(from, graph.unit_of[op]);
      pairs.emplace_back(graph.unit_of[op], from);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  context.neighbour_offset.assign(units + 1, 0);
  for (const auto& [unit, neighbour] : pairs) {
    ++context.neighbour_offset[unit + 1];
    context.neighbours.push_back(neighbour);
  }
  for (size_t u = 0; u < units; ++u) {
    context.neighbour_offset[u + 1] += context.neighbour_offset[u];
  }
}

void AddTimes(const std::vector<UnitInfo>& units, LocalContext& context) {
  int64_t sum = 0;
  for (const UnitInfo& unit : units) {
    sum = SaturatingAdd(sum, unit.time);
    context.time_before.push_back(sum);
  }
  std::vector<std::pair<int64_t, int32_t>> clusters;  // the time, negative
  for (int32_t cluster = 0; cluster < context.clusters.size(); ++cluster) {
    int64_t time = 0;
    for (int32_t unit : context.clusters.members(cluster)) {
      time = SaturatingAdd(time, units[unit].time);
    }
    clusters.emplace_back(-time, cluster);
  }
  std::sort(clusters.begin(), clusters.end());
  for (const auto& [time, cluster] : clusters) context.largest.push_back(cluster);
}

}  // namespace

LocalContext MakeLocalContext(const Problem& problem, const OpGraph& graph, const Domain& domain,
                              const Clusters& clusters, const std::vector<UnitInfo>& units) {
  LocalContext context{problem, graph, domain, clusters, {}, {}, {}, {}, {}, {}};
  AddNeighbours(context);
  AddTimes(units, context);
  context.by_position = UnitsByPosition(units);
  context.position.resize(units.size());
  for (size_t i = 0; i < units.size(); ++i) {
    context.position[context.by_position[i]] = static_cast<int32_t>(i);
  }
  return context;
}

}  // namespace placewright
