// The memory of one device that computes with this machine's memory: what LibTorch allocates while the
// device's thread calls an op is counted as the device's, up to its limit, and every tensor knows
// whose it is.
#ifndef PLACEWRIGHT_RUNTIME_DEVICE_DEVICE_MEMORY_H_
#define PLACEWRIGHT_RUNTIME_DEVICE_DEVICE_MEMORY_H_

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/device/block_cache.h"

namespace placewright {

class DeviceMemory {
 public:
  // `limit` bytes; 0: none.
  DeviceMemory(std::string device, int64_t limit) : device_(std::move(device)), limit_(limit) {}

  const std::string& device() const { return device_; }
  int64_t limit() const { return limit_; }
  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  void ResetPeak() { peak_.store(used(), std::memory_order_relaxed); }

  // The most that was in use since Mark(), beyond what is in use now.
  void Mark() { high_.store(used(), std::memory_order_relaxed); }
  int64_t AboveUsed() const { return high_.load(std::memory_order_relaxed) - used(); }

  // Throws TorchFailure (kDeviceMemory) beyond the limit.
  void Add(int64_t bytes);
  void Remove(int64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  BlockCache& blocks() { return blocks_; }

  // Whose memory the tensor lies in; nullptr: no device's.
  static const DeviceMemory* Of(const at::Tensor& tensor);

 private:
  const std::string device_;
  const int64_t limit_;
  std::atomic<int64_t> used_{0}, peak_{0}, high_{0};
  BlockCache blocks_;
};

// As long as it lives, CPU memory that LibTorch allocates on this thread is that device's. They nest.
class AllocatesFor {
 public:
  explicit AllocatesFor(std::shared_ptr<DeviceMemory> memory);
  ~AllocatesFor();
  AllocatesFor(const AllocatesFor&) = delete;
  AllocatesFor& operator=(const AllocatesFor&) = delete;

 private:
  std::shared_ptr<DeviceMemory> before_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_DEVICE_DEVICE_MEMORY_H_
