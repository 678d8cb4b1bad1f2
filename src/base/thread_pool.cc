#include "base/thread_pool.h"

#include <signal.h>

#include <new>
#include <system_error>
#include <utility>

namespace placewright {

namespace {

// Signals of the process are for the program's own threads: workers start with all of them blocked.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

ThreadPool::ThreadPool(int threads) {
  const BlockSignals inherited;
  workers_.reserve(static_cast<size_t>(threads > 1 ? threads - 1 : 0));
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { Work(); });
  } catch (const std::system_error&) {  // a limit on processes
  } catch (const std::bad_alloc&) {
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Drain(std::unique_lock<std::mutex>& lock) {
  while (body_ != nullptr && next_ < count_) {
    const int index = next_++;
    const auto* body = body_;
    ++running_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      (*body)(index);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure != nullptr) {
      next_ = count_;
      if (failure_ == nullptr) failure_ = std::move(failure);
    }
    --running_;
  }
  if (running_ == 0) done_.notify_all();
}

void ThreadPool::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || (body_ != nullptr && next_ < count_); });
    if (stop_) return;
    Drain(lock);
  }
}

void ThreadPool::ParallelFor(int count, const std::function<void(int)>& body) {
  if (workers_.empty()) {
    for (int i = 0; i < count; ++i) body(i);
    return;
  }
  std::unique_lock lock(mutex_);
  body_ = &body;
  next_ = 0;
  count_ = count;
  wake_.notify_all();
  Drain(lock);
  done_.wait(lock, [this] { return next_ >= count_ && running_ == 0; });
  body_ = nullptr;
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace placewright
