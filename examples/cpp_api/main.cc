// consumer GRAPH CLUSTER: plans for two seconds and says what was found.
#include <placewright/placewright.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: %s GRAPH CLUSTER\n", argv[0]), 2;
  const auto graph = placewright::ReadGraph(argv[1]);
  const auto cluster = placewright::ReadCluster(argv[2]);
  if (!graph.ok()) return std::puts(graph.error().ToString().c_str()), 1;
  if (!cluster.ok()) return std::puts(cluster.error().ToString().c_str()), 1;
  placewright::PlanRequest request;
  request.time = std::chrono::seconds(2);
  const auto planned = placewright::PlanStep(graph.value(), cluster.value(), request);
  if (!planned.ok()) return std::puts(planned.error().ToString().c_str()), 1;
  const placewright::Plan& plan = planned.value().plan;
  std::printf("%s on %s: %s a step by %s, bound %s\n", plan.graph_name.c_str(),
              plan.cluster_name.c_str(), FormatNanos(plan.step_time).c_str(),
              plan.algorithm.c_str(), FormatNanos(*plan.lower_bound).c_str());
}
