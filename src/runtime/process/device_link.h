// What leads from a GPU of one rank to one of another beside the channel, so that bytes need not go by the memory of
// their hosts.
#ifndef PLACEWRIGHT_RUNTIME_PROCESS_DEVICE_LINK_H_
#define PLACEWRIGHT_RUNTIME_PROCESS_DEVICE_LINK_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>

#include "base/ids.h"
#include "base/result.h"

namespace placewright {

// One way: this rank's device is either the end that sends or the one that receives.
class DeviceLink {
 public:
  virtual ~DeviceLink() = default;
  // This rank's end, as LibTorch counts it.
  virtual c10::Device device() const = 0;
  // What is longer, in bytes, is faster by the link than by the channel; both ends say the same.
  virtual int64_t threshold() const = 0;

  // `bytes` [n]: uint8, contiguous, n > 0, in that device's memory; nothing that has been launched writes in it, or with
  // Receive reads it, any more. The other rank calls the other one with as many. They return when the bytes have left,
  // or are there. One thread calls. Errors: kExecution (the other rank does not answer within the channel's time;
  // Channel::Abort; what the link's library says); then the channel has been aborted, and the link is of no more use.
  virtual Status Send(const at::Tensor& bytes) = 0;
  virtual Status Receive(const at::Tensor& bytes) = 0;
};

class DeviceLinks {
 public:
  virtual ~DeviceLinks() = default;
  // One of the two devices is this rank's, the other is another's. nullptr: there is no link, for neither rank. From any
  // thread.
  virtual DeviceLink* Between(DeviceId from, DeviceId to) = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROCESS_DEVICE_LINK_H_
