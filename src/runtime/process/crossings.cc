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

bool AllGetAlike(CollectiveSpec::Kind kind) {
  return kind != CollectiveSpec::Kind::kReduceScatter && kind != CollectiveSpec::Kind::kAllToAll;
}

}  // namespace

Crossings::Crossings(SharedStep& step, Channel& channel, DeviceLinks* links,
                     IdVector<DeviceId, int32_t> rank_of, const std::vector<Crossing>& order)
    : step_(step),
      channel_(channel),
      links_(links),
      rank_of_(std::move(rank_of)),
      copy_at_(step.executable.copies.size(), -1),
      collective_at_(step.executable.collectives.size(), -1) {
  for (size_t i = 0; i < order.size(); ++i) {
    const Crossing& one = order[i];
    const int32_t rank = channel_.rank();
    if (!std::binary_search(one.ranks.begin(), one.ranks.end(), rank)) continue;
    own_.push_back(OwnOf(one, static_cast<int64_t>(i)));
    const auto at = static_cast<int32_t>(own_.size()) - 1;
    switch (one.kind) {
      case Crossing::Kind::kCopy: copy_at_[one.copy] = at; break;
      case Crossing::Kind::kCollective: collective_at_[one.collective] = at; break;
      case Crossing::Kind::kSignal:
        if (own_.back().sends) signals_.push_back({{one.from, one.to}, own_.size() - 1});
        break;
    }
  }
  std::sort(signals_.begin(), signals_.end());
  sending_ = std::thread([this] { Serve(Direction::kSend); });
  receiving_ = std::thread([this] { Serve(Direction::kReceive); });
}

Crossings::Own Crossings::OwnOf(const Crossing& crossing, int64_t item) const {
  Own own;
  own.crossing = crossing;
  own.item = item;
  if (crossing.kind != Crossing::Kind::kCollective) {
    own.sends = crossing.kind == Crossing::Kind::kCopy
                    ? IsHere(step_.executable.copies[crossing.copy].from)
                    : RankOf(crossing.from) == channel_.rank();
    own.receives = !own.sends;
    own.gives = own.sends ? 1 : 0;
    return own;
  }
  const Executable::Collective& collective = step_.executable.collectives[crossing.collective];
  own.home = rank_of_[HomeOf(crossing.collective)];
  own.gathers = collective.spec.kind != CollectiveSpec::Kind::kBroadcast;
  const bool here = own.home == channel_.rank();
  own.sends = here || own.gathers;
  own.receives = !here || own.gathers;
  for (const TaskId member : collective.members) {
    own.gives += RankOf(member) == channel_.rank() ? 1 : 0;
  }
  return own;
}

DeviceId Crossings::HomeOf(CollectiveId collective) const {
  const CollectiveSpec& spec = step_.executable.collectives[collective].spec;
  return DeviceId(spec.kind == CollectiveSpec::Kind::kBroadcast ? spec.root : spec.members.front());
}

MessageWays Crossings::WaysBetween(DeviceId from, DeviceId to) {
  return {&lengths_, links_ == nullptr ? nullptr : links_->Between(from, to)};
}

Crossings::~Crossings() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  Wake({true, true});
  sending_.join();
  receiving_.join();
}

void Crossings::BeginStep() {
  {
    const std::scoped_lock lock(mutex_);
    given_.assign(own_.size(), {});
    busy_ = 2;
    ++step_number_;
  }
  Wake({true, true});
}

void Crossings::Give(size_t own, TaskId member, std::vector<at::Tensor> tensors) {
  const std::array<bool, 2> ready = [&] {
    const std::scoped_lock lock(mutex_);
    Given& given = given_[own];
    ++given.times;
    given.tensors.emplace_back(member, std::move(tensors));
    given.last = Clock::now();
    return WaitingAndReady(own);
  }();
  Wake(ready);
}

void Crossings::Copy(CopyId copy, std::vector<at::Tensor> tensors) {
  Give(static_cast<size_t>(copy_at_[copy]), {}, std::move(tensors));
}

void Crossings::Enter(TaskId member, std::vector<at::Tensor> tensors) {
  const CollectiveId id = step_.executable.tasks[member].collective;
  Give(static_cast<size_t>(collective_at_[id]), member, std::move(tensors));
}

