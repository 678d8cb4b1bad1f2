// Planning through the C++ API, as a cluster scheduler would: no files are written.
//
//   consumer GRAPH CLUSTER     prints the step time of the best constructive planner
#include <cost/cost_model.h>
#include <formats/input.h>
#include <search/planner.h>

#include <cstdio>
#include <optional>

namespace pw = placewright;

// PW_ASSIGN takes the value of a Result, or returns its error.
static pw::Status Plan(const char* graph_path, const char* cluster_name) {
  PW_ASSIGN(const pw::LoadedGraph graph, pw::LoadGraph(graph_path));
  PW_ASSIGN(const pw::LoadedCluster cluster, pw::LoadCluster(cluster_name));
  PW_ASSIGN(const pw::CostTable costs, pw::ModelCosts(graph.graph, cluster.cluster, {}));
  PW_ASSIGN(const pw::Problem problem,
            pw::BuildProblem(graph.graph, cluster.cluster, costs, {}, pw::SchedulingPolicy::kFifo));
  PW_RETURN_IF_ERROR(pw::CheckNotProvenInfeasible(problem));

  pw::PlannerOptions options;
  options.started = pw::Clock::now();
  std::optional<pw::PlannerResult> best;
  for (const pw::Planner* planner : pw::SearchPlanners()) {
    if (planner->iterative()) continue;
    PW_ASSIGN(pw::PlannerResult result, planner->Plan(problem, options));
    if (!result.feasible || (best && best->step_time <= result.step_time)) continue;
    best = std::move(result);
  }
  if (!best) return pw::MakeError(pw::ErrorCode::kNothingFound, "no planner found one that fits");
  std::printf("%s on %s: %s a step by %s, bound %s\n", graph.graph.name().c_str(),
              cluster.cluster.name().c_str(), pw::FormatNanos(best->step_time).c_str(),
              best->algorithm.c_str(), pw::FormatNanos(pw::LowerBound(problem).value).c_str());
  return pw::Ok();
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s GRAPH CLUSTER\n", argv[0]);
    return 2;
  }
  const pw::Status status = Plan(argv[1], argv[2]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().ToString().c_str());
  return pw::InfoOf(status.error().code).exit_status;
}
