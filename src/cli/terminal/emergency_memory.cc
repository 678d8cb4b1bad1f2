#include "cli/terminal/emergency_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <new>

#include "base/available_memory.h"

namespace placewright {
namespace {

std::atomic<void*> g_reserve{nullptr};
size_t g_reserve_bytes = 0;  // written before the handler is set

void GiveBack() {
  void* taken = g_reserve.exchange(nullptr);
  if (taken != nullptr) munmap(taken, g_reserve_bytes);
  throw std::bad_alloc();
}

}  // namespace

void KeepMemoryReserve() {
  rlimit limit{};
  size_t bytes = size_t{64} << 20;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const auto used = static_cast<size_t>(AddressSpace().count);
    const size_t left = limit.rlim_cur > used ? static_cast<size_t>(limit.rlim_cur) - used : 0;
    bytes = std::min(bytes, left / 2);
  }
  void* taken = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (taken == MAP_FAILED) return;
  g_reserve_bytes = bytes;
  g_reserve = taken;
  std::set_new_handler(GiveBack);
}

}  // namespace placewright
