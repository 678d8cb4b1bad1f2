// What executes ops: a queue of work, memory of its own, and copies into it.
#ifndef PLACEWRIGHT_RUNTIME_DEVICE_DEVICE_H_
#define PLACEWRIGHT_RUNTIME_DEVICE_DEVICE_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/stop.h"
#include "runtime/device/device_memory.h"

namespace placewright {

class RuntimeDevice {
 public:
  virtual ~RuntimeDevice() = default;

  const std::string& name() const { return memory_->device(); }
  DeviceMemory& memory() const { return *memory_; }

  // Work that calls ops, one after the other: now, or later on a thread of the device's if it is
  // asynchronous. One thread may submit. `work` throws nothing.
  virtual void Submit(std::function<void()> work) = 0;
  virtual bool asynchronous() const { return false; }
  // Returns when all that was submitted has ended, and every time that was stamped is known.
  virtual void Synchronize() = 0;
  // Returns when what the work so far has launched has ended. From within work.
  virtual void Finish() {}
  // The time at which what the work has launched so far has ended; at once, or by the next Synchronize
  // (`at` stays where it is until then).
  virtual void Stamp(Clock::time_point& at) { at = Clock::now(); }
  // What an op has returned: is counted as the device's, where its allocator does not do so.
  virtual void Keep(std::span<const at::Tensor> /*results*/) {}
  // As LibTorch calls it.
  virtual c10::Device torch_device() const { return c10::Device(c10::DeviceType::CPU); }
  // An uninitialised tensor in its memory. From any thread. Throws TorchFailure (kDeviceMemory).
  virtual at::Tensor Allocate(int64_t bytes) = 0;
  // Throws TorchFailure (kExecution) where an op may not be called here with one of
  // `tensors[place[i]]`.
  virtual void CheckHolds(std::span<const at::Tensor> /*tensors*/,
                          std::span<const int32_t> /*place*/) const {}

 protected:
  explicit RuntimeDevice(std::shared_ptr<DeviceMemory> memory) : memory_(std::move(memory)) {}

  const std::shared_ptr<DeviceMemory> memory_;
};

struct CpuDeviceOptions {
  std::string name;
  int threads = 1;           // of this machine, inside an op
  int64_t memory_limit = 0;  // bytes; 0: none
  // Numbers of the cores that it computes on, as the system counts them; empty: whichever is free.
  std::vector<int> cores = {};
};
// Some of this machine's cores: work runs at once, on the thread that submits it.
std::unique_ptr<RuntimeDevice> MakeCpuDevice(const CpuDeviceOptions& options);

// Computes as a CPU device does, but as accelerators: work is queued and runs later, on a thread of the
// device's, and an op that is called with a tensor of other memory fails (but for numbers of the host).
std::unique_ptr<RuntimeDevice> MakeSimulatedDevice(const CpuDeviceOptions& options);

// A device of LibTorch's, by its number there: CudaDeviceCount() have one. Memory that an op takes and gives
// back while it is called is not counted.
int CudaDeviceCount();
std::unique_ptr<RuntimeDevice> MakeCudaDevice(const std::string& name, int index,
                                              int64_t memory_limit);

// Calls `copy`, which copies from a tensor of the one device to one of the other that it allocates, beside
// what they compute; it has ended when this returns.
void OnCopyStream(c10::Device from, c10::Device to, const std::function<void()>& copy);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_DEVICE_DEVICE_H_
