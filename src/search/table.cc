#include <algorithm>
#include <array>

#include "search/constructive/heft.h"
#include "search/constructive/layered.h"
#include "search/constructive/m_etf.h"
#include "search/constructive/m_sct.h"
#include "search/constructive/m_topo.h"
#include "search/constructive/simple.h"
#include "search/expert/expert.h"
#include "search/local/local_search.h"
#include "search/local/plain_chains.h"
#include "search/partition/partition_placers.h"
#include "search/planner.h"

namespace placewright {

std::span<const Planner* const> SearchPlanners() {
  constexpr int kTries = 5;  // memory kept free: 0 to 4 eighths
  static const ConstructivePlanner single(
      "single", "everything on the fastest device where it fits", &PlaceSingle, 64);
  static const ConstructivePlanner random("random", "every colocation group on a random device",
                                          &PlaceRandom, 1);
  static const ConstructivePlanner round_robin(
      "round-robin", "colocation groups dealt to the accelerators in topological order",
      &PlaceRoundRobin, 1);
  static const ConstructivePlanner layered(
      "layered", "contiguous runs of modules, balanced by time under memory", &PlaceLayered,
      kTries);
  static const ConstructivePlanner m_etf(
      "m-etf", "memory-constrained earliest task first (Baechi, SoCC 2020)", &PlaceMEtf, kTries);
  static const ConstructivePlanner m_topo(
      "m-topo", "topological fill under a balanced memory cap (Baechi, SoCC 2020)", &PlaceMTopo,
      kTries);
  static const ConstructivePlanner heft(
      "heft", "heterogeneous earliest finish time (Topcuoglu et al., TPDS 2002)", &PlaceHeft,
      kTries);
  static const ConstructivePlanner metis(
      "metis", "METIS on colocation groups, one part a device (Karypis and Kumar, SISC 1998)",
      &PlaceMetis, kTries);
  static const ConstructivePlanner scotch(
      "scotch", "Scotch on colocation groups, one part a device (Pellegrini and Roman, HPCN 1996)",
      &PlaceScotch, kTries);
  static const MSctPlanner m_sct;
  static const ExpertPlanner expert;
  static const LocalSearchPlanner local_search;
  static const McmcPlanner mcmc;
  static const AnnealingPlanner annealing;
  static const auto table = std::to_array<const Planner*>(
      {&single, &random, &round_robin, &layered, &m_etf, &m_topo, &m_sct, &heft, &metis, &scotch,
       &expert, &mcmc, &annealing, &local_search});
  return table;
}

size_t PlannersInAuto() {
  const std::span<const Planner* const> table = SearchPlanners();
  return static_cast<size_t>(std::count_if(
      table.begin(), table.end(), [](const Planner* planner) { return planner->in_auto(); }));
}

}  // namespace placewright