void Crossings::Signal(TaskId from, TaskId to) {
  const std::pair<std::pair<TaskId, TaskId>, size_t> wanted = {{from, to}, 0};
  const auto found = std::lower_bound(signals_.begin(), signals_.end(), wanted);
  PW_CHECK(found != signals_.end() && found->first == wanted.first);
  Give(found->second, {}, {});
}

void Crossings::EndStep() {
  bool aborted = false;
  std::unique_lock lock(mutex_);
  while (busy_ > 0 || (step_.failed() && !aborted)) {
    if (step_.failed() && !aborted) {
      // Also where one thread fails when all workers have ended: the other one may wait for a message.
      channel_.Abort(MakeError(ErrorCode::kExecution, "the step has failed"));
      Wake({true, true});
      aborted = true;
    } else {
      step_ended_.wait(lock);
    }
  }
  given_.clear();
}

void Crossings::Serve(Direction direction) {
  uint64_t served = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    may_go_on_[static_cast<size_t>(direction)].wait(
        lock, [&] { return ended_ || step_number_ != served; });
    if (ended_) return;
    served = step_number_;
    lock.unlock();
    WorkThrough(direction);
    lock.lock();
    --busy_;
    if (busy_ == 0 || step_.failed()) step_ended_.notify_all();
  }
}

bool Crossings::IsReady(size_t own, Direction direction) const {
  const Own& of = own_[own];
  const Given& given = given_[own];
  const bool here = of.home == channel_.rank();
  // What other ranks give is taken as it comes.
  if (direction == Direction::kReceive && here) return true;
  return given.times == of.gives && (!here || !of.gathers || given.gathered);
}

std::array<bool, 2> Crossings::WaitingAndReady(size_t own) const {
  std::array<bool, 2> ready{};
  for (const Direction direction : {Direction::kSend, Direction::kReceive}) {
    const auto at = static_cast<size_t>(direction);
    ready[at] = awaited_[at] == own && IsReady(own, direction);
  }
  return ready;
}

void Crossings::Wake(std::array<bool, 2> directions) {
  for (size_t at = 0; at < directions.size(); ++at) {
    if (directions[at]) may_go_on_[at].notify_one();
  }
}

bool Crossings::Await(size_t own, Direction direction) {
  const auto at = static_cast<size_t>(direction);
  std::unique_lock lock(mutex_);
  awaited_[at] = own;
  // A step that fails on a worker ends all workers, and then EndStep wakes this thread.
  may_go_on_[at].wait(lock, [&] { return step_.failed() || IsReady(own, direction); });
  awaited_[at].reset();
  return !step_.failed();
}

