#include "runtime/executor/copy_lanes.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "aten/failure.h"
#include "runtime/device/copy_slice.h"

namespace placewright {

namespace {

void Make(SharedStep& step, CopyId id, std::vector<at::Tensor> tensors) {
  const Executable::Copy& copy = step.executable.copies[id];
  CopySpan& span = step.copy_spans[id];
  span.start = Clock::now();
  std::vector<at::Tensor> copies;
  Status status = CatchAllFailures([&] {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    copies = CopySlice(tensors, *step.devices[copy.to]);
  });
  if (!status.ok()) {
    Error error = std::move(status.error());
    if (error.code != ErrorCode::kDeviceMemory) error.code = ErrorCode::kExecution;
    error.place = "a transfer to " + step.devices[copy.to]->name();
    step.Fail(std::move(error));
    return;
  }
  // Before others learn of it: what is no longer used is free by then.
  tensors.clear();
  span.end = Clock::now();
  step.mailboxes[copy.to]->Put({Message::Kind::kCopied, id, {}, std::move(copies)});
  if (!copy.writers.empty()) {
    step.mailboxes[copy.from]->Put({Message::Kind::kRead, id, {}, {}});
  }
}

}  // namespace

class CopyLanes::Lane {
 public:
  explicit Lane(SharedStep& step) : step_(step), thread_([this] { Serve(); }) {}
  ~Lane() {
    Put(CopyId(), {});
    thread_.join();
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // No copy: the end.
  void Put(CopyId copy, std::vector<at::Tensor> tensors) {
    {
      const std::scoped_lock lock(mutex_);
      queue_.emplace_back(copy, std::move(tensors));
    }
    changed_.notify_all();
  }
  void Drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
  }

 private:
  void Serve() {
    while (true) {
      std::unique_lock lock(mutex_);
      busy_ = false;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !queue_.empty(); });
      auto [copy, tensors] = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      lock.unlock();
      if (!copy.valid()) return;
      if (!step_.failed()) Make(step_, copy, std::move(tensors));
    }
  }

  SharedStep& step_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<CopyId, std::vector<at::Tensor>>> queue_;
  bool busy_ = false;
  std::thread thread_;  // last: it uses the others
};

CopyLanes::CopyLanes(SharedStep& step) : step_(step) {
  lanes_.resize(step.devices.size());
  for (const Executable::Copy& copy : step.executable.copies) {
    const bool here = step.devices[copy.from] != nullptr && step.devices[copy.to] != nullptr;
    if (here && lanes_[copy.to] == nullptr) lanes_[copy.to] = std::make_unique<Lane>(step);
  }
}

CopyLanes::~CopyLanes() = default;

void CopyLanes::Copy(CopyId id, std::vector<at::Tensor> tensors) {
  const Executable::Copy& copy = step_.executable.copies[id];
  if (copy.length.count <= kAtOnce && !step_.devices[copy.from]->asynchronous() &&
      !step_.devices[copy.to]->asynchronous()) {
    Make(step_, id, std::move(tensors));
  } else {
    lanes_[copy.to]->Put(id, std::move(tensors));
  }
}

void CopyLanes::Drain() {
  for (const auto& lane : lanes_) {
    if (lane != nullptr) lane->Drain();
  }
}

}  // namespace placewright
