// train GRAPH STEPS: places a recorded step on two devices, trains it with batches of its own on cores of
// this machine that stand for them, and says what the loss was.
#include <placewright/placewright.h>
#include <placewright/run_step.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: %s GRAPH STEPS\n", argv[0]), 2;
  const auto graph = placewright::ReadGraph(argv[1]);
  const auto cluster = placewright::ReadCluster("2xV100");
  if (!graph.ok()) return std::puts(graph.error().ToString().c_str()), 1;
  placewright::PlanRequest plan;
  plan.iterations = 1000;
  plan.space = placewright::PlanSpace::kPlaced;  // RunStep runs whole ops
  const auto planned = placewright::PlanStep(graph.value(), cluster.value(), plan);
  if (!planned.ok()) return std::puts(planned.error().ToString().c_str()), 1;

  placewright::RunRequest request;
  request.steps = std::atoll(argv[2]);
  request.simulate_devices = true;
  // Values of all inputs come from a seed; a data set of one's own would be set here, by name.
  request.batch = [](std::int64_t step, placewright::StepValues&) -> placewright::Status {
    std::fprintf(stderr, "batch %lld\n", static_cast<long long>(step));
    return placewright::Ok();
  };
  const auto run =
      placewright::RunStep(graph.value(), cluster.value(), planned.value().placement, request);
  if (!run.ok()) return std::puts(run.error().ToString().c_str()), 1;
  const auto& losses = run.value().losses;
  std::printf("%lld steps, %s each, loss %.3f to %.3f\n", static_cast<long long>(run.value().steps),
              FormatNanos(run.value().median).c_str(), losses.front().value_or(0),
              losses.back().value_or(0));
}
