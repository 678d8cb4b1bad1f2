#include "search/evaluation/plan_result.h"

#include <chrono>
#include <set>
#include <utility>

#include "search/evaluation/group_placement.h"

namespace placewright {

PlannerResult MakeResult(const Problem& problem, std::string_view algorithm,
                         const GroupPlacement& device_of, const Score& score,
                         const PlannerOptions& options) {
  PlannerResult result;
  result.algorithm = algorithm;
  result.plan = PlanOf(problem, device_of);
  result.feasible = score.feasible;
  result.step_time = Nanos(score.step_time);
  if (score.feasible) {
    const double seconds = SecondsSince(options.started);
    result.history.push_back({0, seconds, result.step_time, result.algorithm});
    result.first_feasible_seconds = seconds;
  }
  return result;
}

PlannerResult MakeResult(std::string_view algorithm, StepPlan plan, const Evaluation& evaluation,
                         const PlannerOptions& options) {
  PlannerResult result;
  result.algorithm = algorithm;
  result.space = PlanSpace::kReplicated;
  result.iterations = 1;
  result.SetEvaluation(evaluation);
  result.plan = std::move(plan);
  if (result.feasible) {
    result.first_feasible_seconds = SecondsSince(options.started);
    result.history.push_back(
        {1, *result.first_feasible_seconds, result.step_time, result.algorithm});
  }
  if (options.progress) options.progress({algorithm, 1, result.step_time, result.feasible});
  return result;
}

Baseline BaselineOf(const Problem& problem, const PlannerResult& result, bool search) {
  Baseline baseline{result.algorithm, result.feasible, result.step_time, {}, search};
  const Graph& graph = *problem.graph;
  std::set<DeviceId> devices;  // that run an op
  for (const OpId op : graph.ops()) {
    if (graph.op(op).is_view) continue;
    for (const Share& share : result.plan.layouts.Of(graph.group(op)).shares) {
      devices.insert(share.device);
    }
  }
  for (const DeviceId device : devices) {
    baseline.devices.push_back(problem.cluster->device(device).name);
  }
  return baseline;
}

Error NoPlanInTime(std::string_view algorithm) {
  return MakeError(ErrorCode::kCancelled,
                   std::string(algorithm) + " was ended before it had made a plan");
}

double SecondsSince(Clock::time_point started) {
  return std::chrono::duration<double>(Clock::now() - started).count();
}

}  // namespace placewright
