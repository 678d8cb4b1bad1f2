#include "runtime/executor/collectives.h"

#include <utility>

#include "runtime/transport/in_process_transport.h"

namespace placewright {

Collectives::Collectives(SharedStep& step) : step_(step) {
  std::vector<RuntimeDevice*> devices;
  for (const auto& device : step.devices) devices.push_back(device.get());
  transports_ = MakeInProcessTransports(devices);
}

void Collectives::Enter(TaskId member, std::vector<at::Tensor> tensors) {
  const Executable::Task& task = step_.executable.tasks[member];
  transports_[task.device.index()]->Start(
      step_.executable.collectives[task.collective].spec, std::move(tensors),
      [this, member](Result<Transport::Outcome> outcome) { Leave(member, std::move(outcome)); });
}

void Collectives::Leave(TaskId member, Result<Transport::Outcome> outcome) {
  if (!outcome.ok()) {
    step_.Fail(std::move(outcome.error()));
    return;
  }
  const Executable::Task& task = step_.executable.tasks[member];
  Transport::Outcome& ended = outcome.value();
  step_.task_spans[member] = {ended.start, ended.end, 0};
  if (member == step_.executable.collectives[task.collective].members.front()) {
    step_.collective_spans[task.collective] = {ended.ready, ended.start, ended.end};
  }
  step_.mailboxes[task.device]->Put(
      {Message::Kind::kCollected, {}, member, std::move(ended.tensors)});
}

void Collectives::EndStep() {
  const bool failed = step_.failed();
  if (failed) {
    transports_.front()->Abort(MakeError(ErrorCode::kExecution, "the step has failed"));
  }
  for (const auto& transport : transports_) transport->Drain();
  for (const auto& transport : transports_) {
    if (failed) transport->Reset();
  }
}

}  // namespace placewright
