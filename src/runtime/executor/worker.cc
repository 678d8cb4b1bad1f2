#include "runtime/executor/worker.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include <utility>

#include "aten/failure.h"
#include "base/text.h"

namespace placewright {

void SharedStep::Fail(Error error) {
  {
    const std::scoped_lock lock(mutex_);
    if (failure_) return;
    failure_ = std::move(error);
    failed_.store(true, std::memory_order_release);
  }
  for (const auto& mailbox : mailboxes) mailbox->Put({Message::Kind::kFailed, {}, {}, {}});
}

std::optional<Error> SharedStep::TakeFailure() {
  const std::scoped_lock lock(mutex_);
  failed_.store(false, std::memory_order_release);
  return std::exchange(failure_, std::nullopt);
}

Worker::Worker(SharedStep& step, DeviceId device)
    : step_(step),
      device_(*step.devices[device]),
      executable_(step.executable),
      own_(step.executable.devices[device]),
      mailbox_(*step.mailboxes[device]),
      ready_(step.policy, step.paths),
      waits_(step.executable.tasks.size()),
      copy_waits_(step.executable.copies.size()) {}

void Worker::Step() {
  for (const TaskId task : IdRange<TaskId>(waits_.size()))
    waits_[task] = executable_.tasks[task].waits;
  for (const CopyId copy : IdRange<CopyId>(copy_waits_.size())) {
    copy_waits_[copy] = executable_.copies[copy].waits;
  }
  uses_ = executable_.uses;
  left_ = own_.tasks;

  ready_.Clear();
  for (const CopyId copy : own_.copies) StartCopy(copy);
  const Status ended = CatchAllFailures([&] {
    if (device_.asynchronous()) {
      Serve();
    } else {
      device_.Submit([this] { Serve(); });
    }
    device_.Synchronize();
  });
  if (!ended.ok()) Fail(ended.error(), "device " + Printable(device_.name(), 80));
}

void Worker::Fail(Error error, std::string place) {
  if (error.code != ErrorCode::kDeviceMemory) error.code = ErrorCode::kExecution;
  error.place = std::move(place);
  step_.Fail(std::move(error));
}

void Worker::Serve() {
  for (const TaskId task : own_.first) MayRun(task);
  while (left_ > 0 && !step_.failed()) {
    // What comes may be the end of the last task: of a member.
    if (mailbox_.any()) {
      Read(mailbox_.Take(/*wait=*/false));
    } else if (ready_.empty()) {
      Read(mailbox_.Take(/*wait=*/true));
    } else {
      Begin(ready_.Pop());
    }
  }
}

void Worker::Read(std::vector<Message> messages) {
  for (Message& message : messages) {
    if (message.kind == Message::Kind::kFailed) return;
    if (message.kind == Message::Kind::kEnded) {
      OneLess(message.task);
      continue;
    }
    if (message.kind == Message::Kind::kCollected) {
      for (const Executable::Call::Output& output : executable_.tasks[message.task].call.outputs) {
        step_.cells[output.cell.index()] =
            std::move(message.tensors.at(static_cast<size_t>(output.result)));
      }
      Begin(message.task);
      continue;
    }
    const Executable::Copy& copy = executable_.copies[message.copy];
    if (message.kind == Message::Kind::kRead) {
      for (const TaskId writer : copy.writers) OneLess(writer);
      continue;
    }
    for (size_t i = 0; i < copy.made.size(); ++i) {
      step_.cells[copy.made[i].to.index()] = std::move(message.tensors[i]);
    }
    for (const TaskId reader : copy.readers) OneLess(reader);
  }
}

void Worker::OneLess(TaskId task) {
  if (--waits_[task] == 0) MayRun(task);
}

// A member waits for the others in no queue: its tensors do, elsewhere.
void Worker::MayRun(TaskId task) {
  if (!executable_.tasks[task].collective.valid()) {
    ready_.Push(task);
  } else if (device_.asynchronous()) {
    device_.Submit([this, task] { Enter(task); });
  } else {
    Enter(task);
  }
}

void Worker::Begin(TaskId task) {
  --left_;
  if (device_.asynchronous()) {
    device_.Submit([this, task] { Execute(task); });
  } else {
    Execute(task);
  }
  for (const TaskId next : executable_.tasks[task].next) OneLess(next);
}

void Worker::Call(const Executable::Call& call) {
  device_.CheckHolds(step_.cells, call.inputs);
  step_.calls[call.op]->Run(step_.cells, call.inputs, results_);
  device_.Keep(results_);
  if (step_.may_copy[call.op]) CountCopy(step_.cells[static_cast<size_t>(call.inputs.front())]);
  for (const Executable::Call::Output& output : call.outputs) {
    step_.cells[output.cell.index()] = results_.at(static_cast<size_t>(output.result));
  }
  results_.clear();
}

void Worker::CountCopy(const at::Tensor& viewed) {
  if (results_.front().is_alias_of(viewed)) return;
  step_.copied_views.fetch_add(1, std::memory_order_relaxed);
  step_.copied_bytes.fetch_add(static_cast<int64_t>(results_.front().nbytes()),
                               std::memory_order_relaxed);
}

void Worker::CallViews(const Executable::Task& task, OpId& running) {
  for (const Executable::Call& view : task.views) {
    running = view.op;
    Call(view);
  }
  running = task.call.op;
  for (const CellId cell : task.unread) step_.cells[cell.index()].reset();
}

void Worker::CallTask(TaskId id, OpId& running) {
  const Executable::Task& task = executable_.tasks[id];
  TaskSpan& span = step_.task_spans[id];
  device_.Stamp(span.start);
  if (step_.measures_workspace) device_.memory().Mark();
  Call(task.call);
  if (step_.measures_workspace) span.workspace = device_.memory().AboveUsed();
  CallViews(task, running);
  for (const CellId cell : task.reads) UsedOnce(cell);
  // Before others learn of it: what waits for it begins later, by this clock, too.
  if (!task.copies.empty() || !task.elsewhere.empty()) device_.Finish();
  device_.Stamp(span.end);
}

void Worker::Execute(TaskId id) {
  if (step_.failed()) return;
  const Executable::Task& task = executable_.tasks[id];
  OpId running = task.call.op;
  const Status status = CatchAllFailures([&] {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    if (task.collective.valid()) {
      CallViews(task, running);  // of what its collective has made
    } else {
      CallTask(id, running);
    }
  });
  if (!status.ok()) {
    results_.clear();
    Fail(status.error(), "op " + Printable(step_.graph->op(running).name, 80));
    return;
  }
  for (const CopyId copy : task.copies) {
    if (--copy_waits_[copy] == 0) StartCopy(copy);
  }
  for (const TaskId next : task.elsewhere) {
    const DeviceId device = executable_.tasks[next].device;
    if (step_.devices[device] == nullptr) {
      step_.signal(id, next);
    } else {
      step_.mailboxes[device]->Put({Message::Kind::kEnded, {}, next, {}});
    }
  }
}

// Hands its tensors over: what goes on behind it on this device does not wait for the other members.
void Worker::Enter(TaskId member) {
  if (step_.failed()) return;
  const Executable::Task& task = executable_.tasks[member];
  const Status status = CatchAllFailures([&] {
    device_.CheckHolds(step_.cells, task.call.inputs);
    std::vector<at::Tensor> tensors;  // none of a member that only gets one
    for (const int32_t input : task.call.inputs) {
      tensors.push_back(step_.cells[static_cast<size_t>(input)]);
    }
    for (const CellId cell : task.reads) UsedOnce(cell);
    device_.Finish();
    step_.enter(member, std::move(tensors));
  });
  if (!status.ok()) {
    Fail(status.error(), "op " + Printable(step_.graph->op(task.call.op).name, 80));
  }
}

void Worker::UsedOnce(CellId cell) {
  if (uses_[cell] != Executable::kKept && --uses_[cell] == 0) step_.cells[cell.index()].reset();
}

void Worker::StartCopy(CopyId copy) {
  step_.copy_spans[copy].ready = Clock::now();
  std::vector<at::Tensor> tensors;
  for (const Executable::Copy::Made& made : executable_.copies[copy].made) {
    tensors.push_back(step_.cells[made.from.index()]);
    UsedOnce(made.from);
  }
  step_.copy(copy, std::move(tensors));
}

}  // namespace placewright
