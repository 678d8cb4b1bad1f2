// What it costs to evaluate one plan of a recorded step, in lanes or in full (docs/simulator.md):
//
//   bench_lanes GRAPH CLUSTER BATCH STRATEGY [full]
//
// STRATEGY: data-parallel (every op by samples over all GPUs), or one of the meshes (zero-2, hybrid-zero-2, fsdp, hsdp, 2d).
// One line: the step time, how many classes stand for the devices and how many ops were written as others were, seconds
// of this core for the evaluation alone, and the process's peak memory, graph and cluster included. Instructions:
// `perf stat -e instructions:u`, or valgrind.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>
#include <ctime>
#include <map>
#include <string>

#include "formats/input.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/layouts/mesh_strategies.h"

namespace placewright::bench {
namespace {

double LaneSecondsSince(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

Result<StepPlan> LanePlanOf(const LayoutProblem& problem, const std::string& strategy) {
  const std::map<std::string, MeshStrategy> meshes = {{"zero-2", MeshStrategy::kZero2},
                                                      {"hybrid-zero-2", MeshStrategy::kHybridZero2},
                                                      {"fsdp", MeshStrategy::kFsdp},
                                                      {"hsdp", MeshStrategy::kHsdp},
                                                      {"2d", MeshStrategy::kTwoD}};
  const auto mesh = meshes.find(strategy);
  if (mesh != meshes.end()) return LayOutOnMesh(problem, mesh->second);
  if (strategy != "data-parallel") {
    return MakeError(ErrorCode::kUsage, "no strategy is called " + strategy, "",
                     "See the head of bench_lanes.cc.");
  }
  std::vector<DeviceId> gpus;
  for (const DeviceId device : problem.cluster.devices()) {
    if (problem.cluster.kind(device).device_class == DeviceClass::kGpu) gpus.push_back(device);
  }
  const int64_t samples = problem.axes.axis(problem.axes.batch()).size;
  const auto count = static_cast<int64_t>(gpus.size());
  if (samples % count != 0) {
    return MakeError(ErrorCode::kUsage,
                     fmt::format("{} samples are no multiple of {} GPUs", samples, count), "",
                     "Give another batch.");
  }
  StepPlan plan;
  plan.layouts.layouts = {
      SplitOver(problem.axes.batch(), gpus, std::vector<int64_t>(gpus.size(), samples / count))};
  plan.layouts.of_group.assign(problem.graph.group_count(), LayoutId(0));
  return plan;
}

Status RunLanes(int argc, char** argv) {
  if (argc < 5) {
    return MakeError(ErrorCode::kUsage, "bench_lanes GRAPH CLUSTER BATCH STRATEGY [full]");
  }
  PW_ASSIGN(const LoadedGraph loaded, LoadGraph(argv[1], {.batch = std::atoll(argv[3])}));
  PW_ASSIGN(const LoadedCluster cluster, LoadCluster(argv[2]));
  PW_ASSIGN(const auto problem,
            LayoutProblem::Make(loaded.graph, cluster.cluster, {}, SchedulingPolicy::kProgram));
  PW_ASSIGN(const StepPlan plan, LanePlanOf(*problem, argv[4]));
  const bool full = argc > 5 && std::string(argv[5]) == "full";
  LayoutEvaluator evaluator(*problem, full ? LaneUse::kNever : LaneUse::kAlways);
  const std::clock_t start = std::clock();
  PW_ASSIGN(const Evaluation evaluation, evaluator.Evaluate(plan.layouts, plan.switches));
  const double seconds = LaneSecondsSince(start);
  rusage use;
  getrusage(RUSAGE_SELF, &use);
  fmt::print("{} {} {}: {} ns, {}, {:.2f} s, {} MB\n", argv[2], argv[4], argv[3],
             evaluation.step_time.count,
             evaluator.classes() ? fmt::format("{} classes, {} of {} ops written as others were",
                                               *evaluator.classes(), evaluator.ops_repeated(),
                                               problem->graph.op_count())
                                 : "in full",
             seconds, use.ru_maxrss / 1024);
  return Ok();
}

}  // namespace
}  // namespace placewright::bench

int main(int argc, char** argv) {
  const placewright::Status done = placewright::bench::RunLanes(argc, argv);
  if (done.ok()) return 0;
  fmt::print(stderr, "{}\n", done.error().ToString());
  return 1;
}