void Crossings::WorkThrough(Direction direction) {
  const bool sends = direction == Direction::kSend;
  for (size_t i = 0; i < own_.size(); ++i) {
    if (!(sends ? own_[i].sends : own_[i].receives)) continue;
    if (!Await(i, direction)) return;
    Status status = Ok();
    const Status caught = CatchAllFailures([&] {
      const at::AutoDispatchBelowADInplaceOrView below_autograd;
      status = sends ? Send(i) : Receive(i);
    });
    Error error;
    if (caught.ok() && status.ok()) continue;
    error = caught.ok() ? std::move(status.error()) : caught.error();
    if (error.code != ErrorCode::kDeviceMemory) error.code = ErrorCode::kExecution;
    if (error.place.empty()) error.place = NameOf(own_[i].crossing);
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

Status Crossings::Send(size_t own) {
  const Own& of = own_[own];
  if (of.crossing.kind == Crossing::Kind::kSignal) return SendSignal(of);
  if (of.crossing.kind == Crossing::Kind::kCollective) {
    return of.home == channel_.rank() ? CombineHere(own) : GiveElsewhere(own);
  }
  const Executable::Copy& copy = step_.executable.copies[of.crossing.copy];
  const std::vector<at::Tensor> tensors = [&] {
    const std::scoped_lock lock(mutex_);
    return std::move(given_[own].tensors.front().second);
  }();
  PW_RETURN_IF_ERROR(
      SendTensors(channel_, rank_of_[copy.to], of.item, tensors, WaysBetween(copy.from, copy.to)));
  // Who writes over what was sent has waited for that.
  if (!copy.writers.empty()) {
    step_.mailboxes[copy.from]->Put({Message::Kind::kRead, of.crossing.copy, {}, {}});
  }
  return Ok();
}

Status Crossings::Receive(size_t own) {
  const Own& of = own_[own];
  switch (of.crossing.kind) {
    case Crossing::Kind::kCopy: return ReceiveCopy(of);
    case Crossing::Kind::kSignal: return ReceiveSignal(of);
    case Crossing::Kind::kCollective: break;
  }
  return of.home == channel_.rank() ? GatherHere(own) : ReceiveCombined(own);
}

Status Crossings::ReceiveCopy(const Own& own) {
  const CopyId id = own.crossing.copy;
  const Executable::Copy& copy = step_.executable.copies[id];
  // When its source was there is known to another clock.
  CopySpan& span = step_.copy_spans[id];
  span.ready = span.start = Clock::now();
  PW_ASSIGN(std::vector<at::Tensor> tensors,
            ReceiveTensors(channel_, rank_of_[copy.from], own.item, step_.devices[copy.to].get(),
                           WaysBetween(copy.from, copy.to)));
  if (tensors.size() != copy.made.size()) {
    return MakeError(ErrorCode::kExecution,
                     fmt::format("{} tensors have come where {} are expected", tensors.size(),
                                 copy.made.size()));
  }
  span.end = Clock::now();
  step_.mailboxes[copy.to]->Put({Message::Kind::kCopied, id, {}, std::move(tensors)});
  return Ok();
}

Status Crossings::SendSignal(const Own& own) {
  const Crossing& one = own.crossing;
  std::vector<at::Tensor> state;
  if (one.random) state.push_back(at::detail::getDefaultCPUGenerator().get_state());
  return SendTensors(channel_, RankOf(one.to), own.item, state, {&lengths_});
}

Status Crossings::ReceiveSignal(const Own& own) {
  const Crossing& one = own.crossing;
  PW_ASSIGN(const std::vector<at::Tensor> state,
            ReceiveTensors(channel_, RankOf(one.from), own.item, nullptr, {&lengths_}));
  if (one.random && state.size() == 1) {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    generator.set_state(state.front());
  }
  step_.mailboxes[step_.executable.tasks[one.to].device]->Put(
      {Message::Kind::kEnded, {}, one.to, {}});
  return Ok();
}

std::vector<std::vector<at::Tensor>> Crossings::TakeGiven(size_t own) {
  const auto& members = step_.executable.collectives[own_[own].crossing.collective].members;
  std::vector<std::vector<at::Tensor>> inputs(members.size());
  const std::scoped_lock lock(mutex_);
  for (auto& [task, tensors] : given_[own].tensors) {
    const auto member = std::find(members.begin(), members.end(), task);
    inputs[static_cast<size_t>(member - members.begin())] = std::move(tensors);
  }
  given_[own].tensors.clear();
  return inputs;
}

Status Crossings::SendAll(const Own& own, int32_t other, std::span<const at::Tensor> tensors,
                          DeviceId from, DeviceId to) {
  for (const at::Tensor& tensor : tensors) {
    PW_RETURN_IF_ERROR(
        SendTensors(channel_, other, own.item, std::span(&tensor, 1), WaysBetween(from, to)));
  }
  return Ok();
}

Result<std::vector<at::Tensor>> Crossings::ReceiveAll(const Own& own, int32_t other,
                                                      RuntimeDevice* device, DeviceId from,
                                                      DeviceId to) {
  const CollectiveSpec& spec = step_.executable.collectives[own.crossing.collective].spec;
  std::vector<at::Tensor> tensors;
  while (tensors.size() < std::max<size_t>(1, spec.tensors.size())) {
    PW_ASSIGN(std::vector<at::Tensor> one,
              ReceiveTensors(channel_, other, own.item, device, WaysBetween(from, to)));
    if (one.size() != 1) {
      return MakeError(ErrorCode::kExecution,
                       fmt::format("{} tensors have come where one is expected", one.size()));
    }
    tensors.push_back(std::move(one.front()));
  }
  return tensors;
}

Status Crossings::GatherHere(size_t own) {
  const Own& of = own_[own];
  const Executable::Collective& collective = step_.executable.collectives[of.crossing.collective];
  std::vector<std::vector<at::Tensor>> received(collective.members.size());
  for (size_t i = 0; i < received.size(); ++i) {
    const DeviceId device(collective.spec.members[i]);
    if (IsHere(device)) continue;
    PW_ASSIGN(received[i],
              ReceiveAll(of, rank_of_[device], nullptr, device, HomeOf(of.crossing.collective)));
  }
  const std::array<bool, 2> ready = [&] {
    const std::scoped_lock lock(mutex_);
    given_[own].received = std::move(received);
    given_[own].gathered = true;
    given_[own].last = Clock::now();
    return WaitingAndReady(own);
  }();
  Wake(ready);
  return Ok();
}

Status Crossings::CombineHere(size_t own) {
  const Own& of = own_[own];
  const Executable::Collective& collective = step_.executable.collectives[of.crossing.collective];
  const CollectiveSpec& spec = collective.spec;
  const Clock::time_point ready = Clock::now();
  std::vector<std::vector<at::Tensor>> inputs = TakeGiven(own);
  {
    const std::scoped_lock lock(mutex_);
    std::vector<std::vector<at::Tensor>>& received = given_[own].received;
    for (size_t i = 0; i < received.size(); ++i) {
      if (!received[i].empty()) inputs[i] = std::move(received[i]);
    }
    received.clear();
  }
  std::vector<RuntimeDevice*> devices;
  for (const int32_t member : spec.members) {
    const DeviceId device(member);
    devices.push_back(IsHere(device) ? step_.devices[device].get() : nullptr);
  }
  std::vector<std::vector<at::Tensor>> results = CombineAll(spec, inputs, devices);
  inputs.clear();  // their memory is free before anything is sent
  std::vector<int32_t> sent;
  for (size_t i = 0; i < results.size(); ++i) {
    const int32_t rank = RankOf(collective.members[i]);
    if (rank == channel_.rank()) continue;
    const bool again = std::find(sent.begin(), sent.end(), rank) != sent.end();
    if (again && AllGetAlike(spec.kind)) continue;  // that rank copies it for its other devices
    sent.push_back(rank);
    PW_RETURN_IF_ERROR(
        SendAll(of, rank, results[i], HomeOf(of.crossing.collective), DeviceId(spec.members[i])));
  }
  HandOut(of, ready, std::move(results));
  return Ok();
}

Status Crossings::GiveElsewhere(size_t own) {
  const Own& of = own_[own];
  const CollectiveId id = of.crossing.collective;
  std::vector<std::vector<at::Tensor>> inputs = TakeGiven(own);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const DeviceId member(step_.executable.collectives[id].spec.members[i]);
    for (at::Tensor& input : inputs[i]) {
      at::Tensor given;
      // Beside what the device computes, and done before a link reads it.
      OnCopyStream(input.device(), input.device(), [&] { given = input.contiguous(); });
      PW_RETURN_IF_ERROR(SendAll(of, of.home, std::span(&given, 1), member, HomeOf(id)));
      input.reset();
    }
  }
  return Ok();
}

Status Crossings::ReceiveCombined(size_t own) {
  const Own& of = own_[own];
  const CollectiveSpec& spec = step_.executable.collectives[of.crossing.collective].spec;
  const Clock::time_point ready = [&] {
    const std::scoped_lock lock(mutex_);
    return given_[own].last;
  }();
  std::vector<std::vector<at::Tensor>> results(spec.members.size());
  const std::vector<at::Tensor>* first = nullptr;
  for (size_t i = 0; i < results.size(); ++i) {
    const DeviceId device(spec.members[i]);
    if (!IsHere(device)) continue;
    if (first != nullptr && AllGetAlike(spec.kind)) {
      for (const at::Tensor& one : *first) {
        results[i].push_back(CopySlice(std::span(&one, 1), *step_.devices[device]).front());
      }
      continue;
    }
    PW_ASSIGN(results[i], ReceiveAll(of, of.home, step_.devices[device].get(),
                                     HomeOf(of.crossing.collective), device));
    first = &results[i];
  }
  HandOut(of, ready, std::move(results));
  return Ok();
}

void Crossings::HandOut(const Own& own, Clock::time_point ready,
                        std::vector<std::vector<at::Tensor>> results) {
  const CollectiveId id = own.crossing.collective;
  const std::vector<TaskId>& members = step_.executable.collectives[id].members;
  const Clock::time_point end = Clock::now();
  step_.collective_spans[id] = {ready, ready, end};
  for (size_t i = 0; i < results.size(); ++i) {
    const TaskId member = members[i];
    if (RankOf(member) != channel_.rank()) continue;
    step_.task_spans[member] = {ready, end, 0};
    step_.mailboxes[step_.executable.tasks[member].device]->Put(
        {Message::Kind::kCollected, {}, member, std::move(results[i])});
  }
}

}  // namespace placewright
