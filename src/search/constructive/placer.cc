#include "search/constructive/placer.h"

#include "search/evaluate.h"

namespace placewright {

Result<PlannerResult> ConstructivePlanner::Plan(const Problem& problem,
                                                const PlannerOptions& options) const {
  const OpGraph graph = BuildOpGraph(problem);
  const Domain domain = MakeDomain(problem, graph);
  const std::vector<UnitInfo> units = DescribeUnits(problem, graph);
  Simulator simulator(problem.program);
  std::vector<int32_t> best, last;
  Score best_score;
  for (int attempt = 0; attempt < attempts_ && !best_score.feasible; ++attempt) {
    std::vector<int32_t> devices = place_({problem, graph, domain, units, options.seed, attempt});
    if (attempt > 0 && devices == last) continue;
    PW_ASSIGN(const Score score, EvaluateUnits(problem, devices, simulator));
    if (attempt == 0 || score < best_score) best = devices, best_score = score;
    last = std::move(devices);
  }
  return MakeResult(problem, name_, best, best_score, options);
}

}  // namespace placewright
