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
    if (thread > 0 && sched_getscheduler(thread) == from)
      sched_setscheduler(thread, to, &parameters);
  }
}

bool WayOfSteps::second() const { return chosen_ != OtherIsNext(); }

void WayOfSteps::Took(int64_t step_ns) {
  if (InTrial()) {
    int64_t& best = best_[OtherIsNext() ? 1 : 0];
    best = std::min(best, step_ns);
    ++trial_;
    const bool far =
        trial_ == 2 && static_cast<double>(best_[1]) > kFarLonger * static_cast<double>(best_[0]);
    if (trial_ == kTrial || far) EndTrial();
    return;
  }
  const bool far_longer =
      shortest_ > 0 && static_cast<double>(step_ns) > kFarLonger * static_cast<double>(shortest_);
  // The pauses begin anew: something has changed.
  if (far_longer && last_far_longer_) next_pause_ = kFirstPause;
  if (--pause_ <= 0 || (far_longer && last_far_longer_)) {
    BeginTrial();
    return;
  }
  last_far_longer_ = far_longer;
  shortest_ = shortest_ > 0 ? std::min(shortest_, step_ns) : step_ns;
}

void WayOfSteps::BeginTrial() {
  trial_ = 0;
  best_.fill(std::numeric_limits<int64_t>::max());
}

void WayOfSteps::EndTrial() {
  trial_ = -1;
  if (best_[1] < best_[0]) {
    chosen_ = !chosen_;
    next_pause_ = kFirstPause;
  }
  pause_ = next_pause_;
  next_pause_ = std::min(2 * next_pause_, kLongestPause);
  shortest_ = 0;
  last_far_longer_ = false;
}

}  // namespace placewright
