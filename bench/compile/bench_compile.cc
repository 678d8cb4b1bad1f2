// What it takes to analyse, compile, price and simulate a recorded step for data parallelism over all GPUs of
// a cluster: `bench_compile GRAPH CLUSTER [BATCH]`. Medians of several runs in one process, and the process's
// peak memory after the first compilation.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "compile/step_costs.h"
#include "formats/input.h"
#include "formats/plan/layout_words.h"
#include "search/problem/layout_problem.h"
#include "sim/simulator.h"

namespace placewright::bench {
namespace {

double MillisecondsOf(const std::function<void()>& body, int runs = 5) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    body();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

double PeakMegabytes() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

int Run(const std::string& path, const std::string& machines, int64_t batch) {
  GraphInputOptions options;
  if (batch > 0) options.batch = batch;
  Result<LoadedGraph> loaded = LoadGraph(path, options);
  Result<LoadedCluster> cluster = LoadCluster(machines);
  if (!loaded.ok() || !cluster.ok()) {
    fmt::print(stderr, "{}\n", (loaded.ok() ? cluster.error() : loaded.error()).ToString());
    return 1;
  }
  const std::unique_ptr<LayoutProblem> made =
      LayoutProblem::Make(loaded.value().graph, cluster.value().cluster, {},
                          SchedulingPolicy::kFifo)
          .Take();
  const LayoutProblem& problem = *made;
  const Graph& graph = problem.graph;
  const Cluster& on = cluster.value().cluster;
  const CostTable& costs = problem.costs;
  DistributionSpec spec;
  spec.layouts = {{"*", GroupId(), "batch", {{"*gpu*", {}}}, LayoutOption::kAllReduce}};
  const Layouts layouts = ResolveLayouts(graph, problem.axes, on, spec.layouts).Take().layouts;
  fmt::print("{}: {} ops\n", graph.name(), graph.op_count());
  fmt::print("named axes        {:8.1f} ms\n", MillisecondsOf([&] { NamedAxes axes(graph); }));
  fmt::print("compile           {:8.1f} ms\n",
             MillisecondsOf([&] { (void)Compile(graph, problem.axes, layouts, on).Take(); }, 3));
  fmt::print("peak memory       {:8.1f} MB\n", PeakMegabytes());
  const DistributedStep step = Compile(graph, problem.axes, layouts, on).Take();
  fmt::print("                  {:8} instances, {} collectives\n", step.graph.op_count(),
             step.graph.collective_count());
  fmt::print(
      "costs             {:8.1f} ms\n",
      MillisecondsOf([&] { (void)CostsOfStep(step, graph, problem.communication, {}).Take(); }, 3));
  const CostTable step_costs = CostsOfStep(step, graph, problem.communication, {}).Take();
  fmt::print("simulator arrays  {:8.1f} ms\n",
             MillisecondsOf([&] { (void)BuildSimGraph(step.graph, on, step_costs); }, 3));
  const SimGraph arrays = BuildSimGraph(step.graph, on, step_costs);
  const SimGraph plain = BuildSimGraph(graph, on, costs);
  Simulator of_step(arrays), of_plain(plain);
  DeviceId first;
  for (const DeviceId device : on.devices()) {
    if (!first.valid() && on.kind(device).device_class == DeviceClass::kGpu) first = device;
  }
  const Placement one(graph.op_count(), first);
  const double step_ms = MillisecondsOf([&] { of_step.Run(step.placement); }, 9);
  const double plain_ms = MillisecondsOf([&] { of_plain.Run(one); }, 9);
  fmt::print("simulate          {:8.2f} ms, {:.1f} ns an op\n", step_ms,
             step_ms * 1e6 / static_cast<double>(step.graph.op_count()));
  fmt::print("simulate, 1 GPU   {:8.2f} ms, {:.1f} ns an op\n", plain_ms,
             plain_ms * 1e6 / static_cast<double>(graph.op_count()));
  // The plain graph over as many GPUs, in contiguous runs of groups.
  std::vector<DeviceId> gpus;
  for (const DeviceId device : on.devices()) {
    if (on.kind(device).device_class == DeviceClass::kGpu) gpus.push_back(device);
  }
  Placement runs;
  for (const OpId op : graph.ops()) {
    const size_t group = graph.group(op).index();
    runs.push_back(gpus[group * gpus.size() / graph.group_count()]);
  }
  const double runs_ms = MillisecondsOf([&] { of_plain.Run(runs); }, 9);
  fmt::print("simulate, placed  {:8.2f} ms, {:.1f} ns an op\n", runs_ms,
             runs_ms * 1e6 / static_cast<double>(graph.op_count()));
  fmt::print("peak memory       {:8.1f} MB\n", PeakMegabytes());
  return 0;
}

}  // namespace
}  // namespace placewright::bench

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: bench_compile GRAPH CLUSTER [BATCH]\n");
    return 2;
  }
  return placewright::bench::Run(argv[1], argv[2], argc > 3 ? std::stoll(argv[3]) : 0);
}
