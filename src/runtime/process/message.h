// Tensors in messages between processes: their bytes, whatever their dtype, so that no engine's list of
// dtypes matters and nothing is rounded on the way.
#ifndef PLACEWRIGHT_RUNTIME_PROCESS_MESSAGE_H_
#define PLACEWRIGHT_RUNTIME_PROCESS_MESSAGE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/device/device.h"
#include "runtime/process/channel.h"
#include "runtime/process/device_link.h"

namespace placewright {

// The longest messages so far, by the other rank and the item, as both ends of a channel have seen: the
// first part of the next one is as long, so that a step whose messages are those of the step before sends
// each as one. Both ends use one, or neither does.
struct MessageLengths {
  std::map<std::pair<int32_t, int64_t>, int64_t> sent,
      received;  // words; what is too long is absent
};

// What both ends of the messages of one kind have alike.
struct MessageWays {
  MessageLengths* lengths = nullptr;
  // Between the device on which the tensors lie and that on which they are to lie; nullptr: all goes by the channel.
  // What is longer than its threshold goes by it, behind a head that goes by the channel.
  DeviceLink* link = nullptr;
};

// Tensors that look at one slice of a storage; there may be none of them. `item`: a number that both ranks know
// this message by, so that ranks which disagree about the order find out. Errors: the channel's, the link's.
Status SendTensors(Channel& channel, int32_t to, int64_t item, std::span<const at::Tensor> tensors,
                   const MessageWays& ways = {});

// In one block of `device`'s memory, with the strides of the originals; nullptr: of the link's device, or else of the
// host, which no device counts. Errors: the channel's, the link's; kDeviceMemory; kExecution (another message is next).
Result<std::vector<at::Tensor>> ReceiveTensors(Channel& channel, int32_t from, int64_t item,
                                               RuntimeDevice* device, const MessageWays& ways = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROCESS_MESSAGE_H_
