#include "search/constructive/placer.h"

#include <algorithm>
#include <optional>

#include "search/evaluate.h"
#include "search/problem/connectivity.h"

namespace placewright {

std::vector<int32_t> PlaceConnected(const PlaceFunction& place, const PlacerInput& input) {
  std::vector<int32_t> device_of = place(input);
  if (!input.domain.connections) return device_of;
  return ConnectedNear(*input.domain.connections, input.domain.any, device_of,
                       UnitsByPosition(input.units));
}

Result<PlannerResult> PlanInAttempts(std::string_view name, const PlaceFunction& place,
                                     int attempts, const Problem& problem,
                                     const PlannerOptions& options) {
  const OpGraph graph = BuildOpGraph(problem);
  const std::vector<UnitInfo> units = DescribeUnits(problem, graph);
  Simulator simulator(problem.program);
  std::optional<std::vector<int32_t>> best;
  Score best_score;
  std::optional<Error> error;
  std::vector<std::string> notes;
  const auto construct = [&](const Domain& domain) {
    bool fits = false;
    std::vector<int32_t> last;
    for (int attempt = 0; attempt < attempts && !fits; ++attempt) {
      const PlacerInput input{problem, graph, domain, units, options.seed, attempt, 1, &notes};
      std::vector<int32_t> devices = PlaceConnected(place, input);
      if (attempt > 0 && devices == last) continue;
      Result<Score> score = EvaluateUnits(problem, devices, simulator);
      if (!score.ok()) {
        if (!error) error = std::move(score.error());
      } else if (!best || score.value() < best_score) {
        best = devices, best_score = score.value();
      }
      fits = score.ok() && score.value().feasible;
      last = std::move(devices);
    }
  };
  construct(MakeDomain(problem, graph));
  if (!FullyConnected(*problem.cluster)) construct(MakeDomain(problem, graph, Reach::kWhole));
  if (!best) return *std::move(error);
  PlannerResult result = MakeResult(problem, name, *best, best_score, options);
  for (std::string& note : notes) {
    const std::vector<std::string>& said = result.notes;
    if (std::find(said.begin(), said.end(), note) == said.end()) {
      result.notes.push_back(std::move(note));
    }
  }
  return result;
}

}  // namespace placewright
