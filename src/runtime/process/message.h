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

namespace placewright {

// The longest messages so far, by the other rank and the item, as both ends of a channel have seen: the
// first part of the next one is as long, so that a step whose messages are those of the step before sends
// each as one. Both ends use one, or neither does.
struct MessageLengths {
  std::map<std::pair<int32_t, int64_t>, int64_t> sent,
      received;  // words; what is too long is absent
};

// Tensors that look at one slice of a storage; there may be none of them. `item`: a number that both ranks know
// this message by, so that ranks which disagree about the order find out. Errors: the channel's.
Status SendTensors(Channel& channel, int32_t to, int64_t item, std::span<const at::Tensor> tensors,
                   MessageLengths* lengths = nullptr);

// In one block of `device`'s memory, with the strides of the originals; nullptr: of the host's memory,
// which no device counts. Errors: the channel's; kDeviceMemory; kExecution (another message is next).
Result<std::vector<at::Tensor>> ReceiveTensors(Channel& channel, int32_t from, int64_t item,
                                               RuntimeDevice* device,
                                               MessageLengths* lengths = nullptr);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROCESS_MESSAGE_H_
