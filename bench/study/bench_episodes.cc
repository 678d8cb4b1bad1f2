// bench_episodes [EPISODES]: milliseconds of an episode of Placeto's agent (a visit to every node,
// simulations and the step up the gradient), on graph 0 of each family of the traversal-order study, on 3,
// 5 and 8 devices, over its six orders and five repeats of EPISODES (default 3), on one thread; and the
// mean over these nine. Beside them those of the policy that draws uniformly: all but the network.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "study/traversal/runs.h"

namespace placewright {
namespace {

double Milliseconds(GraphFamily family, int devices, TraversalPolicy policy, int64_t episodes) {
  TraversalChunk chunk;
  chunk.family = family;
  chunk.devices = devices;
  chunk.policy = policy;
  chunk.episodes = episodes;
  const Clock::time_point begin = Clock::now();
  for (const TraversalOrder order : AllTraversalOrders()) {
    if (!MakeRuns(chunk, order, "", {}).ok()) std::abort();
  }
  const std::chrono::duration<double, std::milli> took = Clock::now() - begin;
  const auto runs = static_cast<double>(AllTraversalOrders().size()) * TraversalChunk::kRepeats;
  return took.count() / (runs * static_cast<double>(episodes));
}

int Main(int argc, char** argv) {
  const int64_t episodes = argc > 1 ? std::atoll(argv[1]) : 3;
  if (episodes < 1) {
    std::fprintf(stderr, "usage: bench_episodes [EPISODES]\n");
    return 2;
  }
  std::printf("family   devices  published ms  uniform ms\n");
  double sum = 0;
  int count = 0;
  for (const GraphFamily family : AllGraphFamilies()) {
    for (const int devices : {3, 5, 8}) {
      const double learned = Milliseconds(family, devices, TraversalPolicy::kPublished, episodes);
      const double uniform = Milliseconds(family, devices, TraversalPolicy::kUniform, episodes);
      std::printf("%-8s %7d  %12.1f  %10.2f\n", std::string(ToString(family)).c_str(), devices,
                  learned, uniform);
      std::fflush(stdout);
      sum += learned;
      ++count;
    }
  }
  std::printf("mean of the nine: %.1f ms\n", sum / count);
  return 0;
}

}  // namespace
}  // namespace placewright

int main(int argc, char** argv) { return placewright::Main(argc, argv); }
