#include "search/constructive/placer.h"

#include <algorithm>
#include <optional>

#include "search/evaluation/plan_result.h"
#include "search/problem/connectivity.h"

namespace placewright {

GroupPlacement PlaceConnected(const PlaceFunction& place, const PlacerInput& input) {
  GroupPlacement device_of = place(input);
  if (!input.candidates.connections) return device_of;
  return ConnectedNear(*input.candidates.connections, input.candidates.any, device_of,
                       GroupsByPosition(input.groups));
}

Result<PlannerResult> PlanInAttempts(std::string_view name, const PlaceFunction& place,
                                     int attempts, const Problem& problem, Evaluator& evaluator,
                                     const PlannerOptions& options) {
  const OpGraph graph = BuildOpGraph(problem);
  const GroupInfos groups = DescribeGroups(problem, graph);
  std::optional<GroupPlacement> best;
  Score best_score;
  std::optional<Error> error;
  std::vector<std::string> notes;
  bool cut_short = false;
  const auto construct = [&](const CandidateDevices& candidates) {
    bool fits = false;
    GroupPlacement last;
    for (int attempt = 0; attempt < attempts && !fits; ++attempt) {
      // The first plan is made whatever the deadline, but not after a stop.
      cut_short = cut_short || options.budget.Stopped() || (best && options.budget.Expired());
      if (cut_short) return;
      const PlacerInput input{problem, graph, candidates, groups,     options.seed,
                              attempt, 1,     &notes,     &cut_short, options.budget};
      GroupPlacement devices = PlaceConnected(place, input);
      if (attempt > 0 && devices == last) continue;
      Result<Score> score = EvaluateGroups(problem, devices, evaluator);
      if (!score.ok()) {
        if (!error) error = std::move(score.error());
      } else if (!best || score.value() < best_score) {
        best = devices, best_score = score.value();
      }
      fits = score.ok() && score.value().feasible;
      last = std::move(devices);
    }
  };
  construct(FindCandidateDevices(problem, graph));
  if (!FullyConnected(*problem.cluster))
    construct(FindCandidateDevices(problem, graph, CandidateScope::kAll));
  if (!best) return error ? *std::move(error) : NoPlanInTime(name);
  PlannerResult result = MakeResult(problem, name, *best, best_score, options);
  result.cut_short = cut_short;
  for (std::string& note : notes) {
    const std::vector<std::string>& said = result.notes;
    if (std::find(said.begin(), said.end(), note) == said.end()) {
      result.notes.push_back(std::move(note));
    }
  }
  return result;
}

}  // namespace placewright
