// A planning problem as an environment of Placeto's agent: what its placement units come to, as the
// evaluation seam has it or under the rules of Placeto's own simulator (sim/placeto).
#ifndef PLACEWRIGHT_PLACETO_PLANNER_STEP_ENVIRONMENT_H_
#define PLACEWRIGHT_PLACETO_PLANNER_STEP_ENVIRONMENT_H_

#include <memory>
#include <optional>

#include "placeto/agent/environment.h"
#include "placeto/network/graph.h"
#include "search/evaluation/group_placement.h"
#include "search/units/placement_units.h"
#include "sim/placeto/simulator.h"

namespace placewright {

// Units in topological order, as Placeto's network sees them: the minimum time of each one's ops, the
// bytes that others read of it, and the data between them. Deviation: groups of a training step read
// from each other in cycles (a weight is read before it is written); edges against the order are left
// out.
PlacetoGraph MakePlacetoGraph(const OpGraph& graph, const GroupInfos& groups,
                              const PlacementUnits& units);

// The units in the order of a traversal of that graph; by name: by that of their first op. Breadth
// first it goes from each unit without a parent in turn, in the order of their names.
std::vector<int32_t> UnitsInOrder(const Problem& problem, const PlacementUnits& units,
                                  TraversalOrder order);

// What Placeto's simulator says of placements of a problem.
class PlacetoSimulation {
 public:
  // Both outlive it.
  PlacetoSimulation(const Problem& problem, const PlacementUnits& units);
  // Microseconds, to the last bit; fills `starts` by unit.
  double Run(const Placement& placement, std::vector<double>& starts);

 private:
  const Problem& problem_;
  const PlacementUnits& units_;
  // Where nothing but the placement changes from one placement to another: times are the same on all
  // devices, and no op writes in place.
  const bool compiled_serves_all_;
  std::optional<PlacetoSimGraph> compiled_;
};

class StepEnvironment : public PlacetoEnvironment {
 public:
  // All outlive it. `placeto_simulator`: times are those of Placeto's simulator, in microseconds, to
  // the last bit; otherwise those of the evaluator, in nanoseconds. Memory is the evaluator's.
  StepEnvironment(const Problem& problem, Evaluator& evaluator, const CandidateDevices& candidates,
                  const PlacementUnits& units, bool placeto_simulator);

  PlacetoOutcome Evaluate(std::span<const int32_t> device_of, std::vector<double>& starts) override;

  // Of the last Evaluate, as the evaluator has it.
  const GroupPlacement& placement() const { return placement_; }
  const Evaluation& evaluation() const { return evaluation_; }
  double seconds() const { return seconds_; }  // that all of them took

 private:
  const Problem& problem_;
  Evaluator& evaluator_;
  const CandidateDevices& candidates_;
  const PlacementUnits& units_;
  std::optional<PlacetoSimulation> placeto_;
  GroupPlacement placement_;
  Evaluation evaluation_;
  double seconds_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLACETO_PLANNER_STEP_ENVIRONMENT_H_
