// Threads that compute beside threads that send and receive, on the same cores.
#ifndef PLACEWRIGHT_RUNTIME_EXECUTOR_YIELDING_THREADS_H_
#define PLACEWRIGHT_RUNTIME_EXECUTOR_YIELDING_THREADS_H_

#include <chrono>
#include <mutex>
#include <vector>

#include "base/stop.h"

namespace placewright {

// Threads that run where no other wants their core (SCHED_IDLE): what sends and receives gets it at once, where it
// would else wait for the end of their turn, some milliseconds. As threads of all other programs come before them,
// too, they take turns as usual again, for good, once they have waited for more than half of a window.
//
// Nothing happens where the system does not say how long threads wait, would not let them go back (it lets root,
// and who may raise a nice value), or where the program was started with another policy than the usual one.
class YieldingThreads {
 public:
  explicit YieldingThreads(std::chrono::nanoseconds window = std::chrono::seconds(2));
  YieldingThreads(const YieldingThreads&) = delete;
  YieldingThreads& operator=(const YieldingThreads&) = delete;

  // The calling thread, and threads that it starts from now on.
  void Add();
  // Whether they have waited too long: looked at once in a window at most. From any thread, one at a time.
  void Watch();
  bool yielding() const;

 private:
  struct Watched {
    int thread = 0;
    std::chrono::nanoseconds waited{0};  // since it began, when it was looked at
  };
  // Whether the system says how long.
  static bool ReadWaited(int thread, std::chrono::nanoseconds* waited);
  static bool MayGoBack();
  void GoBack();

  const std::chrono::nanoseconds window_;
  mutable std::mutex mutex_;
  bool yielding_ = false;
  std::vector<Watched> watched_;
  Clock::time_point looked_at_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_EXECUTOR_YIELDING_THREADS_H_
