#include "search/proof/enumeration.h"

#include <algorithm>

#include "search/problem/connections.h"
#include "search/proof/memory_advice.h"
#include "search/proof/minimal_memory.h"
#include "sim/placement_check.h"

namespace placewright {
namespace {

// How many combinations of devices there are; nothing where they are too many.
std::optional<int64_t> CountPlacements(const Problem& problem) {
  const int64_t ops = std::max(1, problem.sim_graph.ops);
  int64_t count = 1;
  for (const ColocationGroup& group : problem.groups) {
    count *= static_cast<int64_t>(group.allowed.size());
    if (count > Enumeration::kMaxPlacements || count > Enumeration::kMaxWork / ops) {
      return std::nullopt;
    }
  }
  return count;
}

// The next combination of indices into `allowed`, the first group turning fastest.
void Advance(const Problem& problem, IdVector<ColocationGroupId, size_t>* choice) {
  for (ColocationGroupId u : problem.group_ids()) {
    if (++(*choice)[u] < problem.groups[u].allowed.size()) return;
    (*choice)[u] = 0;
  }
}

}  // namespace

std::optional<Enumeration> EnumeratePlacements(const Problem& problem, Evaluator& evaluator) {
  const std::optional<int64_t> count = CountPlacements(problem);
  if (!count) return std::nullopt;
  Enumeration all;
  all.placements = *count;
  const bool check_routes = !FullyConnected(*problem.cluster);
  EvaluationOptions options;
  IdVector<ColocationGroupId, size_t> choice(problem.groups.size(), 0);
  GroupPlacement device_of(problem.groups.size());
  for (int64_t i = 0; i < all.placements; ++i, Advance(problem, &choice)) {
    for (ColocationGroupId u : problem.group_ids()) {
      device_of[u] = problem.groups[u].allowed[choice[u]];
    }
    const Placement placement = ExpandGroups(problem, device_of);
    if (check_routes &&
        !CheckPlacementLegal(problem.sim_graph, *problem.graph, *problem.cluster, placement).ok()) {
      continue;
    }
    // Something that fits is not beaten by what takes longer.
    if (all.best.feasible) options.abandon_above = Nanos(all.best.step_time);
    const Evaluation result = evaluator.EvaluateOne(placement, options);
    if (result.abandoned) continue;
    const Score score = result.score();
    if (all.legal && !(score < all.best)) continue;
    all.legal = true;
    all.best = score;
    all.best_device = device_of;
  }
  return all;
}

Status CheckNotProvenInfeasibleByEnumeration(const Problem& problem, Evaluator& evaluator,
                                             const PlanSource& plans) {
  const std::optional<Enumeration> all = EnumeratePlacements(problem, evaluator);
  if (!all || all->best.feasible) return Ok();
  const std::string each = "each of the " + FormatCount(all->placements) + " placements ";
  if (!all->legal) {
    return MakeError(ErrorCode::kInfeasible,
                     each + "lets something cross between devices without a route", "",
                     "Add links or routes to the cluster, or let ops run on further devices.");
  }
  const Placement placement = ExpandGroups(problem, all->best_device);
  const Evaluation result = evaluator.EvaluateOne(placement);
  return MakeError(
      ErrorCode::kInfeasible,
      each + "was simulated in " + std::string(ToString(problem.policy)) +
          " order and none fits: the one that lacks least " + DescribeOverflow(problem, result) +
          LargestGroup(problem, MinMemoryOfGroups(problem)),
      "",
      "At least " + FormatSize(all->best.over) + " more is needed; " +
          DescribeMemoryAdvice(
              problem, FindMemoryAdvice(problem, evaluator, plans, all->best.over, &placement)));
}

Bound TightestBound(const Problem& problem, Evaluator& evaluator) {
  const std::optional<Enumeration> all = EnumeratePlacements(problem, evaluator);
  if (all && all->best.feasible) return {Nanos(all->best.step_time), "enumeration"};
  return LowerBound(problem);
}

}  // namespace placewright
