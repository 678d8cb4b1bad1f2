#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <new>

#include "cli/terminal/emergency_memory.h"

namespace placewright {
namespace {

std::atomic<void*> reserve{nullptr};
size_t reserve_bytes = 0;  // written before the handler is set

void GiveBack() {
  void* taken = reserve.exchange(nullptr);
  if (taken != nullptr) munmap(taken, reserve_bytes);
  throw std::bad_alloc();
}

}  // namespace

void KeepMemoryReserve() {
  rlimit limit{};
  size_t bytes = size_t{64} << 20;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    bytes = std::min(bytes, static_cast<size_t>(limit.rlim_cur / 4));
  }
  void* taken = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (taken == MAP_FAILED) return;
  reserve_bytes = bytes;
  reserve = taken;
  std::set_new_handler(GiveBack);
}

}  // namespace placewright
