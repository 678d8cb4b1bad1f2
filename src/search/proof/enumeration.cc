#include "search/proof/enumeration.h"

#include <algorithm>

#include "search/problem/connections.h"
#include "search/proof/enough.h"
#include "search/proof/needs.h"

namespace placewright {
namespace {

// How many combinations of devices there are; nothing where they are too many.
std::optional<int64_t> CountPlacements(const Problem& problem) {
  const int64_t ops = std::max(1, problem.program.ops);
  int64_t count = 1;
  for (const PlacementUnit& unit : problem.units) {
    count *= static_cast<int64_t>(unit.allowed.size());
    if (count > Enumeration::kMostPlacements || count > Enumeration::kMostWork / ops) {
      return std::nullopt;
    }
  }
  return count;
}

// The next combination of indices into `allowed`, the first unit turning fastest.
void Advance(const Problem& problem, std::vector<size_t>* choice) {
  for (size_t u = 0; u < choice->size(); ++u) {
    if (++(*choice)[u] < problem.units[u].allowed.size()) return;
    (*choice)[u] = 0;
  }
}

}  // namespace

std::optional<Enumeration> EnumeratePlacements(const Problem& problem) {
  const std::optional<int64_t> count = CountPlacements(problem);
  if (!count) return std::nullopt;
  Enumeration all;
  all.placements = *count;
  const bool check_routes = !FullyConnected(*problem.cluster);
  Simulator simulator(problem.program);
  SimOptions options;
  options.order = problem.order;
  std::vector<size_t> choice(problem.units.size(), 0);
  std::vector<int32_t> device_of(problem.units.size());
  for (int64_t i = 0; i < all.placements; ++i, Advance(problem, &choice)) {
    for (size_t u = 0; u < choice.size(); ++u) {
      device_of[u] = problem.units[u].allowed[choice[u]].value();
    }
    const Placement placement = ExpandUnits(problem, device_of);
    if (check_routes &&
        !VerifyPlacement(problem.program, *problem.graph, *problem.cluster, placement).ok()) {
      continue;
    }
    // Something that fits is not beaten by what takes longer.
    if (all.best.feasible) options.abandon_above = Nanos(all.best.step_time);
    const SimResult& result = simulator.Run(placement, options);
    if (result.abandoned) continue;
    const Score score{result.feasible, result.TotalOver().count, result.step_time.count};
    if (all.legal && !(score < all.best)) continue;
    all.legal = true;
    all.best = score;
    all.best_device = device_of;
  }
  return all;
}

Status ProveByEnumeration(const Problem& problem) {
  const std::optional<Enumeration> all = EnumeratePlacements(problem);
  if (!all || all->best.feasible) return Ok();
  const std::string each = "each of the " + FormatCount(all->placements) + " placements ";
  if (!all->legal) {
    return MakeError(ErrorCode::kInfeasible,
                     each + "lets something cross between devices without a route", "",
                     "Add links or routes to the cluster, or let ops run on further devices.");
  }
  const Placement placement = ExpandUnits(problem, all->best_device);
  Simulator simulator(problem.program);
  SimOptions options;
  options.order = problem.order;
  const SimResult& result = simulator.Run(placement, options);
  return MakeError(
      ErrorCode::kInfeasible,
      each + "was simulated in " + std::string(ToString(problem.order)) +
          " order and none fits: the one that lacks least " + DescribeOverflow(problem, result) +
          LargestGroup(problem, UnitNeeds(problem)),
      "",
      "At least " + FormatSize(all->best.over) + " more is needed; " +
          DescribeEnough(problem, FindEnoughMemory(problem, all->best.over, &placement)));
}

Bound TightestBound(const Problem& problem) {
  const std::optional<Enumeration> all = EnumeratePlacements(problem);
  if (all && all->best.feasible) return {Nanos(all->best.step_time), "enumeration"};
  return LowerBound(problem);
}

}  // namespace placewright
