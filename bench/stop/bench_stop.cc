// bench_stop GRAPH CLUSTER [TIMES]: how long PlanStep goes on after it was asked to stop. It is
// asked at TIMES (20) moments spread over the first two seconds; each line is measured.
#include <placewright/placewright.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  using placewright::Clock;
  if (argc < 3) return std::fprintf(stderr, "usage: bench_stop GRAPH CLUSTER [TIMES]\n"), 2;
  const auto graph = placewright::ReadGraph(argv[1]);
  const auto cluster = placewright::ReadCluster(argv[2]);
  if (!graph.ok() || !cluster.ok()) return std::fprintf(stderr, "cannot read them\n"), 3;
  const int times = argc > 3 ? std::atoi(argv[3]) : 20;
  double worst = 0;
  for (int i = 0; i < times; ++i) {
    placewright::StopSource source;
    placewright::PlanRequest request;
    request.time = std::chrono::hours(1);
    request.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    request.stop = source.token();
    Clock::time_point asked;
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2000) * i / times);
      asked = Clock::now();
      source.RequestStop();
    });
    const auto planned = placewright::PlanStep(graph.value(), cluster.value(), request);
    const Clock::time_point ended = Clock::now();
    stopper.join();
    const double late = std::chrono::duration<double, std::milli>(ended - asked).count();
    worst = std::max(worst, late);
    std::printf("asked at %4d ms: ended %6.1f ms later, %s\n", 2000 * i / times, late,
                planned.ok() ? "with a plan" : planned.error().message.c_str());
  }
  std::printf("worst: %.1f ms\n", worst);
}
