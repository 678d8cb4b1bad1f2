// When to stop: a deadline, an iteration budget, or somebody who asks for it.
#ifndef PLACEWRIGHT_BASE_STOP_H_
#define PLACEWRIGHT_BASE_STOP_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace placewright {

using Clock = std::chrono::steady_clock;

// Notifies long work that its result is no longer waited for: the work looks at it often and ends
// with the best that it has. By default it is never stopped. Copies share their state.
class StopToken {
 public:
  StopToken() = default;
  // Stops once `*flag` is true; it must outlive the token. A signal handler may set it.
  explicit StopToken(const std::atomic<bool>* flag) : flag_(flag) {}
  bool StopRequested() const { return flag_ != nullptr && flag_->load(std::memory_order_relaxed); }
  const std::atomic<bool>* flag() const { return flag_; }  // or nullptr

 private:
  const std::atomic<bool>* flag_ = nullptr;
};

// Where tokens come from; outlives them.
class StopSource {
 public:
  StopToken token() const { return StopToken(&flag_); }
  void RequestStop() { flag_.store(true, std::memory_order_relaxed); }  // from any thread

 private:
  std::atomic<bool> flag_{false};
};

struct Budget {
  std::optional<Clock::time_point> deadline;  // none: no time limit
  std::optional<int64_t> iterations;          // moves of the search; none: until the deadline
  StopToken stop;

  bool Stopped() const { return stop.StopRequested(); }
  // True when time is up or a stop was requested. Costs a clock read.
  bool Expired() const { return Stopped() || (deadline && Clock::now() >= *deadline); }
};

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_STOP_H_
