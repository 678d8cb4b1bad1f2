#include "cli/terminal/interrupt.h"

#include <signal.h>
#include <time.h>

#include <cstdint>

namespace placewright {
namespace {

std::atomic<bool> g_interrupted{false};
std::atomic<int64_t> first_at{0};  // ns of the monotonic clock, 0: none yet
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free,
              "the handler must not take locks");

constexpr int64_t kRepeatNanos = 1'000'000'000;

extern "C" void OnInterrupt(int number) {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  const int64_t now = int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  int64_t first = 0;
  if (first_at.compare_exchange_strong(first, now)) {
    g_interrupted.store(true, std::memory_order_relaxed);
  } else if (now - first > kRepeatNanos) {
    signal(number, SIG_DFL);
    raise(number);  // delivered when this handler returns
  }
}

}  // namespace

const std::atomic<bool>& CatchInterrupts() {
  struct sigaction action {};
  action.sa_handler = OnInterrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // reads and writes go on
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // Under nohup a terminal that goes away shall not even shorten the search.
  struct sigaction hangup {};
  if (sigaction(SIGHUP, nullptr, &hangup) != 0 || hangup.sa_handler != SIG_IGN) {
    sigaction(SIGHUP, &action, nullptr);
  }
  return g_interrupted;
}

}  // namespace placewright
