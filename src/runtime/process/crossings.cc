#include "runtime/process/crossings.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "aten/failure.h"
#include "base/text.h"
#include "runtime/device/copy_slice.h"
#include "runtime/process/message.h"
#include "runtime/transport/combine.h"

namespace placewright {
namespace {

bool AllGetAlike(CollectiveSpec::Kind kind) { return kind != CollectiveSpec::Kind::kReduceScatter; }

}  // namespace

Crossings::Crossings(SharedStep& step, Channel& channel, IdVector<DeviceId, int32_t> rank_of,
                     const std::vector<Crossing>& order)
    : step_(step),
      channel_(channel),
      rank_of_(std::move(rank_of)),
      copy_at_(step.executable.copies.size(), -1),
      collective_at_(step.executable.collectives.size(), -1) {
  for (size_t i = 0; i < order.size(); ++i) {
    const Crossing& one = order[i];
    const int32_t rank = channel_.rank();
    if (!std::binary_search(one.ranks.begin(), one.ranks.end(), rank)) continue;
    Own own{one, static_cast<int64_t>(i), 0};
    const auto at = static_cast<int32_t>(own_.size());
    switch (one.kind) {
      case Crossing::Kind::kCopy:
        copy_at_[one.copy] = at;
        own.gives = IsHere(step.executable.copies[one.copy].from) ? 1 : 0;
        break;
      case Crossing::Kind::kSignal:
        own.gives = RankOf(one.from) == rank ? 1 : 0;
        if (own.gives > 0) signals_.push_back({{one.from, one.to}, own_.size()});
        break;
      case Crossing::Kind::kCollective:
        collective_at_[one.collective] = at;
        for (const TaskId member : step.executable.collectives[one.collective].members) {
          own.gives += RankOf(member) == rank ? 1 : 0;
        }
        break;
    }
    own_.push_back(std::move(own));
  }
  std::sort(signals_.begin(), signals_.end());
  thread_ = std::thread([this] { Serve(); });
}

Crossings::~Crossings() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Crossings::BeginStep() {
  {
    const std::scoped_lock lock(mutex_);
    given_.assign(own_.size(), {});
    busy_ = true;
    ++step_number_;
  }
  changed_.notify_all();
}

void Crossings::Give(size_t own, TaskId member, std::vector<at::Tensor> tensors) {
  {
    const std::scoped_lock lock(mutex_);
    given_[own].tensors.emplace_back(member, std::move(tensors));
  }
  changed_.notify_all();
}

void Crossings::Copy(CopyId copy, std::vector<at::Tensor> tensors) {
  Give(static_cast<size_t>(copy_at_[copy]), {}, std::move(tensors));
}

void Crossings::Enter(TaskId member, at::Tensor tensor) {
  const CollectiveId id = step_.executable.tasks[member].collective;
  Give(static_cast<size_t>(collective_at_[id]), member, {std::move(tensor)});
}

void Crossings::Signal(TaskId from, TaskId to) {
  const std::pair<std::pair<TaskId, TaskId>, size_t> wanted = {{from, to}, 0};
  const auto found = std::lower_bound(signals_.begin(), signals_.end(), wanted);
  PW_CHECK(found != signals_.end() && found->first == wanted.first);
  Give(found->second, {}, {});
}

void Crossings::EndStep() {
  const bool failed = step_.failed();
  if (failed) channel_.Abort(MakeError(ErrorCode::kExecution, "the step has failed"));
  changed_.notify_all();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !busy_; });
  given_.clear();
}

void Crossings::Serve() {
  uint64_t served = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ended_ || step_number_ != served; });
    if (ended_) return;
    served = step_number_;
    lock.unlock();
    WorkThrough();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void Crossings::WorkThrough() {
  for (size_t i = 0; i < own_.size(); ++i) {
    const Own& own = own_[i];
    Given given;
    {
      std::unique_lock lock(mutex_);
      // A step that fails on a worker says so to EndStep alone, behind all workers.
      const auto ready = [&] { return given_[i].tensors.size() == own.gives || step_.failed(); };
      while (!changed_.wait_for(lock, std::chrono::milliseconds(100), ready)) {
      }
      if (step_.failed()) return;
      given = std::move(given_[i]);
    }
    Status status = Ok();
    const Status caught = CatchAllFailures([&] {
      const at::AutoDispatchBelowADInplaceOrView below_autograd;
      status = CarryOut(own, std::move(given));
    });
    Error error;
    if (caught.ok() && status.ok()) continue;
    error = caught.ok() ? std::move(status.error()) : caught.error();
    if (error.code != ErrorCode::kDeviceMemory) error.code = ErrorCode::kExecution;
    if (error.place.empty()) error.place = NameOf(own.crossing);
    step_.Fail(std::move(error));
    return;
  }
}

