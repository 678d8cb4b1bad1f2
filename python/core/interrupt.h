// Ctrl-C while a search runs: it ends with the best plan so far.
#ifndef PLACEWRIGHT_PYTHON_CORE_INTERRUPT_H_
#define PLACEWRIGHT_PYTHON_CORE_INTERRUPT_H_

#include <placewright/base/stop.h>

#include <atomic>
#include <csignal>

namespace placewright::python {

// While it lives, the first SIGINT requests a stop; those behind it go where they went before.
// Python's own handler would run only when the search is over. For the main thread alone. Of one
// within another the inner one is asked first.
class InterruptStops {
 public:
  explicit InterruptStops(bool enabled);
  ~InterruptStops();
  InterruptStops(const InterruptStops&) = delete;
  InterruptStops& operator=(const InterruptStops&) = delete;

  StopToken token() const { return StopToken(&requested_); }
  void RequestStop() { requested_.store(true, std::memory_order_relaxed); }
  bool interrupted() const { return interrupted_.load(std::memory_order_relaxed); }  // by a SIGINT

 private:
  static void Handle(int signal);

  const bool enabled_;
  std::atomic<bool> requested_{false}, interrupted_{false};
  InterruptStops* outer_ = nullptr;  // that it lies within
  struct sigaction before_ {};
};

}  // namespace placewright::python

#endif  // PLACEWRIGHT_PYTHON_CORE_INTERRUPT_H_
