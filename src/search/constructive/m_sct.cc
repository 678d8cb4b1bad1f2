#include "search/constructive/m_sct.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "graph/partition/components.h"
#include "search/constructive/mean_transfer.h"
#include "search/constructive/sct_program.h"

namespace placewright {
namespace {

bool Leads(const GroupInfos& groups, ColocationGroupId group) {
  return groups[group].leader == group;
}

// Groups as nodes; an edge's weight is the time that its bytes take, each crossing counted once.
WeightedGraph LeaderGraph(const PlacerInput& input) {
  const OpGraph& graph = input.graph;
  struct Read {
    ColocationGroupId from, to;
    SliceId crossing;
    int64_t length;
  };
  std::vector<Read> reads;
  WeightedGraph result;
  result.weights.assign(1, std::vector<int64_t>(input.groups.size(), 0));
  for (ExecOpId op : graph.exec_ops()) {
    const ColocationGroupId to = graph.group_of[op];
    if (!Leads(input.groups, to)) continue;
    int64_t& weight = result.weights[0][to.index()];
    weight = SaturatingAdd(weight, input.problem.sim_graph.min_time[op]);
    for (const OpInput& read : graph.Inputs(op)) {
      if (!read.producer.valid()) continue;
      const ColocationGroupId from = graph.group_of[read.producer];
      if (from == to || !Leads(input.groups, from)) continue;
      reads.push_back({from, to, read.crossing, read.length});
    }
  }
  const auto key = [](const Read& r) { return std::tie(r.from, r.to, r.crossing); };
  std::sort(reads.begin(), reads.end(),
            [&](const Read& a, const Read& b) { return key(a) < key(b); });
  const MeanTransfer transfer(*input.problem.cluster, input.candidates.accelerators);
  size_t next = 0;
  for (ColocationGroupId group : IdsOf(input.groups)) {
    while (next < reads.size() && reads[next].from == group) {
      const ColocationGroupId to = reads[next].to;
      int64_t bytes = 0;
      for (SliceId last; next < reads.size() && reads[next].from == group && reads[next].to == to;
           ++next) {
        if (reads[next].crossing != last) bytes = SaturatingAdd(bytes, reads[next].length);
        last = reads[next].crossing;
      }
      result.edges.push_back({to.value(), transfer.Time(bytes)});
    }
    result.offsets.push_back(static_cast<int32_t>(result.edges.size()));
  }
  return result;
}

}  // namespace

Favourites FavouriteChildren(const PlacerInput& input, int64_t iteration_limit) {
  const WeightedGraph graph = LeaderGraph(input);
  const std::vector<int32_t> component_of = StronglyConnectedComponents(graph);
  const SctSolution solution =
      SolveSct(ContractComponents(graph, component_of), iteration_limit, input.budget);
  const std::string end = DescribeEnd(solution, iteration_limit);
  if (!end.empty() && input.notes != nullptr) input.notes->push_back(end);
  const bool cut_short = solution.end == SctSolution::End::kBudget;
  if (cut_short && input.cut_short != nullptr) *input.cut_short = true;
  Favourites favourites;
  favourites.child.assign(input.groups.size(), ColocationGroupId());
  favourites.wait.assign(input.groups.size(), 0);
  // Of several groups of a component, the heaviest edge to the favourite component counts.
  for (ColocationGroupId group : IdsOf(input.groups)) {
    const int32_t favourite = solution.favourite_child[component_of[group.index()]];
    for (int32_t k = graph.offsets[group.index()]; k < graph.offsets[group.index() + 1]; ++k) {
      const WeightedEdge& edge = graph.edges[k];
      if (favourite != component_of[edge.to]) continue;
      if (favourites.child[group].valid() && favourites.wait[group] >= edge.weight) continue;
      favourites.child[group] = ColocationGroupId(edge.to);
      favourites.wait[group] = edge.weight;
    }
  }
  return favourites;
}

Result<PlannerResult> MSctPlanner::Plan(const Problem& problem, Evaluator& evaluator,
                                        const PlannerOptions& options) const {
  std::optional<Favourites> favourites;  // the same in every attempt
  const PlaceFunction place = [&](const PlacerInput& input) {
    if (!favourites) favourites = FavouriteChildren(input, iteration_limit_);
    return PlaceEarliestTaskFirst(input, *favourites);
  };
  return PlanInAttempts(name(), place, 5, problem, evaluator, options);
}

}  // namespace placewright
