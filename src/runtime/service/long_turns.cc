#include "runtime/service/long_turns.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>

namespace placewright {

LongTurns::LongTurns() : usual_(sched_getscheduler(0) == SCHED_OTHER) {}

void LongTurns::Set(bool long_turns) {
  if (!usual_ || long_turns == set_) return;
  set_ = long_turns;
  const int from = long_turns ? SCHED_OTHER : SCHED_BATCH;
  const int to = long_turns ? SCHED_BATCH : SCHED_OTHER;
  const sched_param parameters{};
  std::error_code error;
  std::filesystem::directory_iterator threads("/proc/self/task", error);
  for (; !error && threads != std::filesystem::directory_iterator(); threads.increment(error)) {
    const std::string name = threads->path().filename().string();
    int thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    // One that has ended meanwhile has no policy.
    if (thread > 0 && sched_getscheduler(thread) == from) {
      sched_setscheduler(thread, to, &parameters);
    }
  }
}

bool WayOfSteps::second() const { return chosen_ != OtherIsNext(); }

void WayOfSteps::Took(int64_t step_ns) {
  const auto far_longer = [](int64_t than, int64_t step) {
    return static_cast<double>(step) > kFarLonger * static_cast<double>(than);
  };
  step_ns = std::max<int64_t>(step_ns, 1);
  if (trial_ >= 0) {
    int64_t& best = best_[OtherIsNext() ? 1 : 0];
    best = std::min(best, step_ns);
    ++trial_;
    if (trial_ == kTrial || (trial_ == kTrial - 1 && far_longer(best_[0], best_[1]))) EndTrial();
    return;
  }
  ++since_;
  const bool far = shortest_ > 0 && far_longer(shortest_, step_ns);
  if (since_ >= pause_) {
    BeginTrial(/*early=*/false);
  } else if (far && last_far_longer_ && since_ >= guard_) {
    BeginTrial(/*early=*/true);
  }
  last_far_longer_ = far;
  shortest_ = shortest_ > 0 ? std::min(shortest_, step_ns) : step_ns;
}

void WayOfSteps::BeginTrial(bool early) {
  trial_ = 0;
  early_ = early;
  best_.fill(std::numeric_limits<int64_t>::max());
}

void WayOfSteps::EndTrial() {
  trial_ = -1;
  const bool other = best_[1] < best_[0];
  if (other) {
    chosen_ = !chosen_;
    next_pause_ = kFirstPause;
  }
  // A trial that was begun early for nothing puts off the next such one.
  guard_ = early_ && !other ? std::min(2 * guard_, kLongestPause) : kFirstGuard;
  pause_ = next_pause_;
  next_pause_ = std::min(2 * next_pause_, kLongestPause);
  since_ = 0;
  shortest_ = 0;
  last_far_longer_ = false;
}

}  // namespace placewright
