#include "runtime/device/device_memory.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "aten/failure.h"
#include "aten/torch_version.h"

namespace placewright {
namespace {

thread_local std::shared_ptr<DeviceMemory> t_memory;  // whose allocations are this thread's

constexpr uint64_t kMark = 0x706c616365777274;

// In front of every block, of the size to which LibTorch aligns blocks.
struct alignas(64) Header {
  std::shared_ptr<DeviceMemory> owner;  // nullptr: the host
  int64_t bytes = 0;
  uint64_t mark = kMark;
};

Header* HeaderOf(void* data) {
  return reinterpret_cast<Header*>(static_cast<char*>(data) - sizeof(Header));
}

void Free(void* data) {
  if (data == nullptr) return;
  Header* const header = HeaderOf(data);
  if (header->mark != kMark) {
    // LibTorch frees raw memory by the allocator of the moment, this one by that of before.
    c10::free_cpu(data);
    return;
  }
  const std::shared_ptr<DeviceMemory> owner = std::move(header->owner);
  const auto size = sizeof(Header) + static_cast<size_t>(header->bytes);
  header->mark = 0;
  header->~Header();
  if (owner == nullptr) {
    c10::free_cpu(header);
  } else {
    owner->Remove(static_cast<int64_t>(size - sizeof(Header)));
    owner->blocks().GiveBack(header, size);
  }
}
void Raise(std::atomic<int64_t>& highest, int64_t value) {
  int64_t old = highest.load(std::memory_order_relaxed);
  while (value > old && !highest.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
  }
}

class Allocator final : public SharedAllocator {
 public:
  static void Install() {
    static std::once_flag once;
    std::call_once(once, [] {
      static Allocator allocator;
      c10::SetCPUAllocator(&allocator, /*priority=*/1);
    });
  }

  at::DeleterFnPtr raw_deleter() const override { return &Free; }

 private:
  c10::DataPtr Allocate(size_t bytes) const override {
    if (bytes == 0) return {nullptr, nullptr, &Free, c10::Device(c10::DeviceType::CPU)};
    const auto size = static_cast<int64_t>(bytes);
    if (t_memory != nullptr) t_memory->Add(size);
    void* block = nullptr;
    try {
      const size_t whole = sizeof(Header) + bytes;
      block = t_memory == nullptr ? c10::alloc_cpu(whole) : t_memory->blocks().Take(whole);
    } catch (...) {
      if (t_memory != nullptr) t_memory->Remove(size);
      throw;
    }
    new (block) Header{t_memory, size};
    void* const data = static_cast<char*>(block) + sizeof(Header);
    return {data, data, &Free, c10::Device(c10::DeviceType::CPU)};
  }
};

}  // namespace

void DeviceMemory::Add(int64_t bytes) {
  const int64_t used = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (limit_ > 0 && used > limit_) {
    Remove(bytes);
    throw TorchFailure(
        MakeError(ErrorCode::kDeviceMemory,
                  fmt::format("{} has no memory for {} bytes more: {} of {} are in use", device_,
                              bytes, used - bytes, limit_)));
  }
  Raise(peak_, used);
  Raise(high_, used);
}

const DeviceMemory* DeviceMemory::Of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return nullptr;
  const c10::DataPtr& data = tensor.storage().data_ptr();
  if (data.get_deleter() != &Free || data.get_context() == nullptr) return nullptr;
  return HeaderOf(data.get_context())->owner.get();
}

AllocatesFor::AllocatesFor(std::shared_ptr<DeviceMemory> memory)
    : before_(std::exchange(t_memory, std::move(memory))) {
  Allocator::Install();
}

AllocatesFor::~AllocatesFor() { t_memory = std::move(before_); }

}  // namespace placewright