std::string Crossings::NameOf(const Crossing& crossing) const {
  const Executable& executable = step_.executable;
  const auto op = [&](TaskId task) {
    return Printable(step_.graph->op(executable.tasks[task].call.op).name, 80);
  };
  switch (crossing.kind) {
    case Crossing::Kind::kCollective:
      return "collective " + Printable(executable.collectives[crossing.collective].spec.name, 80);
    case Crossing::Kind::kSignal: return "op " + op(crossing.to);
    case Crossing::Kind::kCopy: break;
  }
  const Executable::Copy& copy = executable.copies[crossing.copy];
  const TensorId sent = step_.graph->storage(copy.storage).first;
  return fmt::format("the transfer of {} from rank {} to rank {}",
                     Printable(step_.graph->tensor(sent).name, 80), rank_of_[copy.from],
                     rank_of_[copy.to]);
}

Status Crossings::CarryOut(const Own& own, Given given) {
  switch (own.crossing.kind) {
    case Crossing::Kind::kCopy: return CarryOutCopy(own, given);
    case Crossing::Kind::kSignal: return CarryOutSignal(own);
    case Crossing::Kind::kCollective: return CarryOutCollective(own, std::move(given));
  }
  return Ok();
}

Status Crossings::CarryOutCopy(const Own& own, const Given& given) {
  const CopyId id = own.crossing.copy;
  const Executable::Copy& copy = step_.executable.copies[id];
  if (IsHere(copy.from)) {
    PW_RETURN_IF_ERROR(SendTensors(channel_, rank_of_[copy.to], own.item,
                                   given.tensors.front().second, &lengths_));
    if (!copy.writers.empty()) {
      step_.mailboxes[copy.from]->Put({Message::Kind::kRead, id, {}, {}});
    }
    return Ok();
  }
  // When its source was there is known to another clock.
  CopySpan& span = step_.copy_spans[id];
  span.ready = span.start = Clock::now();
  PW_ASSIGN(std::vector<at::Tensor> tensors,
            ReceiveTensors(channel_, rank_of_[copy.from], own.item, step_.devices[copy.to].get(),
                           &lengths_));
  if (tensors.size() != copy.made.size()) {
    return MakeError(ErrorCode::kExecution,
                     fmt::format("{} tensors have come where {} are expected", tensors.size(),
                                 copy.made.size()));
  }
  span.end = Clock::now();
  step_.mailboxes[copy.to]->Put({Message::Kind::kCopied, id, {}, std::move(tensors)});
  return Ok();
}

Status Crossings::CarryOutSignal(const Own& own) {
  const Crossing& one = own.crossing;
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  if (RankOf(one.from) == channel_.rank()) {
    std::vector<at::Tensor> state;
    if (one.random) state.push_back(generator.get_state());
    return SendTensors(channel_, RankOf(one.to), own.item, state, &lengths_);
  }
  PW_ASSIGN(const std::vector<at::Tensor> state,
            ReceiveTensors(channel_, RankOf(one.from), own.item, nullptr, &lengths_));
  if (one.random && state.size() == 1) generator.set_state(state.front());
  step_.mailboxes[step_.executable.tasks[one.to].device]->Put(
      {Message::Kind::kEnded, {}, one.to, {}});
  return Ok();
}

