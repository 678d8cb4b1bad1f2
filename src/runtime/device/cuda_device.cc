// CUDA devices through what LibTorch offers for any accelerator (c10's guards, streams and events): no
// header of CUDA's is needed, and a LibTorch without CUDA has none of them.
#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "aten/failure.h"
#include "aten/torch_version.h"
#include "runtime/device/device.h"

namespace placewright {
namespace {

constexpr c10::DeviceType kCuda = c10::DeviceType::CUDA;

// What a storage's bytes lie in, counted as the device's for as long as they are there.
struct Counted {
  at::DataPtr data;
  std::shared_ptr<DeviceMemory> memory;
  int64_t bytes = 0;
};

void FreeCounted(void* context) {
  auto* const counted = static_cast<Counted*>(context);
  counted->memory->Remove(counted->bytes);
  delete counted;
}

void Count(const at::Tensor& tensor, const std::shared_ptr<DeviceMemory>& memory) {
  if (!tensor.defined() || !tensor.has_storage() || tensor.device().type() != kCuda) return;
  const at::Storage& storage = tensor.storage();
  if (storage.data_ptr().get_deleter() == &FreeCounted || storage.nbytes() == 0) return;
  const auto bytes = static_cast<int64_t>(storage.nbytes());
  memory->Add(bytes);
  auto counted = std::make_unique<Counted>(Counted{{}, memory, bytes});
  counted->data = storage.set_data_ptr(at::DataPtr(nullptr, tensor.device()));
  void* const address = counted->data.get();
  storage.set_data_ptr(at::DataPtr(address, counted.release(), &FreeCounted, tensor.device()));
}

// Work is launched on the thread that submits it, on the device's default stream, and goes on by itself;
// one thread launches. What other devices wait for is waited for before they learn of it (Finish).
class CudaDevice final : public RuntimeDevice {
 public:
  CudaDevice(const std::string& name, int index, int64_t memory_limit)
      : RuntimeDevice(std::make_shared<DeviceMemory>(name, memory_limit)),
        device_(kCuda, static_cast<c10::DeviceIndex>(index)),
        guards_(kCuda) {}

  c10::Device torch_device() const override { return device_; }
  void Submit(std::function<void()> work) override {
    const c10::DeviceGuard here(device_);
    stamps_.clear();
    first_.reset();
    work();
  }
  void Finish() override { guards_.getDefaultStream(device_).synchronize(); }
  void Synchronize() override {
    Finish();
    for (auto& [event, at] : stamps_) *at = begin_ + SinceFirst(event);
    stamps_.clear();
  }

  // Where this LibTorch's events have no times, the queue is waited for.
  void Stamp(Clock::time_point& at) override {
    if constexpr (kEventsHaveTimes) {
      if (!first_) begin_ = Clock::now();
      c10::Event event(kCuda, c10::EventFlag::BACKEND_DEFAULT);
      event.record(guards_.getDefaultStream(device_));
      if (!first_) {
        // The queue is empty when a step begins.
        first_.emplace(std::move(event));
        at = begin_;
      } else {
        stamps_.emplace_back(std::move(event), &at);
      }
    } else {
      Finish();
      at = Clock::now();
    }
  }

  at::Tensor Allocate(int64_t bytes) override {
    const at::Tensor tensor =
        at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(device_));
    // A copy's stream fills it; the default stream reads it.
    tensor.record_stream(guards_.getDefaultStream(device_));
    Count(tensor, memory_);
    return tensor;
  }
  void Keep(std::span<const at::Tensor> results) override {
    for (const at::Tensor& result : results) Count(result, memory_);
  }
  void CheckHolds(std::span<const at::Tensor> tensors,
                  std::span<const int32_t> place) const override {
    for (const int32_t at : place) {
      const at::Tensor& tensor = tensors[static_cast<size_t>(at)];
      // Numbers of the host are read when the op is launched.
      const bool number = tensor.defined() && tensor.device().is_cpu() && tensor.dim() == 0;
      if (!tensor.defined() || number || tensor.device() == device_) continue;
      throw TorchFailure(MakeError(ErrorCode::kExecution,
                                   fmt::format("an op on {} reads a tensor in the memory of {}",
                                               name(), tensor.device().str())));
    }
  }

 private:
  Clock::duration SinceFirst(const c10::Event& event) const {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double, std::milli>(MillisecondsBetween(*first_, event)));
  }

  const c10::Device device_;
  const c10::impl::VirtualGuardImpl guards_;
  Clock::time_point begin_;
  std::optional<c10::Event> first_;  // of a step
  std::vector<std::pair<c10::Event, Clock::time_point*>> stamps_;
};

}  // namespace

int CudaDeviceCount() {
  return c10::impl::hasDeviceGuardImpl(kCuda) ? c10::impl::VirtualGuardImpl(kCuda).deviceCount()
                                              : 0;
}

std::unique_ptr<RuntimeDevice> MakeCudaDevice(const std::string& name, int index,
                                              int64_t memory_limit) {
  return std::make_unique<CudaDevice>(name, index, memory_limit);
}

void OnCopyStream(c10::Device from, c10::Device to, const std::function<void()>& copy) {
  // One for each device and thread that copies: the allocator keeps what is free by stream.
  thread_local std::map<c10::DeviceIndex, c10::Stream> streams;
  std::vector<c10::Stream> used;
  for (const c10::Device device : {from, to}) {
    if (device.type() != kCuda || (!used.empty() && from == to)) continue;
    auto found = streams.find(device.index());
    if (found == streams.end()) {
      const c10::Stream stream = c10::impl::VirtualGuardImpl(kCuda).getStreamFromGlobalPool(device);
      found = streams.emplace(device.index(), stream).first;
    }
    used.push_back(found->second);
  }
  if (used.empty()) {
    copy();
    return;
  }
  const c10::MultiStreamGuard beside_compute(used);
  copy();
  for (const c10::Stream& stream : used) stream.synchronize();
}

}  // namespace placewright
