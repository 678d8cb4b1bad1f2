#include "search/local/first_plans.h"

#include <algorithm>
#include <utility>

#include "search/constructive/heft.h"
#include "search/constructive/layered.h"
#include "search/constructive/m_topo.h"
#include "sim/placement_check.h"

namespace placewright {

std::vector<PlacerInput> InputsOf(const LocalProblem& local, uint64_t seed,
                                  CandidateDevices* mutual) {
  std::vector<PlacerInput> inputs{
      {local.problem, local.graph, local.candidates, local.groups, seed, 0}};
  if (local.candidates.connections) {
    *mutual = FindCandidateDevices(local.problem, local.graph);
    inputs.push_back({local.problem, local.graph, *mutual, local.groups, seed, 0});
  }
  return inputs;
}

Status AddPlans(const PlacerInput& input, Evaluator& evaluator, std::vector<GroupPlacement> plans,
                std::vector<ScoredPlacement>& starts) {
  const Problem& problem = input.problem;
  Status status = Ok();
  std::vector<GroupPlacement> fresh;
  std::vector<Placement> candidates;
  for (GroupPlacement& devices : plans) {
    const bool known =
        std::any_of(starts.begin(), starts.end(),
                    [&](const ScoredPlacement& start) { return start.devices == devices; }) ||
        std::find(fresh.begin(), fresh.end(), devices) != fresh.end();
    if (known) continue;
    Placement placement = ExpandGroups(problem, devices);
    Status legal =
        CheckPlacementLegal(problem.sim_graph, *problem.graph, *problem.cluster, placement);
    if (!legal.ok()) {
      status = std::move(legal.error());
      continue;
    }
    fresh.push_back(std::move(devices));
    candidates.push_back(std::move(placement));
  }
  const std::vector<Evaluation> evaluations = evaluator.Evaluate(candidates);
  for (size_t i = 0; i < fresh.size(); ++i) {
    starts.push_back({evaluations[i].score(), std::move(fresh[i])});
  }
  std::stable_sort(
      starts.begin(), starts.end(),
      [](const ScoredPlacement& a, const ScoredPlacement& b) { return a.score < b.score; });
  return status;
}

Result<std::vector<ScoredPlacement>> FindFirstPlans(const std::vector<PlacerInput>& inputs,
                                                    Evaluator& evaluator,
                                                    const PlannerOptions& options,
                                                    const GroupPlacement* known) {
  const Problem& problem = inputs.front().problem;
  std::vector<GroupPlacement> plans;
  if (auto initial = InitialGroups(problem, options)) plans.push_back(*std::move(initial));
  if (options.given) plans.push_back(GroupsOf(problem, *options.given));
  bool offered = false;
  for (const StepPlan& plan : options.starts) {
    std::optional<GroupPlacement> groups = GroupsIfPlaced(problem, plan);
    if (!groups) continue;
    plans.push_back(*std::move(groups));
    offered = true;
  }
  if (known != nullptr) plans.push_back(*known);  // after its equals
  std::vector<ScoredPlacement> starts;
  Status status = AddPlans(inputs.front(), evaluator, std::move(plans), starts);
  if (!offered || starts.empty()) {
    for (const PlacerInput& input : inputs) {
      plans.clear();
      for (const auto place : {&PlaceLayered, &PlaceMTopo, &PlaceHeft}) {
        plans.push_back(PlaceConnected(place, input));
      }
      Status added = AddPlans(input, evaluator, std::move(plans), starts);
      if (status.ok()) status = std::move(added);
    }
  }
  if (starts.empty()) return std::move(status.error());
  return starts;
}

}  // namespace placewright
