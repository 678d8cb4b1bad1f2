// What the benches that plan share.
#ifndef PLACEWRIGHT_BENCH_BENCH_H_
#define PLACEWRIGHT_BENCH_BENCH_H_

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "search/planner.h"

namespace placewright {

struct BenchBudget {
  int64_t iterations = -1;  // instead of seconds
  int threads = 2;
  uint64_t seed = 0;
};

// Planning starts now.
inline PlannerOptions PlanningOptions(const BenchBudget& budget, double seconds) {
  PlannerOptions planning;
  planning.seed = budget.seed;
  planning.threads = budget.threads;
  planning.started = Clock::now();
  if (budget.iterations >= 0) {
    planning.budget.iterations = budget.iterations;
  } else {
    planning.budget.deadline =
        planning.started + std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
  }
  return planning;
}

// "-": standard output. nullptr, and a line on standard error, where it cannot be written.
inline std::FILE* OpenTable(const std::string& path) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  if (file == nullptr) std::fprintf(stderr, "cannot write %s\n", path.c_str());
  return file;
}

// Whether `body` returned 0 in a process of its own: peak memory and crashes are that one's.
inline bool SucceedsInChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_BENCH_BENCH_H_
