// When to stop: a deadline, an iteration budget, or somebody pressing Ctrl-C.
#ifndef PLACEWRIGHT_BASE_STOP_H_
#define PLACEWRIGHT_BASE_STOP_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

namespace placewright {

using Clock = std::chrono::steady_clock;

struct Budget {
  std::optional<Clock::time_point> deadline;       // none: no time limit
  std::optional<int64_t> iterations;               // moves per planner; none: until the deadline
  const std::atomic<bool>* interrupted = nullptr;  // set by the signal handler of the program

  bool Interrupted() const {
    return interrupted != nullptr && interrupted->load(std::memory_order_relaxed);
  }
  // True when time is up or Ctrl-C was pressed. Costs a clock read.
  bool Expired() const { return Interrupted() || (deadline && Clock::now() >= *deadline); }
};

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_STOP_H_
