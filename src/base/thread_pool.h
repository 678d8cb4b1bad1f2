// A fixed set of worker threads that run the same function over an index range.
#ifndef PLACEWRIGHT_BASE_THREAD_POOL_H_
#define PLACEWRIGHT_BASE_THREAD_POOL_H_

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace placewright {

class ThreadPool {
 public:
  // `threads` >= 1 counts the calling thread, so ThreadPool(1) starts none. Where the system grants
  // fewer, the pool has these: results never depend on the number.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Runs body(i) for every i in [0, count), each exactly once, and returns when all have ended.
  // The calling thread begins with body(0); which thread runs the others is not defined: results
  // must not depend on it. Workers receive no signals. Where a body throws,
  // no further i begins, and the first exception is thrown here once all threads have stopped.
  void ParallelFor(int count, const std::function<void(int)>& body);

 private:
  void Work();
  void Drain(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int)>* body_ = nullptr;
  int next_ = 0, count_ = 0, running_ = 0;
  std::exception_ptr failure_;
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_THREAD_POOL_H_
