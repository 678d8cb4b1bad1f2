// What other threads have for a device's worker.
#ifndef PLACEWRIGHT_RUNTIME_EXECUTOR_MAILBOX_H_
#define PLACEWRIGHT_RUNTIME_EXECUTOR_MAILBOX_H_

#include <ATen/core/Tensor.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/executor/executable.h"

namespace placewright {

struct Message {
  enum class Kind : uint8_t {
    kCopied,     // `copy` has come, as `tensors`
    kRead,       // the bytes of `copy` have been read at its source
    kEnded,      // a task elsewhere, for which `task` waits
    kCollected,  // the collective of `task` has ended; `tensors` is what the task makes
    kFailed      // the step has
  };
  Kind kind = Kind::kEnded;
  CopyId copy;
  TaskId task;
  std::vector<at::Tensor> tensors;
};

class Mailbox {
 public:
  void Put(Message message) {
    {
      const std::scoped_lock lock(mutex_);
      messages_.push_back(std::move(message));
      any_.store(true, std::memory_order_release);
    }
    arrived_.notify_one();
  }
  bool any() const { return any_.load(std::memory_order_acquire); }
  // All that has come; with `wait`, at least one.
  std::vector<Message> Take(bool wait) {
    std::unique_lock lock(mutex_);
    if (wait) arrived_.wait(lock, [&] { return !messages_.empty(); });
    any_.store(false, std::memory_order_release);
    return std::exchange(messages_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Message> messages_;
  std::atomic<bool> any_{false};
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_EXECUTOR_MAILBOX_H_
