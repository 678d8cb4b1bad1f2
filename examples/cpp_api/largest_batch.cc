// largest_batch GRAPH CLUSTER [COST_STORE]: the largest batch of a recorded step that fits, data parallel, with gradients
// made of gathered factors where that is faster; with times that were measured, where a store has some.
#include <placewright/placewright.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    return std::fprintf(stderr, "usage: %s GRAPH CLUSTER [COST_STORE]\n", argv[0]), 2;
  }
  const auto cluster = placewright::ReadCluster(argv[2]);
  if (!cluster.ok()) return std::puts(cluster.error().ToString().c_str()), 1;
  placewright::PlanRequest request;
  request.algorithm = "data-parallel";
  request.sfb = placewright::SfbMode::kCut;
  if (argc == 4) request.cost_store = argv[3];
  const auto planned = placewright::PlanLargestBatch(
      [&](std::int64_t batch) {
        placewright::ReadGraphOptions options;
        options.batch = batch;
        return placewright::ReadGraph(argv[1], options);
      },
      cluster.value(), request);
  if (!planned.ok()) return std::puts(planned.error().ToString().c_str()), 1;
  const placewright::Plan& plan = planned.value().step.plan;
  std::printf("batch %lld by %s: %s a step, the best of %zu rates %.4g samples/s\n",
              static_cast<long long>(planned.value().found.batch), plan.algorithm.c_str(),
              FormatNanos(plan.step_time).c_str(), planned.value().rates.size(),
              placewright::BestRate(planned.value().rates).samples_per_second);
}
