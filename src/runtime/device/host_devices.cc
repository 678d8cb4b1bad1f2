#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sched.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "aten/denormals.h"
#include "aten/failure.h"
#include "runtime/device/device.h"

namespace placewright {
namespace {

// As long as it lives, the thread and those that it starts run on these cores. Where the system does not
// let it, nothing changes.
class OnCores {
 public:
  explicit OnCores(const std::vector<int>& cores) {
    if (cores.empty() || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    for (const int core : cores) CPU_SET(core, &wanted);
    set_ = sched_setaffinity(0, sizeof wanted, &wanted) == 0;
  }
  ~OnCores() {
    if (set_) sched_setaffinity(0, sizeof before_, &before_);
  }
  OnCores(const OnCores&) = delete;
  OnCores& operator=(const OnCores&) = delete;

 private:
  cpu_set_t before_;
  bool set_ = false;
};

class HostDevice : public RuntimeDevice {
 public:
  explicit HostDevice(const CpuDeviceOptions& options)
      : RuntimeDevice(std::make_shared<DeviceMemory>(options.name, options.memory_limit)),
        threads_(options.threads),
        cores_(options.cores) {}

  at::Tensor Allocate(int64_t bytes) override {
    const AllocatesFor here(memory_);
    return at::empty({bytes}, at::TensorOptions().dtype(at::kByte));
  }

 protected:
  // On the calling thread, which keeps its share of the cores.
  void Run(const std::function<void()>& work) const {
    const OnCores cores(cores_);
    const WithoutDenormals flushed;
    if (at::get_num_threads() != threads_) at::set_num_threads(threads_);
    const AllocatesFor here(memory_);
    work();
  }

 private:
  const int threads_;
  const std::vector<int> cores_;
};

class CpuDevice final : public HostDevice {
 public:
  using HostDevice::HostDevice;
  void Submit(std::function<void()> work) override { Run(work); }
  void Synchronize() override {}
};

class SimulatedDevice final : public HostDevice {
 public:
  explicit SimulatedDevice(const CpuDeviceOptions& options)
      : HostDevice(options), thread_([this] { Serve(); }) {}
  ~SimulatedDevice() override {
    Push(nullptr);
    thread_.join();
  }

  void Submit(std::function<void()> work) override { Push(std::move(work)); }
  void Synchronize() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty(); });
  }
  bool asynchronous() const override { return true; }
  void CheckHolds(std::span<const at::Tensor> tensors,
                  std::span<const int32_t> place) const override {
    for (const int32_t at : place) {
      const at::Tensor& tensor = tensors[static_cast<size_t>(at)];
      if (!tensor.defined() || tensor.numel() == 0) continue;
      const DeviceMemory* const owner = DeviceMemory::Of(tensor);
      if (owner == memory_.get()) continue;
      throw TorchFailure(
          MakeError(ErrorCode::kExecution,
                    fmt::format("an op on {} reads a tensor in the memory of {}", name(),
                                owner == nullptr ? std::string("the host") : owner->device())));
    }
  }

 private:
  void Push(std::function<void()> work) {
    {
      const std::scoped_lock lock(mutex_);
      queue_.push_back(std::move(work));
    }
    changed_.notify_all();
  }
  void Serve() {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !queue_.empty(); });
      const std::function<void()> work = queue_.front();
      lock.unlock();
      if (work == nullptr) return;
      Run(work);
      lock.lock();
      // What waits for it sees that it has ended.
      queue_.pop_front();
      lock.unlock();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace

std::unique_ptr<RuntimeDevice> MakeCpuDevice(const CpuDeviceOptions& options) {
  return std::make_unique<CpuDevice>(options);
}

std::unique_ptr<RuntimeDevice> MakeSimulatedDevice(const CpuDeviceOptions& options) {
  return std::make_unique<SimulatedDevice>(options);
}

}  // namespace placewright
