#include "search/evaluate.h"

#include <algorithm>

namespace placewright {

Placement ExpandUnits(const Problem& problem, const std::vector<int32_t>& device_of) {
  Placement placement(problem.graph->op_count());
  for (OpId op : problem.graph->ops()) {
    placement[op] = DeviceId(device_of[problem.unit_of[op]]);
  }
  return placement;
}

std::vector<int32_t> UnitsOf(const Problem& problem, const Placement& placement) {
  std::vector<int32_t> device_of;
  for (const PlacementUnit& unit : problem.units) {
    const DeviceId device = placement[unit.ops.front()];
    const bool together = std::all_of(unit.ops.begin(), unit.ops.end(),
                                      [&](OpId op) { return placement[op] == device; });
    const bool allowed =
        std::find(unit.allowed.begin(), unit.allowed.end(), device) != unit.allowed.end();
    device_of.push_back(together && allowed ? device.value() : unit.allowed.front().value());
  }
  return device_of;
}

Result<Score> EvaluateUnits(const Problem& problem, const std::vector<int32_t>& device_of,
                            Simulator& simulator) {
  const Placement placement = ExpandUnits(problem, device_of);
  PW_RETURN_IF_ERROR(VerifyPlacement(problem.program, *problem.graph, *problem.cluster, placement));
  SimOptions options;
  options.order = problem.order;
  const SimResult& result = simulator.Run(placement, options);
  return Score{result.feasible, result.TotalOver().count, result.step_time.count};
}

PlannerResult MakeResult(const Problem& problem, std::string_view algorithm,
                         const std::vector<int32_t>& device_of, const Score& score,
                         const PlannerOptions& options) {
  PlannerResult result;
  result.algorithm = algorithm;
  result.placement = ExpandUnits(problem, device_of);
  result.feasible = score.feasible;
  result.step_time = Nanos(score.step_time);
  if (score.feasible) {
    const double seconds = SecondsSince(options.started);
    result.history.push_back({0, seconds, result.step_time, result.algorithm});
    result.first_feasible_seconds = seconds;
  }
  return result;
}

double SecondsSince(Clock::time_point started) {
  return std::chrono::duration<double>(Clock::now() - started).count();
}

}  // namespace placewright
