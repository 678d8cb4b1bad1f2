// Threads that do one thing together, again and again: a step.
#ifndef PLACEWRIGHT_RUNTIME_EXECUTOR_TEAM_H_
#define PLACEWRIGHT_RUNTIME_EXECUTOR_TEAM_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace placewright {

class Team {
 public:
  explicit Team(std::vector<std::function<void()>> members) {
    for (std::function<void()>& member : members) {
      threads_.emplace_back([this, member = std::move(member)] { Serve(member); });
    }
  }
  ~Team() {
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Returns when all have.
  void Go() {
    std::unique_lock lock(mutex_);
    ++turn_;
    busy_ = threads_.size();
    changed_.notify_all();
    changed_.wait(lock, [&] { return busy_ == 0; });
  }

 private:
  void Serve(const std::function<void()>& member) {
    uint64_t done = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return ended_ || turn_ != done; });
      if (ended_) return;
      done = turn_;
      lock.unlock();
      member();
      lock.lock();
      if (--busy_ == 0) changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t turn_ = 0;
  size_t busy_ = 0;
  bool ended_ = false;
  std::vector<std::thread> threads_;  // last: they use the others
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_EXECUTOR_TEAM_H_
