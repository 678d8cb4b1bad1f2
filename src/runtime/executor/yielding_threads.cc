#include "runtime/executor/yielding_threads.h"

#include <sched.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

#include <fmt/format.h>

namespace placewright {
namespace {

// 0: the calling thread. Whether the system let it.
bool SetPolicy(int thread, int policy) {
  const sched_param parameters{};
  return sched_setscheduler(thread, policy, &parameters) == 0;
}

}  // namespace

YieldingThreads::YieldingThreads(std::chrono::nanoseconds window) : window_(window) {
  std::chrono::nanoseconds waited{0};
  yielding_ = sched_getscheduler(0) == SCHED_OTHER && ReadWaited(gettid(), &waited) && MayGoBack();
  looked_at_ = Clock::now();
}

bool YieldingThreads::MayGoBack() {
  bool may = false;
  std::thread([&may] { may = SetPolicy(0, SCHED_IDLE) && SetPolicy(0, SCHED_OTHER); }).join();
  return may;
}

// "<time on a core> <time for which it waited for one> <turns>", in nanoseconds.
bool YieldingThreads::ReadWaited(int thread, std::chrono::nanoseconds* waited) {
  std::ifstream file(fmt::format("/proc/self/task/{}/schedstat", thread));
  int64_t computed = 0, nanos = 0;
  if (!(file >> computed >> nanos)) return false;
  *waited = std::chrono::nanoseconds(nanos);
  return true;
}

void YieldingThreads::Add() {
  const std::scoped_lock lock(mutex_);
  Watched added{gettid()};
  if (!yielding_ || !ReadWaited(added.thread, &added.waited)) return;
  if (SetPolicy(0, SCHED_IDLE)) watched_.push_back(added);
}

void YieldingThreads::Watch() {
  const std::scoped_lock lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (!yielding_ || now - looked_at_ < window_) return;
  const std::chrono::nanoseconds too_long = (now - looked_at_) / 2;
  looked_at_ = now;
  bool starved = false;
  for (Watched& one : watched_) {
    std::chrono::nanoseconds waited{0};
    if (!ReadWaited(one.thread, &waited)) continue;
    starved = starved || waited - one.waited > too_long;
    one.waited = waited;
  }
  if (starved) GoBack();
}

// With those that they have started.
void YieldingThreads::GoBack() {
  yielding_ = false;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const std::string name = entry.path().filename().string();
    int thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread > 0 && sched_getscheduler(thread) == SCHED_IDLE) SetPolicy(thread, SCHED_OTHER);
  }
}

bool YieldingThreads::yielding() const {
  const std::scoped_lock lock(mutex_);
  return yielding_;
}

}  // namespace placewright