Status Crossings::CarryOutCollective(const Own& own, Given given) {
  const Executable::Collective& collective = step_.executable.collectives[own.crossing.collective];
  const CollectiveSpec& spec = collective.spec;
  const Clock::time_point ready = Clock::now();
  const bool broadcasts = spec.kind == CollectiveSpec::Kind::kBroadcast;
  const int32_t first = broadcasts ? spec.root : spec.members.front();
  const int32_t home = rank_of_[DeviceId(first)];
  std::vector<at::Tensor> inputs(collective.members.size());
  for (auto& [task, tensors] : given.tensors) {
    const auto member = std::find(collective.members.begin(), collective.members.end(), task);
    inputs[static_cast<size_t>(member - collective.members.begin())] = std::move(tensors.front());
  }
  given.tensors.clear();
  std::vector<at::Tensor> results;
  if (home == channel_.rank()) {
    PW_ASSIGN(results, CombineHere(own, std::move(inputs)));
  } else {
    PW_ASSIGN(results, CombineElsewhere(own, home, std::move(inputs)));
  }
  const Clock::time_point end = Clock::now();
  step_.collective_spans[own.crossing.collective] = {ready, ready, end};
  for (size_t i = 0; i < results.size(); ++i) {
    const TaskId member = collective.members[i];
    if (RankOf(member) != channel_.rank()) continue;
    step_.task_spans[member] = {ready, end, 0};
    step_.mailboxes[step_.executable.tasks[member].device]->Put(
        {Message::Kind::kCollected, {}, member, {std::move(results[i])}});
  }
  return Ok();
}

Result<std::vector<at::Tensor>> Crossings::CombineHere(const Own& own,
                                                       std::vector<at::Tensor> inputs) {
  const Executable::Collective& collective = step_.executable.collectives[own.crossing.collective];
  const CollectiveSpec& spec = collective.spec;
  const bool broadcasts = spec.kind == CollectiveSpec::Kind::kBroadcast;
  std::vector<RuntimeDevice*> devices;
  for (size_t i = 0; i < collective.members.size(); ++i) {
    const DeviceId device(spec.members[i]);
    devices.push_back(IsHere(device) ? step_.devices[device].get() : nullptr);
    if (IsHere(device) || broadcasts) continue;
    PW_ASSIGN(std::vector<at::Tensor> one,
              ReceiveTensors(channel_, rank_of_[device], own.item, nullptr, &lengths_));
    if (one.size() == 1) inputs[i] = std::move(one.front());
  }
  std::vector<at::Tensor> results = Combine(spec, inputs, devices);
  inputs.clear();
  std::vector<int32_t> sent;
  for (size_t i = 0; i < results.size(); ++i) {
    const int32_t rank = RankOf(collective.members[i]);
    if (rank == channel_.rank()) continue;
    const bool again = std::find(sent.begin(), sent.end(), rank) != sent.end();
    if (again && AllGetAlike(spec.kind)) continue;
    sent.push_back(rank);
    PW_RETURN_IF_ERROR(SendTensors(channel_, rank, own.item, std::span(&results[i], 1), &lengths_));
  }
  return results;
}

Result<std::vector<at::Tensor>> Crossings::CombineElsewhere(const Own& own, int32_t home,
                                                            std::vector<at::Tensor> inputs) {
  const Executable::Collective& collective = step_.executable.collectives[own.crossing.collective];
  const CollectiveSpec& spec = collective.spec;
  if (spec.kind != CollectiveSpec::Kind::kBroadcast) {
    for (at::Tensor& input : inputs) {
      if (!input.defined()) continue;
      const at::Tensor given = input.contiguous();
      PW_RETURN_IF_ERROR(SendTensors(channel_, home, own.item, std::span(&given, 1), &lengths_));
      input.reset();
    }
  }
  std::vector<at::Tensor> results(inputs.size());
  at::Tensor first;
  for (size_t i = 0; i < results.size(); ++i) {
    const DeviceId device(spec.members[i]);
    if (!IsHere(device)) continue;
    if (first.defined() && AllGetAlike(spec.kind)) {
      results[i] = CopySlice(std::span(&first, 1), *step_.devices[device]).front();
      continue;
    }
    PW_ASSIGN(std::vector<at::Tensor> got,
              ReceiveTensors(channel_, home, own.item, step_.devices[device].get(), &lengths_));
    if (got.size() != 1) {
      return MakeError(ErrorCode::kExecution,
                       fmt::format("{} tensors have come where one is expected", got.size()));
    }
    first = results[i] = std::move(got.front());
  }
  return results;
}

}  // namespace placewright
