#include "runtime/service/step_exchange.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

#include "aten/failure.h"
#include "runtime/process/message.h"

namespace placewright {
namespace {

using Numbers = std::vector<int64_t>;

Status SendNumbers(Channel& channel, int32_t to, const Numbers& numbers) {
  const auto count = static_cast<int64_t>(numbers.size());
  PW_RETURN_IF_ERROR(channel.Send(to, &count, sizeof count));
  if (count == 0) return Ok();
  return channel.Send(to, numbers.data(), count * static_cast<int64_t>(sizeof(int64_t)));
}

Result<Numbers> ReceiveNumbers(Channel& channel, int32_t from) {
  int64_t count = 0;
  PW_RETURN_IF_ERROR(channel.Receive(from, &count, sizeof count));
  Numbers numbers(static_cast<size_t>(count));
  if (count > 0) {
    PW_RETURN_IF_ERROR(
        channel.Receive(from, numbers.data(), count * static_cast<int64_t>(sizeof(int64_t))));
  }
  return numbers;
}

Numbers NumbersOf(const Execution::Step& step) {
  return {step.time_ns, step.loss ? 1 : 0, std::bit_cast<int64_t>(step.loss.value_or(0)),
          step.stop ? 1 : 0};
}

Execution::Step StepOf(const Numbers& numbers) {
  Execution::Step step;
  step.time_ns = numbers.at(0);
  if (numbers.at(1) != 0) step.loss = std::bit_cast<double>(numbers.at(2));
  step.stop = numbers.at(3) != 0;
  return step;
}

Status ShareGenerator(Channel& channel, int32_t random_rank) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const int32_t rank = channel.rank();
  constexpr int64_t kItem = -1;
  Status status = Ok();
  const Status caught = CatchAllFailures([&] {
    if (rank == random_rank) {
      const at::Tensor state = generator.get_state();
      for (int32_t other = 0; other < channel.size() && status.ok(); ++other) {
        if (other != rank) status = SendTensors(channel, other, kItem, std::span(&state, 1));
      }
      return;
    }
    auto state = ReceiveTensors(channel, random_rank, kItem, nullptr);
    if (!state.ok()) {
      status = std::move(state.error());
    } else if (state.value().size() == 1) {
      generator.set_state(state.value().front());
    }
  });
  return caught.ok() ? status : caught;
}

Numbers NumbersOf(const Schedule& schedule) {
  Numbers numbers;
  for (const OpSpan& span : schedule.ops) {
    numbers.insert(numbers.end(), {span.start.count, span.end.count});
  }
  for (const CollectiveSpan& span : schedule.collectives) {
    numbers.insert(numbers.end(), {span.ready.count, span.start.count, span.end.count});
  }
  for (const TransferSpan& span : schedule.transfers) {
    numbers.insert(numbers.end(), {span.storage.value(), span.version, span.offset.count,
                                   span.length.count, span.from.value(), span.to.value(),
                                   span.ready.count, span.start.count, span.end.count});
  }
  return numbers;
}

// What another rank knows, and this one does not.
void Add(const Numbers& numbers, Schedule& all) {
  size_t next = 0;
  const auto take = [&] { return numbers.at(next++); };
  for (OpSpan& span : all.ops) {
    const Nanos start(take()), end(take());
    if (end.count > 0) span = {start, end};
  }
  for (CollectiveSpan& span : all.collectives) {
    const Nanos ready(take()), start(take()), end(take());
    if (end.count > 0 && span.end.count == 0) span = {ready, start, end};
  }
  while (next < numbers.size()) {
    TransferSpan span;
    span.storage = StorageId(static_cast<int32_t>(take()));
    span.version = static_cast<int32_t>(take());
    span.offset = Bytes(take());
    span.length = Bytes(take());
    span.from = DeviceId(static_cast<int32_t>(take()));
    span.to = DeviceId(static_cast<int32_t>(take()));
    span.ready = Nanos(take());
    span.start = Nanos(take());
    span.end = Nanos(take());
    all.transfers.push_back(span);
  }
}

}  // namespace

Result<Execution::Step> ExchangeStep(Channel& channel, const Execution::Step& own,
                                     int32_t random_rank) {
  Execution::Step all = own;
  if (channel.rank() == 0) {
    for (int32_t other = 1; other < channel.size(); ++other) {
      PW_ASSIGN(const Numbers numbers, ReceiveNumbers(channel, other));
      const Execution::Step theirs = StepOf(numbers);
      all.time_ns = std::max(all.time_ns, theirs.time_ns);
      if (!all.loss) all.loss = theirs.loss;
      all.stop = all.stop || theirs.stop;
    }
    for (int32_t other = 1; other < channel.size(); ++other) {
      PW_RETURN_IF_ERROR(SendNumbers(channel, other, NumbersOf(all)));
    }
  } else {
    PW_RETURN_IF_ERROR(SendNumbers(channel, 0, NumbersOf(own)));
    PW_ASSIGN(const Numbers numbers, ReceiveNumbers(channel, 0));
    all = StepOf(numbers);
  }
  if (random_rank >= 0) PW_RETURN_IF_ERROR(ShareGenerator(channel, random_rank));
  return all;
}

Result<Schedule> GatherSchedule(Channel& channel, Schedule own) {
  if (channel.rank() != 0) {
    PW_RETURN_IF_ERROR(SendNumbers(channel, 0, NumbersOf(own)));
    return own;
  }
  for (int32_t other = 1; other < channel.size(); ++other) {
    PW_ASSIGN(const Numbers numbers, ReceiveNumbers(channel, other));
    Add(numbers, own);
  }
  std::sort(own.transfers.begin(), own.transfers.end(),
            [](const TransferSpan& a, const TransferSpan& b) {
              return std::tie(a.start, a.storage, a.version, a.offset, a.length, a.to) <
                     std::tie(b.start, b.storage, b.version, b.offset, b.length, b.to);
            });
  return own;
}

Result<std::vector<int64_t>> GatherByDevice(Channel& channel, std::vector<int64_t> own,
                                            const IdVector<DeviceId, int32_t>& rank_of) {
  if (channel.rank() != 0) {
    PW_RETURN_IF_ERROR(SendNumbers(channel, 0, own));
    return own;
  }
  for (int32_t other = 1; other < channel.size(); ++other) {
    PW_ASSIGN(const Numbers theirs, ReceiveNumbers(channel, other));
    for (const DeviceId device : IdRange<DeviceId>(rank_of.size())) {
      if (rank_of[device] == other) own[device.index()] = theirs.at(device.index());
    }
  }
  return own;
}

Result<std::string> BringToRankZero(Channel& channel, int32_t from, std::string text) {
  if (from == 0) return channel.rank() == 0 ? std::move(text) : std::string();
  if (channel.rank() == from) PW_RETURN_IF_ERROR(SendText(channel, 0, text));
  return channel.rank() == 0 ? ReceiveText(channel, from) : std::string();
}

}  // namespace placewright
