// The part of a step that one device does.
#ifndef PLACEWRIGHT_RUNTIME_EXECUTOR_WORKER_H_
#define PLACEWRIGHT_RUNTIME_EXECUTOR_WORKER_H_

#include <ATen/core/Tensor.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "aten/boxed_call.h"
#include "base/result.h"
#include "base/stop.h"
#include "runtime/device/device.h"
#include "runtime/executor/executable.h"
#include "runtime/executor/mailbox.h"
#include "runtime/executor/ready_queue.h"

namespace placewright {

// When a task ran: its call, its views, and what left memory with it; of a member, its collective.
struct TaskSpan {
  Clock::time_point start, end;
  int64_t workspace = 0;  // bytes beyond what lay there before and after its call
};
struct CopySpan {
  Clock::time_point ready, start, end;  // ready: its source is there
};

struct CollectiveTimes {
  Clock::time_point ready, start, end;  // ready: its last member is
};

// What the workers of one execution share.
struct SharedStep {
  const Graph* graph = nullptr;
  Executable executable;
  IdVector<OpId, std::optional<BoxedCall>> calls;
  IdVector<DeviceId, std::unique_ptr<RuntimeDevice>> devices;
  IdVector<DeviceId, std::unique_ptr<Mailbox>> mailboxes;
  std::vector<at::Tensor> cells;  // one is touched by its device's worker alone
  // Of the step that runs, or else of the last one; each entry is written by one thread.
  Clock::time_point begin;
  IdVector<TaskId, TaskSpan> task_spans;
  IdVector<CopyId, CopySpan> copy_spans;
  IdVector<CollectiveId, CollectiveTimes> collective_spans;
  bool measures_workspace = false;
  // Views that copy where what they view lies otherwise in memory than the step expects (executor.h), and what those
  // of the step that runs have copied.
  IdVector<OpId, bool> may_copy;
  std::atomic<int64_t> copied_views{0}, copied_bytes{0};
  SchedulingPolicy policy = SchedulingPolicy::kFifo;
  IdVector<TaskId, int64_t> paths;
  // Copies `tensors`, which are of one slice, and writes to the mailboxes of the copy's two devices.
  std::function<void(CopyId copy, std::vector<at::Tensor> tensors)> copy;
  // Takes `tensors` to the collective of `member`, and writes to the mailbox of its device.
  std::function<void(TaskId member, std::vector<at::Tensor> tensors)> enter;
  // Of a task on a device of another process (nullptr in `devices`), which waits for `from`.
  std::function<void(TaskId from, TaskId to)> signal;

  // The first failure ends the step on all devices. From any thread.
  void Fail(Error error);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  std::optional<Error> TakeFailure();

 private:
  std::mutex mutex_;
  std::optional<Error> failure_;
  std::atomic<bool> failed_{false};
};

class Worker {
 public:
  Worker(SharedStep& step, DeviceId device);
  // Returns when all of the device's tasks have ended, or the step has failed.
  void Step();

 private:
  void Serve();
  void Read(std::vector<Message> messages);
  void MayRun(TaskId task);
  void Begin(TaskId task);  // and what waits for it on this device is one less to wait for
  void Execute(TaskId task);
  void Enter(TaskId member);
  void CallTask(TaskId task, OpId& running);  // running: what an error is of
  void CallViews(const Executable::Task& task, OpId& running);
  void CountCopy(const at::Tensor& viewed);
  void Call(const Executable::Call& call);
  void Fail(Error error, std::string place);

  void StartCopy(CopyId copy);
  void UsedOnce(CellId cell);
  void OneLess(TaskId task);

  SharedStep& step_;
  RuntimeDevice& device_;
  const Executable& executable_;
  const Executable::OnDevice& own_;
  Mailbox& mailbox_;
  ReadyQueue ready_;
  size_t left_ = 0;
  IdVector<TaskId, int32_t> waits_;
  // From here on: where the device's work runs.
  IdVector<CopyId, int32_t> copy_waits_;
  IdVector<CellId, int32_t> uses_;
  std::vector<at::Tensor> results_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_EXECUTOR_WORKER_H_
